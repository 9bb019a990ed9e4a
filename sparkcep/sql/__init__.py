"""From SQL text to PatternQuery: find the forms, read them, bind their names. Of pyspark only errors are used."""
