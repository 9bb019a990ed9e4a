"""The engine of imprecise times."""
