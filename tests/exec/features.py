"""How often the random strategies draw what: a feature that is drawn too rarely is a hole in the property tests.

python -m tests.exec.features 2000    prints, for each strategy, the share of so many examples that have each feature
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sparkcep.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    can_be_empty,
    children,
    matches_one_way,
    walk,
)
from sparkcep.query import Aggregate, Condition, Navigation, Selection, TestedAt
from sparkcep.sql.permutations import unordered

from . import run_strategies, strategies, trend_engine, uncertain_worlds
from .reference_runs import Path, ReferenceCondition
from .run_strategies import RunCase

SIGNS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def sign(node: Quantified) -> str:
    low, high = node.minimum, node.maximum
    counted = "{n}" if low == high else "{n,}" if high is None else "{n,m}"
    return SIGNS.get((low, high), counted) + ("" if node.greedy else "?")


def inside(node: Pattern) -> Iterator[Pattern]:
    """All nodes below a node."""
    for child in children(node):
        yield from walk(child)


def of_pattern(root: Pattern) -> Iterator[str]:
    """Features of a pattern, some of them several times."""
    nodes = list(walk(root))
    leaves = [n.name for n in nodes if isinstance(n, Variable)]
    yield f"leaves: {min(len(leaves), 7)}{'+' * (len(leaves) > 6)}"
    if len(set(leaves)) < len(leaves):
        yield "variable at several places"
    if can_be_empty(root):
        yield "may be empty"
    for node in nodes:
        below = list(inside(node))
        if isinstance(node, Quantified):
            yield f"quantifier {sign(node)}"
            yield from of_quantified(node, below)
        elif isinstance(node, Permutation):
            yield from of_permutation(node, below)
        elif isinstance(node, Alternation):
            yield f"alternatives: {min(len(node.items), 3)}"
            if any(map(can_be_empty, node.items)):
                yield "alternative that may be empty"
        elif isinstance(node, Exclusion):
            yield "exclusion"
            if any(isinstance(n, Exclusion) for n in below):
                yield "exclusion within exclusion"
        elif isinstance(node, Empty):
            yield "()"
        elif isinstance(node, Anchor):
            yield "^" if node.at_start else "$"
        elif isinstance(node, Negation):
            yield from of_negation(node, below)
    yield from neighbours(nodes)
    if any(isinstance(n, Negation) for n in nodes):
        yield from edges(root)
    yield from anchors(root)


def of_quantified(node: Quantified, below: list[Pattern]) -> Iterator[str]:
    if any(isinstance(n, Quantified) for n in below):
        yield "quantifier within quantifier"
        if node.maximum is None and any(isinstance(n, Quantified) and n.maximum is None for n in below):
            yield "Kleene within Kleene"
    if isinstance(node.item, (Alternation, Permutation, Concatenation)):
        yield f"quantified {type(node.item).__name__.lower()}"
    if can_be_empty(node.item) and node.maximum is None:
        yield "loop whose body may be empty"
    if any(isinstance(n, Negation) for n in below):
        yield "negation in a quantified group"


def of_permutation(node: Permutation, below: list[Pattern]) -> Iterator[str]:
    yield f"PERMUTE of {min(len(node.items), 4)}"
    several = [not matches_one_way(item) for item in node.items]
    if len(several) > 2 and any(several):
        yield "PERMUTE of 3 and more, one matches in several ways"
    if sum(several) > 1:
        yield "PERMUTE of several that match in several ways"
    for kind, name in ((Quantified, "quantified"), (Alternation, "alternation"), (Exclusion, "exclusion"),
                       (Permutation, "PERMUTE"), (Negation, "negation"), (Anchor, "anchor"),
                       (Concatenation, "sequence")):  # fmt: skip
        if any(isinstance(n, kind) for n in below):
            yield f"PERMUTE with {name} inside"
    if any(isinstance(n, Quantified) and not n.greedy for n in below):
        yield "PERMUTE with a reluctant quantifier inside"
    if any(map(can_be_empty, node.items)):
        yield "PERMUTE of what may be empty"


def of_negation(node: Negation, below: list[Pattern]) -> Iterator[str]:
    yield "negation"
    if isinstance(node.item, (Concatenation, Alternation, Quantified)):
        yield f"negated {type(node.item).__name__.lower()}"
    if any(isinstance(n, Negation) for n in below):
        yield "negation within negation"


def neighbours(nodes: Iterable[Pattern]) -> Iterator[str]:
    """What stands before and after negations."""
    for node in nodes:
        if isinstance(node, Alternation) and any(isinstance(n, Negation) for n in inside(node)):
            yield "negation in an alternative"
        if not isinstance(node, Concatenation):
            continue
        for n, item in enumerate(node.items):
            if not isinstance(item, Negation):
                continue
            for other, where in ((node.items[n - 1 : n], "behind"), (node.items[n + 1 : n + 2], "before")):
                for kind in map(neighbour, other):
                    yield f"negation {where} {kind}"


def neighbour(node: Pattern) -> str:
    if isinstance(node, Quantified):
        group = "" if isinstance(node.item, Variable) else " of a group"
        return {"*": "a star", "+": "a plus", "?": "an optional"}.get(sign(node)[0], "a count") + group
    return {Alternation: "alternatives", Negation: "a negation", Variable: "a variable"}.get(type(node), "a group")


def edges(root: Pattern) -> Iterator[str]:
    items = root.items if isinstance(root, Concatenation) else (root,)
    if isinstance(items[0], Negation):
        yield "leading negation"
    if isinstance(items[-1], Negation):
        yield "trailing negation"


def anchors(root: Pattern) -> Iterator[str]:
    """Anchors that are not where one expects them."""
    items = root.items if isinstance(root, Concatenation) else (root,)
    for n, item in enumerate(items):
        for node in walk(item):
            if isinstance(node, Anchor):
                top = node is item and (n == 0 if node.at_start else n == len(items) - 1)
                yield "anchor at its end of the pattern" if top else "anchor elsewhere"


def of_case(case: RunCase) -> Iterator[str]:
    """Features of a log and a query under an event selection strategy."""
    yield from of_pattern(case.pattern)
    yield case.selection.value
    yield case.matches.value
    yield f"conditions: {min(len(case.conditions), 3)}"
    yield f"events: {'0 to 3' if len(case.types) < 4 else '4 to 7' if len(case.types) < 8 else '8 and more'}"
    if case.within is not None:
        yield "WITHIN"
    if case.strict_time:
        yield "STRICT TIME"
    if any(len(c.types) != 1 for c in case.components):
        yield "component of several types or of every row"
    if len({c.variable for c in case.components}) < len(case.components):
        yield "components of one variable"
    leaves = [n.name for n in walk(case.pattern) if isinstance(n, Variable)]
    if len(set(leaves)) == len(leaves):
        yield from of_block(case)
    negated = {c.key for c in case.components if c.negated}
    for c in case.conditions:
        yield "condition on leaving" if c.at is TestedAt.LEAVE else "condition on taking"
        if c.each:
            yield "condition of each event"
        if negated & set(c.decided_by):
            yield "condition of a negated event"
            if c.awaited:
                yield "condition of a negated event on the match"
    if case.references:
        seen: set[str] = set()
        noting = (noted(c, r, seen) for c, r in zip(case.conditions, case.references, strict=True))
        if len(set(replace(case, references=tuple(noting)).reference())) > 3:
            yield "conditions and more than three matches"
        yield from seen


def noted(condition: Condition, reference: ReferenceCondition, seen: set[str]) -> ReferenceCondition:
    """The condition, which adds to ``seen`` what it is asked of variables that took nothing."""

    def test(path: Path, *each: int) -> bool:
        holds = reference.test(path, *each)
        seen.update(of_nothing(condition, path, holds))
        return holds

    return replace(reference, test=test)


def of_nothing(condition: Condition, path: Path, holds: bool) -> Iterator[str]:
    """What a condition reads of variables that took nothing where it is tested."""
    taken = {key for key, _ in path}
    for slot in condition.scalar.slots:
        assert isinstance(slot, (Aggregate, Navigation))
        if not taken & set(slot.variables or ()):
            kind = "an aggregate" if isinstance(slot, Aggregate) else "each event" if slot.each else "an event"
            of = "of a negated event " * bool(condition.awaited)
            at = "of a variable that took nothing, over" if condition.at is TestedAt.PASS else f"{of}over"
            yield f"condition {at} {kind} of nothing"
            yield f"condition over nothing that {'holds' if holds else 'fails'}"


def of_block(case: RunCase) -> Iterator[str]:
    """Features of what a block has, whose components stand at one place each."""
    permuted = any(isinstance(n, Permutation) for n in walk(case.pattern))
    if permuted:
        yield "block with PERMUTE"
        pairs = {frozenset(pair) for *pair, _ in unordered(case.pattern)}
        decided = [(set(c.decided_by), set(keys)) for c in case.conditions for keys in c.required]
        if any(
            (theirs, own) in decided and any(len(pair & own) == 1 == len(pair & theirs) for pair in pairs)
            for own, theirs in decided
        ):
            yield "condition between components in any order"
        if any(isinstance(n, Negation) for n in walk(case.pattern)):
            yield "block with PERMUTE and negation"
    marked = [c for c in case.components if c.step is Selection.STRICT]
    if marked:
        yield f"IMMEDIATELY under {case.selection.value}"
        yield from ("IMMEDIATELY of a Kleene variable" for c in marked if c.kleene)
        if permuted:
            yield "IMMEDIATELY beside PERMUTE"
        if any(isinstance(n, Negation) for n in walk(case.pattern)):
            yield "IMMEDIATELY beside negation"


def counted(strategy: st.SearchStrategy[Any], features: Callable[[Any], Iterable[str]], examples: int) -> Counter[str]:
    """Of so many examples, how many have each feature."""
    found: Counter[str] = Counter()

    @settings(
        max_examples=examples, database=None, deadline=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def draw(example: Any) -> None:
        found.update(set(features(example)))
        found["examples"] += 1

    draw()
    return found


#: The strategies with the features of what they draw.
STRATEGIES: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], Iterable[str]]]] = {
    "row patterns": (strategies.patterns(), of_pattern),
    "runs": (run_strategies.run_cases(clause=True), of_case),
    "trends": (trend_engine.trend_cases(), lambda case: of_case(case.run)),
    "imprecise times": (uncertain_worlds.uncertain_cases(), lambda case: of_case(case.run)),
}


def main(examples: int) -> None:
    for name, (strategy, features) in STRATEGIES.items():
        found = counted(strategy, features, examples)
        total = found.pop("examples")
        print(f"{name}: {total} examples")
        for feature, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
            print(f"  {100 * count / total:6.2f} %  {feature}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
