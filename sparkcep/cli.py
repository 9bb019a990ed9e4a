"""Command line: ``sparkcep demo | sql | shell | explain | compile | dbt | index | warmup | doctor``."""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkcep.errors import SparkCepError, error_behind
from sparkcep.index_cli import add_parser as add_index_parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("table", "json", "csv", "markdown")


def split_statements(text: str) -> list[str]:
    """Statements between top-level semicolons; strings and comments are respected."""
    from sparkcep.sql.dialect import tokenize

    tokens = tokenize(text)
    if tokens and tokens[0].upper == "BEGIN":  # a SQL script is one statement
        return [text]
    out: list[str] = []
    start = 0
    for token in tokens:
        if token.kind == "op" and token.upper == ";":
            out.append(text[start : token.start])
            start = token.end
    out.append(text[start:])
    return [s.strip() for s in out if tokenize(s)]


def texts(frame: DataFrame) -> tuple[list[str], list[list[str | None]]]:
    """Column names and rows, values as Spark casts them to STRING."""
    names = list(frame.columns)
    plain = frame.toDF(*(f"c{i}" for i in range(len(names))))
    rows = plain.selectExpr(*(f"CAST(c{i} AS STRING) AS c{i}" for i in range(len(names)))).collect()
    return names, [list(r) for r in rows]


def boxed(names: list[str], rows: list[list[str | None]]) -> str:
    """Rows as a table of characters."""
    shown = [names, *([("NULL" if v is None else v) for v in r] for r in rows)]
    widths = [max(len(r[i]) for r in shown) for i in range(len(names))]
    line = "+" + "+".join("-" * (w + 2) for w in widths) + "+"
    head, *body = ("|" + "|".join(f" {v:<{w}} " for v, w in zip(r, widths, strict=True)) + "|" for r in shown)
    return "\n".join([line, head, line, *body, *([line] if rows else [])])


def print_table(frame: DataFrame) -> None:
    names, rows = texts(frame)
    print(boxed(names, rows))
    print(f"({len(rows)} row{'' if len(rows) == 1 else 's'})")


def print_markdown(frame: DataFrame) -> None:
    names, rows = texts(frame)

    def line(values: Sequence[str | None]) -> str:
        cells = ("NULL" if v is None else v.replace("|", "\\|").replace("\n", " ") for v in values)
        return "| " + " | ".join(cells) + " |"

    print(line(names))
    print("|" + " --- |" * len(names))
    for row in rows:
        print(line(row))


def print_csv(frame: DataFrame) -> None:
    names, rows = texts(frame)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if v is None else v for v in r] for r in rows])


def print_json(frame: DataFrame) -> None:
    """One array of objects, values as Spark's to_json writes them."""
    rows = frame.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) AS j").collect()
    print("[" + ",\n ".join(r[0] for r in rows) + "]")


_PRINT = {"table": print_table, "json": print_json, "csv": print_csv, "markdown": print_markdown}


def run_statements(spark: SparkSession, text: str, form: str) -> None:
    """Run all statements; print the results of those that have columns."""
    printed = False
    for statement in split_statements(text):
        frame = spark.sql(statement)
        if frame.columns:
            if printed:
                print()
            _PRINT[form](frame)
            printed = True


def _text(arguments: argparse.Namespace) -> str:
    if arguments.execute is not None:
        return str(arguments.execute)
    if str(arguments.file) == "-":
        return sys.stdin.read()
    try:
        return Path(arguments.file).read_text()
    except OSError as error:
        raise SparkCepError("CEP_FILE", f"{arguments.file} cannot be read: {error.strerror}.") from None


def _session(arguments: argparse.Namespace) -> SparkSession:
    from sparkcep.local import local_session

    conf = {}
    for item in arguments.conf:
        key, equals, value = item.partition("=")
        if not equals:
            raise SparkCepError("CEP_ARGUMENTS", f"--conf {item}: KEY=VALUE is expected.")
        conf[key] = value
    spark = local_session(arguments.master, arguments.remote, conf)
    if arguments.flights:
        from sparkcep.flights import create_flights_view

        create_flights_view(spark)
    if arguments.stocks:
        from sparkcep.stocks import create_stocks_view

        create_stocks_view(spark)
    return spark


def command_sql(arguments: argparse.Namespace) -> None:
    text = _text(arguments)
    run_statements(_session(arguments), text, arguments.format)


def command_explain(arguments: argparse.Namespace) -> None:
    from sparkcep.session import explained

    text = _text(arguments)
    spark = _session(arguments)
    *before, last = split_statements(text)
    for statement in before:
        spark.sql(statement).collect()
    plan, run = explained(spark, last, analyze=arguments.analyze)
    if arguments.html is None:
        print(plan)
        return
    from sparkcep.pictures.explained import explained_page

    page = explained_page(last, plan, run, arguments.analyze)
    try:
        Path(arguments.html).write_text(page, encoding="utf-8")
    except OSError as error:
        raise SparkCepError("CEP_FILE", f"{arguments.html} cannot be written: {error.strerror}.") from None


def command_shell(arguments: argparse.Namespace) -> None:
    """Statements typed one after the other."""
    from sparkcep.shell import HELP, Shell
    from sparkcep.shell_input import run_shell

    spark = _session(arguments)
    if sys.stdin.isatty():
        print(HELP)
    run_shell(Shell(spark))


def command_compile(arguments: argparse.Namespace) -> None:
    """Print the last statement as SQL for Spark alone; the others are run."""
    from sparkcep.compiled import compiled

    text = _text(arguments)
    spark = _session(arguments)
    *before, last = split_statements(text)
    for statement in before:
        spark.sql(statement).collect()
    print(compiled(spark, last) + ";")


def command_dbt(arguments: argparse.Namespace) -> int:
    """Run dbt in this process, where pattern queries are enabled before it starts."""
    from sparkcep.local import prepare_process

    try:
        from dbt.cli.main import dbtRunner
    except ImportError:
        raise SparkCepError("CEP_DBT_MISSING", "dbt is not installed.", hint="pip install 'sparkcep[dbt]'") from None
    prepare_process()
    return 0 if dbtRunner().invoke(arguments.arguments).success else 1


def command_demo(_: argparse.Namespace) -> None:
    from sparkcep.demo import run_demo

    run_demo()


def command_doctor(arguments: argparse.Namespace) -> int:
    """Say what this machine lacks; the exit code is 1 where pattern queries cannot run."""
    from sparkcep.doctor import findings

    fatal = False
    for found in findings(not arguments.no_query):
        print(found.line(), flush=True)
        fatal |= found.fatal
    return int(fatal)


def command_warmup(_: argparse.Namespace) -> None:
    """Compile the kernels into Numba's cache."""
    from sparkcep.warm import warm_up

    started = time.perf_counter()
    compiled = warm_up(os.cpu_count() or 1)
    seconds = time.perf_counter() - started
    print(f"Compiled {compiled} kernels in {seconds:.1f} s." if compiled else "All kernels were compiled before.")


def _steps(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("-e", "--execute", metavar="TEXT", help="statements, separated by ;")
    group.add_argument("-f", "--file", metavar="FILE", help="file of statements; - for standard input")
    _session_options(parser)


def _session_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--master", help="Spark master (default local[*])")
    parser.add_argument("--remote", help="Spark Connect address, sc://host:port, instead of a master")
    parser.add_argument("--conf", metavar="KEY=VALUE", action="append", default=[], help="Spark configuration")
    parser.add_argument("--flights", action="store_true", help="create the view `flights` of the examples first")
    parser.add_argument("--stocks", action="store_true", help="create the view `stocks` of the examples first")


def parser() -> argparse.ArgumentParser:
    from sparkcep import __version__

    out = argparse.ArgumentParser(prog="sparkcep", description="Pattern queries as part of Spark SQL.")
    out.add_argument("--version", action="version", version=f"sparkcep {__version__}")
    commands = out.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="find delays that grow leg by leg in 336,776 real flights")
    demo.set_defaults(run=command_demo)
    warmup = commands.add_parser("warmup", help="compile the matching kernels ahead, once per machine and version")
    warmup.set_defaults(run=command_warmup)
    doctor = commands.add_parser("doctor", help="say what this machine lacks for pattern queries, and how to fix it")
    doctor.add_argument("--no-query", action="store_true", help="do not run one pattern query at the end")
    doctor.set_defaults(run=command_doctor)
    sql = commands.add_parser("sql", help="run statements that may hold pattern queries")
    _steps(sql)
    sql.add_argument("--format", choices=FORMATS, default="table", help="how results are printed (default table)")
    sql.set_defaults(run=command_sql)
    explain = commands.add_parser("explain", help="print the plan of the last statement; the others are run")
    _steps(explain)
    explain.add_argument("--analyze", action="store_true", help="run it, and tell what it met")
    explain.add_argument("--html", metavar="FILE", help="write a page with the pattern drawn, instead of printing")
    explain.set_defaults(run=command_explain)
    shell = commands.add_parser("shell", help="type statements and see their results")
    _session_options(shell)
    shell.set_defaults(run=command_shell)
    compile_ = commands.add_parser(
        "compile", help="print the last statement as SQL for Spark alone; the others are run"
    )
    _steps(compile_)
    compile_.set_defaults(run=command_compile)
    dbt = commands.add_parser("dbt", help="run dbt with pattern queries enabled", add_help=False)
    dbt.add_argument("arguments", nargs=argparse.REMAINDER, help="as for dbt: build, run --select model, ...")
    dbt.set_defaults(run=command_dbt)
    add_index_parser(commands, _session)
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. Errors are one message on standard error, without a traceback."""
    arguments = parser().parse_args(argv)
    from pyspark.errors import PySparkException

    try:
        code = arguments.run(arguments)
    except PySparkException as error:
        print(short_message(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code or 0


def short_message(error: BaseException) -> str:
    """Spark's message without the JVM's stack; what sparkcep says while rows are matched without Spark's class."""
    text = str(error_behind(error) or error)
    lines = [line for line in text.split("\n") if not line.startswith(("\tat ", "  at "))]
    return "\n".join(lines).split("\n\nJVM stacktrace")[0].strip()


class Timer:
    """Prints what is being done and, behind it, how long it took."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> Timer:
        print(f"{self.label} ...", end=" ", flush=True)
        self.start = time.perf_counter()
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            print(f"{time.perf_counter() - self.start:.1f} s", flush=True)
        else:
            print()
