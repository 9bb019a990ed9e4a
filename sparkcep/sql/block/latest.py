"""MATCHES LATEST: of the runs that wait for the same event, only the one that got there last goes on.

That is what EQL does. `SEQ(A a, C c) MATCHES LATEST` is `SEQ(A a, !A o, C c)`, and three steps are
`SEQ(A a, !A o, B b, !SEQ(A p, B q), C c)`: before each event, no further run comes as far as the match has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sparkcep.pattern import Concatenation, Negation, Pattern, Variable, renamed, variables
from sparkcep.query import Aggregate, Condition, Navigation
from sparkcep.sql.block.pattern import BlockPattern


@dataclass(frozen=True, slots=True)
class LaterRun:
    """A negated copy of a pattern's beginning: the keys of its components, by those they are copies of."""

    copies: Mapping[str, str]

    def covers(self, conditions: list[Condition]) -> bool:
        """Whether conditions are about events of the pattern's beginning only."""
        return all(key in self.copies for c in conditions for key in _named(c))

    def renamed(self, pattern: BlockPattern) -> BlockPattern:
        """The pattern with the names of the copied variables on their copies."""
        names = {c.key: c.variable for c in pattern.components}
        own = {copy: names[key] for key, copy in self.copies.items()}
        components = (replace(c, variable=own.get(c.key, f"{c.variable}\0")) for c in pattern.components)
        return replace(pattern, components=tuple(components))


def _named(condition: Condition) -> Iterator[str]:
    yield from condition.decided_by
    for slot in condition.scalar.slots:
        if isinstance(slot, (Navigation, Aggregate)):
            yield from slot.variables or ()


def with_later_runs(pattern: BlockPattern, position: int) -> tuple[BlockPattern, list[LaterRun]] | None:
    """A sequence with the negations that LATEST stands for; None: it is no sequence of single events, with negations
    between them. ``position``: where MATCHES LATEST stands in the statement."""
    items = pattern.pattern.items if isinstance(pattern.pattern, Concatenation) else ()
    single = [isinstance(i, Variable) for i in items]
    if not all(isinstance(i, (Variable, Negation)) for i in items) or sum(single) < 2 or not single[0]:
        return None
    components = {c.key: c for c in pattern.components}
    negations = dict(pattern.negations)
    out: list[Pattern] = list(items[:1])
    begun = 1
    runs: list[LaterRun] = []
    for n, item in enumerate(items[1:], 1):
        if isinstance(item, Variable):
            around = position + len(runs)
            beginning = Concatenation(items[:begun])
            copies = {key: _fresh(key, components) for key in variables(beginning)}
            for key, copy in copies.items():
                components[copy] = replace(components[key], key=copy, variable=copy, negated=True)
                negations[copy] = (around, *negations.get(key, ()))
            out.append(Negation(renamed(beginning if begun > 1 else items[0], copies), around))
            runs.append(LaterRun(copies))
            begun = n + 1
        out.append(item)
    whole = Concatenation(tuple(out))
    return replace(pattern, pattern=whole, components=tuple(components.values()), negations=negations), runs


def _fresh(key: str, taken: Mapping[str, object]) -> str:
    name, n = f"later {key}", 1
    while name in taken:
        n += 1
        name = f"later {key} {n}"
    return name
