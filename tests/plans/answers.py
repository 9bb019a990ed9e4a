"""What Spark answered to the planner's questions, written down: a session that needs no Spark.

A question is a statement that Spark analyses, a table's name, or a setting. Its answer is a schema, an error, or the
few rows that planners look at (sizes, samples). An answer also depends on Spark's settings and on the statements that
made the views and tables that the question names: these are part of the question's digest, so that an answer can be
missing but can never be that of another question.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark import errors
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructField, StructType

from sparkcep.spark.exceptions import condition_of, fragments, message, parameters_of

_WORD = re.compile(r"\w+")
#: What a statement makes or changes: the name behind these words.
_MADE = re.compile(
    r"\b(?:VIEW|TABLE|INTO|FUNCTION|VARIABLE|SCHEMA|UPDATE)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?`?(\w+)", re.IGNORECASE
)
#: What each session has others of: names of DataFrames' views, numbers of columns and nodes in plans, random seeds.
_OWN = re.compile(r"(_pyspark_)[0-9a-f_]{8,}|(#|plan_id=|CTERelation(?:Def|Ref) |randn?\(|uuid\(Some\()-?\d+")
#: The mark of an operator of a physical plan that Spark compiles: the sessions of `make test` compile none.
_COMPILED = re.compile(r"\*\(\d+\) ")
#: Of EXPLAIN COST the planner reads the first size, of EXPLAIN EXTENDED the analysed plan.
_SIZE = re.compile(r"Statistics\([^)]*\)")
_ANALYSED = re.compile(r"== Analyzed Logical Plan ==.*?(?=\n== )", re.DOTALL)
#: Into how many parts a range is cut: as many as there are cores.
_SPLITS = re.compile(r"(splits=)(Some\()?\d+")


class Unrecorded(BaseException):
    """A question that nobody has asked Spark before. No Exception, since planners do without some answers."""


class NeedsFiles(Exception):
    """A question about a table's files."""


def digest(*parts: str) -> str:
    """A short name of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(slots=True)
class Answers:
    """Answers by question, and those that were given; ``asks``: whether Spark is asked what is not known."""

    known: dict[str, Any]
    asks: bool = False
    given: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Answers:
        """The answers of a file."""
        return cls(dict(json.loads(line) for line in file.read_text().splitlines()) if file.exists() else {})

    def text(self) -> str:
        """What was given, a line for each answer."""
        lines = (json.dumps([key, self.given[key]], ensure_ascii=False, sort_keys=True) for key in sorted(self.given))
        return "".join(f"{line}\n" for line in lines)

    def answer(self, key: str, question: str, ask: Callable[[], Any]) -> Any:
        """What Spark says; an error is raised as Spark raised it."""
        if key not in self.given:
            if self.asks:
                try:
                    self.given[key] = ask()
                except (PySparkException, ValueError) as error:
                    self.given[key] = {"error": told(error)}
            elif key in self.known:
                self.given[key] = self.known[key]
            else:
                raise Unrecorded(question)
        found = self.given[key]
        if isinstance(found, dict) and "error" in found:
            raise recalled(found["error"])
        return found


def told(error: PySparkException | ValueError) -> dict[str, Any]:
    """An error of Spark's, or pyarrow's, as values of JSON."""
    if isinstance(error, ValueError):
        return {"class": "ValueError", "message": str(error)}
    return {
        "class": type(error).__name__,
        "condition": condition_of(error) or None,
        "parameters": {k: _steady(v) for k, v in parameters_of(error).items()},
        "message": _steady(message(error)),
        "fragments": [_steady(text) for text in fragments(error)],
    }


def _steady(text: str) -> str:
    """A text without what another session has otherwise."""
    return _COMPILED.sub("", _OWN.sub(lambda found: f"{found[1]}view" if found[1] else f"{found[2]}0", text))


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A part of the SQL that an error is about, as much of pyspark's QueryContext as is asked."""

    text: str

    def fragment(self) -> str:
        return self.text


def recalled(said: Mapping[str, Any]) -> Exception:
    """The error that was told."""
    if said["class"] == "ValueError":
        return ValueError(said["message"])
    base: Any = getattr(errors, said["class"], AnalysisException)

    class Recalled(base):  # type: ignore[misc]
        def getCondition(self) -> Any:
            return said["condition"]

        def getMessageParameters(self) -> Any:
            return said["parameters"]

        def getMessage(self) -> str:
            return str(said["message"])

        def getQueryContext(self) -> Any:
            return [_Fragment(text) for text in said["fragments"]]

        def __str__(self) -> str:
            return str(said["message"])

    made: Exception = Recalled.__new__(Recalled)
    return made


@dataclass(slots=True)
class State:
    """What a session's answers depend on: its settings, and what was made in it, by name."""

    settings: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)

    def run(self, statement: str) -> None:
        """Note what a statement makes, if it does."""
        for name in _MADE.findall(statement):
            self.made[name.lower()] = digest(self.made.get(name.lower(), ""), statement, *self.of(statement))

    def of(self, text: str) -> list[str]:
        """What a question depends on besides its text."""
        named = sorted({word.lower() for word in _WORD.findall(text)} & self.made.keys())
        sparks = sorted(item for item in self.settings.items() if not item[0].startswith("spark.sparkcep."))
        return [*(self.made[name] for name in named), *map("=".join, sparks)]


class Session:
    """A session that answers from what was written down; over a real one it asks, and writes down.

    No subclass of a session's class, and without a JVM: whoever reads plans does without, as on Spark Connect.
    """

    #: Whose answers these are; an older release reads some literals otherwise.
    version = "4.3.0"
    #: As on a classic session, where plans tell what rows come from and no statements are asked; here none tells.
    _jvm = object()

    def __init__(self, answers: Answers, state: State, real: Any = None) -> None:
        self.answers, self.state, self.real = answers, state, real
        self.conf = _Settings(self)

    @property
    def catalog(self) -> Any:
        """Of tables that lie somewhere: a function over an index looks at their files."""
        raise NeedsFiles

    def sql(self, text: str, args: Any = None, **values: Any) -> Frame:
        """A statement, analysed."""
        of = [f"{name}={v.key if isinstance(v, Frame) else v!r}" for name, v in sorted(values.items())]
        key = digest("sql", text, repr(args), *of, *self.state.of(text))
        given = {name: v.real if isinstance(v, Frame) else v for name, v in values.items()}
        return self.frame(key, text, lambda: self.real.sql(text, args, **given))

    def table(self, name: str) -> Frame:
        """A table or view."""
        return self.frame(digest("table", name, *self.state.of(name)), name, lambda: self.real.table(name))

    def frame(self, key: str, question: str, make: Callable[[], DataFrame]) -> Frame:
        """A DataFrame; its schema is asked for at once, as a classic session analyses."""
        made: list[DataFrame] = []

        def ask() -> Any:
            made.append(make())
            return {"schema": columns_of(made[0].schema), **({"stream": True} if made[0].isStreaming else {})}

        said = self.answers.answer(key, question, ask)
        if not made and self.real is not None:
            made.append(make())
        return Frame.of(self, key, question, said, made[0] if made else None)

    def createDataFrame(self, rows: Iterable[Any], schema: Any) -> Frame:
        """Rows that a command gives."""
        listed = list(rows)
        return self.frame(
            digest("rows", repr(listed), repr(schema)), "createDataFrame",
            lambda: self.real.createDataFrame(listed, schema),
        )  # fmt: skip


class _Settings:
    def __init__(self, session: Session) -> None:
        self.session = session

    def get(self, key: str, default: Any = None) -> Any:
        """A setting; Spark's default is asked for."""
        own = self.session.state.settings
        if key in own or key.startswith("spark.sparkcep."):
            return own.get(key, default)
        found = self.session.answers.answer(
            digest("setting", key), key, lambda: {"value": self.session.real.conf.get(key, None)}
        )["value"]
        return default if found is None else found

    def set(self, key: str, value: str) -> None:
        """How plans are printed is changed for a moment: of the session that answers."""
        if self.session.real is not None:
            self.session.real.conf.set(key, value)

    def unset(self, key: str) -> None:
        """As for :meth:`set`."""
        if self.session.real is not None:
            self.session.real.conf.unset(key)


class Frame(DataFrame):
    """A DataFrame by its question."""

    session: Session
    key: str
    question: str
    said: Mapping[str, Any]
    real: DataFrame | None

    def __new__(cls, *_: Any) -> Frame:
        return object.__new__(cls)

    @classmethod
    def of(cls, session: Session, key: str, question: str, said: Mapping[str, Any], real: DataFrame | None) -> Frame:
        made = cls.__new__(cls)
        made.session, made.key, made.question, made.said, made.real = session, key, question, said, real
        return made

    @property
    def sparkSession(self) -> Any:
        return self.session

    @property
    def schema(self) -> StructType:
        return StructType([StructField.fromJson(_field(column)) for column in self.said["schema"]])

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        return [(field.name, field.dataType.simpleString()) for field in self.schema.fields]

    @property
    def isStreaming(self) -> bool:
        return bool(self.said.get("stream"))

    def collect(self) -> list[Row]:
        """The few rows that are looked at while a statement is planned."""
        names = self.columns

        def ask() -> Any:
            assert self.real is not None
            rows = [[_plain(value) for value in row] for row in self.real.collect()]
            return {"rows": rows}

        found = self.session.answers.answer(digest("rows of", self.key), f"rows of {self.question}", ask)["rows"]
        return [Row(*names)(*row) for row in found]

    def __getitem__(self, name: Any) -> Any:
        return name

    def select(self, *names: Any) -> Frame:
        """Some columns; only by their names."""
        return self.derived(f"select {names}", lambda real: real.select(*(real[name] for name in names)))

    def __getattribute__(self, name: str) -> Any:
        # What the base class has and this one has not would say None.
        if not name.startswith("_") and name in _ASKED_ONLY:
            raise NotImplementedError(f"DataFrame.{name} of a recorded answer")
        return object.__getattribute__(self, name)

    def derived(self, how: str, make: Callable[[DataFrame], DataFrame]) -> Frame:
        """A DataFrame that is made of this one. ``how``: what tells it from others."""
        return self.session.frame(digest("of", self.key, how), how, lambda: make(self.real))  # type: ignore[arg-type]


_ASKED_ONLY = set(dir(DataFrame)) - set(vars(Frame))


def columns_of(schema: StructType) -> list[list[Any]]:
    """A schema as values of JSON: name and type of each column; nullability and metadata where they are special."""
    found = [field.jsonValue() for field in schema.fields]
    return [
        [f["name"], f["type"], *([f["nullable"], f["metadata"]] if f["metadata"] or not f["nullable"] else [])]
        for f in found
    ]


def _field(column: Sequence[Any]) -> dict[str, Any]:
    name, type_, nullable, metadata = [*column, True, {}][:4]
    return {"name": name, "type": type_, "nullable": nullable, "metadata": deepcopy(metadata)}  # fromJson changes it


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        size = _SIZE.search(value)
        analysed = _ANALYSED.search(value)
        part = size if size is not None else analysed
        return _steady(value if part is None else _SPLITS.sub(r"\1\2N", part[0]))
    if value is None or isinstance(value, str | int | float | dict):
        return value
    raise TypeError(f"an answer of type {type(value).__name__}")
