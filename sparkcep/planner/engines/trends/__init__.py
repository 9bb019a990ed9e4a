"""The plan of aggregates over trends."""
