"""Conditions: what Spark decides from a row, and what the match decides."""
