"""Errors in the user's words: Spark's errors with their place in the statement, and how they are printed."""
