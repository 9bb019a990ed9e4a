"""Kernels of EXPLAIN NON ANSWERS."""
