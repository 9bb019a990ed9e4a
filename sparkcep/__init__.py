"""sparkcep: pattern queries as part of Spark SQL.

>>> import sparkcep
>>> sparkcep.enable()
>>> spark.sql("SELECT * FROM events MATCH_RECOGNIZE (...)")
"""

from sparkcep.errors import LimitError, PatternAnalysisError, PatternParseError, SparkCepError
from sparkcep.expand import expand
from sparkcep.session import disable, enable, enabled, explain, sql

__version__ = "0.1.0"

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
