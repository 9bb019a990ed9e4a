"""Patterns that make a search by going back take for ever end in time that grows as rows times states."""

from __future__ import annotations

import time

import pytest

from sparkcep.errors import LimitError
from sparkcep.query import SkipMode
from sparkcep.sql.clause.row_pattern import parse_row_pattern
from sparkcep.sql.lexicon import tokenize

from .helpers import batch, found_matches, make_spec

ROWS = 3_000
CATASTROPHIC = ["(A+)+ B", "(A | A)* B", "(A? ){50} A{50} B", "((A*)*)* B", "(A | A A)+ B", "(A+ A+)+ B",
                "((A | ())+ A*?)* B",
                "PERMUTE(A+, A*, A?) B", "(A*? A*?){20} B"]  # fmt: skip


def spec_of(text: str, **changes: object):
    pattern, _ = parse_row_pattern(text, tokenize(text), len(text))
    return make_spec(pattern, {"A": 0, "B": 1}, **changes)


@pytest.mark.compiled
@pytest.mark.parametrize("skip", [SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW])
@pytest.mark.parametrize("text", CATASTROPHIC)
def test_a_hopeless_search_ends(text: str, skip: SkipMode) -> None:
    started = time.process_time()
    # All rows are As, and no B follows.
    assert found_matches(spec_of(text, skip=skip), batch([1] * ROWS)) == []
    assert time.process_time() - started < 20  # with compiling


@pytest.mark.compiled
@pytest.mark.parametrize("text", CATASTROPHIC)
def test_a_match_is_found_at_once(text: str) -> None:
    rows = 120
    found = found_matches(spec_of(text), batch([1] * rows + [2]))
    assert [path[-1][:2] for _, _, path in found] == [("B", rows)]


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"limit_rows": 100}, "spark.sparkcep.limit.matches"), ({"limit_steps": 100}, "spark.sparkcep.limit.steps")],
)
def test_limits_name_their_key(changes: dict[str, int], key: str) -> None:
    with pytest.raises(LimitError, match=key.replace(".", r"\.")):
        found_matches(spec_of("A+", skip=SkipMode.TO_NEXT_ROW, **changes), batch([1] * ROWS))
