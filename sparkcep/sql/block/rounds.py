"""`a[i].x < b[i].x` in a repeated group, `(SEQ(A a[], B b[]))+`: of events that one round of the group takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable, walk
from sparkcep.sql.block.scope import Index, Reference


@dataclass(frozen=True, slots=True)
class Round:
    """References of one round. ``last``: the variable whose event comes last in it. ``offsets``: how many events of its
    variable are behind the one that a reference means, when that event is taken."""

    last: str
    offsets: Mapping[int, int]

    def counted(self, reference: Reference) -> Reference:
        """A reference by index as one that counts back from its variable's last event."""
        if id(reference) not in self.offsets:
            return reference
        offset = self.offsets[id(reference)]
        return replace(reference, index=Index.BACK if offset else Index.EACH, offset=offset)


def round_of(pattern: Pattern, keys: Mapping[str, Sequence[str]], references: Sequence[Reference]) -> Round | None:
    """The round that references by i of several variables are of; None where they are of no one round.

    That wants a group which is repeated and takes each of the variables exactly once each time. Then an event's number
    among those of its variable is the round's, and the same event of another one is the last of its variable or, where
    that comes later in the round, the one before.
    """
    indexed = [r for r in references if r.index in (Index.EACH, Index.BACK) and r.call is None]
    variables = dict.fromkeys(r.variable for r in indexed)
    if len(variables) < 2 or any(len(keys[v]) != 1 for v in variables):
        return None
    of_key = {keys[v][0]: v for v in variables}
    for node in walk(pattern):
        if isinstance(node, Quantified) and (node.maximum is None or node.maximum > 1):
            order = [of_key[key] for key in _once(node.item) if key in of_key]
            if len(order) == len(variables):
                least = min(r.offset for r in indexed)
                last = max((r.variable for r in indexed if r.offset == least), key=order.index)
                offsets = {
                    id(r): r.offset - least - (order.index(r.variable) > order.index(last)) for r in indexed
                }  # fmt: skip
                return Round(last, offsets)
    return None


def _once(node: Pattern) -> Iterator[str]:
    """Variables that a pattern takes exactly once, in order."""
    if isinstance(node, Variable):
        yield node.name
    elif isinstance(node, Concatenation):
        for item in node.items:
            yield from _once(item)
