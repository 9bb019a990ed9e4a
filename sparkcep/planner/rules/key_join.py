"""Key join: events whose key equals that of no event of a rare component are dropped before they are grouped.

In `SEQ(A a, B b) WHERE b.parent = a.entity` no B can be taken unless some A has its parent as entity. Where a sample
says that A is rare, the distinct entities of the A events are joined to the input: few enough for each task to hold.
It is the semi-join of Zhu, Huang and Chaudhuri ("High-Performance Row Pattern Recognition Using Joins", PVLDB 2023),
on rows instead of partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.pattern import Concatenation, Variable, mandatory, walk
from sparkcep.planner.conditions.row_conditions import RowCondition, all_of
from sparkcep.planner.sampling import UNPACKED, Sample
from sparkcep.query import PREFIX, Condition, Navigation, PatternQuery, Selection, TestedAt

#: The rare component's share of the rows, and how many times as frequent the other one must be, for a second reading
#: of the input to pay.
MAX_SHARE, FEWER = 0.01, 20
#: Bytes of distinct keys that each task may hold.
MAX_BYTES = 32 << 20
#: Types whose values are equal in a join when they are equal in a condition.
_KEYS = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class KeyJoin:
    """Rows of a component are kept if their ``key`` is the ``rare_key`` of a row that satisfies ``rare_test``.

    ``code``: of that component. ``reason``: what EXPLAIN says.
    """

    code: int
    key: str
    rare_key: str
    rare_test: str
    reason: str

    @property
    def column(self) -> str:
        """The joined column: NULL where no key is equal."""
        return f"{PREFIX}joined{self.code}"

    @property
    def kept(self) -> RowCondition:
        """What a row must satisfy to be taken by the component, over :meth:`joined`."""
        return RowCondition((f"{self.column} IS NOT NULL",))

    def joined(self, source: str) -> str:
        """The relation with ``column``."""
        keys = f"SELECT DISTINCT ({self.rare_key}) AS {self.column} FROM {source} WHERE {self.rare_test}"
        return (
            f"(SELECT /*+ BROADCAST({PREFIX}keys) */ * FROM {source} LEFT JOIN ({keys}) {PREFIX}keys "
            f"ON ({self.key}) = {self.column})"
        )


def key_join(
    query: PatternQuery, names: Sequence[str], local: Mapping[int, Sequence[RowCondition]],
    conditions: Sequence[Condition], type_of: Callable[[str], str], sample: Callable[[Sequence[str]], Sample | None],
) -> KeyJoin | None:  # fmt: skip
    """The join that leaves least of a pattern's input; None where none pays.

    Args:
        local: tests of one event by component code; each has some. conditions: those that depend on the match.
        type_of: Spark's type of a column, empty for other expressions.
        sample: of the input, with how many rows pass each test.
    """
    equal = [pair for condition in conditions for pair in _equal_keys(query, condition)]
    if not equal or any(c.shifts for own in local.values() for c in own):
        return None
    tests = [all_of([c.sql() for c in local[code]]) for code in range(len(names))]
    found = sample(tests)
    if found is None or not found.rows or found.changes:
        return None
    # What a sample does not have may still be there.
    passing = [max(1, count) for count in found.passing]
    best: tuple[int, KeyJoin] | None = None
    for (rare, rare_key), (other, key) in equal:
        few, many = passing[names.index(rare)], passing[names.index(other)]
        held = few / found.rows * found.bytes * UNPACKED
        if few > MAX_SHARE * found.rows or many < FEWER * few or held > MAX_BYTES:
            continue
        of = type_of(key)
        if of != type_of(rare_key) or of not in _KEYS or (best is not None and best[0] >= many):
            continue
        seen = found.passing[names.index(rare)]
        reason = f"of {found.rows} rows of a sample, {seen} can be {rare} and {many} can be {other}"
        best = many, KeyJoin(names.index(other), key, rare_key, tests[names.index(rare)], reason)
    return best[1] if best is not None else None


_Side = tuple[str, str]


def _equal_keys(query: PatternQuery, condition: Condition) -> list[tuple[_Side, _Side]]:
    """Both readings of `a.x = b.y` as (rare component, its key), (other component, its key)."""
    pieces = condition.scalar.pieces
    slots = [p for p in pieces if isinstance(p, Navigation)]
    text = "".join("?" if isinstance(p, Navigation) else p if isinstance(p, str) else "!" for p in pieces)
    if len(slots) != 2 or "".join(text.split()) != "?=?" or condition.at is not TestedAt.TAKE:
        return []
    if condition.minimum != 1 or condition.first_only or condition.after:
        return []
    sides: list[_Side] = []
    for slot in slots:
        if slot.variables is None or len(slot.variables) != 1 or slot.logical or slot.physical:
            return []
        sides.append((slot.variables[0], slot.argument.text))
    if sides[0][0] == sides[1][0] or not {k for k, _ in sides} <= mandatory(query.pattern):
        return []
    items = query.pattern.items if isinstance(query.pattern, Concatenation) else ()
    places = {n.name: place for place, item in enumerate(items) for n in walk(item) if isinstance(n, Variable)}
    once = {item.name for item in items if isinstance(item, Variable)}

    def is_passed_over(other: str, rare: str) -> bool:
        """Whether an event without a partner is as good as none: not if a run takes the next one, whatever follows."""
        return query.selection is Selection.ANY or places[other] == 0 or places[rare] < places[other]

    return [(a, b) for a, b in (sides, sides[::-1]) if b[0] in once and is_passed_over(b[0], a[0])]
