"""Options that commands share, and the session they ask for."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkcep.data.files import LogFile

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Connection:
    """Where Spark is: its master or a Connect address, and configuration as KEY=VALUE."""

    master: str | None
    remote: str | None
    conf: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examples:
    """Whether a session has the views of the examples' data."""

    flights: bool
    stocks: bool


@dataclass(frozen=True, slots=True)
class Data:
    """What a session has before the first statement.

    ``csv``, ``parquet``, ``json``, ``delta``, ``xes``: files, each a path or NAME=PATH. ``name``: the view of the one
    file. ``option``: KEY=VALUE of Spark's reader. ``case``, ``time``, ``event``, ``tiebreak``: columns that are not
    guessed. ``time_format``: how the time is written.
    """

    flights: bool = False
    stocks: bool = False
    csv: tuple[str, ...] = ()
    parquet: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    delta: tuple[str, ...] = ()
    xes: tuple[str, ...] = ()
    name: str | None = None
    option: tuple[str, ...] = ()
    case: str | None = None
    time: str | None = None
    event: str | None = None
    tiebreak: str | None = None
    time_format: str | None = None
    quiet: bool = False

    @property
    def roles(self) -> Mapping[str, str]:
        """The columns that were named, by role."""
        return {r: c for r in ("case", "time", "event", "tiebreak") if (c := getattr(self, r)) is not None}

    def files(self) -> list[LogFile]:
        """The files, by their formats, with the names of their views.

        Raises:
            SparkCepError: CEP_ARGUMENTS where a name is missing or is no name.
        """
        from sparkcep.data.files import log_files

        given = [(kind, path) for kind in ("csv", "parquet", "json", "delta", "xes") for path in getattr(self, kind)]
        return log_files(given, self.name)


_CONNECTION = (
    click.option("--master", help="Spark master (default local[*])."),
    click.option("--remote", help="Spark Connect address, sc://host:port, instead of a master."),
    click.option("--conf", metavar="KEY=VALUE", multiple=True, help="Spark configuration."),
)
_ROLES = (
    click.option("--case", metavar="COLUMN", help="What tells cases apart; several with commas."),
    click.option("--time", metavar="COLUMN", help="When an event was."),
    click.option("--event", metavar="COLUMN", help="An event's type."),
    click.option("--tiebreak", metavar="COLUMN", help="Orders events of one time (default: their order in the file)."),
    click.option(
        "--time-format", metavar="PATTERN", help="How times are written (dd.MM.yyyy HH:mm), if not found out."
    ),
)
_READING = (
    click.option("--option", metavar="KEY=VALUE", multiple=True, help="Of Spark's reader: sep=;, encoding=..."),
    *_ROLES,
    click.option("-q", "--quiet", is_flag=True, help="Do not say what was guessed about a file."),
)
_EXAMPLES = (
    click.option("--flights", is_flag=True, help="Create the view `flights` of the examples first."),
    click.option("--stocks", is_flag=True, help="Create the view `stocks` of the examples first."),
)
_DATA = (
    click.option("--csv", metavar="[NAME=]PATH", multiple=True, help="A file or folder as a view; - for stdin."),
    click.option("--parquet", metavar="[NAME=]PATH", multiple=True, help="The same of Parquet."),
    click.option("--json", metavar="[NAME=]PATH", multiple=True, help="The same of JSON lines or an array."),
    click.option("--delta", metavar="[NAME=]PATH", multiple=True, help="The same of a Delta table."),
    click.option("--xes", metavar="[NAME=]PATH", multiple=True, help="A log in XES, maybe .gz; - for stdin."),
    click.option("--as", "name", metavar="NAME", help="The view's name (default: the file's)."),
    *_READING,
    *_EXAMPLES,
)


def _packed(kind: type[Any], parameter: str, options: Sequence[Callable[[Any], Any]]) -> Callable[[Command], Command]:
    """A decorator: the options' values as one value of this class."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> Any:
            values = {f.name: given.pop(f.name) for f in fields(kind)}
            return command(**{parameter: kind(**values)}, **given)

        out: Any = run
        for option in reversed(options):
            out = option(out)
        return out  # type: ignore[no-any-return]

    return decorate


#: --master, --remote, --conf as ``connection``.
with_connection = _packed(Connection, "connection", _CONNECTION)
#: --csv and the like, --flights, --stocks as ``data``.
with_data = _packed(Data, "data", _DATA)
#: --flights, --stocks as ``examples``.
with_examples = _packed(Examples, "examples", _EXAMPLES)


def with_reading(command: Command) -> Command:
    """--option, --case and the like, one by one."""
    out: Any = command
    for option in reversed(_READING):
        out = option(out)
    return out  # type: ignore[no-any-return]


NO_DATA = Data()


def pairs(items: Sequence[str], option: str, form: str = "KEY=VALUE") -> dict[str, str]:
    """``KEY=VALUE`` items as a dictionary.

    Raises:
        SparkCepError: CEP_ARGUMENTS where an item has no equals sign.
    """
    out = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            from sparkcep.errors import SparkCepError

            raise SparkCepError("CEP_ARGUMENTS", f"{option} {item}: {form} is expected.")
        out[key] = value
    return out


def _compile_likely(text: str) -> None:
    with contextlib.suppress(Exception):  # what is wrong here is said where the statement is run
        from sparkcep.session.ahead import compile_groups, likely_group

        if (group := likely_group(text)) is not None:
            compile_groups([group])


def session_of(connection: Connection, data: Data = NO_DATA, text: str = "") -> SparkSession:
    """Start Spark, make the views that are asked for, and say what was guessed about them.

    Args:
        text: statements that will be run, whose kernels are compiled meanwhile where they are not yet.

    Raises:
        SparkCepError: what is missing, before Spark is started, which takes its time.
    """
    from sparkcep.progress import activity
    from sparkcep.session.local import local_session

    conf = pairs(connection.conf, "--conf")
    options = pairs(data.option, "--option")
    if data.flights:
        from sparkcep.data.flights import create_flights_view, flights_source

        flights_source()
    if data.stocks:
        from sparkcep.data.stocks import create_stocks_view, stocks_source

        stocks_source()
    files = data.files()
    if connection.remote is None:
        from sparkcep.data.files import check_files

        check_files(files)
    if text and connection.remote is None and (connection.master or "local").startswith("local"):
        # Started when pyspark is loaded, so that two threads do not load it.
        threading.Thread(target=_compile_likely, args=(text,), daemon=True).start()
    spark = local_session(connection.master, connection.remote, conf)
    if data.flights:
        with activity("Loading the flights"):
            create_flights_view(spark)
    if data.stocks:
        create_stocks_view(spark)
    if files:
        from sparkcep.cli.logs import open_logs

        alone = not (data.flights or data.stocks)
        open_logs(spark, files, options, data.roles, alone=alone, quiet=data.quiet, time_format=data.time_format)
    return spark
