"""How rows come to a matcher and its table goes back, whatever the engine."""
