"""Columns of text that are numbers or truth values: found in the first rows, then held against all of them.

What a decimal mark is, all columns of a file say together: `1.234` is 1234 where another column has `12,50`. Where none
says it, nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sparkcep.query import in_backticks, plain_literal

#: Marks between groups of three digits, as a class of characters.
_GROUPS = {"": "", ".": "[.]", ",": "[,]", " ": "[ \u00a0\u202f]", "'": "['\u2019]"}
#: Decimal marks.
MARKS = (",", ".")
#: What stands before or behind the numbers of a column: one sign of a currency, or of percent.
_UNIT = "[%€$£¥]|EUR|USD|GBP|CHF|JPY"
#: Numbers below zero: -5, and as bookkeepers write them, 5- and (5).
_BELOW_ZERO = "^(?:[-−](.*)|([^(].*)-|[(](.*)[)])$"
#: Of the texts of a column, so many in a hundred make it one of numbers, with others that do not fit.
_MOST = 90
#: What is false and true, by languages.
_TRUTHS = (
    ("false", "true"), ("no", "yes"), ("nein", "ja"), ("falsch", "wahr"), ("non", "oui"), ("faux", "vrai"),
    ("no", "s\u00ed"), ("no", "si"), ("no", "sim"), ("n\u00e3o", "sim"), ("nee", "ja"), ("nej", "ja"),
)  # fmt: skip


_WHOLE, _DAY = "[-+]?(0|[1-9][0-9]*)", "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
#: Texts that say no more than Spark's reader takes from them, by the type that it infers. More than seventeen digits
#: are no DOUBLE.
_PLAIN = {
    "int": _WHOLE, "bigint": _WHOLE, "decimal": _WHOLE, "date": _DAY, "timestamp": f"{_DAY}([T ].*)?",
    "timestamp_ntz": f"{_DAY}([T ].*)?",
    "double": "[-+]?((0|[1-9][0-9]{0,16})([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?|NaN|[-+]?Inf(inity)?",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """How a column of text is read. ``kind``: what it is found as, ``form``: how that is written there. ``sql``: its
    value, NULL where a text does not fit."""

    column: str
    kind: str
    form: str
    sql: str

    @property
    def text(self) -> str:
        """SQL of its text, NULL for blanks."""
        return text_of(self.column)

    @property
    def misfit(self) -> str:
        """SQL of whether a row has a text that does not fit."""
        return misfit_of(self.column, self.sql)


@dataclass(frozen=True, slots=True)
class Found:
    """A column that is read otherwise than by Spark. ``readings``: by which its first rows are the same, the plainest
    first; the one is taken that most rows fit. ``example``: one of its texts. ``only_whole``: it stays as Spark reads
    it if some row does not fit. ``any_mark``: nothing tells the decimal mark, so other rows may be different numbers
    by them.
    """

    column: str
    readings: tuple[Reading, ...]
    example: str = ""
    only_whole: bool = False
    any_mark: bool = False


@dataclass(frozen=True, slots=True)
class Unclear:
    """A column whose texts are different numbers by different decimal marks. ``example``: one of them."""

    column: str
    example: str


def text_of(column: str) -> str:
    """SQL of a column's text without blanks around it, NULL where nothing is left."""
    return f"nullif(trim(BOTH ' \t\u00a0\u202f' FROM {in_backticks(column)}), '')"


def misfit_of(column: str, sql: str) -> str:
    """SQL of whether a column has a text of which some other SQL makes nothing."""
    return f"({text_of(column)} IS NOT NULL AND ({sql}) IS NULL)"


def odd_text(column: str, type_: str) -> str:
    """SQL of whether a text is not what Spark's reader makes of it, a value of a type: 00123 and 1D are no numbers,
    4711-1 no day, and 10:15 no time of today. Empty where that cannot be."""
    plain = _PLAIN.get("decimal" if type_.startswith("decimal") else type_, "")
    text = text_of(column)
    large = f" OR abs(TRY_CAST({text} AS DOUBLE)) = DOUBLE('Infinity')" if type_ == "double" else ""
    return f"({text} IS NOT NULL AND (NOT {text} RLIKE {plain_literal(f'^({plain})$')}{large}))" if plain else ""


@dataclass(frozen=True, slots=True)
class _Unit:
    """What stands before and behind each number of a column; empty where nothing does."""

    before: str = ""
    behind: str = ""

    @property
    def is_percent(self) -> bool:
        """Whether 50 and 50% would be two numbers."""
        return "%" in self.before + self.behind

    def parts(self) -> Iterator[tuple[str, int]]:
        """Regular expressions, of Python and of Java, and which of their groups stays."""
        if self.before:
            yield _before(_literally(self.before)), 1
        if self.behind:
            yield _behind(_literally(self.behind)), 2

    def without(self, text: str) -> str:
        """The number alone, with its sign before it; nothing where percent are meant and not written."""
        if self.is_percent and "%" not in text:
            return ""
        for pattern, group in self.parts():
            text = re.sub(pattern, rf"\{group}", text)
        return re.sub(_BELOW_ZERO, r"-\1\2\3", text)

    def sql(self, text: str) -> str:
        """SQL of that."""
        if self.is_percent:
            text = f"CASE WHEN contains({text}, '%') THEN {text} END"
        for pattern, group in self.parts():
            text = f"regexp_replace({text}, {plain_literal(pattern)}, '${group}')"
        return f"regexp_replace({text}, {plain_literal(_BELOW_ZERO)}, '-$1$2$3')"


def _before(unit: str) -> str:
    return f"^([-+(\u2212]?)((?:{unit})[ \u00a0\u202f]?)"


def _behind(unit: str) -> str:
    return f"([ \u00a0\u202f]?(?:{unit}))([-)]?)$"


def _literally(sign: str) -> str:
    return f"[{sign.strip()}]" if len(sign.strip()) == 1 else sign.strip()


def _unit(texts: Sequence[str]) -> _Unit:
    """The one unit that a column's texts have."""
    before = {m[2] for text in texts if (m := re.search(_before(_UNIT), text))}
    behind = {m[1] for text in texts if (m := re.search(_behind(_UNIT), text))}
    if len({unit.strip() for unit in before | behind}) != 1:
        return _Unit()
    return _Unit(max(before, default=""), "" if before else max(behind))


@dataclass(frozen=True, slots=True)
class _NumberForm:
    group: str
    mark: str

    def pattern(self, whole: bool = False) -> str:
        """A regular expression, of Python and of Java, of numbers, or of those without a fraction."""
        between = _GROUPS[self.group]
        digits = rf"(0|[1-9]\d*|[1-9]\d{{0,2}}({between}\d{{3}})+)" if between else r"(0|[1-9]\d*)"
        return rf"[-+]?{digits}" + ("" if whole else rf"({_GROUPS[self.mark]}\d+)?")

    def value(self, text: str) -> Decimal | None:
        """The number that a text is; None where it is none."""
        if re.fullmatch(self.pattern(), text) is None:
            return None
        digits = re.sub(_GROUPS[self.group], "", text) if self.group else text
        return Decimal(digits.replace(self.mark, "."))

    def reading(self, column: str, whole: bool, unit: _Unit) -> Reading:
        """The column as numbers, without fractions (``whole``) or with some."""
        text = unit.sql(text_of(column))
        digits = f"regexp_replace({text}, {plain_literal(_GROUPS[self.group])}, '')" if self.group else text
        plain = digits if self.mark == "." else f"replace({digits}, ',', '.')"
        type_ = "BIGINT" if whole else "DOUBLE"
        fits = f"{text} RLIKE {plain_literal(f'^{self.pattern(whole)}$')}"
        sql = f"CASE WHEN {fits} THEN TRY_CAST({plain} AS {type_}) END"
        shown = f"{unit.before}{self.shown(whole)}{unit.behind}"
        return Reading(column, "whole number" if whole else "number", shown, sql)

    def shown(self, whole: bool) -> str:
        """How it writes a number."""
        return f"1{self.group}234" + ("" if whole else f"{self.mark}56")


_FORMS = tuple(_NumberForm(group, mark) for mark in MARKS for group in _GROUPS if group != mark)


def find_readings(
    sample: Mapping[str, Sequence[str]], read_by_spark: Collection[str], mark: str = ""
) -> tuple[list[Found], list[Unclear]]:
    """The columns that are numbers or truth values, and those whose decimal mark nothing tells.

    Args:
        sample: texts of the first rows by column, without blanks. read_by_spark: columns that Spark reads as numbers,
            with points before their fractions. mark: the decimal mark, where it was told.
    """
    found: dict[str, Found] = {}
    numbers: dict[str, list[_NumberForm]] = {}
    units = {column: _unit(texts) for column, texts in sample.items()}
    written, sample = sample, {name: [units[name].without(t) for t in texts] for name, texts in sample.items()}
    for column, texts in sample.items():
        if column not in read_by_spark and (truth := _truth(column, written[column])) is not None:
            found[column] = Found(column, (truth,), written[column][0])
        elif texts and (forms := _fitting(texts)):
            numbers[column] = forms
    decimal_mark = mark or _mark(sample, numbers)
    unclear = []
    for column, forms in numbers.items():
        texts, is_sparks = sample[column], column in read_by_spark
        fit = [form for form in forms if form.mark == decimal_mark] or ([] if decimal_mark else forms)
        if fit and (example := _differ(fit, texts)) is not None:
            unclear.append(Unclear(column, example))
        elif fit and not (is_sparks and decimal_mark != ","):
            any_mark = len({form.mark for form in fit}) > 1
            example = next(t for t, n in zip(written[column], texts, strict=True) if fit[0].value(n) is not None)
            readings = tuple(_readings(column, fit, texts, units[column]))
            found[column] = Found(column, readings, example, is_sparks, any_mark)
    return [found[column] for column in sample if column in found], unclear


def _mark(sample: Mapping[str, Sequence[str]], numbers: Mapping[str, Sequence[_NumberForm]]) -> str:
    """The decimal mark that the columns say together; empty where they say none, or several."""
    marks = set()
    for column, forms in numbers.items():
        own = {form.mark for form in forms if _has_marks(form, sample[column])}
        marks |= own if len(own) == 1 and _differ(forms, sample[column]) is None else set()
    return marks.pop() if len(marks) == 1 else ""


def _readings(column: str, forms: Sequence[_NumberForm], texts: Sequence[str], unit: _Unit) -> Iterator[Reading]:
    """By each form, as whole numbers first where the texts have no fractions."""
    for form in forms:
        if not any(form.value(text) is not None and not re.fullmatch(form.pattern(True), text) for text in texts):
            yield form.reading(column, True, unit)
        yield form.reading(column, False, unit)


def _plain(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d+", text) is not None


def _has_marks(form: _NumberForm, texts: Sequence[str]) -> bool:
    """Whether texts have a mark of a form that says something of it."""
    return any(not _plain(text) and form.value(text) is not None for text in texts)


def _fitting(texts: Sequence[str]) -> list[_NumberForm]:
    """The forms by which the most texts are numbers, and most of them are."""
    counts = {form: sum(form.value(text) is not None for text in texts) for form in _FORMS}
    most = max(counts.values())
    return [form for form, n in counts.items() if n == most] if most * 100 >= _MOST * len(texts) else []


def _differ(forms: Sequence[_NumberForm], texts: Sequence[str]) -> str | None:
    """A text that is different numbers by some forms; None where each is one number."""
    return next((text for text in texts if len({form.value(text) for form in forms}) > 1), None)


def _truth(column: str, texts: Sequence[str]) -> Reading | None:
    """The column as truth values, where each is a word for one of them and both occur."""
    words = {text.casefold() for text in texts}
    for no, yes in _TRUTHS:
        if words == {no, yes}:
            text = f"lower({text_of(column)})"
            sql = f"CASE {text} WHEN {plain_literal(yes)} THEN true WHEN {plain_literal(no)} THEN false END"
            return Reading(column, "truth value", f"{yes} or {no}", sql)
    return None


def texts_by_column(rows: Sequence[Sequence[object]], columns: Sequence[str]) -> dict[str, list[str]]:
    """Texts of some rows by column, without blanks around them and without those that are nothing else."""

    def texts(k: int) -> Iterator[str]:
        return (text for row in rows if row[k] is not None and (text := str(row[k]).strip()))

    return {column: list(texts(k)) for k, column in enumerate(columns)}
