"""What patterns over streams need of their statement: one stateful operator, and the table a stream starts with."""
