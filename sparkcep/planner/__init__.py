"""From PatternQuery to PatternPlan: split conditions, choose layout, say what Spark computes before and after."""
