"""Patterns in windows (R020): found, parsed, bound, and put into the text of their SELECT."""
