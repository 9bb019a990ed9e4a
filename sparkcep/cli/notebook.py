"""``%load_ext sparkcep``: pattern queries in notebooks, and the cell magic ``%%cep``."""

from __future__ import annotations

import argparse
import html
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.cli.printing import plan_text, texts
from sparkcep.errors import SparkCepError, error_behind
from sparkcep.pictures.picture import Picture
from sparkcep.progress import activity
from sparkcep.session import hook
from sparkcep.session.inspection.statements import explained, notes_of_result
from sparkcep.session.machine.interrupts import Interrupted, interruptible
from sparkcep.sql.script import split_statements

ROWS = 20
#: Types whose values stand to the right.
NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"})
_USAGE = """%%cep [--explain] [--limit n] [--view v] [name]

Run the cell's statements and show the rows of the last one.

    --explain    draw its pattern and show its plan instead
    --limit n    show n rows (20)
    --view v     make a temporary view of its result
    name         keep the result's DataFrame in this variable
"""


class Table:
    """The first rows of a result, as a notebook shows them. ``frame`` is the whole result.

    Args:
        frame: the result.
        limit: how many rows to show.
        notes: gives sentences about the result; its argument says whether there are rows.
    """

    def __init__(
        self, frame: DataFrame, limit: int = ROWS, notes: Callable[[bool], Sequence[str]] = lambda has_rows: ()
    ) -> None:
        self.frame = frame
        self.kinds = [kind.partition("(")[0] for _, kind in frame.dtypes]
        self.names, rows = texts(frame.limit(limit + 1), to_read=True)
        self.rows, self.more = rows[:limit], len(rows) > limit
        self.notes = tuple(notes(bool(rows)))

    @property
    def note(self) -> str:
        """How many rows are shown, whether there are more, and the notes."""
        count = len(self.rows)
        said = f"the first {count} rows" if self.more else f"{count} row{'' if count == 1 else 's'}"
        return "; ".join([said, *self.notes])

    def _repr_html_(self) -> str:
        def cell(value: str | None, side: str) -> str:
            return f'<td style="text-align: {side}">{"<i>NULL</i>" if value is None else html.escape(value)}</td>'

        sides = ["right" if kind in NUMBERS else "left" for kind in self.kinds]
        head = "".join(
            f'<th style="text-align: {s}">{html.escape(n)}</th>' for s, n in zip(sides, self.names, strict=True)
        )
        body = "".join(f"<tr>{''.join(map(cell, row, sides))}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{html.escape(self.note)}</p>"

    def __repr__(self) -> str:
        lines = [" | ".join(self.names), *(" | ".join("NULL" if v is None else v for v in row) for row in self.rows)]
        return "\n".join([*lines, f"({self.note})"])


class Plan:
    """The text of EXPLAIN, and the pattern's picture (None: no picture was requested, or there is no pattern)."""

    def __init__(self, text: str, picture: Picture | None = None) -> None:
        self.text = text
        self.picture = picture

    def _repr_html_(self) -> str:
        return f'<pre style="font-family: monospace; white-space: pre; overflow-x: auto">{html.escape(self.text)}</pre>'

    def __repr__(self) -> str:
        return self.text


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise SparkCepError("CEP_ARGUMENTS", f"%%cep: {message}.", hint="%%cep? shows what it takes")


def _parser() -> _Parser:
    parser = _Parser(prog="%%cep", add_help=False)
    parser.add_argument("--explain", action="store_true")
    parser.add_argument("--limit", type=int, default=ROWS)
    parser.add_argument("--view")
    parser.add_argument("name", nargs="?")
    return parser


def session_of(namespace: dict[str, Any]) -> SparkSession:
    """The notebook's session: its variable ``spark``, else the active one, else a new one on this machine."""
    named = namespace.get("spark")
    if named is not None and hasattr(named, "sql"):
        return named  # type: ignore[no-any-return]
    active = SparkSession.getActiveSession()
    if active is None:
        from sparkcep.session.machine.local import local_session

        active = namespace["spark"] = local_session()
    return active


def run_cell(line: str, cell: str, namespace: dict[str, Any]) -> Table | Plan | None:
    """Run a ``%%cep`` cell, and return what the notebook shows; None if the last statement has no columns.

    Args:
        line: the arguments of ``%%cep``.
        cell: statements, separated by semicolons.
        namespace: the notebook's variables.

    Raises:
        SparkCepError: CEP_ARGUMENTS, and the statements' own errors.
        Interrupted: the cell was interrupted, and its Spark jobs are cancelled.
    """
    options = _parser().parse_args(shlex.split(line))
    if options.limit < 0:
        raise SparkCepError("CEP_ARGUMENTS", "%%cep: --limit must not be negative.")
    if options.name is not None and not options.name.isidentifier():
        raise SparkCepError("CEP_ARGUMENTS", f"%%cep: {options.name} is not a valid variable name.")
    spark = session_of(namespace)
    with interruptible(spark):
        return _run_statements(spark, cell, options, namespace)


def _run_statements(
    spark: SparkSession, cell: str, options: argparse.Namespace, namespace: dict[str, Any]
) -> Table | Plan | None:
    *before, last = split_statements(cell) or [""]
    if not last:
        raise SparkCepError("CEP_ARGUMENTS", "%%cep: the cell holds no statement.")
    for statement in before:
        with activity("Running the first statements"):
            hook.sql(spark, statement)
    if options.explain:
        from sparkcep.pictures.graph import pattern_picture

        with activity("Planning"):
            text, run = explained(spark, last)
        return Plan(text, pattern_picture(run.relations) if run is not None and run.relations else None)
    with activity("Planning"):
        frame = hook.sql(spark, last)
    if options.view:
        frame.createOrReplaceTempView(options.view)
    if options.name:
        namespace[options.name] = frame
    if not frame.columns:
        return None
    if (plan := plan_text(last, frame)) is not None:
        return Plan(plan)
    return Table(frame, options.limit, lambda has_rows: notes_of_result(spark, last, has_rows) if options.limit else ())


def load(shell: Any) -> None:
    """Enable pattern queries and register ``%%cep`` with an IPython shell."""
    from IPython.display import display

    hook.enable()

    failed: list[tuple[BaseException, str]] = []  # the last cell of statements that failed

    def cep(line: str, cell: str) -> None:
        try:
            shown = run_cell(line, cell, shell.user_ns)
        except BaseException as error:
            failed[:] = [(error, cell)]
            raise
        if isinstance(shown, Plan) and shown.picture is not None:
            display(shown.picture)
        if shown is not None:
            display(shown)

    cep.__doc__ = _USAGE
    shell.register_magic_function(cep, magic_kind="cell", magic_name="cep")

    def tell(shell: Any, kind: type, error: BaseException, trace: Any, tb_offset: Any = None) -> None:
        cell = next((text for found, text in failed if found is error), "")
        is_query = isinstance(error, (AnalysisException, Interrupted))  # also Spark's ParseException
        if not cell and not is_query and error_behind(error) is None:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
            return
        from sparkcep.session.messages.printed import short_message

        print("Interrupted." if isinstance(error, Interrupted) else short_message(error, cell))

    # A wrong query is no reason for a page of Python's stack. What is found while rows are matched is Spark's to raise.
    shell.set_custom_exc((PySparkException, Interrupted), tell)


def unload(shell: Any) -> None:
    """Undo :func:`load`."""
    hook.disable()
    shell.magics_manager.magics["cell"].pop("cep", None)
    shell.set_custom_exc((), None)
