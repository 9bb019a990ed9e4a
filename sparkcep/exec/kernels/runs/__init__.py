"""Kernels of the event selection strategies."""
