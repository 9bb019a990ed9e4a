"""The machine that evaluates conditions and aggregates of a match."""
