"""The plan of the event selection strategies."""
