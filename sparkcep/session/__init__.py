"""One statement's way through the other rooms: the hook, Spark's answers, the plan cache, the index's choice."""
