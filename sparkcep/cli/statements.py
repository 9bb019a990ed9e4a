"""`sparkcep sql`, `explain` and `compile`: commands that are given statements."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sparkcep.cli.options import Command, Connection, Data, session_of, with_connection, with_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("table", "json", "csv", "markdown")
#: What the statements of a command are kept by, so that errors of Spark's can be shown in them.
TEXT = "sparkcep.text"


def with_statements(command: Command) -> Command:
    """TEXT, -e and -f as ``statements``: the list of them, at least one."""

    @click.argument("text", required=False)
    @click.option("-e", "--execute", metavar="TEXT", help="Statements, separated by ; (as TEXT).")
    @click.option("-f", "--file", metavar="FILE", help="File of statements; - for standard input.")
    @functools.wraps(command)
    def run(text: str | None, execute: str | None, file: str | None, **given: Any) -> Any:
        return command(statements=_statements(text, execute, file), **given)

    return run  # type: ignore[return-value]


def _statements(text: str | None, execute: str | None, file: str | None) -> list[str]:
    """The statements that a command is given.

    Raises:
        click.UsageError: not one of TEXT, -e and -f.
        SparkCepError: their file cannot be read (CEP_FILE), or there is none (CEP_ARGUMENTS).
    """
    given = [v for v in (text, execute, file) if v is not None]
    if len(given) != 1:
        raise click.UsageError("one of TEXT, -e TEXT and -f FILE is expected, with SQL statements")
    found = given[0] if file is None else _read(file)
    click.get_current_context().find_root().meta[TEXT] = found
    from sparkcep.sql.script import split_statements

    statements = split_statements(found)
    if not statements:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_ARGUMENTS", "There is no statement in the text.")
    return statements


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_FILE", f"{file} cannot be read: {error.strerror}.") from None


def run_statements(
    spark: SparkSession, text: str, form: str, output: str | None = None, has_file: bool = False
) -> None:
    """Run all statements; print the results of those that have columns, or write the last one's to a file.

    Args:
        text: statements, separated by semicolons. form: of FORMATS.
        has_file: the log is a file of the command line, so that its event types are looked at first.
    """
    from sparkcep.cli.printing import PRINT, plan_text
    from sparkcep.cli.written import write
    from sparkcep.progress import activity
    from sparkcep.session.inspection.statements import is_query, no_rows_notes, unknown_constant_notes
    from sparkcep.sql.script import split_statements

    printed = False
    statements = split_statements(text)
    for n, statement in enumerate(statements):
        known: list[str] = []
        with activity("Planning"):
            frame = spark.sql(statement)
            if has_file and is_query(statement):
                known = unknown_constant_notes(spark, statement)
        for note in known:
            click.echo(f"Warning: {note}", err=True)
        if not frame.columns:
            continue
        if output is not None and n < len(statements) - 1:
            continue
        if output is not None:
            with activity(f"Running the query into {output}"):
                rows = write(frame, output)
            click.echo(f"{rows:,} row{'s' * (rows != 1)} in {output}", err=True)
        else:
            if printed:
                click.echo()
            plan = plan_text(statement, frame) if form == "table" else None
            if plan is not None:
                click.echo(plan)
            rows = 1 if plan is not None else PRINT[form](frame)
            printed = True
        if not rows and is_query(statement):
            with activity("Looking for the reason why there are no rows"):
                notes = no_rows_notes(spark, statement)
            for note in notes:
                if note not in known:
                    click.echo(f"Note: {note}", err=True)


@click.command("sql")
@with_statements
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", help="Format of printed results.")
@click.option("-o", "--output", metavar="FILE", help="Write the last result: .parquet, .csv, .json or .jsonl (lines).")
@with_connection
@with_data
def sql_command(statements: list[str], form: str, output: str | None, connection: Connection, data: Data) -> None:
    """Run statements that may hold pattern queries, and print their results.

    \b
    sparkcep sql --csv log.csv "FROM log PATTERN SEQ(Register a, NOT Decide d, Pay p)"
    """
    from sparkcep.session.machine.interrupts import interruptible

    if output is not None:
        from sparkcep.cli.written import check_output

        check_output(output)
    spark = session_of(connection, data, ";\n".join(statements))
    with interruptible(spark):
        run_statements(spark, ";\n".join(statements), form, output, bool(data.files()))


def _before(spark: SparkSession, statements: list[str]) -> str:
    """Run all statements but the last, which is returned."""
    for statement in statements[:-1]:
        spark.sql(statement).collect()
    return statements[-1]


@click.command("explain")
@with_statements
@click.option("--analyze", is_flag=True, help="Run the statement, and print what happened.")
@click.option("--html", metavar="FILE", help="Write a page with the pattern drawn, instead of printing.")
@with_connection
@with_data
def explain_command(statements: list[str], analyze: bool, html: str | None, connection: Connection, data: Data) -> None:
    """Print the plan of the last statement, and run those before it."""
    from sparkcep.progress import activity
    from sparkcep.session.inspection.statements import explained
    from sparkcep.session.machine.interrupts import interruptible

    spark = session_of(connection, data, ";\n".join(statements))
    with interruptible(spark):
        with activity("Running" if analyze else "Planning"):
            last = _before(spark, statements)
            plan, run = explained(spark, last, analyze=analyze)
        if html is None:
            click.echo(plan)
            return
        from sparkcep.pictures.explained import explained_page

        with activity("Drawing"):
            page = explained_page(last, plan, run, analyze)
    try:
        Path(html).write_text(page, encoding="utf-8")
    except OSError as error:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_FILE", f"{html} cannot be written: {error.strerror}.") from None


@click.command("compile")
@with_statements
@with_connection
@with_data
def compile_command(statements: list[str], connection: Connection, data: Data) -> None:
    """Print the last statement as plain Spark SQL, and run those before it."""
    from sparkcep.session.machine.interrupts import interruptible
    from sparkcep.session.transpile import compiled

    spark = session_of(connection, data)
    with interruptible(spark):
        click.echo(compiled(spark, _before(spark, statements)) + ";")


COMMANDS: tuple[click.Command, ...] = (sql_command, explain_command, compile_command)
