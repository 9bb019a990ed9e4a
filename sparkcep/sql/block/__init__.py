"""The pattern block: found, parsed and bound."""
