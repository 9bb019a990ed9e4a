"""Plans of rule sets."""
