"""Words of MATCH_RECOGNIZE, or of a strategy alone, where a section of a block begins: what a block says instead."""

from __future__ import annotations

from sparkcep.sql.token_text import TokenText

#: What says it in a block.
INSTEAD = {
    "DEFINE": "put conditions into WHERE after the pattern: PATTERN SEQ(A a, B b) WHERE b.price > a.price",
    "MEASURES": "RETURN lists the columns of the result: PATTERN SEQ(A a, B b) RETURN a.price AS first",
    "SUBSET": "a component takes events of several types: PATTERN SEQ((A | B)+ u[], C c)",
    "AFTER MATCH SKIP": "write MATCHES SKIP PAST LAST EVENT, TO NEXT EVENT, TO FIRST b or TO LAST b; MATCHES ALL gives "
    "all matches",
    "ONE ROW PER MATCH": "a block gives one row for each match: leave it out",
    "ALL ROWS PER MATCH": "without RETURN a block lists each match's events in one column: SELECT ..., "
    "inline(events) FROM (FROM log ... PATTERN ...)",
}
#: A strategy without the words before it.
STRATEGIES = {
    "SKIP TILL NEXT MATCH": "EVENT SELECTION SKIP TILL NEXT MATCH",
    "SKIP TILL ANY MATCH": "EVENT SELECTION SKIP TILL ANY MATCH",
    "STRICT CONTIGUITY": "EVENT SELECTION STRICT CONTIGUITY",
}


def foreign_section(s: TokenText, i: int) -> str:
    """The clause of MATCH_RECOGNIZE, or the strategy, that begins at a token; empty where none does."""
    word = s.word(i)
    if word == "DEFINE" and s.word(i + 2) == "AS":
        return word
    if word == "SUBSET" and s.operator(i + 2) == "=":
        return word
    if word == "MEASURES" and i + 1 < len(s.tokens) and s.tokens[i + 1].kind in ("word", "quoted"):
        measure = s.operator(i + 2) in (".", "(") or s.word(i + 2) == "AS" or s.word(i + 1) in ("RUNNING", "FINAL")
        return word if measure else ""
    for words in ("AFTER MATCH SKIP", "ONE ROW PER MATCH", "ALL ROWS PER MATCH", *STRATEGIES):
        if word == words.partition(" ")[0] and _stands(s, i, words.split()):
            return "" if words in STRATEGIES and s.word(i - 1) == "SELECTION" else words
    return ""


def _stands(s: TokenText, i: int, words: list[str]) -> bool:
    return all(s.word(i + k) == word for k, word in enumerate(words))
