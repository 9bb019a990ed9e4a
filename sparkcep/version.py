"""The package's version, which its modules can ask without the facade that imports them."""

__version__ = "0.2.0"
