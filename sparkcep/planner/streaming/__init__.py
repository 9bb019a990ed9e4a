"""What streams add to planning: what is refused, what is decided when, how rows reach the operator."""
