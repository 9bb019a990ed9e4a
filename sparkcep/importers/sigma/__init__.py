"""Sigma rules and correlations, which pySigma reads."""
