"""sparkcep: pattern queries as part of Spark SQL.

>>> import sparkcep
>>> sparkcep.enable()
>>> spark.sql("SELECT * FROM events MATCH_RECOGNIZE (...)")
"""

from sparkcep.errors import LimitError, PatternAnalysisError, PatternParseError, SparkCepError
from sparkcep.expand import expand
from sparkcep.session import disable, enable, enabled, explain, sql

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """``%load_ext sparkcep``: pattern queries in ``spark.sql``, and the cell magic ``%%cep``."""
    from sparkcep.notebook import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """``%unload_ext sparkcep``."""
    from sparkcep.notebook import unload

    unload(shell)


__all__ = [
    "LimitError",
    "PatternAnalysisError",
    "PatternParseError",
    "SparkCepError",
    "__version__",
    "disable",
    "enable",
    "enabled",
    "expand",
    "explain",
    "sql",
]
