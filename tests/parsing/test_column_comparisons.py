"""What conditions ask of columns, and which columns expressions read, from their text."""

from __future__ import annotations

import pytest

from sparkcep.lineage.text_filters import ColumnComparison, column_comparisons, columns_read


def shown(test: ColumnComparison) -> str:
    column, comparison = test
    if comparison.either:
        return " or ".join(shown((column, side)) for side in comparison.either)
    return f"{'.'.join(column)} {comparison.operator} {' '.join(comparison.values)}"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("k IN ('a', 'b') AND t > timestamp_seconds(4)", "k = 'a' 'b'; t > timestamp_seconds(4)"),
        ("5 < l.t AND 3 = v", "l.t > 5; v = 3"),
        ("k = 'a' OR k > 'b'", "k = 'a' or k > 'b'"),
        ("k = 'a' OR (k = 'b' AND upper(v) = 'X')", "k = 'a' or k = 'b'"),
        ("k = 'a' OR v = 1", ""),
        ("k = 'a' OR v BETWEEN 1 AND 2", ""),
        ("(k) BETWEEN (1) AND (2) AND v < 3", "k >= (1); k <= (2); v < 3"),
        ("k BETWEEN 1 AND 2 OR k = 5", ""),
        ("NOT k = 1 AND v = 2", "v = 2"),
        ("NOT (k = 1)", ""),
        ("NOT k = 1 OR k = 2", ""),
        ("k NOT IN (1)", ""),
        ("k NOT BETWEEN 1 AND 2", ""),
        ("k = 1 IS NULL", ""),
        ("k = 1 = true", ""),
        ("k = 'a' IN (true)", ""),
        ("k = 'a' || 'b'", ""),
        ("k = 'a' COLLATE UTF8_LCASE", ""),
        ("k = CASE WHEN v = 1 THEN 2 END AND w = 1", ""),
        ("k = {x} AND k = 'a'", ""),
        ("k = :p AND k = upper('a')", "k = :p"),
        ("user = 'x' AND current_date > d", ""),
        ("`user` = 'x'", "user = 'x'"),
        ("k = rand() AND k IN (SELECT 1)", ""),
        ("exists(x, y -> y = 1) AND k = 2", "k = 2"),
        ("d >= DATE'2020-01-01' - INTERVAL 1 DAY", "d >= DATE'2020-01-01' - INTERVAL 1 DAY"),
        ("k <> 1 AND k != 2 AND k <=> 3", "k = 3"),
        ("k = 'it is -- not' -- k = 5", "k = 'it is -- not'"),
    ],
)
def test_what_conditions_ask(condition: str, expected: str) -> None:
    assert "; ".join(map(shown, column_comparisons(condition))) == expected


@pytest.mark.parametrize(
    ("condition", "number"),
    [
        ("k = 'a' AND (v < 2 OR v > 7)", 2),
        ("k = 'a' AND v IS NOT NULL", 0),
        ("k = 'a' OR (k = 'b' AND v)", 0),
        ("k = 'a' AND NOT v = 1", 0),
    ],
)
def test_whole_conditions(condition: str, number: int) -> None:
    assert len(column_comparisons(condition, whole=True)) == number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v + 1", "v"),
        ("CASE WHEN l.v > 2 THEN 'A' ELSE e END", "e l.v"),
        ("CAST(v AS BIGINT) % 3 <> 0 AND k LIKE 'a%'", "k v"),
        ("coalesce(k, :p)", "k"),
        ("k || '-' || lower(e)", "e k"),
        ("1", ""),
        ("rand()", None),
        ("v > {x}", None),
        ("current_date() > d", None),
        ("explode(array(1, 2))", None),
        ("row_number() OVER (PARTITION BY k ORDER BY v)", None),
        ("max(v)", None),
        ("(SELECT max(v) FROM t)", None),
        ("k IN (SELECT k FROM t)", None),
        ("EXISTS (SELECT 1 FROM t)", None),
        ("input_file_name()", None),
        ("my_function(v)", None),
    ],
)
def test_which_columns_are_read(text: str, expected: str | None) -> None:
    found = columns_read(text)
    assert (found if found is None else " ".join(sorted(".".join(name) for name in found))) == expected
