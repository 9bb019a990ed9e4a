"""``sparkcep rules check``: the rules of a folder read and bound without Spark, for the CI of those who write them;
``sparkcep rules test``, ``profile`` and ``import``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparkcep.cli.options import NO_DATA, Connection, Data, session_at, with_connection, with_data

if TYPE_CHECKING:
    from sparkcep.errors import SparkCepError
    from sparkcep.importers.folder import Source
    from sparkcep.sql.rule_sets.rule import Rule

#: A column as CREATE TABLE has it: a name, and its type if that is said.
_COLUMN = re.compile(r"\s*(`[^`]+`|[^\W\d]\w*)(?:\s*:?\s*(.+?))?\s*", re.DOTALL)
_COLUMN_NAME = re.compile(r"`[^`]+`|[^\W\d]\w*")
#: The names of a log's roles where nothing is said of its columns: rules are parsed, not bound.
_ANY = "time"


@click.group("rules")
def rules_group() -> None:
    """Check, test, profile and import folders of rules."""


@rules_group.command("check")
@click.argument("folder", type=Path)
@click.option(
    "--columns", metavar="COLUMNS", help='Of the log: "user, time, action", or with types: "user STRING, ...".'
)
@click.option("--event-type", metavar="EXPRESSION", help="What types in PATTERN are values of.")
def check_command(folder: Path, columns: str | None, event_type: str | None) -> int:
    """Read every rule of a folder, and check it against the log's columns if you give them.

    Its .sql files are rules, also those of folders in it. The exit code is 1 where one is refused.
    """
    of_log = None if columns is None else read_columns(columns)
    rules, found = check(folder, of_log, event_type)
    for rule, error in found:
        print(f"{rule.source}: {error}\n", file=sys.stderr)
    refused = len({rule.source for rule, _ in found})
    good = len(rules) - refused
    how = "parsed (--columns binds them too)" if columns is None else "bound"
    print(f"{len(rules)} {'rule' if len(rules) == 1 else 'rules'} read: {good} {how}, {refused} refused")
    return 1 if found else 0


@rules_group.command("test")
@click.argument("folder", type=Path)
@click.option("--case", metavar="COLUMN", default="", help="What partitions the log; a test's events, without it.")
@click.option("--time", metavar="COLUMN", default="time", show_default=True, help="What orders the log.")
@click.option("--event-type", metavar="EXPRESSION", default="", help="What types in PATTERN are values of.")
@click.option("--columns", metavar="COLUMNS", help='Of the log, with types: "user STRING, time TIMESTAMP, ...".')
@click.option("--junit", metavar="FILE", type=Path, help="Write the result as JUnit's XML.")
@with_connection
def test_command(
    folder: Path, case: str, time: str, event_type: str, columns: str | None, junit: Path | None,
    connection: Connection,
) -> int:  # fmt: skip
    """Run rules over the events of their tests, which stand beside them: NAME.test.json.

    A test has events of the log and the matches that its rule must find in them, no more and no fewer. The exit code
    is 1 where one fails.
    """
    from sparkcep.cli import rule_tests
    from sparkcep.sql.rule_sets.files import folder_rules

    rules = folder_rules(folder)
    tests = rule_tests.read_tests(rules)
    shape = rule_tests.LogShape(case, time, event_type, None if columns is None else read_columns(columns))
    faults: list[str] = []
    if tests:
        with session_at(None, connection, NO_DATA) as spark:
            faults = rule_tests.run_tests(spark, rules, tests, shape)
    for test, wrong in zip(tests, faults, strict=True):
        if wrong:
            print(f"{test.rule}, {test.name}: {wrong}", file=sys.stderr)
    if junit is not None:
        junit.write_bytes(rule_tests.junit(tests, faults))
    failed, without = sum(map(bool, faults)), len(rules) - len({test.rule for test in tests})
    print(
        f"{len(tests)} {'test' if len(tests) == 1 else 'tests'}: {len(tests) - failed} passed, {failed} failed; "
        f"{without} {'rule has' if without == 1 else 'rules have'} no test"
    )
    return 1 if failed else 0


@rules_group.command("profile")
@click.argument("folder", type=Path)
@click.option("--event-type", metavar="EXPRESSION", default="", help="What types in PATTERN are values of.")
@with_connection
@with_data
def profile_command(folder: Path, event_type: str, connection: Connection, data: Data) -> int:
    """Say what each rule of a folder costs over a log: the processor's time, its matches, rows that it looked at.

    The most expensive rule comes first. Rules that run by themselves are not measured, and say why.
    """
    from sparkcep.cli.printing import print_table
    from sparkcep.errors import SparkCepError
    from sparkcep.query import quote, string_literal

    names = [file.name for file in data.files()] + ["flights"] * data.flights + ["stocks"] * data.stocks
    if len(names) != 1:
        raise SparkCepError("CEP_ARGUMENTS", "rules profile needs one log.", hint="--csv FILE, --parquet FILE ...")
    arguments = f"{quote(names[0])}, rules => {string_literal(str(folder))}"
    arguments += f", event_type => {event_type}" if event_type else ""
    items = "rule, looked_at, matches, round(cpu_seconds, 4) AS cpu_seconds, runs_alone"
    statement = f"SELECT {items} FROM pattern_rule_costs({arguments}) ORDER BY 4 DESC NULLS LAST, rule"
    with session_at(None, connection, data, statement) as spark:
        print_table(spark.sql(statement))
    return 0


@rules_group.command("import")
@click.option("--eql", metavar="FOLDER", type=Path, help="Of .eql files, or of Elastic's .toml files.")
@click.option("--sigma", metavar="FOLDER", type=Path, help="Of Sigma's .yml files (pip install 'sparkcep[sigma]').")
@click.option(
    "--pipeline", metavar="FILE", type=Path, help="Sigma: how fields are called in the log, as pySigma has it."
)
@click.option("--into", metavar="FOLDER", type=Path, required=True, help="Gets a .sql file for each rule.")
@click.option("--columns", metavar="COLUMNS", help='Of the log, with types: "time TIMESTAMP, process STRUCT<...>".')
@click.option("--every-start", is_flag=True, help="EQL: a match for each event that can begin it, not the last one.")
def import_command(
    eql: Path | None, sigma: Path | None, pipeline: Path | None, into: Path, columns: str | None, every_start: bool
) -> int:
    """Write detection rules of Elastic's EQL or of Sigma as rules of sparkcep.

    What cannot be said exactly is printed, and stands in the rule's comment. A rule that cannot be said at all is
    printed with the reason. With --columns, fields that the log lacks are found, and lists are known. The exit code
    is 1 where no rule is written.
    """
    from sparkcep.importers.event_schema import EventSchema
    from sparkcep.importers.folder import import_folder

    if eql is not None and sigma is None:
        from sparkcep.importers.eql.files import eql_source

        source = eql_source(eql, every_start=every_start)
    elif sigma is not None and eql is None:
        source = _sigma_source(sigma, pipeline)
    else:
        raise click.UsageError("Say where the rules are: --eql FOLDER or --sigma FOLDER.")
    found = import_folder(source, EventSchema(columns))
    into.mkdir(parents=True, exist_ok=True)
    for outcome in found:
        if outcome.rule is None:
            print(f"{outcome.file}: not imported: {outcome.refused}", file=sys.stderr)
            continue
        (into / f"{outcome.rule.name}.sql").write_text(outcome.rule.text(), encoding="utf-8")
        for warning in outcome.rule.warnings:
            print(f"{outcome.file}: {warning}", file=sys.stderr)
    written = [outcome.rule for outcome in found if outcome.rule is not None]
    warned = sum(bool(rule.warnings) for rule in written)
    print(
        f"{len(found)} rules: {len(written) - warned} imported exactly, {warned} with warnings, "
        f"{len(found) - len(written)} not imported"
    )
    return 0 if written else 1


def _sigma_source(folder: Path, pipeline: Path | None) -> Source:
    from sparkcep.errors import SparkCepError

    try:
        from sparkcep.importers.sigma.files import sigma_source
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("sigma", "yaml"):
            raise
        raise SparkCepError(
            "CEP_SIGMA_MISSING", "pySigma is not installed.", hint="pip install 'sparkcep[sigma]'"
        ) from None
    return sigma_source(folder, pipeline)


def check(
    folder: Path, columns: Sequence[tuple[str, str]] | None, event_type: str | None
) -> tuple[list[Rule], list[tuple[Rule, SparkCepError]]]:
    """The rules of a folder, and what those are refused for that are.

    Args:
        columns: names and Spark types of the log's columns, a type empty where it is not known; None: rules are parsed
            alone. event_type: the column of types, or an expression.

    Raises:
        SparkCepError: CEP_RULES; CEP_UNRESOLVED_COLUMN, the event type is none of the columns.
    """
    from sparkcep import settings
    from sparkcep.errors import SparkCepError, near_hint
    from sparkcep.query import SortKey, quote
    from sparkcep.sql.rule_sets.binder import bind_rule, parse_rule
    from sparkcep.sql.rule_sets.files import folder_rules
    from sparkcep.sql.rule_sets.keys import LogKeys
    from sparkcep.sql.rule_sets.struct_fields import check_fields

    rules = folder_rules(folder)
    found: list[tuple[Rule, SparkCepError]] = []
    names: dict[str, str] = {}
    types = dict(columns or ())
    expression = "" if event_type is None or _COLUMN_NAME.fullmatch(event_type) else event_type
    known = {name.casefold() for name in types}
    if columns and event_type is not None and not expression and event_type.strip("`").casefold() not in known:
        hint = near_hint(event_type, types, f"--columns are {', '.join(types)}")
        raise SparkCepError("CEP_UNRESOLVED_COLUMN", f"The log has no column {event_type}.", hint=hint)
    event = "" if expression else (event_type or "").strip("`")
    own = replace(settings.read(lambda key, default: default), log_event=event)
    # Whatever orders the log: a rule cannot say it.
    time = next(
        (name for name, type_ in types.items() if type_.lower().startswith("timestamp")), next(iter(types), _ANY)
    )
    keys = LogKeys((), (SortKey(quote(time)),), expression, frozenset(known))
    for rule in rules:
        try:
            if rule.name in names:
                raise SparkCepError(
                    "CEP_DUPLICATE_RULE", f"Two rules are called {rule.name}.", hint=f"the other is {names[rule.name]}"
                )
            names[rule.name] = rule.source
            if columns is None:
                parse_rule(rule)
            else:
                bound = bind_rule(
                    rule, tuple(types), keys, own, lambda text: types.get(text.strip("`"), "") or "timestamp"
                )
                check_fields(bound.query, types)
        except SparkCepError as error:
            found.append((rule, error))
    return rules, found


def read_columns(text: str) -> list[tuple[str, str]]:
    """Names and types of columns; a type is empty where there is none.

    Raises:
        SparkCepError: CEP_ARGUMENTS.

    >>> read_columns("user STRING, amount DECIMAL(6, 2), time")
    [('user', 'STRING'), ('amount', 'DECIMAL(6, 2)'), ('time', '')]
    """
    from sparkcep.errors import SparkCepError

    parts, depth, at = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "(<") - (letter in ")>")
        if letter == "," and depth == 0:
            parts.append(text[at:i])
            at = i + 1
    out = []
    for part in [*parts, text[at:]]:
        column = _COLUMN.fullmatch(part)
        if column is None:
            raise SparkCepError(
                "CEP_ARGUMENTS", f"--columns has {part.strip()!r}; a name, or a name and a type, is expected.",
                hint='--columns "user STRING, time TIMESTAMP, action STRING"',
            )  # fmt: skip
        out.append((column[1].strip("`"), (column[2] or "").strip()))
    return out
