"""What an index is: its definition, its options, its tables and their columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sparkcep.errors import PatternIndexError, near_hint
from sparkcep.exec.kernels.index.keys import INTERVAL_BITS
from sparkcep.query import in_backticks

#: Version of the layout below; an index of another version is refused, never misread.
FORMAT_VERSION = 1

SEQUENCES, ACTIVITIES, PAIRS, COUNTS = "sequences", "activities", "pairs", "counts"
SIGNATURES, DICTIONARY, REJECTED = "signatures", "dictionary", "rejected"
SNAPSHOTS = "snapshots"
#: Who is at work, where a store has no locks; see claims.py.
CLAIMS = "claims"

#: Tables of each kind of index; `rejected` comes to life with the first bad row.
KINDS: dict[str, tuple[str, ...]] = {
    "siesta": (SEQUENCES, ACTIVITIES, PAIRS, COUNTS, DICTIONARY),
    "signature": (SEQUENCES, SIGNATURES, DICTIONARY),
    "set_containment": (SEQUENCES, ACTIVITIES, DICTIONARY),
}

COUNTS_SCHEMA = "a int, b int, completions bigint, cases bigint, sum decimal(38,0), min bigint, max bigint"
DICTIONARY_SCHEMA = "code int, type string, symbol string, first_seen bigint"
SIGNATURE_SCHEMA = "id bigint, bits binary"

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_DURATION = re.compile(r"(?:interval\s+)?((?:\s*\d+\s*[a-z]+)+)\s*", re.IGNORECASE)
#: Times up to this far from zero: differences of two then never overflow.
LARGEST_TIME = 2**61
#: Intervals have 23 bits in a posting list's key.
LARGEST_INTERVALS = 1 << INTERVAL_BITS


#: Spark's names of whole numbers.
INTEGERS = ("tinyint", "smallint", "int", "bigint")


def checked_name(name: str, of: str = "pattern index") -> str:
    """An index's name in lower case; it names a directory, so only letters, digits and underscores."""
    if not _NAME.fullmatch(name):
        raise PatternIndexError(
            "CEP_INDEX_NAME",
            f"{name!r} cannot name a {of}: letters, digits and underscores, at most 128, no digit in front.",
            blame="name",
        )
    return name.lower()


@dataclass(frozen=True, slots=True)
class Source:
    """Where events come from: a table (``parts`` of its name), a path with its format, or batches from the caller."""

    kind: str
    parts: tuple[str, ...] = ()
    format: str = ""
    path: str = ""

    def __str__(self) -> str:
        if self.kind == "table":
            return ".".join(p if _NAME.fullmatch(p) else in_backticks(p) for p in self.parts)
        if self.kind == "path":
            return f"{self.format}.{in_backticks(self.path)}"
        return "batches"

    @property
    def table_name(self) -> str:
        """The table's name with every part in backticks."""
        return ".".join(map(in_backticks, self.parts))


@dataclass(frozen=True, slots=True)
class Options:
    """The options that WITH sets; docs/pattern_index.md lists their values.

    ``lookback``: in microseconds (or units of an integer TIME), None: no limit.
    """

    lookback: int | None = None
    interval_days: int = 30
    cases_per_bucket: int = 10_000
    postings: str = "positions"
    compression: str = "zstd"
    on_bad_rows: str = "error"

    def layout(self) -> tuple[object, ...]:
        """The options that the stored data depend on; if one changes, the index needs a full refresh."""
        return self.lookback, self.interval_days, self.postings


CHOICES = {
    "postings": ("positions", "timestamps"),
    "compression": ("zstd", "snappy", "lz4"),
    "on_bad_rows": ("error", "quarantine"),
}
_INTEGERS = {"interval_days": 100_000, "cases_per_bucket": 1_000_000_000}
OPTION_NAMES = ("lookback", *_INTEGERS, *CHOICES)


def read_options(given: Mapping[str, object], base: Options | None = None) -> Options:
    """Options from names and values as a statement or a caller gives them.

    Raises:
        PatternIndexError: CEP_INDEX_OPTION.
    """
    values: dict[str, Any] = {}
    for raw, value in given.items():
        name = raw.lower()
        if name not in OPTION_NAMES:
            hint = near_hint(name, OPTION_NAMES, f"there are {', '.join(OPTION_NAMES)}")
            raise _bad_option(raw, f"A pattern index has no option {raw}.", hint)
        if name == "lookback":
            values[name] = read_lookback(value)
        elif name in CHOICES:
            text = str(value).lower()
            if text not in CHOICES[name]:
                raise _bad_option(name, f"{name} is {value!r}.", f"it is one of {', '.join(CHOICES[name])}")
            values[name] = text
        else:
            text = str(value)
            if not re.fullmatch(r"\d{1,12}", text) or not 1 <= int(text) <= _INTEGERS[name]:
                raise _bad_option(name, f"{name} is {value!r}.", f"a whole number from 1 to {_INTEGERS[name]:,}")
            values[name] = int(text)
    return replace(base or Options(), **values)


def _bad_option(name: str, message: str, hint: str) -> PatternIndexError:
    return PatternIndexError("CEP_INDEX_OPTION", message, blame=f"option:{name.lower()}", hint=hint)


def read_lookback(value: object) -> int | None:
    """A lookback: `'30 days'`, `'1 day 12 hours'`, a whole number of TIME's units, `'none'`."""
    text = str(value).strip().lower()
    if text in ("none", "null"):
        return None
    total = None
    if re.fullmatch(r"\d{1,18}", text):
        total = int(text)
    elif found := _DURATION.fullmatch(text):
        total = 0
        for number, unit in re.findall(r"(\d+)\s*([a-z]+)", found[1]):
            length = MICROSECONDS.get(unit.removesuffix("s"))
            if length is None:
                total = None
                break
            total += int(number) * length
    if total is None or total > LARGEST_TIME:
        raise _bad_option(
            "lookback", f"lookback is {value!r}.", "write '30 days', '12 hours', '1 day 6 hours' or 'none'"
        )
    return total


def duration_text(value: int) -> str:
    """Microseconds in the largest unit that says them exactly."""
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        if value % MICROSECONDS[unit] == 0:
            number = value // MICROSECONDS[unit]
            return f"{number} {unit}{'' if number == 1 else 's'}"
    raise AssertionError


@dataclass(frozen=True, slots=True)
class Definition:
    """A CREATE PATTERN INDEX statement as data. Types are those of the source's columns, as Spark's simple strings.

    ``include``: the columns of `sequences` besides case, time, type and tiebreak; their types are ``include_types``.
    ``kind``: siesta, signature or set_containment.
    """

    name: str
    source: Source
    case: str
    time: str
    event: str
    tiebreak: str | None = None
    include: tuple[str, ...] = ()
    kind: str = "siesta"
    options: Options = field(default_factory=Options)
    case_type: str = "string"
    time_type: str = "timestamp"
    event_type: str = "string"
    tiebreak_type: str = ""
    include_types: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that an index of this kind has, without `snapshots`."""
        return KINDS[self.kind]

    @property
    def interval(self) -> int:
        """Length of an interval in units of the times. Integer times are all in one interval."""
        days = self.options.interval_days
        return days * MICROSECONDS["day"] if self.is_clock else 2 * LARGEST_TIME

    @property
    def is_clock(self) -> bool:
        """Whether TIME is a date or timestamp, stored in microseconds, and not a plain number."""
        return self.time_type in ("timestamp", "timestamp_ntz", "date")

    def lookback_text(self) -> str:
        """The lookback as DESCRIBE and EXPLAIN print it: none, a duration, or units of a numeric time."""
        value = self.options.lookback
        return "none" if value is None else duration_text(value) if self.is_clock else str(value)

    def as_json(self) -> dict[str, Any]:
        """For the table `snapshots`; :meth:`from_json` reads it again."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Definition:
        """What :meth:`as_json` has written.

        Raises:
            KeyError, TypeError: another format.
        """
        data = dict(value)
        source = dict(data.pop("source"))
        source["parts"] = tuple(source["parts"])
        options = Options(**data.pop("options"))
        for name in ("include", "include_types"):
            data[name] = tuple(data[name])
        return cls(source=Source(**source), options=options, **data)


def _noncharacters() -> list[tuple[int, int]]:
    return [(0xFDD0, 0xFDEF), *((plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(17))]


#: Code points that are no ordinary characters of a text, first and last of each run: line separators, surrogates, the
#: byte order mark, and those that Unicode gives no character. Below FIRST_SYMBOL are ASCII and the control characters.
SKIPPED = tuple(sorted([(0x2028, 0x2029), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), *_noncharacters()]))
FIRST_SYMBOL = 0x100


def _steps() -> list[tuple[int, int]]:
    """Codes from which on more code points are skipped, and how many more."""
    out, skipped = [], 0
    for first, last in SKIPPED:
        out.append((first - FIRST_SYMBOL - skipped, last - first + 1))
        skipped += last - first + 1
    return out


SYMBOL_STEPS = _steps()
#: Characters that are left for types.
MAX_TYPES = 0x110000 - FIRST_SYMBOL - sum(count for _, count in SYMBOL_STEPS)


def symbol(code: int) -> str:
    """The character that stands for a type in `symbols`: a text's ordinary one, never ASCII."""
    return chr(FIRST_SYMBOL + code + sum(count for low, count in SYMBOL_STEPS if code >= low))


def include_columns(definition: Definition) -> Sequence[str]:
    """Columns of `sequences` that hold the INCLUDEd ones: user names may hold what Delta's column names may not."""
    return [f"include_{k}" for k in range(len(definition.include))]
