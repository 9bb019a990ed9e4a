"""Kernels of aggregates over trends."""
