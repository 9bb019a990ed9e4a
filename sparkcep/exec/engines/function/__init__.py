"""The engine of patterns as table functions."""
