"""The expression language of conditions that depend on the match: types, trees, functions, and one typing pass."""
