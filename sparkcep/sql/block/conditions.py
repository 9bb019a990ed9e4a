"""Bind the conjuncts of a block's WHERE: which component decides one, when, and what its references mean then."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sparkcep.errors import PatternAnalysisError
from sparkcep.pattern import can_do_without
from sparkcep.query import (
    POSITION,
    Aggregate,
    Component,
    Condition,
    Equivalence,
    Navigation,
    RowExpression,
    Scalar,
    Slot,
    TestedAt,
)
from sparkcep.sql.block.pattern import BlockPattern
from sparkcep.sql.block.references import Reader
from sparkcep.sql.block.rounds import Round, round_of
from sparkcep.sql.block.scope import ANY_EVENT, BlockScope, Index, Part, Reference
from sparkcep.sql.lexicon import Token
from sparkcep.sql.permutations import unordered
from sparkcep.sql.token_text import Range

Keys = tuple[str, ...]


def slot(reference: Reference, keys: Keys, *, running: bool, each: bool = False, offset: int | None = None) -> Slot:
    """What a reference means: the last of a variable's events, counted back, the first, or an aggregate."""
    position = reference.token.start
    if (call := reference.call) is not None:
        before = reference.index is Index.BEFORE
        return Aggregate(
            call.function, call.arguments, call.distinct, keys, running, call.star, call.filter, position, each, before,
            call.own_aggregate,
        )  # fmt: skip
    first = reference.index is Index.FIRST
    back = reference.offset if offset is None else offset
    return Navigation(reference.expression, keys, first, back, 0, running, position, each and not first)


def at_event_of(variable: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Parts of a condition in which what is the same in all events is read at the event that decides the condition."""
    return tuple(
        replace(p, variable=variable) if isinstance(p, Reference) and p.variable == ANY_EVENT else p for p in parts
    )


@dataclass(slots=True)
class ConditionBinder:
    """Binds the conjuncts of one block.

    Raises:
        PatternAnalysisError: CEP_AMBIGUOUS_COLUMN, CEP_AMBIGUOUS_VARIABLE, CEP_TWO_INDEXES, CEP_TWO_NEGATIONS,
            CEP_INDEX, CEP_NEXT, CEP_NEGATED_VARIABLE, CEP_CONSTRAINT, CEP_EQUIVALENCE and those of
            :class:`Reader`.
    """

    scope: BlockScope
    pattern: BlockPattern

    # -- variables -------------------------------------------------------------------------------------------------

    def components(self, variable: str) -> list[Component]:
        """All components of a variable; one that is written twice has two."""
        return [c for c in self.pattern.components if c.variable == variable]

    def place(self, keys: Keys) -> int:
        """The textual place of the last of some components."""
        return max(n for n, c in enumerate(self.pattern.components) if c.key in keys)

    def repeats(self, variable: str) -> bool:
        """Whether a variable may have several events in one match."""
        keys = [c.key for c in self.components(variable) if not c.negated]
        return len(keys) > 1 or any(k in self.pattern.repeated for k in keys)

    def is_kleene(self, variable: str) -> bool:
        """Whether one of its components takes any number of events, so that `v.x` alone is ambiguous."""
        return any(c.kleene for c in self.components(variable))

    def normal(self, reference: Reference) -> Reference:
        """An index on a variable of one event means that event; i-1 means nothing there."""
        reference = replace(reference, whole=reference.index in (Index.LAST, Index.ALL))
        if reference.index is Index.PLAIN or self.repeats(reference.variable):
            return reference
        if any(c.negated for c in self.components(reference.variable)):
            if self.is_kleene(reference.variable) and reference.index not in (Index.LAST, Index.ALL):
                return reference
            if reference.index in (Index.LAST, Index.ALL):
                raise self.scope.error(
                    "CEP_NEGATED_VARIABLE",
                    f"{reference.variable} is negated, so it has no last event.",
                    reference.token,
                    f"write {reference.variable}.x",
                )
        if reference.index in (Index.BACK, Index.BEFORE, Index.UP_TO):
            raise self.scope.error(
                "CEP_INDEX",
                f"{reference.variable} takes one event only; it has none before that.",
                reference.token,
                "a quantifier makes a Kleene variable: B+ b[]",
            )
        return reference if reference.call is not None else replace(reference, index=Index.PLAIN)

    # -- conjuncts -------------------------------------------------------------------------------------------------

    def bind(self, conjunct: Range) -> list[Condition]:
        """Conditions of one conjunct."""
        low, high = conjunct
        tokens = self.scope.statement.tokens
        reader = Reader(self.scope, in_condition=True)
        reader.refuse_lengths(low, high)
        parts = tuple(p if isinstance(p, str) else self.normal(p) for p in reader.read(low, high))
        references = [p for p in parts if isinstance(p, Reference) and p.variable != ANY_EVENT]
        source = self.scope.statement.text[tokens[low].start : tokens[high - 1].end]
        if not references:
            return self.everywhere(parts, tokens[low], source)
        if reader.bare is not None:
            raise self.scope.error(
                "CEP_AMBIGUOUS_COLUMN",
                f"{reader.bare.text} does not say which event it belongs to.",
                reader.bare,
                f"write {references[0].variable}.{reader.bare.text}",
            )
        if any(r.next for r in references):
            bound = [self.next(parts, references)]
        else:
            bound = self.decided(parts, references)
            bound += [replace(c, at=TestedAt.PASS) for c in bound if self.sums_up(c, references)]
        position = tokens[low].start
        return [replace(c, source=source, scalar=replace(c.scalar, position=position)) for c in bound]

    def everywhere(self, parts: tuple[Part, ...], token: Token, source: str) -> list[Condition]:
        """A condition without variables is one of every event of the pattern, negated ones too."""
        text = "".join(p if isinstance(p, str) else p.expression.text for p in parts)
        if text.strip().upper() == "TRUE":
            return []
        out: list[Condition] = []
        for component in self.pattern.components:
            keys = (component.key,)
            value = Navigation(RowExpression((text,)), keys, False, 0, 0, True, token.start)
            out.append(Condition(Scalar((value,), token.start), keys, source=source))
        return out

    def decided(self, parts: tuple[Part, ...], references: list[Reference]) -> list[Condition]:
        """A conjunct as conditions with the variable whose event decides them, usually the last of the pattern.

        One for each negation that a negated variable stands in.

        Raises:
            PatternAnalysisError: CEP_AMBIGUOUS_VARIABLE, CEP_TWO_NEGATIONS.
        """
        keys: dict[str, Keys] = {}
        negated: list[str] = []
        for variable in dict.fromkeys(r.variable for r in references):
            components = self.components(variable)
            keys[variable] = tuple(c.key for c in components)
            if any(c.negated for c in components):
                negated.append(variable)
        if not negated and (found := round_of(self.pattern.pattern, keys, references)) is not None:
            return [self.of_round(parts, references, found, keys)]
        if not negated:
            found_last = self.deciding(keys, references)
            return [c for last in found_last for c in self.by_component(parts, references, last, keys)]
        if len(negated) > 1:
            return [self.condition(parts, references, self.of_one_negation(negated, keys, references), keys)]
        variable = negated[0]
        groups: dict[tuple[int, ...], list[str]] = {}
        for component in self.components(variable):
            groups.setdefault(self.pattern.negations.get(component.key, ()), []).append(component.key)
        if len(groups) > 1 and len(keys) > 1 and () in groups:
            raise self.scope.error(
                "CEP_AMBIGUOUS_VARIABLE",
                f"{variable} occurs in the pattern both negated and not negated.",
                next(r.token for r in references if r.variable == variable),
                "give each component a name of its own",
            )
        out: list[Condition] = []
        for group in groups.values():
            own = {**keys, variable: tuple(group)}
            out.append(self.condition(parts, references, variable, own))
        return out

    def deciding(self, keys: dict[str, Keys], references: list[Reference]) -> list[str]:
        """The variables whose event may be the last of some: the last of the pattern, under PERMUTE several.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION, which of the events of a PERMUTE that repeats are meant is
                open.
        """
        pairs = {(x, y): repeated for x, y, repeated in unordered(self.pattern.pattern)}
        pairs |= {(y, x): repeated for (x, y), repeated in pairs.items()}

        if any(pairs.get((a, b)) for x in keys for y in keys if x != y for a in keys[x] for b in keys[y]):
            raise self.scope.error(
                "CEP_UNSUPPORTED_CONDITION",
                f"{' and '.join(keys)} come in any order, and more than once; which of their events are meant is open.",
                references[0].token,
                "leave out the quantifier around PERMUTE, or compare with an event outside of it",
            )
        return [x for x in keys if all(self.may_follow(keys[x], keys[y]) for y in keys if y != x)]

    def by_component(
        self, parts: tuple[Part, ...], references: list[Reference], last: str, keys: dict[str, Keys]
    ) -> list[Condition]:
        """The condition that a variable decides, apart for those of its components that wait for others.

        A component waits for what the pattern has behind it, or beside it in PERMUTE; what it has before it is there or
        took nothing.
        """
        groups: dict[tuple[Keys, ...], list[str]] = {}
        for own in keys[last]:
            waits = (others for v, others in keys.items() if v != last and self.may_follow(others, (own,)))
            groups.setdefault(tuple(waits), []).append(own)
        whole = self.condition(parts, references, last, keys)
        if len(groups) > 1 and (whole.at is TestedAt.LEAVE or whole.minimum > 1 or whole.first_only):
            groups = {tuple(dict.fromkeys(k for waits in groups for k in waits)): list(keys[last])}
        return [replace(whole, decided_by=tuple(own), required=waits) for waits, own in groups.items()]

    def may_follow(self, x: Keys, y: Keys) -> bool:
        """Whether an event of some components may be behind one of others, by the pattern's order."""
        return self.place(x) > self.place(y) or self.in_any_order(x, y)

    def in_any_order(self, x: Keys, y: Keys) -> bool:
        """Whether PERMUTE leaves open which of some components comes first."""
        return any({a, b} <= {*x, *y} and (a in x) != (b in x) for a, b, _ in unordered(self.pattern.pattern))

    def sums_up(self, condition: Condition, references: list[Reference]) -> bool:
        """Whether a condition says something where the variable that decides it took nothing: of that as a whole, and
        not of single events."""
        keys = condition.decided_by
        own = {c.variable for c in self.pattern.components if c.key in keys}
        whole = all(r.whole for r in references if r.variable in own)
        return whole and can_do_without(self.pattern.pattern, keys)

    def excused(self, last: str, keys: dict[str, Keys], references: list[Reference]) -> tuple[Keys, ...]:
        """What a condition of a negated variable is not tested without: a variable behind it that comes last of all and
        of which it names single events."""
        end = max(keys, key=lambda v: self.place(keys[v]))
        settled = all(v == end or not self.in_any_order(keys[v], keys[end]) for v in keys)
        single = any(not r.whole for r in references if r.variable == end)
        return (keys[end],) if end != last and settled and single else ()

    def of_one_negation(self, negated: list[str], keys: dict[str, Keys], references: list[Reference]) -> str:
        """Of several negated variables the one that decides: the innermost, the textually last."""
        paths = {v: {self.pattern.negations.get(k, ()) for k in keys[v]} for v in negated}
        deepest = max((p for found in paths.values() for p in found), key=len)
        if any(
            len(found) > 1 or deepest[: len(path)] != path or not path for found in paths.values() for path in found
        ):
            raise self.scope.error(
                "CEP_TWO_NEGATIONS",
                f"{' and '.join(negated)} belong to different negations; no event can decide a condition on both.",
                next(r.token for r in references if r.variable == negated[1]),
                "write two conditions, or negate one sequence: !SEQ(B b, C c)",
            )
        return max((v for v in negated if deepest in paths[v]), key=lambda v: self.place(keys[v]))

    def condition(
        self, parts: tuple[Part, ...], references: list[Reference], last: str, keys: dict[str, Keys]
    ) -> Condition:
        """The condition that the variable ``last`` decides."""
        own = [r for r in references if r.variable == last]
        negated = keys[last][0] in self.pattern.negations
        leaves = self.repeats(last) and not negated and any(r.index in (Index.LAST, Index.ALL) for r in own)
        moving = self.moving(references, last, leaves)
        self.check_indexes(references, last, moving)
        indexed = next(iter(moving), last)
        minimum = max((_minimum(r) for r in references if r.variable == indexed), default=1)
        each = keys[indexed] if moving else ()
        first_only = not leaves and not moving and self.repeats(last) and all(r.index is Index.FIRST for r in own)
        pieces = tuple(
            p if isinstance(p, str) else slot(p, keys[p.variable], running=True, each=p in moving.get(p.variable, []))
            for p in at_event_of(last, parts)
        )
        return Condition(
            Scalar(pieces),
            keys[last],
            TestedAt.LEAVE if leaves else TestedAt.TAKE,
            minimum=minimum,
            first_only=first_only,
            each=each,
            required=self.excused(last, keys, references) if negated else (),
            awaited=tuple(k for v, k in keys.items() if v != last) if negated else (),
        )

    def of_round(
        self, parts: tuple[Part, ...], references: list[Reference], round_: Round, keys: dict[str, Keys]
    ) -> Condition:
        """A condition on events of one round, which the round's last of them decides.

        Raises:
            PatternAnalysisError: CEP_TWO_INDEXES, it also looks at what comes behind, or at all events of a variable.
        """
        for r in references:
            behind = self.place(keys[r.variable]) > self.place(keys[round_.last])
            if id(r) not in round_.offsets and (behind or r.index not in (Index.PLAIN, Index.FIRST)):
                raise self.scope.error(
                    "CEP_TWO_INDEXES",
                    f"{r.variable} is not of the round that the other events are of.",
                    r.token,
                    "compare events of one round, v[i] and w[i], among themselves or with events before the group",
                )
        pieces = tuple(
            p if isinstance(p, str) else slot(round_.counted(p), keys[p.variable], running=True)
            for p in at_event_of(round_.last, parts)
        )
        rounds = [r.offset for r in references if id(r) in round_.offsets]
        return Condition(Scalar(pieces), keys[round_.last], minimum=max(rounds) - min(rounds) + 1)

    def moving(self, references: list[Reference], last: str, leaves: bool) -> dict[str, list[Reference]]:
        """References that are meant for every event of their variable, by variable."""
        out: dict[str, list[Reference]] = {}
        for r in references:
            if r.variable == last and not leaves:
                continue
            if (r.index is Index.PLAIN and self.is_kleene(r.variable)) or r.index.moves:
                out.setdefault(r.variable, []).append(r)
        return out

    def check_indexes(self, references: list[Reference], last: str, moving: dict[str, list[Reference]]) -> None:
        """One variable at most may run through its events while a condition is tested."""
        hint = "name one event, v[1] or v[v.LEN], or take an aggregate over v[]"
        if len(moving) > 1:
            token = list(moving.values())[1][0].token
            raise self.scope.error(
                "CEP_TWO_INDEXES", f"{' and '.join(moving)} both mean each of their events.", token, hint
            )
        other = next(iter(moving), last)
        both = [r for r in references if r.variable == last and r.index.moves]
        if other != last and both and (any(r.index.moves for r in moving[other]) or any(_minimum(r) > 1 for r in both)):
            raise self.scope.error("CEP_TWO_INDEXES", f"{other} and {last} are both indexed by i.", both[0].token, hint)

    def next(self, parts: tuple[Part, ...], references: list[Reference]) -> Condition:
        """`v.x < NEXT(E).x`: of the event taken right after an event of v, if it is an E."""
        token = next(r.token for r in references if r.next)
        nexts = {r.variable for r in references if r.next}
        others = {r.variable for r in references if not r.next}
        if len(nexts) > 1 or len(others) != 1:
            raise self.scope.error(
                "CEP_NEXT",
                "A condition with NEXT relates one variable's event to the next one.",
                token,
                "S.price > NEXT(S).price",
            )
        of, variable = nexts.pop(), others.pop()
        for r in references:
            if not r.next and r.index not in (Index.PLAIN, Index.EACH):
                raise self.scope.error(
                    "CEP_NEXT", "A condition with NEXT can otherwise use only v.x and v[i].x.", r.token
                )
            if any(c.negated for c in self.components(r.variable)):
                raise self.scope.error(
                    "CEP_NEGATED_VARIABLE", f"{r.variable} is negated; it has no next event.", r.token
                )
        keys = tuple(c.key for c in self.components(of))
        before = tuple(c.key for c in self.components(variable))
        same = of == variable
        pieces = tuple(
            p if isinstance(p, str)
            else slot(p, keys if p.next or p.variable == ANY_EVENT else before, running=True,
                      offset=1 if same and not p.next and p.variable != ANY_EVENT else 0)
            for p in parts
        )  # fmt: skip
        return Condition(
            Scalar(pieces), keys, required=() if same else (before,), minimum=2 if same else 1, after=before
        )

    # -- constraints -----------------------------------------------------------------------------------------------

    def constraint(self, low: int, high: int, length: tuple[str, bool] | None, time: str) -> Condition:
        """`(time, within, T, i, j)` between two components by their places, counted from 1.

        Args:
            length: text of T, with whether it is a whole number; None where T is missing.
            time: text of the first ORDER BY key.
        """
        s = self.scope.statement
        token = s.tokens[low]
        parts = split_arguments(self.scope, low + 1, high - 1)
        kind = s.word(low + 1)
        consecutive = len(parts) == 4 and s.word(parts[3][0]) == "CONSECUTIVE" and parts[3][1] - parts[3][0] == 1
        if (len(parts) != 5 and not consecutive) or length is None:
            raise self.scope.error(
                "CEP_CONSTRAINT",
                f"A {kind.lower()} constraint has five parts.",
                token,
                "(time, within, 60 minutes, 1, 3) or (time, within, 60 minutes, consecutive)",
            )
        relation = s.word(parts[1][0])
        if relation not in ("WITHIN", "ATLEAST") or parts[1][1] - parts[1][0] != 1:
            raise self.scope.error("CEP_CONSTRAINT", "within or atleast is expected here.", s.tokens[parts[1][0]])
        if kind == "GAP" and not length[1]:
            raise self.scope.error("CEP_CONSTRAINT", "A gap is a whole number of positions.", s.tokens[parts[2][0]])
        value = RowExpression((time if kind == "TIME" else POSITION,))
        compare = " <= " if relation == "WITHIN" else " >= "
        source = s.text[token.start : s.tokens[high - 1].end]
        if consecutive:
            taken = tuple(c.key for c in self.pattern.components if not c.negated)
            last, before = (Navigation(value, taken, False, back, 0, True, token.start) for back in (0, 1))
            scalar = Scalar((last, compare, before, f" + {length[0]}"), token.start)
            return Condition(scalar, taken, after=taken, source=source)
        first, second = (self.endpoint(p) for p in parts[3:])
        if self.place((first.key,)) >= self.place((second.key,)):
            raise self.scope.error(
                "CEP_CONSTRAINT",
                "The first position of a constraint must come before the second.",
                s.tokens[parts[3][0]],
            )
        if {first.key, second.key} in [{x, y} for x, y, _ in unordered(self.pattern.pattern)]:
            raise self.scope.error(
                "CEP_CONSTRAINT", f"{first.variable} and {second.variable} come in any order.", token,
                "compare their times or positions in a condition",
            )  # fmt: skip
        kleene = second.key in self.pattern.repeated and second.kleene
        start, end = s.tokens[parts[3][0]].start, s.tokens[parts[4][0]].start
        after = Navigation(value, (second.key,), kleene, 0, 0, True, end)
        before = Navigation(value, (first.key,), False, 0, 0, True, start)
        return Condition(
            Scalar((after, compare, before, f" + {length[0]}"), token.start),
            (second.key,),
            required=((first.key,),),
            first_only=kleene,
            source=source,
        )

    def endpoint(self, part: Range) -> Component:
        """The component that a constraint's position, from 1, means.

        Raises:
            PatternAnalysisError: CEP_CONSTRAINT.
        """
        token = self.scope.statement.tokens[part[0]]
        count = len(self.pattern.components)
        if part[1] - part[0] != 1 or not re.fullmatch(r"\d{1,9}", token.text) or not 1 <= int(token.text) <= count:
            raise self.scope.error(
                "CEP_CONSTRAINT", f"A constraint's positions are whole numbers from 1 to {count}.", token
            )
        component = self.pattern.components[int(token.text) - 1]
        if component.negated:
            raise self.scope.error(
                "CEP_CONSTRAINT", f"Component {token.text}, {component.variable}, is negated.", token,
                "a constraint runs between events of the match",
            )  # fmt: skip
        return component

    # -- equivalences ----------------------------------------------------------------------------------------------

    def equivalences(self, low: int, high: int) -> list[Equivalence]:
        """`[x]`, `[x, y]`, `[P.x]`"""
        s = self.scope.statement
        out: list[Equivalence] = []
        for a, b in split_arguments(self.scope, low + 1, high - 1):
            token = s.tokens[a]
            components: Keys = ()
            first = a
            if b - a >= 3 and s.operator(a + 1) == "." and (variable := self.scope.variable(token)):
                components = tuple(c.key for c in self.components(variable))
                first = a + 2
            elif b - a >= 3 and s.operator(a + 1) == "." and token.text.casefold() in self.scope.qualifiers:
                first = a if self.scope.is_column(token.text) else a + 2
            name = s.tokens[first]
            if name.kind not in ("word", "quoted") or any(
                s.tokens[i].kind not in ("word", "quoted") and s.operator(i) != "." for i in range(first, b)
            ):
                raise self.scope.error(
                    "CEP_EQUIVALENCE",
                    "An equivalence names columns.",
                    name,
                    "[symbol], [company, sector] or [P.vehicle]",
                )
            if not self.scope.is_column(name.text):
                if first == a and b - a >= 3:
                    raise self.scope.no_variable(token)
                raise self.scope.no_column(name)
            text = self.scope.render(name.start, s.tokens[b - 1].end)
            out.append(Equivalence(RowExpression((text,)), components, token.start))
        if not out:
            raise self.scope.error("CEP_EQUIVALENCE", "An equivalence names columns.", s.tokens[low], "[symbol]")
        return out


def _minimum(reference: Reference) -> int:
    """How many events a reference needs."""
    return 2 if reference.index is Index.BEFORE else reference.offset + 1


def split_arguments(scope: BlockScope, low: int, high: int) -> list[Range]:
    """Token ranges between commas; brackets are skipped.

    Raises:
        PatternAnalysisError: nothing between two commas (CEP_SYNTAX_ERROR).
    """
    s = scope.statement
    out = s.between_commas(low, high, scope.closers) if low < high else []
    for a, b in out:
        if b <= a:
            raise PatternAnalysisError(
                "CEP_SYNTAX_ERROR",
                "Something is expected between the commas.",
                text=s.text,
                position=s.tokens[min(a, len(s.tokens) - 1)].start,
            )
    return out
