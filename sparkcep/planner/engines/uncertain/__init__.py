"""The plan of imprecise times."""
