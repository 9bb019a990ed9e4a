"""The plan of patterns as table functions."""
