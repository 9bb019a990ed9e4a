"""What a statement would do, told without its rows: its plan, why it has no rows, which rows tie."""
