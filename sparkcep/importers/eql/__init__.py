"""Elastic's Event Query Language (EQL)."""
