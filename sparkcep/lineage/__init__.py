"""Which stored rows the rows of a relation are, and what filters ask of their columns."""
