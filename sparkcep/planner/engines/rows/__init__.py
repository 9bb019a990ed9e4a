"""MATCH_RECOGNIZE under strict contiguity."""
