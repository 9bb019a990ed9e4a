"""Regular expressions that a rule's text holds as literals: one that Java cannot read fails only when it runs, and then
all rules with it."""

from __future__ import annotations

from sparkcep.sql.statement import Statement

_OPERATORS = frozenset({"RLIKE", "REGEXP"})
_FUNCTIONS = frozenset(
    "RLIKE REGEXP REGEXP_LIKE REGEXP_COUNT REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_INSTR REGEXP_REPLACE REGEXP_SUBSTR "
    "SPLIT".split()
)


def regexes(s: Statement) -> tuple[tuple[str, int], ...]:
    """Each as SQL, with its place in the text.

    >>> from sparkcep.sql.lexicon import pair_parentheses, tokenize
    >>> tokens = tokenize(text := "a.x RLIKE 'b+' AND split(a.y, '[') IS NULL")
    >>> regexes(Statement(text, tokens, pair_parentheses(tokens)))
    (("'b+'", 10), ("'['", 30))
    """
    out = []
    for i in range(len(s.tokens)):
        at = i + 1
        if s.word(i) in _FUNCTIONS and at in s.pairs:
            arguments = s.between_commas(at + 1, s.pairs[at], s.pairs)
            if len(arguments) > 1:
                at = arguments[1][0] if arguments[1][1] - arguments[1][0] == 1 else -1
            elif s.word(i) not in _OPERATORS:
                continue
        elif s.word(i) not in _OPERATORS:
            continue
        if s.pairs.get(at) == at + 2:  # RLIKE ('[')
            at += 1
        # `'[' || a.x` and `'[' 'a'` go on.
        goes_on = s.operator(at + 1) == "||" or (at + 1 < len(s.tokens) and s.tokens[at + 1].kind == "string")
        if 0 <= at < len(s.tokens) and s.tokens[at].kind == "string" and not goes_on:
            token = s.tokens[at]
            out.append((s.text[token.start : token.end], token.start))
    return tuple(out)
