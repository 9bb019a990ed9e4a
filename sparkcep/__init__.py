"""sparkcep: pattern queries as part of Spark SQL.

>>> import sparkcep
>>> spark = sparkcep.local_session()  # or any session, and sparkcep.enable()
>>> spark.sql("SELECT * FROM events MATCH_RECOGNIZE (...)")
"""

import importlib
from typing import TYPE_CHECKING

from sparkcep.session.hook import disable, enable, enabled, explain
from sparkcep.session.machine.java import offer_bundled_java
from sparkcep.session.machine.local import local_session
from sparkcep.version import __version__

# There is also a package `sql`: loaded now, it does not take the function's place when it is needed.
importlib.import_module("sparkcep.sql")
from sparkcep.session.hook import sql  # noqa: E402

if TYPE_CHECKING:
    from sparkcep.data.read_log import read_log
    from sparkcep.data.xes_table import read_xes
    from sparkcep.errors import LimitError, PatternAnalysisError, PatternIndexError, PatternParseError, SparkCepError
    from sparkcep.pictures.explorer import explore
    from sparkcep.session.expansion import expand_collapsed
    from sparkcep.session.functions.own_aggregates import register_aggregate
    from sparkcep.session.streams.current_rules import follow_rules

#: What needs pyspark or the planner, by its module; `sparkcep --help` and the like do without.
_LATE = {
    "LimitError": "sparkcep.errors",
    "PatternAnalysisError": "sparkcep.errors",
    "PatternIndexError": "sparkcep.errors",
    "PatternParseError": "sparkcep.errors",
    "SparkCepError": "sparkcep.errors",
    "explore": "sparkcep.pictures.explorer",
    "expand_collapsed": "sparkcep.session.expansion",
    "follow_rules": "sparkcep.session.streams.current_rules",
    "read_log": "sparkcep.data.read_log",
    "read_xes": "sparkcep.data.xes_table",
    "register_aggregate": "sparkcep.session.functions.own_aggregates",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(_LATE[name]), name)
        return value


def load_ipython_extension(shell: object) -> None:
    """``%load_ext sparkcep``: enable pattern queries in ``spark.sql`` and add the cell magic ``%%cep``."""
    from sparkcep.cli.notebook import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """``%unload_ext sparkcep``: undo ``%load_ext sparkcep``."""
    from sparkcep.cli.notebook import unload

    unload(shell)


__all__ = [
    "LimitError",
    "PatternAnalysisError",
    "PatternIndexError",
    "PatternParseError",
    "SparkCepError",
    "__version__",
    "disable",
    "enable",
    "enabled",
    "expand_collapsed",
    "explain",
    "explore",
    "follow_rules",
    "local_session",
    "read_log",
    "read_xes",
    "register_aggregate",
    "sql",
]

offer_bundled_java()
