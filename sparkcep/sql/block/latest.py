"""MATCHES LATEST: of the runs that wait for the same event, only the one that got there last goes on, as in EQL.

`SEQ(A a, C c) MATCHES LATEST` is `SEQ(A a, !A o, C c)`, and three steps are `SEQ(A a, !A o, B b, !SEQ(A p, !A r, B q),
C c)`: before each event, no further run comes as far as the match has come, which no later one has ended on its way.
With four steps a run that comes as far may have begun before the match came there, which no negation between two events
says; and where an event fits two steps, it may have begun with an event of the match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sparkcep.pattern import Concatenation, Negation, Pattern, Variable, flattened, renamed, variables
from sparkcep.query import Condition, told_apart
from sparkcep.sql.block.pattern import BlockPattern

_MOST = 3


@dataclass(frozen=True, slots=True)
class LaterRun:
    """A negated copy of a pattern's beginning: the keys of its components, by those they are copies of."""

    copies: Mapping[str, str]

    def covers(self, conditions: list[Condition]) -> bool:
        """Whether conditions are about events of the pattern's beginning only."""
        return all(key in self.copies for c in conditions for key in (*c.decided_by, *c.named))

    def renamed(self, pattern: BlockPattern) -> BlockPattern:
        """The pattern with the names of the copied variables on their copies."""
        names = {c.key: c.variable for c in pattern.components}
        own = {copy: names[key] for key, copy in self.copies.items()}
        components = (replace(c, variable=own.get(c.key, f"{c.variable}\0")) for c in pattern.components)
        return replace(pattern, components=tuple(components))


def with_later_runs(pattern: BlockPattern, position: int) -> tuple[BlockPattern, list[LaterRun]] | str:
    """A sequence with the negations that LATEST stands for; or what it would have to be.

    Args:
        position: where MATCHES LATEST stands in the statement.
    """
    items = tuple(flattened(pattern.pattern))
    steps = [i.name for i in items if isinstance(i, Variable)]
    if not all(isinstance(i, (Variable, Negation)) for i in items) or len(steps) < 2 or items[0] != Variable(steps[0]):
        return "a sequence of single events, with or without negations between them"
    if len(steps) > _MOST:
        return f"a sequence of {_MOST} events at most"
    components = {c.key: c for c in pattern.components}
    if len(steps) > 2 and not told_apart([components[key] for key in steps]):
        return "different event types for the three steps of a sequence"
    negations = dict(pattern.negations)
    out: list[Pattern] = [items[0]]
    runs: list[LaterRun] = []
    begun = 1
    for item in items[1:]:
        if isinstance(item, Variable):
            around = position + len(runs)
            beginning = Concatenation(tuple(out[:begun]))
            copies = {key: _fresh(key, components) for key in variables(beginning)}
            for key, copy in copies.items():
                components[copy] = replace(components[key], key=copy, variable=copy, negated=True)
                negations[copy] = (around, *negations.get(key, ()))
            out.append(Negation(renamed(beginning if begun > 1 else out[0], copies), around))
            within = [LaterRun({key: copies[own] for key, own in run.copies.items()}) for run in runs]
            users = {key: copy for key, copy in copies.items() if all(key not in r.copies.values() for r in runs)}
            runs += [LaterRun(users), *within]
        out.append(item)
        begun = len(out) if isinstance(item, Variable) else begun
    whole = Concatenation(tuple(out))
    return replace(pattern, pattern=whole, components=tuple(components.values()), negations=negations), runs


def _fresh(key: str, taken: Mapping[str, object]) -> str:
    name, n = f"later {key}", 1
    while name in taken:
        n += 1
        name = f"later {key} {n}"
    return name
