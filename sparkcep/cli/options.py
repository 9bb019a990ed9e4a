"""Options that commands share, and the session they ask for."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkcep.data.files import LogFile
    from sparkcep.data.read_log import LogOptions

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
class Reading:
    """How files are read, where that is not found out.

    ``option``: KEY=VALUE of Spark's reader. ``case``, ``time``, ``event``, ``tiebreak``: columns that are not guessed.
    The rest is as of :class:`LogOptions`.
    """

    option: tuple[str, ...] = ()
    case: str | None = None
    time: str | None = None
    event: str | None = None
    tiebreak: str | None = None
    time_format: str | None = None
    texts: tuple[str, ...] = ()
    decimal: str | None = None
    bad_rows: str = "error"
    drop_duplicates: bool = False
    fold_types: bool = False
    quiet: bool = False

    @property
    def roles(self) -> Mapping[str, str]:
        """The columns that were named, by role."""
        return {r: c for r in ("case", "time", "event", "tiebreak") if (c := getattr(self, r)) is not None}

    def how(self) -> LogOptions:
        """What reads a log.

        Raises:
            SparkCepError: CEP_ARGUMENTS where an option is not KEY=VALUE.
        """
        from sparkcep.data.read_log import LogOptions

        return LogOptions(
            pairs(self.option, "--option"), self.roles, self.time_format, self.texts, self.decimal, self.bad_rows,
            self.drop_duplicates, self.fold_types,
        )  # fmt: skip

    def words(self) -> list[str]:
        """The options that were given, as they stand in a command."""
        out: list[str] = []
        for name in ("case", "time", "event", "tiebreak", "time_format", "decimal"):
            out += [f"--{name.replace('_', '-')}", value] if (value := getattr(self, name)) is not None else []
        for option, values in (("--option", self.option), ("--text", self.texts)):
            out += [word for value in values for word in (option, value)]
        out += ["--bad-rows", self.bad_rows] if self.bad_rows != "error" else []
        return out + [f"--{n.replace('_', '-')}" for n in ("drop_duplicates", "fold_types") if getattr(self, n)]


@dataclass(frozen=True, slots=True)
class Data(Reading):
    """What a session has before the first statement.

    ``csv``, ``parquet``, ``json``, ``delta``, ``xes``: files, each a path or NAME=PATH. ``name``: the view of the one
    file.
    """

    flights: bool = False
    stocks: bool = False
    csv: tuple[str, ...] = ()
    parquet: tuple[str, ...] = ()
    json: tuple[str, ...] = ()
    delta: tuple[str, ...] = ()
    xes: tuple[str, ...] = ()
    name: str | None = None

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
    click.option("--case", metavar="COLUMN", help="Case column; several are separated by commas."),
    click.option("--time", metavar="COLUMN", help="Time column."),
    click.option("--event", metavar="COLUMN", help="Event type column."),
    click.option(
        "--tiebreak", metavar="COLUMN", help="Column that orders events with equal times (default: order in the file)."
    ),
    click.option(
        "--time-format",
        metavar="PATTERN",
        help="Format of times, dd.MM.yyyy HH:mm or `number`, if sparkcep cannot tell.",
    ),
    click.option("--text", "texts", metavar="COLUMN", multiple=True, help="Keep this column as text."),
    click.option("--decimal", type=click.Choice([",", "."]), help="Decimal mark, if sparkcep cannot tell."),
    click.option(
        "--bad-rows",
        type=click.Choice(["error", "null", "drop", "keep-aside"]),
        default="error",
        help="What to do with rows that do not fit the format found for a column; keep-aside puts them into the view "
        "NAME_bad_rows.",
    ),
    click.option("--drop-duplicates", is_flag=True, help="Keep one of rows that are equal in all columns."),
    click.option("--fold-types", is_flag=True, help="Merge event types that differ only in case, blanks or accents."),
)
_READING = (
    click.option("--option", metavar="KEY=VALUE", multiple=True, help="Option of Spark's reader: sep=;, encoding=..."),
    *_ROLES,
    click.option("-q", "--quiet", is_flag=True, help="Do not print guesses about files."),
)
_EXAMPLES = (
    click.option("--flights", is_flag=True, help="Create the view `flights` of the examples first."),
    click.option("--stocks", is_flag=True, help="Create the view `stocks` of the examples first."),
)
_DATA = (
    click.option(
        "--csv", metavar="[NAME=]PATH", multiple=True, help="Make a view of a CSV file or folder; - for stdin."
    ),
    click.option("--parquet", metavar="[NAME=]PATH", multiple=True, help="... of a Parquet file or folder."),
    click.option("--json", metavar="[NAME=]PATH", multiple=True, help="... of JSON lines or a JSON array."),
    click.option("--delta", metavar="[NAME=]PATH", multiple=True, help="... of a Delta table."),
    click.option("--xes", metavar="[NAME=]PATH", multiple=True, help="... of an XES log, also .gz; - for stdin."),
    click.option("--as", "name", metavar="NAME", help="Name of the view (default: that of the file)."),
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
#: --option, --case and the like as ``reading``.
with_reading = _packed(Reading, "reading", _READING)
#: --csv and the like, --flights, --stocks as ``data``.
with_data = _packed(Data, "data", _DATA)
#: --flights, --stocks as ``examples``.
with_examples = _packed(Examples, "examples", _EXAMPLES)


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
        from sparkcep.session.machine.ahead import compile_groups, likely_group

        if (group := likely_group(text)) is not None:
            compile_groups([group])


def _match_once(spark: SparkSession) -> None:
    """Match a row while Spark reads files: the classes of the JVM and a Python worker are loaded for what follows."""
    with contextlib.suppress(Exception):
        from sparkcep import sql
        from sparkcep.sql.log_columns import KEYS

        own = spark.newSession()
        for key in KEYS.values():  # which say nothing of this row
            own.conf.unset(key)
        log = "(SELECT id AS k, id AS n, 'a' AS e FROM range(0, 2, 1, 1))"  # one task: Spark reads beside it
        sql(own, f"FROM {log} PARTITION BY k ORDER BY n EVENT TYPE e PATTERN SEQ(a x, a y)").collect()


@contextlib.contextmanager
def session_at(path: str | None, connection: Connection, data: Data, text: str = "") -> Iterator[SparkSession]:
    """A session whose indexes and pattern tables are at a path; Ctrl-C cancels what it runs."""
    from sparkcep.session.machine.interrupts import interruptible
    from sparkcep.settings import INDEX_PATH

    spark = session_of(connection, data, text)
    if path:
        spark.conf.set(INDEX_PATH.key, path)
    with interruptible(spark):
        yield spark


def session_of(connection: Connection, data: Data = NO_DATA, text: str = "") -> SparkSession:
    """Start Spark, make the views that are asked for, and say what was guessed about them.

    Args:
        text: statements that will be run, whose kernels are compiled meanwhile where they are not yet.

    Raises:
        SparkCepError: what is missing, before Spark is started, which takes its time.
    """
    from sparkcep.progress import activity
    from sparkcep.session.machine.java import quiet_java
    from sparkcep.session.machine.local import JAVA_OPTIONS, LOGGING, prepare_process, started_session
    from sparkcep.sql.statement import mentions_pattern

    conf = pairs(connection.conf, "--conf")
    how = data.how()
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
    prepare_process(needs_java=connection.remote is None, classic_alone=connection.remote is None)
    if connection.remote is None and not conf.keys() & {JAVA_OPTIONS, "spark.driver.extraClassPath"}:
        conf[JAVA_OPTIONS] = f"{LOGGING} {quiet_java()}"
    if text and connection.remote is None and (connection.master or "local").startswith("local"):
        # Now that pyspark is loaded, two threads do not load it, and this one will wait for the JVM.
        threading.Thread(target=_compile_likely, args=(text,), daemon=True).start()
    spark = started_session(connection.master, connection.remote, conf)
    if files and mentions_pattern(text) and connection.remote is None:
        threading.Thread(target=_match_once, args=(spark,), daemon=True).start()
    if data.flights:
        with activity("Loading the flights"):
            create_flights_view(spark)
    if data.stocks:
        create_stocks_view(spark)
    if files:
        from sparkcep.cli.logs import open_logs

        alone = not (data.flights or data.stocks)
        open_logs(spark, files, how, alone=alone, quiet=data.quiet)
    return spark
