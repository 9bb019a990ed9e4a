"""Kernels of imprecise times."""
