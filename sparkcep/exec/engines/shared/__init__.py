"""Many patterns over one batch: the rules of a set."""
