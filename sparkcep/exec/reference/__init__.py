"""The reference matchers: slow and obvious, straight from the definitions."""
