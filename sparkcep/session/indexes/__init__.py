"""Pattern indexes from a statement: which one serves a query, their statements and table functions."""
