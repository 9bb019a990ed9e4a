"""From SQL text to PatternQuery: find the forms, read them, bind their names. Imports no pyspark but its error classes."""
