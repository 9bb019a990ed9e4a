"""The engine of aggregates over trends."""
