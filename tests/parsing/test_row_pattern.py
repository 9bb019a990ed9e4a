"""Row patterns: text to tree and back, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given

from sparkcep.errors import PatternParseError
from sparkcep.pattern import Pattern, Quantified, render, walk
from sparkcep.sql.clause.row_pattern import parse_row_pattern
from sparkcep.sql.lexicon import tokenize

from ..exec.strategies import patterns


def parse(text: str, skips: bool = False) -> Pattern:
    return parse_row_pattern(text, tokenize(text), len(text), skips=skips)[0]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a b+ c*? d?? e{2,3}? f{,4}", "A B+ C*? D?? E{2,3}? F{0,4}"),
        ("(a|b)+ | c", "(A | B)+ | C"),
        ("^a$", "^ A $"),
        ("a?|b", "A? | B"),
        ("{-a b-} {- c{1} -}+", "{- A B -} {- C{1} -}+"),
        ("permute(a, b c)", "PERMUTE(A, B C)"),
        ("`a b` `A``B` ()", "`a b` `A``B` ()"),
        ("a{,}? b{3,}", "A*? B{3,}"),
        ("a /* {2} */ b -- c", "A B"),
    ],
)
def test_render(text: str, normal: str) -> None:
    assert render(parse(text)) == normal


@given(patterns())
def test_rendered_patterns_read_the_same(pattern: Pattern) -> None:
    assert render(parse(render(pattern))) == render(pattern)


@pytest.mark.parametrize(
    ("text", "error_class", "column"),
    [
        ("a || b", "CEP_PATTERN_SYNTAX", 4),
        ("a**", "CEP_PATTERN_SYNTAX", 3),
        ("(a b", "CEP_PATTERN_SYNTAX", 5),
        ("a)", "CEP_PATTERN_SYNTAX", 2),
        ("{- a", "CEP_PATTERN_SYNTAX", 5),
        ("a{3,2}", "CEP_QUANTIFIER_BOUNDS", 6),
        ("a{0}", "CEP_QUANTIFIER_BOUNDS", 4),
        ("a{x}", "CEP_PATTERN_SYNTAX", 3),
        ("a 'b'", "CEP_PATTERN_SYNTAX", 3),
        ("a !b c", "CEP_UNSUPPORTED_SELECTION", 3),
        ("permute(a)", "MATCH_RECOGNIZE_PERMUTE_TOO_FEW_PATTERNS", 1),
        ("(" * 200 + "a" + ")" * 200, "CEP_PATTERN_SYNTAX", 101),
        ("", "CEP_PATTERN_SYNTAX", 1),
    ],
)
def test_errors_have_a_place(text: str, error_class: str, column: int) -> None:
    with pytest.raises(PatternParseError, match=f"column {column}\\.") as error:
        parse(text)
    assert error.value.getCondition() == error_class


def test_formatted_text_doubles_braces() -> None:
    text = "a{{2,3}} b{{,4}}"
    tree, _ = parse_row_pattern(text, tokenize(text), len(text), formatted=True)
    assert [(n.minimum, n.maximum) for n in walk(tree) if isinstance(n, Quantified)] == [(2, 3), (0, 4)]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a !b c", "A !B C"),
        ("a !b+ ~(c d | e) f", "A !(B+) !(C D | E) F"),
        ("!a b !c", "!A B !C"),
        ("a !(b !c d) e", "A !(B !C D) E"),
        ("^ a (b !c d)*? {- e -} $", "^ A (B !C D)*? {- E -} $"),
    ],
)
def test_negation_under_skip_strategies(text: str, normal: str) -> None:
    assert render(parse(text, skips=True)) == normal


@pytest.mark.parametrize(
    ("text", "error_class", "column"),
    [
        ("!a", "CEP_NEGATION", 1),
        ("a !b* c", "CEP_NEGATION", 3),
        ("a (!b)+ c", "CEP_NEGATION", 4),
        ("a (b | !c) d", "CEP_NEGATION", 8),
        ("permute(a, !b)", "CEP_NEGATION", 12),
        ("a !!b c", "CEP_NEGATION", 3),
        ("a !{- b -} c", "CEP_NEGATION", 3),
        ("a !(^ b) c", "CEP_NEGATION", 3),
        ("a !", "CEP_PATTERN_SYNTAX", 4),
        ("a " + "!" * 500 + "b", "CEP_PATTERN_SYNTAX", 103),
    ],
)
def test_negations_that_mean_nothing(text: str, error_class: str, column: int) -> None:
    with pytest.raises(PatternParseError, match=f"column {column}\\.") as error:
        parse(text, skips=True)
    assert error.value.getCondition() == error_class
