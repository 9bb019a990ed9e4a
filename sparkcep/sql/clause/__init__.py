"""MATCH_RECOGNIZE: parsed and bound."""
