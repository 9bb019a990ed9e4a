"""Whatever words stand in a block, it is bound or refused by name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import OccurrenceKind

from .blocks import bind

WORDS = (
    """a b[] b[i] b[i-1] b[..i-1] b[1] b[b.LEN] . .x .y x y val ( ) [ ] { } < > , + * ? ! ~ ∧ ^ × % = 1 2.5 'A' `q` A B
    SEQ( AND( OR( NOT AND OR BETWEEN avg( count( sum( NEXT( max(b[].x) CASE WHEN END AS WHERE WITHIN SLIDE RETURN
    RETURN-ALL true GROUP-BY GROUPS [(1-3)] EVENT SELECTION skip_till_any_match MATCHES ALL COLLAPSED STRICT TIME
    UNCERTAINTY STEP PROBABILITY CONFIDENCE >= EXPLAIN-NON-ANSWERS (1,2,3) (time,within,2,1,2) PARTITION BY ORDER
    PATTERN FROM SELECT -> // -- /* */ ; |> minutes [x] timestamp 80% a.(x,y) DISTINCT FILTER( OVER ⟦""".replace(
        "⟦", "\n"
    )
).split(" ")
STARTS = (
    "FROM r PATTERN ",
    "FROM r PATTERN SEQ(A a, B+ b[], !C c) ",
    "FROM r PATTERN SEQ(A a, B+ b[], !C c) WHERE ",
    "FROM r PATTERN SEQ(A a, B+ b[], !C c) RETURN ",
    "FROM r PATTERN SEQ(A a, B+ b[], !C c) WHERE a.x = b[i].y AND ",
    "FROM r RETURN ",
    "FROM ",
)


@given(st.sampled_from(STARTS), st.lists(st.sampled_from([w for w in WORDS if w]), max_size=12), st.booleans())
def test_no_words_break_it(start: str, words: list[str], spaced: bool) -> None:
    text = start + (" " if spaced else "").join(words)
    try:
        forms = read_statement(text).forms
        if forms and forms[-1].kind is OccurrenceKind.BLOCK:
            bind(text)
    except SparkCepError as error:
        assert error.error_class.isupper()
        assert "Line" in str(error)
