"""Rule sets: many patterns over one log, each a rule with a name."""
