"""The Pygments lexer: words of patterns are keywords, and names that look like them stay names."""

from __future__ import annotations

import pytest


def test_words_of_patterns() -> None:
    pytest.importorskip("pygments")
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Keyword

    lexer = get_lexer_by_name("sparkcep")  # by the entry point
    text = "SELECT first FROM log MATCH_RECOGNIZE (MEASURES FIRST(a.x) AS f PATTERN (a b+) DEFINE b AS x > PREV(x))"
    found = {value for token, value in lexer.get_tokens(text) if token in Keyword}
    assert {"MATCH_RECOGNIZE", "MEASURES", "FIRST", "PATTERN", "DEFINE", "PREV", "SELECT"} <= found
    assert not found & {"log", "a", "b", "x"}
    names = {
        value for token, value in lexer.get_tokens("SELECT type, event FROM t PATTERN SEQ(event e)") if token in Keyword
    }
    assert "PATTERN" in names and "event" not in names
