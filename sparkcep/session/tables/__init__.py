"""Pattern tables: the rows of a pattern query, kept equal to what the query gives while its log grows."""
