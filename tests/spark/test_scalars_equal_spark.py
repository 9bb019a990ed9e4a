"""The interpreter's functions give Spark's values, of Spark's types."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from sparkcep.exec.conditions.columns import (
    Rows,
    Values,
    evaluator,
    value,
)
from sparkcep.expr.functions import WRITTEN
from sparkcep.expr.nodes import Expression
from sparkcep.expr.numbers import Overflow
from sparkcep.expr.types import NotCompilable, parse_type
from sparkcep.expr.typing_pass import Typing
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.trees import Conjunct
from sparkcep.planner.fields import Fields

from ..conftest import IS_CONNECT

pytestmark = pytest.mark.skipif(IS_CONNECT, reason="Spark's functions are the same there")

TYPES = {
    "s": "string", "t": "string", "u": "string", "i": "int", "j": "int", "h": "smallint", "l": "bigint",
    "x": "double", "y": "double", "f": "float", "g": "float", "n": "decimal(9,3)", "m": "decimal(20,2)", "b": "boolean",
    "d": "date", "e": "date", "p": "array<int>", "q": "array<string>", "k": "array<struct<n:int,w:string>>",
    "o": "map<string,int>", "z": "timestamp", "w": "timestamp", "c": "timestamp_ntz", "r": "interval day to second",
    "r1": "interval day", "zs": "array<timestamp>", "cs": "array<timestamp_ntz>", "ds": "array<date>",
    "rs": "array<interval day to second>",
}  # fmt: skip
ZONE = "Atlantic/Azores"  # whose clocks skip the hour after midnight
STRINGS = ["", "a", "ab", "abc", "cab", "aab", " a b ", "éa", "日本", "a😀b", "AbC", "x,y,z", "aaaa", ",", "0"]
INTS = [0, 1, -1, 2, 3, -3, 7, 25, -25, 104, 95, 15, -15]
DOUBLES = [0.0, -0.0, 1.5, 2.5, -2.5, 0.125, 1.005, 2.675, 1e-7, -1e10, 123456.789, 5e-324, math.nan, 0.1]
DATES = [dt.date(2020, 1, 31), dt.date(2020, 2, 29), dt.date(2019, 12, 30), dt.date(2021, 1, 3), dt.date(1999, 3, 1)]
#: Around the hours of 2026 that clocks skip and show twice.
TIMES = [
    dt.datetime(2026, month, day, hour, 30, tzinfo=dt.UTC)
    for month, day in ((3, 28), (3, 29), (3, 30), (10, 24), (10, 25), (10, 26))
    for hour in (0, 1, 2, 23)
]
LOCAL_TIMES = [
    *(dt.datetime(2026, month, day, 0, 30) for month, day in ((3, 28), (3, 29), (3, 30), (10, 24), (10, 25), (10, 26))),
    dt.datetime(2020, 1, 31),
]
DAYS = [dt.date(2026, 3, 29), dt.date(2026, 3, 30), dt.date(2026, 10, 25), dt.date(2026, 10, 26)]
SPANS = [dt.timedelta(hours=h, microseconds=m) for h in (0, 1, -1, 24, -24, 25, -36, 48) for m in (0, 1)]
VALUES: dict[str, list[Any]] = {
    "string": STRINGS,
    "int": INTS,
    "smallint": INTS,
    "bigint": [*INTS, 2**53 + 1, -(2**60)],
    "double": [*DOUBLES, math.inf, -math.inf],
    "float": [0.0, 1.5, -2.25, 0.1, 16777217.0, 1e-7, 3.3, math.nan, 1e20],
    "decimal(9,3)": [Decimal(v) for v in ("0", "1.005", "-2.500", "999999.999", "-0.001", "12.345", "0.450")],
    "decimal(20,2)": [Decimal(v) for v in ("0", "1.05", "-2.50", "999999999999999999.99", "12.35", "0.45")],
    "boolean": [True, False],
    "date": DATES,
    "array<int>": [[], [1], [2, None], [7, -1, 2], [None, 25, -3, 3], [0, 0]],
    "array<string>": [[], ["a"], ["ab", None, ""], ["cab", "éa", "aab", "a😀b"]],
    "array<struct<n:int,w:string>>": [[], [None], [(1, "a"), (None, "ab")], [(2, None), (2, "c"), (-1, "a"), None]],
    "timestamp": TIMES,
    "timestamp_ntz": LOCAL_TIMES,
    "interval day to second": SPANS,
    "interval day": [dt.timedelta(days=n) for n in (0, 1, -1, 2)],
    "array<timestamp>": [[], [*TIMES[:9], None], TIMES[9:]],
    "array<timestamp_ntz>": [[None], LOCAL_TIMES],
    "array<date>": [DAYS, [None, *DAYS]],
    "array<interval day to second>": [SPANS, [None]],
    "map<string,int>": [{}, {"a": 1}, {"ab": None, "": 3}, {"c": 25, "a": -1, "b": 2}],
}
CASES = """
levenshtein(s, concat(t, u)) | levenshtein(s, t) | concat_ws(',', s, t, u) | concat_ws(s, t) | substring(s, i) |
substring(s, i, j) | substr(concat(s, t), i, j) | left(s, i) | right(s, i) | replace(s, t) | replace(s, t, u) |
instr(s, t) | locate(t, s) | reverse(s) | repeat(s, i) | lpad(s, i) | lpad(s, j, t) | rpad(s, i) | rpad(s, j, t) |
startswith(s, t) | endswith(s, t) | contains(s, t) | translate(s, t, u) | substring_index(s, t, i) |
substring_index(s, ',', i) | substring_index(s, 'aa', i) | ltrim(s) | rtrim(s) | trim(s) | upper(t) | lower(t) |
bit_length(s) | negative(i) | negative(n) | double(m) | bigint(i) | array_min(p) | array_max(q) |
length(s) | len(s) | char_length(s) | character_length(s) | octet_length(s) | string(i) | string(b) | string(d) |
CAST(l AS STRING) | round(x) | round(x, 2) | round(x, 1) | round(x, -1) | bround(x) | bround(x, 2) | round(f, 2) |
bround(f, 1) | round(i) | round(i, -1) | bround(i, -1) | round(h, -1) | round(l, -2) | round(n) | round(n, 2) |
round(n, 5) | round(n, -2) | bround(n, 2) | bround(n) | round(m, 1) | round(m, -20) | floor(x) | ceil(x) | ceiling(f) |
floor(i) | floor(l) | floor(n) | ceil(n) | ceil(m) | floor(floor(n)) | floor(x - x) |
array_contains(array(x, y), 0.1) | array_contains(array(f), n) |
sqrt(x) | sqrt(i) | sqrt(f) | sqrt(n) | sqrt(m) | sign(x) |
sign(i) | signum(n) | isnan(x) | isnan(f) | mod(i, 7) | mod(l, 7) | mod(x, 3.5D) | f + g | f - g | f * g | f / 2.5D |
f * 3 | f + n | f - l | i / 3 | f % float(0.3) | -f | abs(f) | float(x) | float(i) | float(l) | f = g | f < i | f > n |
f <=> x | coalesce(f, x) | coalesce(i, x) | least(x, n) | greatest(f, g) | x IN (0.1, 2.5) | i IN (1.0, 2.0) |
CASE WHEN b THEN x ELSE i END + 1 | int(n) | CAST(i AS BIGINT) | CAST(h AS INT) | int(b) | CAST(n AS BIGINT) |
CAST(n AS DOUBLE) | CAST(m AS DOUBLE) | date_add(d, i) | date_sub(d, i) | dateadd(d, i) | add_months(d, i) |
last_day(d) |
year(d) | quarter(d) | month(d) | day(d) | dayofmonth(d) | weekday(d) | dayofweek(d) | dayofyear(d) | weekofyear(d) |
datediff(d, e) | round(x * 100) / 100 | sqrt(x * x + y * y) | round(n * 2, 2) + 1 | n / 3 | 100 - n | n % 7 |
exists(p, v -> v > i) | exists(q, v -> v = s) | NOT exists(p, v -> v > i) | forall(p, v -> v < i) |
forall(p, i -> i = j) | forall(q, v -> v LIKE concat(t, '%')) | filter(p, v -> v > j) | filter(p, (v, a) -> a < i) |
filter(k, v -> v.n = j) | transform(p, v -> v * 2 + i) | transform(p, v -> v / 2) |
transform(q, (v, a) -> concat(v, s)) | transform(k, v -> v.w) | aggregate(p, 0, (a, v) -> a + coalesce(v, i)) |
aggregate(p, i, (a, v) -> a + v, a -> a * 2.5D) | reduce(q, '', (a, v) -> concat(a, v)) |
zip_with(p, filter(p, v -> v > i), (v, a) -> coalesce(v, 0) - coalesce(a, j)) |
zip_with(p, q, (v, a) -> concat(a, string(v))) | array_sort(p) | array_sort(q) | array_sort(k) | size(k) | size(o) |
array_sort(p, (v, a) -> coalesce(v, i, 0) - coalesce(a, i, 0)) |
array_sort(q, (v, a) -> length(coalesce(v, s, '')) - length(coalesce(a, s, ''))) |
size(p) | size(filter(p, v -> v IS NULL)) | cardinality(p) | cardinality(o) | array_size(p) |
array_size(filter(p, v -> v > i)) |
arrays_overlap(p, filter(p, v -> v > i)) | arrays_overlap(p, transform(p, v -> v - i)) |
arrays_overlap(q, filter(q, v -> v < s)) | array_intersect(p, transform(p, v -> v + j)) |
array_intersect(q, filter(q, v -> v IS NULL OR v > s)) | array_except(p, filter(p, v -> v > i)) |
array_union(p, transform(p, v -> v - i)) | size(array_union(q, q)) | map_keys(o) | map_values(o) |
map_values(map_filter(o, (v, a) -> a > i OR v = s)) | get(p, i) | get(transform(k, v -> v.n), j) |
exists(k, v -> v.n > i) | exists(k, V -> exists(p, a -> a = v.N)) | exists(k, v -> v = get(k, 1)) |
exists(k, v -> v < get(k, 0)) | filter(k, v -> v IS NULL) | array_max(transform(p, v -> v - i)) |
array_contains(filter(p, v -> v < i), j) | exists(filter(p, v -> v > i), v -> v IN (j, 7)) |
transform(p, v -> CASE WHEN v > i THEN s WHEN v IS NULL THEN t END) |
z - w | z - c | c - z | d - z | z - d | c - d | d - c | z + r | z - r | r + z | c + r | c - r | r + c | d + r | d - r |
r * i | r1 * (n % 9) | i / 4 * r | r * 0.3D | n % 7 * r1 | float(i) * r | r / 3 | r1 / 7 | r / 2.5D |
(z - w) / 2 |
z < c | z - r >= d | d + r <> z |
coalesce(f, i) | coalesce(f, x, i) | coalesce(f, n) | greatest(f, l) | if(b, f, n) | array(f, h) |
d + r1 | r1 + d | z - r1 | abs(z - w) | -(z - w) | transform(zs, v -> v - w) | transform(zs, v -> z - v) |
transform(zs, v -> v - c) | transform(zs, v -> v - d) | transform(zs, v -> v + r) | transform(zs, v -> v - r1) |
transform(rs, v -> w + v) | transform(rs, v -> w - v) | transform(rs, v -> c - v) | transform(rs, v -> d + v) |
transform(rs, v -> v + r) | transform(cs, v -> v - c) | transform(cs, v -> v - z) | transform(cs, v -> v - d) |
transform(cs, v -> r + v) | transform(ds, v -> v - d) | transform(ds, v -> v - z) | transform(ds, v -> v - c) |
transform(ds, v -> v + i) | transform(ds, v -> v - 2) | transform(ds, v -> v + r1) | transform(ds, v -> v - r) |
transform(ds, v -> 1 + v) | transform(ds, v -> v < z) | transform(ds, v -> v >= c) | transform(cs, v -> v <=> z) |
transform(cs, v -> v < z) | transform(zs, v -> v = c) | transform(zs, v -> v <> d) |
transform(zs, v -> v BETWEEN w AND c) | exists(zs, v -> v - w < r) | forall(zs, v -> abs(v - w) >= r1) |
filter(zs, v -> v + r > z)
"""
#: Whose last digits may be others than Java's.
MATHEMATICAL = """
sin(x) | cos(x) | tan(x) | asin(x) | acos(x) | atan(x) | sinh(x) | cosh(x) | tanh(x) | exp(x) | expm1(x) | ln(x) |
log(x) | log10(x) | log2(x) | log1p(x) | cbrt(x) | radians(x) | degrees(x) | sin(i) | exp(n) | ln(f) | pow(x, y) |
pow(i, j) |
power(x, 2) | pow(n, 0.5) | atan2(x, y) | hypot(x, y) | log(x, y) | log(i, j) |
2 * asin(sqrt(pow(sin(radians(x - y) / 2), 2) + cos(radians(x)) * cos(radians(y)) * pow(sin(radians(f - g) / 2), 2)))
"""
EXPRESSIONS = [" ".join(c.split()) for c in CASES.split("|")]
INEXACT = [" ".join(c.split()) for c in MATHEMATICAL.split("|")]


class Unlifted(Conjunct):
    """Calls over one row stay calls."""

    def lift_call(self, *_: Any, **__: Any) -> Expression | None:
        return None


def ours(text: str, columns: list[list[Any]], ansi: bool = True) -> tuple[Any, Any]:
    """Evaluator by row, and type, of an expression over the columns of ``TYPES``."""
    owner = MatchConditions(None, Fields(list(TYPES), False), zone=ZONE)  # type: ignore[arg-type]
    tree = Unlifted(owner, [text], in_row=True).convert()
    used = [owner.fields.column_of(owner.fields.texts[k]) for k in owner.columns]
    types = tuple(parse_type(TYPES[c or ""]) for c in used)
    typed = Typing((), types, ansi).typed(tree)
    places = [list(TYPES).index(c or "") for c in used]
    values, evaluate = Values([columns[p] for p in places]), evaluator(typed)
    return (lambda row: value(evaluate, Rows(values, [row]))), typed.type


def held(value: Any, type_: str = "") -> Any:
    """A value as conditions hold it; Spark gives a TIMESTAMP as the time of this machine."""
    if isinstance(value, dt.datetime) and "timestamp_ntz" not in type_:
        return value.astimezone(dt.UTC)
    if isinstance(value, Row):
        return {name: held(v) for name, v in value.asDict().items()}
    if isinstance(value, dict):
        return [(held(k), held(v)) for k, v in value.items()]
    return [held(v, type_) for v in value] if isinstance(value, list) else value


def shown(value: Any) -> Any:
    """Equal for equal values: NaN, the sign of zero and a decimal's scale count."""
    return repr(value) if isinstance(value, float | Decimal) else value


def equal(a: Any, b: Any, near: bool) -> bool:
    """Whether values are equal; ``near``: up to the last two bits of a double or so."""
    if shown(a) == shown(b):
        return True
    return near and None not in (a, b) and math.isclose(a, b, rel_tol=1e-15, abs_tol=1e-300)


@pytest.mark.parametrize("ansi", [True, False])
def test_values_and_types(spark: SparkSession, ansi: bool) -> None:
    rng = random.Random(4)
    values = (
        VALUES
        if not ansi
        else VALUES | {"double": [v for v in DOUBLES if not math.isnan(v)], "float": VALUES["float"][:-2]}
    )
    rows = [[rng.choice([None, *2 * values[t]]) for t in TYPES.values()] for _ in range(400)]
    schema = ", ".join(f"{c} {t}" for c, t in TYPES.items())
    mixed = (
        "coalesce(f, i)",
        "greatest(f, l)",
        "array(f, h)",
        "f * 3",
        "f - l",
        "f < i",
        "int(n)",
        "CAST(n AS BIGINT)",
    )
    texts = [*INEXACT, *(e for e in EXPRESSIONS if ansi or e not in mixed)]
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    try:
        frame = spark.createDataFrame(rows, schema)
        found = frame.selectExpr(*TYPES, *(f"{text} AS r{k}" for k, text in enumerate(texts)))
        answers = found.collect()
        types = [f.dataType.simpleString() for f in found.schema.fields[len(TYPES) :]]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
        spark.conf.set("spark.sql.session.timeZone", str(zone))
    every = [*TYPES.values(), *types]
    columns = [[held(v, type_) for v in c] for type_, c in zip(every, zip(*answers, strict=True), strict=True)]
    wrong: list[Any] = []
    for text, type_, expected in zip(texts, types, columns[len(TYPES) :], strict=True):
        evaluate, kind = ours(text, columns, ansi)
        if kind != parse_type(type_):
            wrong.append((text, kind, type_))
        got = list(map(evaluate, range(len(answers))))
        near = text in INEXACT
        differing = [k for k in range(len(answers)) if not equal(got[k], expected[k], near)]
        wrong += [(text, got[k], expected[k], answers[k][: len(TYPES)]) for k in differing[:2]]
    assert not wrong


def test_every_function_is_compared() -> None:
    assert [name for name in WRITTEN if not any(f"{name}(" in e for e in (*EXPRESSIONS, *INEXACT))] == []


@pytest.mark.parametrize(
    ("text", "value"), [("int(l)", 2**31), ("round(i, -1)", 2**31 - 1), ("int(x)", math.nan), ("floor(x)", 1e19)]
)
def test_overflow(text: str, value: Any) -> None:
    evaluate, _ = ours(text, [[value]] * len(TYPES))
    with pytest.raises(Overflow):
        evaluate(0)


@pytest.mark.parametrize("text", ["acosh(x)", "string(x)", "round(x, i)", "soundex(s)", "year(s)"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(NotCompilable, match=text.split("(", maxsplit=1)[0]):
        ours(text, [[1]] * len(TYPES))
