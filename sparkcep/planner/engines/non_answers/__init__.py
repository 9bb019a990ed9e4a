"""The plan of EXPLAIN NON ANSWERS."""
