"""``sparkcep table``: pattern tables from the command line, by the statements of the same names."""

from __future__ import annotations

import functools
from typing import Any

import click

from sparkcep.cli.options import Command, Connection, Data, session_at, with_connection, with_data
from sparkcep.cli.statements import FORMATS, TEXT, run_statements, with_statements


def _with_tables(command: Command) -> Command:
    """Run the statements that a command gives, where the tables of ``--path`` are."""

    @click.option("--path", help="Directory or URI of the pattern tables' parent (spark.sparkcep.index.path).")
    @click.option("--format", "form", type=click.Choice(FORMATS), default="table", help="Format of printed results.")
    @with_connection
    @with_data
    @functools.wraps(command)
    def run(path: str | None, form: str, connection: Connection, data: Data, **given: Any) -> None:
        text = "\n;\n".join(command(**given))  # behind a comment too
        click.get_current_context().find_root().meta[TEXT] = text
        with session_at(path, connection, data, text) as spark:
            run_statements(spark, text, form)

    return run  # type: ignore[return-value]


@click.group("table")
def table_group() -> None:
    """Make, refresh and read pattern tables: matches that are kept while the log grows."""


@table_group.command("create")
@click.argument("table", metavar="NAME")
@with_statements
@click.option("--or-refresh", "existing", flag_value="OR REFRESH ", default="", help="Refresh it if it is there.")
@click.option("--or-replace", "existing", flag_value="OR REPLACE ", help="Make it anew if it is there.")
@click.option("--comment", metavar="TEXT", help="What the table is for.")
@_with_tables
def create(table: str, statements: list[str], existing: str, comment: str | None) -> list[str]:
    """Make a pattern table of the last statement, which is its query, and run those before it.

    \b
    sparkcep table create late --parquet orders=orders/ "FROM orders PATTERN SEQ(Register a, Pay p)"
    """
    from sparkcep.query import string_literal

    *before, query = statements
    about = "" if comment is None else f"COMMENT {string_literal(comment)} "
    return [*before, f"CREATE {existing}PATTERN TABLE {table} {about}AS {query}"]


@table_group.command("refresh")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--full", is_flag=True, help="Match everything again.")
@_with_tables
def refresh(names: tuple[str, ...], full: bool) -> list[str]:
    """Bring pattern tables up to date with their logs, and print what has changed."""
    return [f"REFRESH PATTERN TABLE {name}{' FULL' * full}" for name in names]


@table_group.command("show")
@_with_tables
def show() -> list[str]:
    """List the pattern tables."""
    return ["SHOW PATTERN TABLES"]


@table_group.command("describe")
@click.argument("table", metavar="NAME")
@click.option("--extended", is_flag=True, help="With its files and settings.")
@_with_tables
def describe(table: str, extended: bool) -> list[str]:
    """Describe a pattern table."""
    return [f"DESCRIBE PATTERN TABLE {'EXTENDED ' * extended}{table}"]


@table_group.command("changes")
@click.argument("table", metavar="NAME")
@click.option("--from", "first", type=int, help="First version (default: all that is kept).")
@click.option("--to", "last", type=int, help="Last version (default: the newest).")
@_with_tables
def changes(table: str, first: int | None, last: int | None) -> list[str]:
    """Print the rows that refreshes have inserted and withdrawn."""
    from sparkcep.query import string_literal

    versions = "".join(f", {p} => {v}" for p, v in (("from", first), ("to", last)) if v is not None)
    return [f"SELECT * FROM pattern_table_changes({string_literal(table)}{versions}) ORDER BY version, change DESC"]


@table_group.command("optimize")
@click.argument("table", metavar="NAME")
@_with_tables
def optimize(table: str) -> list[str]:
    """Put the small files of a pattern table together."""
    return [f"OPTIMIZE PATTERN TABLE {table}"]


@table_group.command("vacuum")
@click.argument("table", metavar="NAME")
@click.option("--retain-hours", type=int, default=168, help="Keep versions of these hours (default 168).")
@_with_tables
def vacuum(table: str, retain_hours: int) -> list[str]:
    """Delete files that no version needs any more."""
    return [f"VACUUM PATTERN TABLE {table} RETAIN {retain_hours} HOURS"]


@table_group.command("drop")
@click.argument("table", metavar="NAME")
@click.option("--if-exists", is_flag=True)
@_with_tables
def drop(table: str, if_exists: bool) -> list[str]:
    """Delete a pattern table."""
    return [f"DROP PATTERN TABLE {'IF EXISTS ' * if_exists}{table}"]
