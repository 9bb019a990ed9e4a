"""The engine of the event selection strategies."""
