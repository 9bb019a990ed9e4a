"""Which windows have patterns, where their SELECT's source stands, and what is called over them."""

from __future__ import annotations

import pytest

from sparkcep.errors import PatternParseError
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import OccurrenceKind

W = "(ORDER BY a ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING PATTERN (A))"

#: [source of a SELECT], {call over a window with a pattern}.
MARKED = [
    f"SELECT <m OVER {W}> FROM [t]",
    f"SELECT <m OVER w> FROM [t WHERE x = 1] WINDOW w AS {W}",
    f"SELECT 1 + <sum(x) FILTER (WHERE x > 1) OVER w>, f(<m OVER (w)>) FROM [a.b t] WINDOW v AS (ORDER BY a), w AS {W}",
    f"SELECT count(*) OVER v, <m OVER u> FROM [t] WINDOW v AS (ORDER BY a), w AS {W}, u AS w ORDER BY <m OVER w>",
    f"SELECT <first(x) IGNORE NULLS OVER w> FROM [(SELECT y FROM u) t] WINDOW w AS {W} LIMIT 3",
    f"SELECT (SELECT max(<m OVER w>) FROM [u] WINDOW w AS {W}), sum(x) OVER w FROM t WINDOW w AS (ORDER BY a)",
    f"SELECT x FROM [t] WINDOW w AS {W} UNION ALL SELECT <m OVER {W}> FROM [u]",
    f"WITH c AS (SELECT <m OVER {W}> FROM [t]) SELECT * FROM c",
    f"SELECT t.union, <m OVER w> FROM [t WHERE t.except = 1] WINDOW w AS {W}",
    f"CREATE TABLE r USING parquet AS SELECT a IS DISTINCT FROM b, <m OVER {W}> FROM [t]",
    f"INSERT INTO r SELECT * EXCEPT (a), <m OVER {W}> FROM [t]",
    "SELECT count(*) OVER (ORDER BY pattern (a)), sum(x) OVER (PARTITION BY a, pattern (b)) FROM t",
    "SELECT pattern, over FROM window WINDOW pattern AS (ORDER BY a)",
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY a PATTERN (A))",
    "WITH w AS (FROM t PATTERN (A a)) SELECT * FROM w",
]


@pytest.mark.parametrize("marked", MARKED)
def test_spans(marked: str) -> None:
    text, spans, opened = "", {"[": [], "<": []}, []
    for k, c in enumerate(marked):
        if c in "[<" and not (c == "<" and marked[k + 1] == " "):
            opened.append((c, len(text)))
        elif c in "]>" and not (c == ">" and marked[k - 1] == " "):
            kind, start = opened.pop()
            spans[kind].append(text[start:])
        else:
            text += c
    statement = read_statement(text)
    forms = [f for f in statement.forms if f.kind is OccurrenceKind.WINDOW]
    tokens = statement.tokens
    calls = [text[tokens[c.low].start : tokens[c.end - 1].end] for f in forms if f.windowed for c in f.windowed.calls]
    assert sorted(text[f.start : f.end] for f in forms) == sorted(spans["["])
    assert sorted(calls) == sorted(spans["<"])


def test_without_rows() -> None:
    with pytest.raises(PatternParseError, match="CEP_WINDOW_QUERY"):
        read_statement(f"SELECT m OVER {W}")
