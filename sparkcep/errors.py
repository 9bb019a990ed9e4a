"""Error classes.

Every error is a :class:`SparkCepError` with an error class such as CEP_FILE. It has its place in the user's statement,
and a hint, where there is one. The classes derive from PySpark's own, so notebooks and dbt show them like those.
"""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable

try:
    from pyspark.errors import AnalysisException, ParseException, PySparkException
except ModuleNotFoundError:  # kernels are also compiled where there is no Spark, in an image that is being built
    AnalysisException = ParseException = PySparkException = Exception  # type: ignore[assignment,misc]


def describe_position(text: str, position: int) -> tuple[int, int, str]:
    """Line (from 1), column (from 1) and source line of a character offset."""
    position = max(0, min(position, len(text)))
    line = text.count("\n", 0, position) + 1
    begin = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return line, position - begin + 1, text[begin : end if end >= 0 else len(text)]


#: Values that are named where none is close to the one that was asked for.
_NAMED = 8


def near_name(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate closest to ``name``, compared without case, the first of several; or None.

    >>> near_name("send fine", ["Send Fine", "SEND FINE", "Sent Fine"])
    'Send Fine'
    """
    by_fold: dict[str, str] = {}
    for candidate in candidates:
        by_fold.setdefault(candidate.casefold(), candidate)
    wanted = name.casefold()
    close = set(difflib.get_close_matches(wanted, list(by_fold), n=10, cutoff=0.65))
    ratio = difflib.SequenceMatcher(b=wanted)

    def closeness(fold: str) -> float:
        ratio.set_seq1(fold)
        return ratio.ratio()

    return by_fold[max((f for f in by_fold if f in close), key=closeness)] if close else None


def not_boolean(type_: str, text: str | None, position: int) -> PatternAnalysisError:
    """CEP_CONDITION_TYPE at a condition; the caller raises it."""
    return PatternAnalysisError(
        "CEP_CONDITION_TYPE", f"A condition must be boolean; this one is {type_}.", text=text or None, position=position
    )


def near_hint(name: str, candidates: Iterable[str], otherwise: str) -> str:
    """A hint to the candidate closest to a name that none has; ``otherwise`` where none is close.

    >>> near_hint("prise", ["price", "day"], "")
    'did you mean price?'
    """
    near = near_name(name, candidates)
    return f"did you mean {near}?" if near else otherwise


def lacks(column: str, value: str, held: Iterable[str]) -> str:
    """A sentence about a constant that no row of a log has. ``held``: those it has, the most frequent first.

    >>> lacks("event", "Registr", ["Exit", "Register"])
    "no row has event = 'Registr'; did you mean 'Register'?"
    """
    values = list(held)
    near = near_name(value, values)
    known = ", ".join(map(repr, values[:_NAMED])) + ", ..." * (len(values) > _NAMED)
    hint = f"; did you mean {near!r}?" if near is not None else f"; it is one of {known}" if values else ""
    return f"no row has {column} = {value!r}{hint}"


class PatternWarning(UserWarning):
    """A query is legal but probably not what was meant. Also: incomplete logs, full storage, untested releases."""


def warn(sentence: str) -> None:
    """Warn at the place in the user's code that called sparkcep."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("sparkcep."):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, PatternWarning, stacklevel=level)


class SparkCepError(PySparkException):
    """sparkcep refuses a statement, a setting or an argument, or a limit was exceeded.

    Args:
        error_class: a name such as CEP_FILE, stable across releases.
        message: one sentence; the attribute ``sentence``.
        text: the whole statement, if the error has a place in it.
        position: character offset of the error in ``text``.
        hint: what to do about it.
    """

    def __init__(
        self,
        error_class: str,
        message: str,
        *,
        text: str | None = None,
        position: int | None = None,
        hint: str | None = None,
    ) -> None:
        parts = [message]
        if text is not None and position is not None:
            line, column, source = describe_position(text, position)
            parts[0] += f" Line {line}, column {column}."
            pad = "".join("\t" if c == "\t" else " " for c in source[: column - 1])
            parts += [source, pad + "^"]
        if hint:
            parts.append(f"Hint: {hint}")
        super().__init__("\n".join(parts))  # what else PySpark's own take depends on its release
        self._message = "\n".join(parts)
        self.error_class = error_class
        self.sentence = message
        self.hint = hint
        self.text = text
        self.position = position

    def placed(self, text: str | None, position: int | None) -> SparkCepError:
        """A copy of the error with its place in a statement, for errors raised where the text was not known."""
        return type(self)(self.error_class, self.sentence, text=text, position=position, hint=self.hint)

    def getCondition(self) -> str:
        """The error class."""
        return self.error_class

    def getMessage(self) -> str:
        """The class, the sentence with its place, and the hint."""
        return f"[{self.error_class}] {self._message}"

    def __str__(self) -> str:
        return self.getMessage()

    def __reduce__(self) -> tuple[object, ...]:
        # From a Spark task the parts must come back as well: who has the statement's text makes the error anew.
        parts = {name: getattr(self, name) for name in ("_message", "sentence", "hint", "blame") if hasattr(self, name)}
        return (_rebuild, (type(self), self.error_class, parts))


def _rebuild(cls: type[SparkCepError], error_class: str, parts: dict[str, str | None]) -> SparkCepError:
    error = cls(error_class, "")
    for name, value in parts.items():
        setattr(error, name, value)
    return error


class PatternParseError(SparkCepError, ParseException):
    """The text of a pattern query cannot be parsed."""


class PatternAnalysisError(SparkCepError, AnalysisException):
    """A pattern query can be parsed, but uses a name, a type or a combination that is not allowed."""


def streaming_unsupported(
    what: str,
    text: str | None = None,
    position: int | None = None,
    hint: str = "",
) -> PatternAnalysisError:
    """CEP_STREAMING_UNSUPPORTED. ``what``: the part that a stream cannot have; the caller raises it."""
    return PatternAnalysisError(
        "CEP_STREAMING_UNSUPPORTED",
        f"A pattern over a stream cannot have {what}.",
        text=text,
        position=position,
        hint=hint or "let the stream write a table, and match the pattern over that table",
    )


class PatternIndexError(PatternAnalysisError):
    """A pattern index cannot be created, refreshed or read as requested.

    Args:
        blame: the part of the statement at fault (``name``, ``source``, ``case``, ``option:lookback`` ...). Code that
            has the statement's text can then point at it.
    """

    def __init__(
        self,
        error_class: str,
        message: str,
        *,
        blame: str = "",
        text: str | None = None,
        position: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(error_class, message, text=text, position=position, hint=hint)
        self.sentence = message
        self.blame = blame

    def located(self, text: str, position: int) -> PatternIndexError:
        """A copy of the error with its place in a statement."""
        return PatternIndexError(
            self.error_class, self.sentence, blame=self.blame, text=text, position=position, hint=self.hint
        )


class LimitError(SparkCepError):
    """A limit was exceeded: one of ``spark.sparkcep.limit.*``, a task's memory, or the size of an index's postings."""


_REPORTED = re.compile(
    r"\[((?:CEP|MATCH_RECOGNIZE)_[A-Z_]+|ARITHMETIC_OVERFLOW|DIVIDE_BY_ZERO)\] (.*?)(?:\nHint: (.*))?", re.DOTALL
)

#: What a task says of an executor's Python, see sparkcep.spark.shipping.
_WORKER = re.compile(r"RuntimeError: (\[CEP_WORKER_[A-Z]+\] [^\n]*(?:\n\s*Hint: [^\n]*)?)")
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (\[.*?)(?:\n?\s*SQLSTATE: P0001|$)", re.DOTALL)
#: The same before Spark 4.0.
_RAISED_PLAIN = re.compile(r"java\.lang\.RuntimeException: (\[[A-Z_]+\] .*?)(?:\n\s+at |$)", re.DOTALL)


def reported(text: str) -> SparkCepError | None:
    """An error from its text; None where the text is none of ours."""
    found = _REPORTED.fullmatch(text.strip())
    if found is None:
        return None
    kind = LimitError if found[1].endswith("_LIMIT") else SparkCepError
    return kind(found[1], found[2], hint=found[3])


def error_behind(error: BaseException) -> SparkCepError | None:
    """The sparkcep error that an exception of Spark carries; None if the error is Spark's own.

    Errors while rows are matched come from ``collect()`` or ``show()`` as Spark's USER_RAISED_EXCEPTION. If an executor
    has died, a note of the exception says what to do.
    """
    if isinstance(error, SparkCepError):
        return error
    if own := next(filter(None, map(reported, getattr(error, "__notes__", ()))), None):
        return own
    # What goes wrong inside a subquery is no PySparkException on a classic session; the text is there all the same.
    text = str(error)
    found = _RAISED.search(text) or _WORKER.search(text) or _RAISED_PLAIN.search(text)
    return reported(found[1]) if found is not None else None
