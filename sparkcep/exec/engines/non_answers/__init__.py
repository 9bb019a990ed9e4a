"""The engine of EXPLAIN NON ANSWERS."""
