"""Kernels of the pattern index."""
