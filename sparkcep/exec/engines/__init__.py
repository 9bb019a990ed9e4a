"""The engines, a folder each: what a worker is given, its tables, its matcher."""
