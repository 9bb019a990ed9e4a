"""Pattern queries inside ``spark.sql``: the patched method, and the same without patching anything."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sparkcep import progress
from sparkcep.session.originals import FUNCTIONS, ORIGINALS, plain_sql

# `import sparkcep` loads this module: whatever takes time to load waits for the first statement.
if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkcep.session.analyzer import Arguments, SqlMethod

_lock = threading.RLock()


def _session_classes(*, classic_alone: bool) -> list[type]:
    """The classic class and, where its packages are installed, the unrelated Spark Connect class.

    Args:
        classic_alone: leave out Connect's, whose packages take as long to load as all of PySpark, if PySpark has both.
    """
    from pyspark.errors import PySparkException

    from sparkcep.spark.releases import is_client_alone

    with _no_exit():
        from pyspark.sql import SparkSession
    classes: list[type] = [SparkSession]
    if classic_alone and not is_client_alone() and _CONNECT_SESSION not in sys.modules:
        return classes
    # Where Spark is a Connect client alone, there is nothing to do without it.
    lacking = () if is_client_alone() else (ImportError, PySparkException)
    with contextlib.suppress(*lacking), _no_exit():
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        classes.append(ConnectSession)
    return classes


_CONNECT_SESSION = "pyspark.sql.connect.session"
#: Modules that PySpark's Connect client needs, and the packages that bring them.
_CONNECT = {
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}


@contextlib.contextmanager
def _no_exit() -> Iterator[None]:
    """PySpark ends the process, with 0, where its Connect client lacks a package and the program is not a file
    (`python -c`): it takes itself for its own doctests.

    Raises:
        ImportError: instead, with the packages.
    """
    import io
    from importlib.util import find_spec

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            yield
    except SystemExit:

        def is_missing(name: str) -> bool:
            try:
                return find_spec(name) is None
            except ImportError:  # its parent is not there
                return True

        missing = [package for name, package in _CONNECT.items() if is_missing(name)]
        lacks = f"lacks {', '.join(missing)}: pip install {' '.join(missing)}" if missing else said.getvalue().strip()
        raise ImportError(f"PySpark's Spark Connect client {lacks}") from None
    sys.stderr.write(said.getvalue())


def enable() -> None:
    """Make ``spark.sql`` accept pattern queries in every session, classic and Connect. Idempotent.

    Raises:
        SparkCepError: PySpark is older than 3.5 (CEP_SPARK_RELEASE).
        ImportError: PySpark is a Spark Connect client only and lacks a package that the client needs.
    """
    enable_sessions(classic_alone=False)


def enable_sessions(*, classic_alone: bool) -> None:
    """As :func:`enable`; see :func:`_session_classes`."""
    from sparkcep.spark.releases import check_release

    check_release()
    with _lock:
        for cls in _session_classes(classic_alone=classic_alone):
            if cls not in ORIGINALS:
                original = cls.__dict__["sql"]
                ORIGINALS[cls] = original
                cls.sql = _wrapper(original)  # type: ignore[attr-defined]
    progress.show_if_seen()


def disable() -> None:
    """Undo :func:`enable`."""
    with _lock:
        for cls, original in ORIGINALS.items():
            cls.sql = original  # type: ignore[attr-defined]
        ORIGINALS.clear()
        progress.hide()
        if "sparkcep.spark.error_notes" in sys.modules:
            sys.modules["sparkcep.spark.error_notes"].uninstall()


@contextlib.contextmanager
def enabled() -> Iterator[None]:
    """Enable pattern queries in ``spark.sql`` for a ``with`` block. If they were enabled before, they stay enabled.

    Raises:
        SparkCepError: as :func:`enable`.
        ImportError: as :func:`enable`.
    """
    before = set(ORIGINALS)
    enable()
    try:
        yield
    finally:
        if not before:
            disable()


def _wrapper(original: SqlMethod) -> SqlMethod:
    @functools.wraps(original)
    def sql(self: SparkSession, sqlQuery: str, args: Arguments = None, **kwargs: Any) -> DataFrame:
        if not isinstance(sqlQuery, str):
            return original(self, sqlQuery, args, **kwargs)
        from pyspark.errors import ParseException

        from sparkcep.session.tables.naming import with_tables
        from sparkcep.sql.index_statements import read_index_statement
        from sparkcep.sql.statement import mentions_pattern
        from sparkcep.sql.table_statements import read_table_statement
        from sparkcep.sql.text_tests import in_plain_sql

        if statement := read_index_statement(sqlQuery):
            from sparkcep.session.indexes.commands import run_index_statement

            return run_index_statement(self, sqlQuery, statement)
        plain = functools.partial(original, self)
        if command := read_table_statement(sqlQuery):
            from sparkcep.session.tables.commands import run_table_statement

            return run_table_statement(self, plain, sqlQuery, command, has_arguments=bool(args or kwargs))
        if not mentions_pattern(sqlQuery):
            try:
                read = in_plain_sql(sqlQuery, formatted=bool(kwargs))
                frame = with_tables(self, read, lambda text: plain(text, args, **kwargs))
            except ParseException as error:
                if not re.search(r"(?i)\b(seq|permute)\s*\(", sqlQuery):
                    raise
                from sparkcep.session.statement import said_of_parsing

                raise said_of_parsing(sqlQuery, error) from None
        else:
            from sparkcep.session.statement import run_statement

            frame, _ = with_tables(self, sqlQuery, lambda text: run_statement(self, plain, text, args, kwargs))
        if FUNCTIONS:
            from sparkcep.session.functions.pattern_functions import refuse_streams

            refuse_streams(frame, sqlQuery, lambda text: plain(text, args, **kwargs))
        return frame

    return sql


def sql(spark: SparkSession, sqlQuery: str, args: Arguments = None, **kwargs: Any) -> DataFrame:
    """Run a statement that may contain pattern queries, as ``spark.sql`` does after :func:`enable`.

    Args:
        spark: a classic or Spark Connect session.
        sqlQuery: the statement.
        args: named (dict) or positional (list) parameters, as for ``spark.sql``.
        kwargs: values for ``{name}`` in the text, as for ``spark.sql``.

    Raises:
        SparkCepError: a pattern query cannot be read, bound or planned.
        pyspark.errors.PySparkException: Spark's own errors, unchanged.
    """
    return _wrapper_of(spark)(spark, sqlQuery, args, **kwargs)


def _wrapper_of(spark: SparkSession) -> SqlMethod:
    plain = plain_sql(spark)
    return _wrapper(lambda _, text, args=None, **kwargs: plain(text, args, **kwargs))


def explain(spark: SparkSession, sqlQuery: str, args: Arguments = None, **kwargs: Any) -> str:
    """The pattern plans of a query, followed by Spark's plan, as text. Arguments and errors are those of :func:`sql`.

    It does not run the query, but planning may sample a large input.
    """
    from sparkcep.session.inspection.statements import explained

    return explained(spark, sqlQuery, args, kwargs)[0]
