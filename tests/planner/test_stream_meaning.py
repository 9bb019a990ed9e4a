"""Which texts over a stream mean the same, and which columns count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkcep.planner.streaming.meaning import StreamSource, stream_meaning, words
from sparkcep.settings import read

SETTINGS = replace(read(lambda key, default=None: default), time_zone="UTC")
SOURCE = StreamSource("PATTERN SEQ(A a)", (None, {}), {"v": "int", "Größe": "int", "a`b{c": "int"})
PREPARED = ["(`v` > 1)", "(GRÖSSE = 2)", "(`a``b{{c`)"]


def parts(source: StreamSource = SOURCE, prepared: list[str] = PREPARED) -> dict[str, str]:
    return dict(stream_meaning(source, prepared, SETTINGS, [["one"], ["two"]]).parts)


@pytest.mark.parametrize(
    "text",
    ["a.x = 1 -- more", "a . x\n  =\t1", "/* first */ a.x = /* then */ 1", "a.x=1", "a.x = -- one\n1"],
)
def test_comments_and_white_space_mean_nothing(text: str) -> None:
    assert words(text) == words("a.x = 1")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.s = 'x  y'", "a.s = 'x y'"),
        ("a.s = 'x -- y'", "a.s = 'x'"),
        ("a.s = X'41'", "a.s = '41'"),
        ("a.s RLIKE r'\\d'", "a.s RLIKE '\\d'"),
        ("a.x > 1L", "a.x > 1"),
        ("`a x`", "a x"),
        ("- 1", "+ 1"),
        ("a b", "ab"),
    ],
)
def test_other_words_mean_another_query(one: str, other: str) -> None:
    assert words(one) != words(other)


def test_columns_that_are_read() -> None:
    assert [name for name in parts() if name.startswith("column ")] == ["column v", "column Größe", "column a`b{c"]
    assert parts(prepared=["(v)"]).keys() & {"column v", "column Größe"} == {"column v"}
    of_log = parts(replace(SOURCE, is_pattern=False), ["u"])
    assert {"column v", "column Größe"} <= of_log.keys()


def test_each_part_counts() -> None:
    before = parts()
    others = {
        "the pattern's text": parts(replace(SOURCE, text="PATTERN SEQ(B a)")),
        "the value of a parameter": parts(replace(SOURCE, arguments=(None, {"x": 1}))),
        "what WITH defines": parts(replace(SOURCE, common=["c AS (SELECT 1 AS v)"])),
        "column v": parts(replace(SOURCE, types={**SOURCE.types, "v": "bigint"})),
        "the SQL that prepares rows": parts(prepared=[*PREPARED, "e"]),
    }
    for name, after in others.items():
        assert {n for n in before if before[n] != after.get(n)} == {name}


def test_what_does_not_count() -> None:
    """A column that stands nowhere, whatever of its name stands in longer ones; the order of named arguments."""
    longer = replace(SOURCE, types={"valid": "int"})
    assert parts(longer, ["(invalid > 1)"]) == parts(replace(longer, types={"valid": "string"}), ["(invalid > 1)"])
    one, other = ({"x": 1, "y": 2}, {"y": 2, "x": 1})
    for first, second in (((None, one), (None, other)), ((one, {}), (other, {}))):
        assert parts(replace(SOURCE, arguments=first)) == parts(replace(SOURCE, arguments=second))


@pytest.mark.parametrize(("sql", "counts"), [("to_json(struct(*))", True), ("f(1, s.*)", True), ("2 * v", False)])
def test_a_star_reads_all_columns(sql: str, counts: bool) -> None:
    more = replace(SOURCE, types={**SOURCE.types, "w": "int"})
    assert (parts(prepared=[sql]) != parts(more, [sql])) == counts


def test_digests_of_format_1_tell_sources_apart() -> None:
    one, other = (
        stream_meaning(replace(SOURCE, text=text), PREPARED, SETTINGS, [["one"], ["two"]]).first_format
        for text in ("PATTERN SEQ(A a)", "PATTERN SEQ(B b)")
    )
    assert len({*one, *other}) == 4
