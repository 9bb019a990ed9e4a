"""Plans of the engines, a folder each."""
