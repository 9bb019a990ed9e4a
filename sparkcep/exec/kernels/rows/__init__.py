"""Kernels of the row pattern clause under strict contiguity."""
