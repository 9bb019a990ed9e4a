"""Every ``spark.sparkcep.*`` key, its default and its meaning.

Settings live in the session's configuration, so ``spark-defaults.conf``, ``SET`` and ``spark.conf.set`` carry them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sparkcep.errors import SparkCepError
from sparkcep.spark import task_memory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkcep.query import OwnAggregate

PREFIX = "spark.sparkcep."


@dataclass(frozen=True, slots=True)
class Setting:
    """One key: its name below ``spark.sparkcep.``, default (text), allowed values and meaning."""

    name: str
    default: str
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """As the session's configuration has it, ``spark.sparkcep...``."""
        return PREFIX + self.name


MATCH_RECOGNIZE = Setting(
    "sql.matchRecognize",
    "auto",
    "Who runs MATCH_RECOGNIZE. always: sparkcep. native and off: the session itself gets the text untouched. "
    "auto: sparkcep, unless the session is a Databricks runtime that has the clause natively and parses the statement.",
    ("auto", "always", "native", "off"),
)
LAYOUT = Setting(
    "exec.layout",
    "auto",
    "How rows of a partition reach the kernel. lists: one row per partition with list columns (fast for many small "
    "partitions). rows: sorted rows, partitions stitched across Arrow batches (any size, any order). auto: lists where "
    "there is a PARTITION BY, the order allows it and a sample shows no long partitions; or neither, where Spark can "
    "follow the pattern by itself.",
    ("auto", "lists", "rows"),
)
GAP_ELIMINATION = Setting(
    "planner.gapElimination.enabled",
    "true",
    "Drop rows that only gap variables can take (A X* B with X = NOT B) before they are grouped.",
    ("true", "false"),
)
FOLD = Setting(
    "planner.fold.enabled",
    "true",
    "Let Spark's own aggregate function follow sequences with gaps, without Python (exec.layout auto only).",
    ("true", "false"),
)
JOIN_PREFILTER = Setting(
    "planner.joinPrefilter.enabled",
    "true",
    "Drop partitions that lack a variable every match needs before they are sorted and matched, and events of an "
    "event selection strategy whose key equals that of no event of a rare variable (`b.parent = a.entity`).",
    ("true", "false"),
)
SAMPLING_BYTES = Setting(
    "planner.sampling.minBytes",
    "4194304",
    "Inputs of at least this size (Spark's estimate) are asked for some of their rows, once per text of the input, to "
    "choose a layout, and for those that a pattern looks at where some partition is long; and whether joins "
    "before matching pay.",
)
RANGE_SPLITTING = Setting(
    "planner.rangeSplitting.enabled",
    "true",
    "In the rows layout, cut partitions into overlapping ranges of the ORDER BY key where WITHIN is a fixed distance, "
    "so that the ranges of one partition are matched in parallel.",
    ("true", "false"),
)
KEY_PREDICATES = Setting(
    "planner.keyPredicates.enabled",
    "true",
    "In the rows layout, apply what the statement around a clause demands of PARTITION BY columns to its input.",
    ("true", "false"),
)
COLUMN_PRUNING = Setting(
    "planner.columnPruning.enabled",
    "true",
    "Carry only the columns of a clause that the statement around it names.",
    ("true", "false"),
)
SHARED_INPUT = Setting(
    "planner.sharedInput.enabled",
    "true",
    "Read, group and sort the log of a rule set once for all rules that can share it, and the input of patterns of one "
    "statement that read the same relation, and match them in one pass. Otherwise each runs as a statement of its own "
    "would.",
    ("true", "false"),
)
INDEX = Setting(
    "planner.index.enabled",
    "true",
    "Read the input of a pattern through a pattern index that serves it.",
    ("true", "false"),
)
INDEX_ACCESS_PATH = Setting(
    "planner.index.events",
    "auto",
    "Where events of candidate cases come from: the index's activities or sequences, or the source. auto: by estimated "
    "seconds, and none where the query is faster without the index; one that cannot serve a query is not used.",
    ("auto", "activities", "sequences", "source"),
)
INDEX_CASES = Setting(
    "planner.index.cases",
    "auto",
    "How candidate cases are found. lists: from posting lists (of a signature index, its bitmaps). scan: while "
    "`sequences` are read, where the order of events counts. auto: scan for small logs.",
    ("auto", "lists", "scan"),
)
LIMIT_PROGRAM = Setting(
    "limit.programSize",
    "20000",
    "Most positions (pattern variables after unrolling of {n,m} and PERMUTE) in a pattern.",
)
LIMIT_PERMUTE = Setting("limit.permute", "10", "Most elements of one PERMUTE.")
LIMIT_STEPS = Setting(
    "limit.steps", "2000000000", "Most steps the matcher may take in one partition before it gives up with an error."
)
LIMIT_PAIRS = Setting(
    "limit.pairRows",
    "2000",
    "A function of two rows of the match that only Spark has is evaluated for at most N x N pairs of rows of a "
    "partition, N being this number.",
)
LIMIT_MATCHES = Setting(
    "limit.matches",
    "10000000",
    "Most matches of one partition; with ALL ROWS PER MATCH, most output rows. Rows that aggregates over a match read "
    "do not count.",
)
CHUNK_BYTES = Setting(
    "exec.chunkBytes",
    "67108864",
    "Bytes of rows that the rows layout gathers before it matches them, and of result rows that it hands to Spark at "
    "once; whole partitions may be longer. Less takes less memory of Python, more takes fewer steps.",
)
LIST_BYTES = Setting(
    "exec.listBytes",
    "33554432",
    "Largest partition, in bytes by Spark's estimate and a sample of the input, that the lists layout holds in one "
    "list; the rows of a longer one are sorted by a window. An executor that runs out of memory wants less.",
)
TASK_MEMORY = Setting(
    "exec.taskMemory",
    "auto",
    "Memory that the matcher of one task may take for a batch, as 512m or 1g; a partition that needs more ends in "
    "CEP_MEMORY_LIMIT. auto: what spark.executor.pyspark.memory or spark.executor.memoryOverhead leaves to each core "
    "beside 300 MB of a worker's own, 128m at least; where neither is known, 1g.",
)
LIMIT_EVENTS = Setting(
    "limit.events",
    "20000000",
    "Most events of one partition that is matched whole: in the lists layout; under event selection strategies, for "
    "trends and non-answers in both. A MATCH_RECOGNIZE in the rows layout reads a partition in chunks of any number.",
)
LIMIT_STREAM_ROWS = Setting(
    "limit.streamRows",
    "0",
    "Streams: most rows that are kept of one partition where MATCH_RECOGNIZE has no WITHIN; 0: it is refused.",
)
STREAM_BUCKETS = Setting(
    "streaming.buckets",
    "32",
    "Streams: into how many buckets partitions go, each with one state. Several times spark.sql.shuffle.partitions "
    "keep tasks about equally busy; each costs a call of Python in a micro-batch. It is part of the checkpoint.",
)
STREAM_OPERATOR = Setting(
    "streaming.operator",
    "state",
    "Streams: `state`: applyInPandasWithState, which any state store serves; `transform`: transformWithState, which "
    "needs the RocksDB state store and protobuf, and which window aggregations and joins may follow. It is part of the "
    "checkpoint.",
    choices=("state", "transform"),
)
STREAM_HISTORY = Setting(
    "streaming.history",
    "",
    "Streams: a table with the columns of a pattern's input, whose rows a new query starts with as though they had "
    "been the stream's first micro-batch; what they decide alone is not emitted. Needs streaming.operator = transform. "
    "A query that goes on from a checkpoint has them in its state.",
)
STREAM_LATE_ROWS = Setting(
    "streaming.lateRows",
    "",
    "Streams: a folder, by a path or URI that all executors can write to, for rows that come too late or have no time: "
    "Parquet files of the input's columns. Empty: they are counted only.",
)
LIMIT_REPAIR = Setting(
    "limit.repairNodes",
    "50000000",
    "Most places (component, event, tick) that EXPLAIN NON ANSWERS may look at to repair one partition.",
)
LIMIT_TICKS = Setting("limit.ticks", "2000", "UNCERTAINTY: most ticks (of STEP) between an event's bounds.")
LIMIT_SHARED = Setting(
    "limit.sharedEvents",
    "10",
    "UNCERTAINTY: most events that may each lie in several gaps of one match where they would end it (negated events, "
    "and under SKIP TILL NEXT MATCH those that the run would have taken). The work doubles with each.",
)
LOG_CASE = Setting(
    "log.case",
    "",
    "PARTITION BY columns of pattern blocks that name none, where the table has no property sparkcep.case. Ignored "
    "where the input does not have them and the block has an ORDER BY of its own.",
)
LOG_TIME = Setting(
    "log.time", "", "ORDER BY column of pattern blocks that name none, where the table has no property sparkcep.time."
)
LOG_TIEBREAK = Setting(
    "log.tiebreak",
    "",
    "Column that orders events of the same time, where the table has no property sparkcep.tiebreak. Ignored where "
    "the input does not have it.",
)
LOG_EVENT = Setting(
    "log.event",
    "",
    "EVENT TYPE column of pattern blocks that name none, where the table has no property sparkcep.event.",
)
INDEX_PATH = Setting(
    "index.path",
    "sparkcep-index",
    "Directory or URI of the pattern indexes (local, s3a, abfss, gs). A relative path is below the session's working "
    "directory, as spark-warehouse is; on a cluster, where executors have others, it is refused.",
)
INDEX_STORAGE_PREFIX = PREFIX + "index.storage."
INDEX_STORAGE = Setting(
    "index.storage.<option>",
    "",
    "Options of the object store, handed to deltalake as they are (AWS_ALLOW_HTTP, AZURE_STORAGE_ACCOUNT_KEY ...); "
    "they win over what is read from Hadoop's keys fs.s3a, fs.azure and fs.gs, of one bucket or account or of all.",
)
LIMIT_TYPES = Setting("limit.eventTypes", "100000", "Most event types of a pattern index; its driver holds them all.")

ALL: tuple[Setting, ...] = (
    MATCH_RECOGNIZE,
    LAYOUT,
    GAP_ELIMINATION,
    FOLD,
    JOIN_PREFILTER,
    SAMPLING_BYTES,
    COLUMN_PRUNING,
    SHARED_INPUT,
    KEY_PREDICATES,
    RANGE_SPLITTING,
    INDEX,
    INDEX_ACCESS_PATH,
    INDEX_CASES,
    LIMIT_PROGRAM,
    LIMIT_PERMUTE,
    LIMIT_STEPS,
    LIMIT_MATCHES,
    LIMIT_EVENTS,
    CHUNK_BYTES,
    LIST_BYTES,
    TASK_MEMORY,
    LIMIT_TICKS,
    LIMIT_SHARED,
    LIMIT_PAIRS,
    LIMIT_REPAIR,
    LIMIT_STREAM_ROWS,
    STREAM_BUCKETS,
    STREAM_OPERATOR,
    STREAM_HISTORY,
    STREAM_LATE_ROWS,
    LOG_CASE,
    LOG_TIME,
    LOG_TIEBREAK,
    LOG_EVENT,
    INDEX_PATH,
    INDEX_STORAGE,
    LIMIT_TYPES,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one statement, read once."""

    layout: str
    gap_elimination: bool
    fold: bool
    join_prefilter: bool
    sampling_bytes: int
    column_pruning: bool
    shared_input: bool
    key_predicates: bool
    range_splitting: bool
    limit_program: int
    limit_permute: int
    limit_steps: int
    limit_matches: int
    limit_pairs: int
    limit_events: int = int(LIMIT_EVENTS.default)
    chunk_bytes: int = int(CHUNK_BYTES.default)
    list_bytes: int = int(LIST_BYTES.default)
    task_memory: int = task_memory.UNTOLD
    limit_repair: int = int(LIMIT_REPAIR.default)
    limit_ticks: int = int(LIMIT_TICKS.default)
    limit_shared: int = int(LIMIT_SHARED.default)
    limit_stream_rows: int = int(LIMIT_STREAM_ROWS.default)
    stream_buckets: int = int(STREAM_BUCKETS.default)
    stream_operator: str = STREAM_OPERATOR.default
    state_store: str = ""
    stream_history: str = ""
    stream_late_rows: str = ""
    log_case: str = ""
    log_time: str = ""
    log_tiebreak: str = ""
    log_event: str = ""
    index: bool = True
    index_access_path: str = "auto"
    index_cases: str = "auto"
    ansi: bool = True
    #: Whether types of decimals give up digits behind the point where they would have more than 38.
    precision_loss: bool = True
    #: Whether a backslash in a string is just one.
    escaped_literals: bool = False
    #: Whether comparisons fill CHAR columns up with blanks.
    char_padding: bool = True
    case_sensitive: bool = False
    time_zone: str = ""
    #: Users' aggregates, of the session like all of these.
    own_aggregates: tuple[OwnAggregate, ...] = ()
    #: Why the session's release of Spark cannot have the lists layout.
    no_lists: str = ""


def _checked(setting: Setting, value: str) -> str:
    if setting.choices and value.lower() not in setting.choices:
        raise SparkCepError(
            "CEP_INVALID_SETTING",
            f"{setting.key} is {value!r}; it must be one of {', '.join(setting.choices)}.",
            hint=f"SET {setting.key} = {setting.default}",
        )
    return value.lower() if setting.choices else value


def _absolute(setting: Setting, value: str) -> str:
    if value and not value.startswith("/") and "://" not in value:
        raise SparkCepError(
            "CEP_INVALID_SETTING",
            f"{setting.key} is {value!r}; it must be an absolute path or a URI, which means the same on all executors.",
            hint=f"SET {setting.key} = file:///tmp/late",
        )
    return value


def _integer(setting: Setting, value: str, least: int = 1) -> int:
    try:
        number = int(value)
    except ValueError:
        number = least - 1
    if number < least:
        raise SparkCepError(
            "CEP_INVALID_SETTING",
            f"{setting.key} is {value!r}; it must be a whole number from {least}.",
            hint=f"SET {setting.key} = {setting.default}",
        )
    return number


def _task_memory(get: Callable[[str, str], Any], value: str) -> int:
    if value.lower() == TASK_MEMORY.default:
        return task_memory.task_memory(get)
    size = task_memory.parse_size(value)
    if not size:
        raise SparkCepError(
            "CEP_INVALID_SETTING",
            f"{TASK_MEMORY.key} is {value!r}; it must be auto, or a size as 512m or 1g.",
            hint=f"SET {TASK_MEMORY.key} = {TASK_MEMORY.default}",
        )
    return size


def getter(spark: SparkSession) -> Callable[[str, str], Any]:
    """The session's ``conf.get(key, default)``, answered from all its settings at once: each get is a round trip."""
    from sparkcep.spark.plan import is_remote, texts_of  # needs pyspark

    try:
        known = dict(spark.conf.getAll) if is_remote(spark) else texts_of(spark.conf._jconf.getAll())
    except Exception:  # locked-down sessions
        known = None

    def get(key: str, default: str) -> Any:
        if known is None:
            found = _asked(spark, key)
        elif key in known:
            found = known[key]
        else:
            found = _sparks_own(spark, key) if key.startswith("spark.sql.") else None
        return default if found is None else found

    return get


#: What Spark has where nothing is set, by session: it asks the JVM's time zone and environment, which stay.
_SPARKS_OWN: WeakKeyDictionary[SparkSession, dict[str, str | None]] = WeakKeyDictionary()


def _sparks_own(spark: SparkSession, key: str) -> str | None:
    own = _SPARKS_OWN.setdefault(spark, {})
    if key not in own:
        own[key] = _asked(spark, key)
    return own[key]


def _asked(spark: SparkSession, key: str) -> str | None:
    """A setting, or Spark's default, which ``conf.get`` does not tell where it is given another one."""
    try:
        return spark.conf.get(key)
    except Exception:  # a key that this Spark does not have, or that is not set
        return None


def read(get: Callable[[str, str], Any]) -> Settings:
    """Read all settings through ``get(key, default)``, see :func:`getter`.

    Raises:
        SparkCepError: a value that is not allowed, naming its key (CEP_INVALID_SETTING).
    """

    def text(setting: Setting) -> str:
        return _checked(setting, str(get(setting.key, setting.default)))

    return Settings(
        layout=text(LAYOUT),
        gap_elimination=text(GAP_ELIMINATION) == "true",
        fold=text(FOLD) == "true",
        join_prefilter=text(JOIN_PREFILTER) == "true",
        key_predicates=text(KEY_PREDICATES) == "true",
        column_pruning=text(COLUMN_PRUNING) == "true",
        shared_input=text(SHARED_INPUT) == "true",
        sampling_bytes=_integer(SAMPLING_BYTES, text(SAMPLING_BYTES)),
        range_splitting=text(RANGE_SPLITTING) == "true",
        index=text(INDEX) == "true",
        index_access_path=text(INDEX_ACCESS_PATH),
        index_cases=text(INDEX_CASES),
        limit_program=_integer(LIMIT_PROGRAM, text(LIMIT_PROGRAM)),
        limit_permute=_integer(LIMIT_PERMUTE, text(LIMIT_PERMUTE)),
        limit_steps=_integer(LIMIT_STEPS, text(LIMIT_STEPS)),
        limit_matches=_integer(LIMIT_MATCHES, text(LIMIT_MATCHES)),
        limit_pairs=_integer(LIMIT_PAIRS, text(LIMIT_PAIRS)),
        limit_events=_integer(LIMIT_EVENTS, text(LIMIT_EVENTS)),
        chunk_bytes=_integer(CHUNK_BYTES, text(CHUNK_BYTES)),
        list_bytes=_integer(LIST_BYTES, text(LIST_BYTES)),
        task_memory=_task_memory(get, text(TASK_MEMORY)),
        limit_repair=_integer(LIMIT_REPAIR, text(LIMIT_REPAIR)),
        limit_ticks=_integer(LIMIT_TICKS, text(LIMIT_TICKS)),
        limit_shared=_integer(LIMIT_SHARED, text(LIMIT_SHARED)),
        limit_stream_rows=_integer(LIMIT_STREAM_ROWS, text(LIMIT_STREAM_ROWS), least=0),
        stream_buckets=_integer(STREAM_BUCKETS, text(STREAM_BUCKETS)),
        stream_operator=text(STREAM_OPERATOR),
        stream_history=text(STREAM_HISTORY),
        stream_late_rows=_absolute(STREAM_LATE_ROWS, text(STREAM_LATE_ROWS)),
        state_store=_text(get, "spark.sql.streaming.stateStore.providerClass"),
        log_case=text(LOG_CASE),
        log_time=text(LOG_TIME),
        log_tiebreak=text(LOG_TIEBREAK),
        log_event=text(LOG_EVENT),
        ansi=flag(get, "spark.sql.ansi.enabled", True),
        precision_loss=flag(get, "spark.sql.decimalOperations.allowPrecisionLoss", True),
        escaped_literals=flag(get, "spark.sql.parser.escapedStringLiterals", False),
        char_padding=not flag(get, "spark.sql.legacy.charVarcharAsString", False),
        case_sensitive=flag(get, "spark.sql.caseSensitive", False),
        time_zone=_text(get, "spark.sql.session.timeZone"),
    )


def read_event_types(get: Callable[[str, str], Any]) -> int:
    """Most event types of an index. Raises as :func:`read` does."""
    return _integer(LIMIT_TYPES, str(get(LIMIT_TYPES.key, LIMIT_TYPES.default)))


def read_match_recognize(get: Callable[[str, str], Any]) -> str:
    """Who runs MATCH_RECOGNIZE: auto, always, native or off. Raises as :func:`read` does."""
    return _checked(MATCH_RECOGNIZE, str(get(MATCH_RECOGNIZE.key, MATCH_RECOGNIZE.default)))


def _text(get: Callable[[str, str], Any], key: str) -> str:
    try:
        return str(get(key, ""))
    except Exception:  # as in flag
        return ""


def flag(get: Callable[[str, str], Any], key: str, default: bool) -> bool:
    """A setting of Spark's that is true or false, through ``get(key, default)``."""
    # Locked-down sessions (Databricks serverless) refuse to read some keys; the default is then the truth.
    try:
        return str(get(key, str(default).lower())).lower() == "true"
    except Exception:
        return default
