"""Matching over streams: rows in buckets of partitions, whose state is one blob between micro-batches."""
