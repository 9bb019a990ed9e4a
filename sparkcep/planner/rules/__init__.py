"""Rules of the planner: each says what it did, or why it did nothing."""
