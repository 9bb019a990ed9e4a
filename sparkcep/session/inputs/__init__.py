"""What a pattern reads, where its place in the statement makes that more than a table: joins, correlation, windows."""
