"""Read event logs in XES (IEEE 1849): traces and their events, one after the other, with typed attributes.

A log is never held as a tree, and what is at fault in it has its line.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from sparkcep.errors import SparkCepError

#: Bytes that are read at a time.
_BLOCK = 1 << 20


def _time(text: str) -> datetime:
    """A time without an offset is taken to be in UTC."""
    found = datetime.fromisoformat(text.strip())
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _whole(text: str) -> int:
    found = int(text)
    if not -(1 << 63) <= found < 1 << 63:
        raise ValueError(text)
    return found


def _truth(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]


#: By the element of an attribute, what makes a value of its text, and what such a text is like.
KINDS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "string": (str, "text"), "id": (str, "text"), "date": (_time, "2024-05-01T10:00:00.000+02:00"),
    "int": (_whole, "42 (of 64 bits)"), "float": (float, "1.5"), "boolean": (_truth, "true or false"),
}  # fmt: skip


@dataclass(slots=True)
class Trace:
    """``attributes`` and ``events``: values by key. A value's kind is in :class:`XesLog`. ``number``: from 1."""

    number: int
    attributes: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class XesLog:
    """A log, as far as it has been read.

    ``event_kinds``, ``trace_kinds``: the kinds (of KINDS) that a key's values have, in the order of the keys.
    ``nested``: how many attributes were left out by their element (list, container). ``outside``: events that are in
    no trace.
    """

    path: str
    event_kinds: dict[str, set[str]] = field(default_factory=dict)
    trace_kinds: dict[str, set[str]] = field(default_factory=dict)
    nested: Counter[str] = field(default_factory=Counter)
    outside: int = 0

    def traces(self) -> Iterator[Trace]:
        """All traces, in the order of the file.

        Raises:
            SparkCepError: CEP_XES where the file is no XES log, with the line; CEP_FILE where it cannot be read.
        """
        parser = _Parser(self)
        try:
            with _opened(self.path) as file:
                while block := file.read(_BLOCK):
                    parser.take(block)
                    yield from parser.done()
                parser.take(b"", last=True)
        except (OSError, EOFError, zlib.error) as error:
            reason = getattr(error, "strerror", None) or error
            raise SparkCepError("CEP_FILE", f"{self.path} cannot be read: {reason}.") from None
        yield from parser.done()


def _opened(path: str) -> BinaryIO | gzip.GzipFile:
    """A file, unpacked where it is gzip's, whatever it is called."""
    with Path(path).open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else Path(path).open("rb")


class _Parser:
    """What is at hand of a log while its elements come by."""

    def __init__(self, log: XesLog) -> None:
        self.log = log
        self.depth = 0
        self.number = 0
        self.trace: Trace | None = None
        #: The trace's or event's attributes, and how they are nested; None: neither is open.
        self.owner: dict[str, Any] | None = None
        self.owner_depth = 0
        self.kinds = log.trace_kinds
        self.complete: list[Trace] = []
        self.expat = expat.ParserCreate()
        self.expat.StartElementHandler = self.start
        self.expat.EndElementHandler = self.end

    def take(self, block: bytes, last: bool = False) -> None:
        """Read on.

        Raises:
            SparkCepError: CEP_XES.
        """
        try:
            self.expat.Parse(block, last)
        except LookupError as error:  # of an encoding
            raise self.error(f"{error}.", "UTF-8 is always known") from None
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise SparkCepError(
                "CEP_XES", f"{self.log.path}, line {error.lineno}: this is not well-formed XML ({reason}).",
                hint="a file of XES is XML, maybe packed with gzip",
            ) from None  # fmt: skip

    def done(self) -> list[Trace]:
        """Traces that are complete, each once."""
        found, self.complete = self.complete, []
        return found

    def error(self, sentence: str, hint: str | None = None) -> SparkCepError:
        """An error at the current line; the caller raises it."""
        return SparkCepError("CEP_XES", f"{self.log.path}, line {self.expat.CurrentLineNumber}: {sentence}", hint=hint)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        tag = tag.rpartition(":")[2]
        self.depth += 1
        if self.depth == 1:
            if tag != "log":
                raise self.error(f"the document is a <{tag}>, not a <log>.", "XES: <log><trace><event>...")
        elif self.depth == 2:
            if tag == "trace":
                self.number += 1
                self.trace = Trace(self.number)
                self.of(self.trace.attributes, 2, self.log.trace_kinds)
            elif tag == "event":
                self.log.outside += 1
        elif self.trace is not None and self.depth == 3 and tag == "event":
            self.of({}, 3, self.log.event_kinds)
        elif self.owner is not None and self.depth == self.owner_depth + 1:
            self.attribute(tag, attributes)

    def end(self, tag: str) -> None:
        """An element ends."""
        if self.trace is not None and self.depth == self.owner_depth and self.owner is not None:
            if self.depth == 3:
                self.trace.events.append(self.owner)
                self.of(self.trace.attributes, 2, self.log.trace_kinds)
            else:
                self.complete.append(self.trace)
                self.trace = self.owner = None
        self.depth -= 1

    def of(self, owner: dict[str, Any], depth: int, kinds: dict[str, set[str]]) -> None:
        """Attributes that follow are of this trace or event."""
        self.owner, self.owner_depth, self.kinds = owner, depth, kinds

    def attribute(self, tag: str, given: dict[str, str]) -> None:
        """An attribute of the trace or event; those of attributes themselves are left out."""
        assert self.owner is not None
        kind = KINDS.get(tag)
        if kind is None:
            self.log.nested[tag] += 1
            return
        key, text = given.get("key"), given.get("value")
        if key is None or text is None:
            raise self.error(f"<{tag}> has no {'key' if key is None else 'value'}.", f'<{tag} key="..." value="..."/>')
        make, like = kind
        if not text and make is not str:
            return
        try:
            self.owner[key] = make(text)
        except (ValueError, KeyError, OverflowError):
            raise self.error(f"{key} is {text!r}, which is not a valid {tag}.", f"such as {like}") from None
        if tag not in self.kinds.setdefault(key, set()):
            self.kinds[key].add(tag)
