"""Plan counts of AND(P, Q): both sides and what both match, as blocks of their own over one input.

Which trends both sides match is told by the product of their automata, whose components are pairs. Conditions and
equivalences that name a component hold for each of its pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkcep.errors import PatternAnalysisError, SparkCepError
from sparkcep.exec.automaton import Automaton
from sparkcep.exec.engines.trends.intersection import intersect, recoded
from sparkcep.exec.engines.trends.spec import Part, TrendSpec
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.pattern import Conjunction, Pattern, variables
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.engines.trends.edges import NotAdjacent
from sparkcep.planner.engines.trends.plan import TrendPlanner
from sparkcep.planner.plan import Analyzer
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.test_codes import in_part
from sparkcep.query import (
    Aggregate,
    Component,
    Condition,
    Equivalence,
    Navigation,
    PatternQuery,
    Scalar,
    Selection,
    TestedAt,
    Trend,
)
from sparkcep.settings import Settings

_COUNTS = (
    (Trend("n", "count", None, ()), "", "decimal(38,0)"),
    (Trend("x", "approx_count", None, ()), "", "double"),
)
Keys = Mapping[str, tuple[str, ...]]
Kernel = tuple[dict[int, list[RowCondition]], MatchConditions, TrendSpec]


class ConjunctionPlanner(TrendPlanner):
    """Plans one bound block whose pattern is AND(P, Q).

    Raises:
        PatternAnalysisError: CEP_CONJUNCTION, a condition compares both sides; those of :class:`TrendPlanner`.
    """

    side: type[TrendPlanner] = TrendPlanner

    def __init__(
        self, query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
    ) -> None:
        assert isinstance(query.pattern, Conjunction)  # else the binder refuses it
        self.parts = [side_of(query, item) for item in query.pattern.items]
        self.sides = [self.side(q, settings, analyze, sample, column_types) for q in self.parts]
        self.pairs = paired(*self.parts)
        super().__init__(product_query(query, self.parts, self.pairs), settings, analyze, sample, column_types)
        for side in self.sides:
            side.fields = self.fields

    def compile_pattern(self) -> Automaton:
        """The product of both sides' automata: trends that both match.

        Raises:
            SparkCepError: CEP_PROGRAM_TOO_LARGE, at the pattern.
        """
        query, labels = self.query, self.query.labels
        left, right = (s.automaton for s in self.sides)
        # Both automata in the codes of the product; a component that stands in pairs only has none of its own.
        names = tuple(dict.fromkeys((*labels, *self.parts[0].labels, *self.parts[1].labels)))
        pairs = {(names.index(a), names.index(b)): labels.index(c.key) for (a, b), c in self.pairs.items()}
        try:
            both = recoded(left, names), recoded(right, names, len(left.negations))
            made = intersect(*both, pairs, self.settings.limit_program)
        except SparkCepError as error:
            raise error.placed(query.text or None, query.start) from None
        return recoded(made, labels)

    def plan_kernel(self, trends: Sequence[tuple[Trend, str, str]], width: int, slide: int) -> Kernel:
        """Three counts as one kernel: trends of the left side, of the right one, and of both.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION.
        """
        reason = self.construction_reason()
        kernels: list[Kernel] = []
        if not reason:
            try:
                makers = [*(s.propagated for s in self.sides), super().propagated]
                kernels = [propagated(_COUNTS, width, slide) for propagated in makers]
            except NotAdjacent as error:
                reason = str(error)
        if reason:
            kernels = [s.enumerated(reason, (), width, slide) for s in self.sides]
        self.lacking = next((s.lacking for s in self.sides if s.lacking), {})
        return self.together(kernels, trends, reason)

    def construction_reason(self) -> str:
        """Why trends must be constructed; empty where both sides and their intersection can be counted."""
        if self.query.selection is not Selection.ANY:
            return f"AND under {self.query.selection.value}"
        for query in self.parts:
            if not query.tells_apart([c.key for c in query.components if not c.negated]):
                return "AND where one event fits two components of a side"
        return ""

    def together(self, kernels: list[Kernel], trends: Sequence[tuple[Trend, str, str]], reason: str) -> Kernel:
        """The parts over one batch: masks and columns of one behind those of the other."""
        local: dict[int, list[RowCondition]] = {}
        bits: dict[int, int] = {}
        parts: list[Part] = []
        dependent = kernels[0][1]
        columns: list[int] = []
        words = 0
        for n, (own, reads, spec) in enumerate(kernels):
            local |= {in_part(code, n): tests for code, tests in own.items()}
            bits |= {in_part(code, n): bit + words * BITS_PER_WORD for code, bit in spec.condition_bits.items()}
            parts.append(Part(spec, words, len(columns), len(columns) + len(reads.columns)))
            columns += reads.columns
            words += spec.mask_words
        dependent.columns[:] = columns
        first = kernels[0][2]
        run = replace(first.run, pattern=self.query.pattern, automaton=self.automaton, mask_words=words)
        aggregates = self.aggregates(trends, dependent)
        spec = replace(
            first, run=run, condition_bits=bits, aggregates=aggregates, enumerated=reason, parts=tuple(parts)
        )
        return local, dependent, spec

    def filters(self, local: dict[int, list[RowCondition]], dependent: MatchConditions) -> tuple[list[str], str]:
        """None by component: a row that one side cannot take may be taken by the other."""
        return self.kept_rows(), "each side of AND takes rows that the other cannot"


def side_of(query: PatternQuery, pattern: Pattern) -> PatternQuery:
    """One side as a query of its own."""
    own = set(variables(pattern))
    mapping = {key: (key,) for key in query.labels if key in own}
    return replace(
        query, pattern=pattern, components=tuple(c for c in query.components if c.key in own),
        conditions=tuple(c for c in (renamed(c, mapping, query) for c in query.conditions) if c is not None),
        equivalences=tuple(e for e in (renamed_equivalence(e, mapping) for e in query.equivalences) if e is not None),
    )  # fmt: skip


def paired(left: PatternQuery, right: PatternQuery) -> dict[tuple[str, str], Component]:
    """Components of both sides that one event may be."""
    out = {}
    for a in left.components:
        for b in right.components:
            types = tuple(t for t in a.types if t in b.types) if a.types and b.types else a.types or b.types
            if not a.negated and not b.negated and bool(types) == bool(a.types or b.types):
                out[a.key, b.key] = Component(f"{a.key}&{b.key}", f"{a.variable}&{b.variable}", types)
    return out


def product_query(
    query: PatternQuery, sides: Sequence[PatternQuery], pairs: Mapping[tuple[str, str], Component]
) -> PatternQuery:
    """The query of what both sides match."""
    conditions: list[Condition] = []
    equivalences: list[Equivalence] = []
    for n, side in enumerate(sides):
        mapping = {
            c.key: (c.key,) if c.negated else tuple(p.key for names, p in pairs.items() if names[n] == c.key)
            for c in side.components
        }
        conditions += [c for c in (renamed(c, mapping, query, False) for c in side.conditions) if c is not None]
        equivalences += [
            e for e in (renamed_equivalence(e, mapping) for e in side.equivalences)
            if e is not None and (e.components or n == 0)
        ]  # fmt: skip
    negated = tuple(c for side in sides for c in side.components if c.negated)
    return replace(
        query, components=(*negated, *pairs.values()), conditions=tuple(conditions), equivalences=tuple(equivalences)
    )


def renamed(c: Condition, mapping: Keys, query: PatternQuery, strict: bool = True) -> Condition | None:
    """A condition over other components, where others take nothing; None where it is about none of them, or holds
    untested.

    Raises:
        PatternAnalysisError: CEP_CONJUNCTION, ``strict`` and it looks at components of both sides.
    """

    def of(keys: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(new for key in keys for new in mapping.get(key, ())))

    decided_by, at = of(c.decided_by), c.at
    if not decided_by and not strict and at is TestedAt.PASS:  # nobody can take it: decided by the end of the match
        positive = [k for k in mapping if not query.component(k).negated]
        decided_by, at = of(positive), TestedAt.LEAVE
    if not decided_by:
        return None
    slots = [s for s in c.scalar.slots if isinstance(s, (Navigation, Aggregate)) and s.variables is not None]
    if strict and not all(of(s.variables or ()) for s in slots):
        raise PatternAnalysisError(
            "CEP_CONJUNCTION", "A condition cannot compare events of both sides of AND: they are of different trends.",
            text=query.text or None, position=c.scalar.position, hint="join two blocks",
        )  # fmt: skip
    required, waits_for_each = tuple(of(r) for r in c.required), c.each and c.minimum > 1
    if not all(required) or (c.after and not of(c.after)) or (waits_for_each and not of(c.each)):
        return None
    pieces = tuple(
        replace(p, variables=of(p.variables)) if isinstance(p, (Navigation, Aggregate)) and p.variables else p
        for p in c.scalar.pieces
    )
    return replace(
        c, scalar=Scalar(pieces, c.scalar.position), decided_by=decided_by, at=at, required=required,
        after=of(c.after), each=of(c.each), awaited=tuple(k for r in c.awaited if (k := of(r))),
    )  # fmt: skip


def renamed_equivalence(e: Equivalence, mapping: Keys) -> Equivalence | None:
    """An equivalence over other components; None where it ties none of them."""
    if not e.components:
        return e
    components = tuple(dict.fromkeys(new for key in e.components for new in mapping.get(key, ())))
    return replace(e, components=components) if components else None
