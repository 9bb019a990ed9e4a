"""Conditions that depend on the match: compiled to the kernel's instructions, or evaluated by columns in Python."""
