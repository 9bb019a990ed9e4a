"""The random strategies draw what engines are to be held to, nothing important less than once in a hundred."""

from __future__ import annotations

import pytest

from .features import STRATEGIES, counted

#: One in a hundred.
EXAMPLES, LEAST = 800, 8

PATTERNS = """quantifier *; quantifier +; quantifier ?; quantifier {n,}; quantifier {n,m}
alternatives: 2; alternatives: 3; may be empty; alternative that may be empty; loop whose body may be empty
Kleene within Kleene; quantifier within quantifier; quantified alternation; quantified concatenation
leaves: 1; leaves: 2; leaves: 3; leaves: 4; leaves: 5; leaves: 6"""
RELUCTANT = "quantifier *?; quantifier +?; quantifier ??; quantifier {n,}?; quantifier {n,m}?"
PERMUTE = """PERMUTE of 2; PERMUTE of 3; PERMUTE of 3 and more, one matches in several ways; quantified permutation
PERMUTE of several that match in several ways; PERMUTE with quantified inside; PERMUTE with alternation inside
PERMUTE with exclusion inside; PERMUTE with PERMUTE inside; PERMUTE with sequence inside
PERMUTE with a reluctant quantifier inside; PERMUTE of what may be empty; variable at several places; exclusion; ()"""
ANCHORS = """^; $; anchor at its end of the pattern; anchor elsewhere; PERMUTE with anchor inside; PERMUTE of 4
quantifier {n}; quantifier {n}?; exclusion within exclusion; leaves: 7+"""
NEGATIONS = """negation; leading negation; trailing negation; negation within negation; negated concatenation
negated alternation; negated quantified; negation behind a variable; negation behind a plus; negation behind a star
negation behind an optional; negation behind alternatives; negation behind a group; negation before a variable
negation before a plus; negation before a star; negation before an optional; negation before alternatives
negation before a group; negation in an alternative; negation in a quantified group"""
QUERIES = """SKIP TILL NEXT MATCH; SKIP TILL ANY MATCH; conditions: 0; conditions: 1; conditions: 2; conditions: 3
condition on taking; condition on leaving; condition of each event; conditions and more than three matches
component of several types or of every row; components of one variable"""
NEGATED = "condition of a negated event; condition of a negated event on the match"
NOTHING = """condition over nothing that holds; condition over nothing that fails; condition over an event of nothing
condition over each event of nothing; condition over an aggregate of nothing
condition of a variable that took nothing, over an event of nothing"""
NOTHING_SUMMED = "condition of a variable that took nothing, over an aggregate of nothing"
NEGATED_NOTHING = "condition of a negated event over an event of nothing"
BLOCKS = """block with PERMUTE; condition between components in any order; block with PERMUTE and negation"""
CONTIGUITY = """IMMEDIATELY under SKIP TILL NEXT MATCH; IMMEDIATELY under SKIP TILL ANY MATCH
IMMEDIATELY of a Kleene variable; IMMEDIATELY beside PERMUTE; IMMEDIATELY beside negation"""
MATCHES = """MATCHES ALL; MATCHES NON OVERLAPPING; MATCHES FIRST; STRICT CONTIGUITY; WITHIN; STRICT TIME"""

BLOCK = [NEGATIONS, QUERIES, BLOCKS, CONTIGUITY]
IMPORTANT = {
    "row patterns": [PATTERNS, RELUCTANT, PERMUTE, ANCHORS],
    "runs": [
        PATTERNS,
        RELUCTANT,
        PERMUTE,
        *BLOCK,
        NEGATED,
        MATCHES,
        NOTHING,
        NOTHING_SUMMED,
        NEGATED_NOTHING,
        "PERMUTE with negation inside",
    ],
    "trends": [PATTERNS, RELUCTANT, *BLOCK, NEGATED, NOTHING, NOTHING_SUMMED, "STRICT CONTIGUITY; STRICT TIME"],
    "imprecise times": [PATTERNS, NEGATIONS, QUERIES, BLOCKS, NOTHING, "WITHIN"],
}


#: The others draw from the same parts.
MOST_FEATURES = "runs"


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == MOST_FEATURES else pytest.mark.long) for name in STRATEGIES]
)
def test_drawn_often_enough(name: str) -> None:
    found = counted(*STRATEGIES[name], EXAMPLES)
    wanted = [feature for text in IMPORTANT[name] for line in text.splitlines() for feature in line.split("; ")]
    rare = {feature: found[feature] for feature in wanted if found[feature] < LEAST}
    assert rare == {}
