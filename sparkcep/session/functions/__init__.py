"""What users define: pattern functions in SQL, aggregates in Python."""
