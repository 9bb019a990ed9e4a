"""Numba kernels: table-driven, compiled once per machine, no Spark and no SQL."""
