"""Plans of all statements of the tests, pages and examples as text, made without Spark."""
