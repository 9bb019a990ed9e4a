"""What released versions have written, as files: each later release reads it, and goes on with it."""
