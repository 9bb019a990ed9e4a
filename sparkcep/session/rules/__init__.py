"""Rule sets: their call, where the rules come from, and how they run."""
