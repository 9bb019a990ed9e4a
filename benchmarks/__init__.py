"""Benchmarks of sparkcep beside its peers; see ``python -m benchmarks --help``."""
