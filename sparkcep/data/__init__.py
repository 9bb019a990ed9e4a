"""The logs and example queries that install with the package."""
