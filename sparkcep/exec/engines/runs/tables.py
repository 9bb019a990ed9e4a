"""Tables of the runs kernel: of a spec once per matcher, of a batch once per batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sparkcep.exec.arrays import Ints, ordered_ints
from sparkcep.exec.automaton import ACCEPT, Automaton, Edge, alternatives, components_ahead, decided, events_left
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.external import External
from sparkcep.exec.conditions.programs import CallsBack, ConditionPrograms, Labels
from sparkcep.exec.engines.rows.tables import (
    bit_table,
    grown_search_state,
    load_columns,
    mask_words,
    new_search_state,
    no_requests,
    output_table,
)
from sparkcep.exec.engines.runs.spec import Check, RunSpec
from sparkcep.exec.kernels.conditions.codes import HIGH
from sparkcep.exec.kernels.rows.output import FIXED
from sparkcep.exec.kernels.runs.graph_tables import (
    Checks,
    Closest,
    Frames,
    Interval,
    Machine,
    Merging,
    Partitions,
    Strategy,
    Walk,
    Work,
)
from sparkcep.exec.kernels.runs.merging import AGGREGATE_COUNT, AGGREGATE_VALUE, FIRST_ROW, LAST_ROW, SIZE, WORDS
from sparkcep.exec.kernels.runs.passes import CHECK_WIDTH
from sparkcep.exec.kernels.runs.tables import Buffers, Emission, Query, Sweeps
from sparkcep.exec.kernels.tables import Conditions
from sparkcep.exec.statuses import SELECTIONS, SKIPS, emitted_rows
from sparkcep.expr.types import NotCompilable
from sparkcep.pattern import Negation, Pattern, variables, walk
from sparkcep.query import Selection, TestedAt

MAXIMUM_NEGATIONS = 63  # bits of an int64 that leave its sign alone


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), np.int64)


class Groups:
    """Groups of checks, equal ones once."""

    def __init__(self, checks: Sequence[Check], postponed: frozenset[int] = frozenset()) -> None:
        self.all = checks
        self.postponed = postponed
        self.groups: dict[tuple[int, ...], int] = {(): 0}

    def number(self, members: Iterable[int]) -> int:
        """Number of the group of those checks that are not postponed."""
        tested = tuple(k for k in members if k not in self.postponed)
        return self.groups.setdefault(tested, len(self.groups))

    def on_edge(self, before: int, edge: Edge, ahead: Sequence[int], state: int) -> int:
        """Checks on going on over an edge; see :func:`automaton.decided`. What is left comes before what is taken."""
        own = [k for k, c in enumerate(self.all) if decided(c.at, c.decided_by, c.beside, before, edge, ahead, state)]
        return self.number(sorted(own, key=lambda k: self.all[k].at is TestedAt.TAKE))

    def taking(self, component: int) -> list[int]:
        """Checks that are decided when a component takes a row."""
        return [k for k, c in enumerate(self.all) if c.at is TestedAt.TAKE and component in c.decided_by]

    def tables(self) -> Checks:
        """All groups for the kernel."""
        starts, rows = [0], []
        required: list[int] = []
        after: list[int] = []
        for members in self.groups:
            for k in members:
                c = self.all[k]
                low, first = len(required), len(after)
                required += c.required
                after += sorted(c.after)
                least = 0 if c.each >= 0 and c.minimum == 1 else c.minimum
                row = [c.number, c.counted, least, int(c.first_only), c.each]
                rows += [*row, low, len(required), first, len(after), c.none]
            starts.append(starts[-1] + len(members))
        assert not rows or len(rows) == CHECK_WIDTH * starts[-1]
        nothing = np.zeros(1, np.int64)
        return Checks(
            _ints(starts), _ints([*rows, 0]), _ints([*required, 0]), _ints([*after, 0]), nothing, nothing,
            np.zeros((1, 1), np.uint8), nothing, nothing,
        )  # fmt: skip


def prechecked(checks: Checks, spec: RunSpec, p: ConditionPrograms, rows: int) -> Checks:
    """Checks with room for what is known of them before matches are enumerated; see kernels.spans."""
    spans: list[int] = []
    members: list[int] = []
    for check in spec.checks:
        # A wide column, or one that only the interpreter reads, is not compared in advance.
        store, place = p.columns.get(check.span.column, ("", 0)) if check.span is not None else ("", 0)
        prechecks = store not in ("", "wide") and spec.selection is Selection.ANY and not spec.one_per_start
        orders = check.span.orders if check.span is not None else 0
        spans += [int(prechecks), place, int(store == "float"), orders, len(members)]
        members += [*sorted(check.decided_by), -1]
    numbers = max(1, len(spec.checks))
    any_span = any(spans[::5])
    return checks._replace(
        spans=_ints([*spans, 0]), members=_ints([*members, -1]),
        prechecked=np.zeros((numbers, rows + 1) if any_span else (1, 1), np.uint8),
        prechecked_start=np.zeros(numbers, np.int64), window=np.array([0, int(any_span)], np.int64),
    )  # fmt: skip


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << n for n in set(numbers))


def single_component(automaton: Automaton) -> int:
    """The component where an automaton takes one event of one component, else -1."""
    if automaton.states != 1 or len(automaton.initial) != 1 or len(automaton.edges[0]) != 1:
        return -1
    edges = (automaton.initial[0], automaton.edges[0][0])
    plain = all(not e.absent and not e.present for e in edges) and edges[1].target == ACCEPT
    return automaton.components[0] if plain else -1


def machine_tables(spec: RunSpec) -> tuple[Machine, Checks]:
    """The pattern's automaton with its checks.

    Raises:
        NotCompilable: conditions that tie the events of a sequence that is negated within a negation, a negation
            between copies of one component that depends on the match, and more than 63 negations.
    """
    main = spec.automaton
    negations = main.negations
    if len(negations) > MAXIMUM_NEGATIONS:
        raise NotCompilable(f"more than {MAXIMUM_NEGATIONS} negations")
    groups = Groups(spec.checks, spec.postponed)
    singles = [single_component(n.automaton) for n in negations]
    around = _around(spec.pattern)
    dependent: list[int] = []
    required: dict[int, list[int]] = {}
    for x, negation in enumerate(negations):
        inside = _inside(main, x)
        checked = [c for c in spec.checks if c.decided_by & inside]
        if not checked and not has_border(negation.automaton):
            continue
        dependent.append(x)
        own = inside.union(*({main.names.index(v) for v in of} for of in around.get(negation.item, ())))
        registers = dict.fromkeys(r for c in checked for r in c.awaited)
        required[x] = [r for r in registers if not own & spec.conditions.registers[r]]
    walked = [x for x in dependent if singles[x] < 0]
    guards = {x for n in negations for edges in n.automaton.edges for e in edges for x in e.absent | e.present}
    if within := guards.intersection(walked):
        conditional = any(c.decided_by & _inside(main, x) for x in within for c in spec.checks)
        what = "conditions between the events" if conditional else "a negation at the border"
        raise NotCompilable(f"{what} of a sequence negated within a negation")
    deferred = {x: _after(main, x, leading=not spec.use_within) for x in dependent}
    ahead, register_bits = components_ahead(main), [_bits(of) for of in spec.conditions.registers]
    columns: dict[str, list[int]] = {
        n: [] for n in ("target", "component", "absent", "present", "ends", "group", "deferred")
    }
    starts = [0]
    state_component: list[int] = []
    accept_edge: list[int] = []
    automata: list[int] = []

    def deferred_on(state: int, edge: Edge) -> list[int]:
        """Negations that may wait for what is taken here, or for what cannot be taken any more behind it."""
        if edge.target == ACCEPT:  # which decides all that wait
            return []
        here = 1 << edge.component | ahead[state] & ~ahead[edge.target]
        return [x for x in dependent if state in deferred[x] and any(here & register_bits[g] for g in required[x])]

    def add(automaton: Automaton, single: int, taking: bool) -> None:
        first = len(state_component)
        automata.extend([first, first + automaton.states, single])
        for s, edges in enumerate(automaton.edges):
            before = automaton.taken(s)
            state_component.append(before)
            accept_edge.append(-1)
            for e in edges:
                if e.target == ACCEPT and accept_edge[-1] < 0:
                    accept_edge[-1] = len(columns["target"])
                columns["target"].append(ACCEPT if e.target == ACCEPT else first + e.target)
                columns["component"].append(e.component)
                columns["absent"].append(_bits(e.absent))
                columns["present"].append(_bits(e.present))
                columns["ends"].append(int(e.ends))
                of_main = automaton is main
                own = groups.number(groups.taking(e.component)) if taking and e.target != ACCEPT else 0
                columns["group"].append(groups.on_edge(before, e, ahead, s) if of_main else own)
                columns["deferred"].append(_bits(deferred_on(s, e)) if of_main else 0)
            starts.append(len(columns["target"]))

    for automaton in (main, *(negations[x].automaton for x in walked)):
        _refuse_dependent_presence(automaton, dependent)
    add(main, -1, False)
    for x, negation in enumerate(negations):
        add(negation.automaton, singles[x], x in walked)
    alone = [x for x in dependent if singles[x] >= 0]
    negation_group = [groups.number(groups.taking(singles[x])) if x in alone else 0 for x in range(len(negations))]
    machine = Machine(
        _ints(starts), _ints(state_component), _ints(accept_edge), _ints(columns["target"]),
        _ints(columns["component"]), np.array(columns["absent"], np.uint64), np.array(columns["present"], np.uint64),
        np.array(columns["ends"], np.uint8), _ints(columns["group"]), np.array(columns["deferred"], np.uint64),
        *bit_table(spec.condition_bits, len(main.names)), _ints(automata), _bits(dependent),
        _ints([*negation_group, 0]),
        _ints([0, *itertools.accumulate(len(required.get(x, ())) for x in range(len(negations)))]),
        _ints([*(g for x in range(len(negations)) for g in required.get(x, ())), 0]),
        np.array([[bool(own & of) for of in register_bits] or [False] for own in ahead], np.uint8),
        _ints([SELECTIONS[s] for s in spec.steps] or [0]),
    )  # fmt: skip
    return machine, groups.tables()


def _inside(automaton: Automaton, negation: int) -> set[int]:
    """Components of a negated pattern."""
    return {automaton.names.index(v) for v in variables(automaton.negations[negation].item)}


def has_border(automaton: Automaton) -> bool:
    """Whether negations stand before the first or behind the last event of a negated pattern."""
    return automaton.negates_before or automaton.negates_behind


def _around(pattern: Pattern) -> dict[Pattern, list[tuple[str, ...]]]:
    """Of each negated pattern the variables of the negations of which it is one alternative."""
    out: dict[Pattern, list[tuple[str, ...]]] = {}
    for node in walk(pattern):
        if isinstance(node, Negation):
            for item in alternatives(node.item):
                out.setdefault(item, []).append(variables(node.item))
    return out


def _after(automaton: Automaton, negation: int, leading: bool) -> set[int]:
    """States that a run can be in after it has stepped over a negation between two events, or before the first."""
    edges_from = automaton.edges if leading else automaton.edges[:-1]
    stack = [e.target for edges in edges_from for e in edges if negation in e.absent]
    found: set[int] = set()
    while stack:
        state = stack.pop()
        if state != ACCEPT and state not in found:
            found.add(state)
            stack += [e.target for e in automaton.edges[state]]
    return found


def _refuse_dependent_presence(automaton: Automaton, dependent: Sequence[int]) -> None:
    def unclear(e: Edge) -> bool:
        return any(x in dependent for x in e.present)

    if any(unclear(e) for edges in automaton.edges for e in edges):
        raise NotCompilable("negations between copies of one component that depend on the match")


def compiled_conditions(spec: RunSpec, calls_back: CallsBack) -> tuple[ConditionPrograms, External, Conditions]:
    """A run's conditions as programs, who is called back for those that the programs lack, and the kernel's tables.

    Raises:
        NotCompilable: the interpreter lacks one, too.
    """
    programs = compile_conditions(spec.conditions, spec.ansi, calls_back, Labels.REGISTERS)
    alone: dict[int, str] = {}
    if any(each.labels for each in programs.external):  # else registers may be of others than components
        alone = {g: spec.automaton.names[min(of)] for g, of in enumerate(spec.conditions.registers) if len(of) == 1}
    external = External(programs.external, alone)
    return programs, external, external.called_by(run_conditions(spec, programs))


def run_conditions(spec: RunSpec, p: ConditionPrograms) -> Conditions:
    """Compiled conditions by number; a component's events enter all registers that hold it."""
    numbers = len(spec.conditions.conditions)
    starts = [0, *(p.spans[k][1] for k in range(numbers))]
    registers, folds = [0], [0]
    register_items: list[int] = []
    fold_items: list[int] = []
    for c in range(len(spec.automaton.names)):
        register_items += [g for g, of in enumerate(spec.conditions.registers) if c in of]
        fold_items += [k for k, agg in enumerate(p.agg) if c in spec.conditions.registers[agg[1]]]
        registers.append(len(register_items))
        folds.append(len(fold_items))

    def flat(rows: Sequence[Sequence[int]]) -> Ints:
        return np.array(rows, np.int64).ravel()

    return Conditions(
        _ints(starts), flat(p.code), _ints([*p.const_i, 0]), np.array(p.const_f, np.float64), flat(p.nav), flat(p.agg),
        _ints(registers[:-1]), _ints(registers[1:]), _ints([*register_items, 0]), _ints(folds[:-1]), _ints(folds[1:]),
        _ints([*fold_items, 0]), len(spec.conditions.registers), int(p.ansi), -1, -1,
        *no_requests(),
    )  # fmt: skip


def merging_tables(spec: RunSpec, machine: Machine, p: ConditionPrograms, rows: int) -> Merging:
    """What the conditions on the edges of each state look at; see kernels.merging."""
    low: list[int] = []
    high: list[int] = []
    reads: list[tuple[int, int, int, int]] = []
    main = spec.automaton
    ahead = components_ahead(main)
    for s, edges in enumerate(main.edges):
        looks: set[tuple[int, int, int]] | None = set()
        if machine.deferred[machine.edge_start[s] : machine.edge_start[s + 1]].any():
            looks = None  # a deferred negation looks at a gap that equal runs do not share
        for e in edges:
            if e.target != ACCEPT and looks is not None:
                seen = _looks(spec, p, e, ahead, s)
                looks = None if seen is None else looks | seen
        low.append(len(reads))
        if looks is None or len(looks) > WORDS or s == main.states:
            high.append(len(reads) - 1)
            continue
        reads += [(*look, 0) for look in sorted(looks)]
        high.append(len(reads))
    # What conditions with a span skip is prechecked once for all runs of a start row: merging would only cost.
    gains = any(check.span is None for check in spec.checks)
    on = spec.merging and spec.selection is Selection.NEXT and gains
    shape = (main.states + 1, rows + 1, 1 + WORDS) if on else (1, 1, 1)
    return Merging(
        _ints(low), _ints(high), np.array([*reads, (0,) * 4], np.int64).ravel(), np.empty(shape, np.int64),
        np.zeros(WORDS, np.int64), int(on),
    )  # fmt: skip


def _looks(
    spec: RunSpec, p: ConditionPrograms, e: Edge, ahead: Sequence[int], state: int
) -> set[tuple[int, int, int]] | None:
    """What the conditions of an edge look at before its event is taken: (kind, register or aggregate, number).

    None where it is more than a few values.
    """
    out: set[tuple[int, int, int]] = set()
    registers = spec.conditions.registers
    for check in spec.checks:
        negated = {c for x in e.absent for c in spec.automaton.negations[x].automaton.components}
        if check.decided_by & negated:
            return None
        if not decided(check.at, check.decided_by, check.beside, spec.automaton.taken(state), e, ahead, state):
            continue
        if check.each >= 0 or check.after:
            return None
        most = max(check.minimum, 2 if check.first_only else 1)
        out.add((SIZE, check.counted, most))
        out |= {(SIZE, check.none, 1)} if check.none >= 0 else set()
        out |= {(SIZE, g, 1) for g in check.required}
        found = p.reads[check.number]
        if found.everything:
            return None
        for register, from_first, logical in found.navigations:
            pushed = int(e.component in registers[register])  # the tested event is the last one of these
            if from_first:
                out |= {(FIRST_ROW, register, logical), (SIZE, register, logical + 1)}
            elif logical >= pushed:
                out.add((LAST_ROW, register, logical - pushed))
        for k in found.aggregates:
            without = {int(e.component not in registers[p.agg[k][1]])} if k in found.before else {0}
            kinds = (AGGREGATE_VALUE,) if p.agg[k][0] == HIGH else (AGGREGATE_COUNT, AGGREGATE_VALUE)
            out |= {(kind, k, w) for kind in kinds for w in without | {0}}
    return out


def interval(batch: Batch) -> Interval:
    """The ORDER BY key, and the key plus and minus WITHIN, as integers of one order."""
    if batch.within is None:
        nothing = np.zeros(1, np.int64)
        return Interval(nothing, nothing, nothing, np.zeros((3, 1), np.uint8))
    values = [ordered_ints(array) for array in batch.within]
    key, bound, lower = (values * 3)[:3] if len(values) == 1 else values
    keys, bounds, lowers = (v if v.flags.writeable else v.copy() for v, _ in (key, bound, lower))
    return Interval(keys, bounds, lowers, np.stack([nulls for _, nulls in (key, bound, lower)]))


def new_work(rows: int, machine: Machine) -> Work:
    """Room for partitions of up to so many rows; untouched memory costs nothing."""
    components = len(machine.test_bit)
    nodes = len(machine.state_component)
    negations = len(machine.automata) // 3 - 1
    return Work(
        np.empty((components, rows + 2), np.int32), np.empty((nodes, rows + 1), np.int32),
        np.empty((nodes, rows + 2), np.int32), np.empty((max(negations, 1), rows + 1), np.int32),
        np.empty(rows + 1, np.int32), np.empty(rows + 1, np.int32), np.empty(len(machine.target) + 1, np.int32),
    )  # fmt: skip


def closest_tables(spec: RunSpec, rows: int) -> Closest:
    """Room for the runs that time out of partitions of up to so many rows."""
    missing = events_left([[e.target for e in edges] for edges in spec.automaton.edges[:-1]])
    length = rows + 2 if spec.timed_out else 1
    return Closest(
        int(spec.timed_out), _ints(missing), np.empty(len(missing), np.int64), np.empty(length, np.int64),
        np.empty(length, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip


def new_frames(rows: int) -> Frames:
    """Room for runs of so many events."""
    return Frames(*(np.empty(rows + 2, np.int64) for _ in range(8)))


def grown_frames(frames: Frames, rows: int) -> Frames:
    """Room for runs of so many events, with what the frames hold."""
    larger = new_frames(rows)
    for before, after in zip(frames, larger, strict=True):
        after[: len(before)] = before
    return larger


@dataclass(frozen=True, slots=True)
class RunTables:
    """What is known of a run before any batch: its automaton with its checks, its conditions as programs, who is called
    back for those that the programs lack, and the kernel's tables of them."""

    spec: RunSpec
    machine: Machine
    checks: Checks
    programs: ConditionPrograms
    external: External
    conditions: Conditions

    @property
    def walks_gaps(self) -> bool:
        """Whether events of negations are walked on the frames behind a run's."""
        automata = self.machine.automata[3:].reshape(-1, 3)
        return any(automata[x, 2] < 0 and self.machine.dependent >> x & 1 for x in range(len(automata)))

    def walk(self, batch: Batch, rows: int, depth: int, taken: int | None = None) -> Walk:
        """A walk over a batch's partitions of up to so many rows, by runs of up to so many events.

        Args:
            taken: events that conditions may look at, where these are more or fewer than ``depth``.
        """
        columns, const_i = load_columns(self.programs, batch)
        return Walk(
            strategy(self.spec), self.machine, prechecked(self.checks, self.spec, self.programs, rows),
            self.conditions._replace(const_i=const_i), columns, new_work(rows, self.machine), new_frames(depth),
            new_search_state(
                depth if taken is None else taken, len(self.spec.conditions.registers), len(self.programs.agg), True
            ),
        )  # fmt: skip

    def merging(self, rows: int) -> Merging:
        """Merging of equivalent runs over partitions of up to so many rows."""
        return merging_tables(self.spec, self.machine, self.programs, rows)


def run_tables(spec: RunSpec, calls_back: CallsBack) -> RunTables:
    """The tables of a spec.

    Raises:
        NotCompilable: see machine_tables and compiled_conditions.
    """
    machine, checks = machine_tables(spec)
    return RunTables(spec, machine, checks, *compiled_conditions(spec, calls_back))


def grown_walk(walk: Walk, depth: int) -> Walk:
    """Room for runs of so many events, with what the walk has taken."""
    return walk._replace(frames=grown_frames(walk.frames, depth), search=grown_search_state(walk.search, depth))


def strategy(spec: RunSpec) -> Strategy:
    """How the runs of a spec go on."""
    within = int(spec.use_within)  # which says where a leading negation begins: before the last event
    return Strategy(SELECTIONS[spec.selection], int(spec.strict_time), within, 1 - within, spec.limit_steps)


def emission(spec: RunSpec) -> Emission:
    """What the matches of a spec emit."""
    names = len(spec.automaton.names)
    output = output_table(spec.slots, spec.slot_registers, spec.skip_labels, names)
    return Emission(output, emitted_rows(spec), int(spec.traced), spec.limit_rows)


def run_query(spec: RunSpec) -> Query:
    """Which matches of a spec are wanted."""
    return Query(
        emission(spec),
        int(spec.one_per_start),
        SKIPS[spec.skip],
        int(spec.skip_or_past),
        int(spec.first_only),
        spec.most_matches,
    )


def partitions(batch: Batch, mask_count: int) -> Partitions:
    """The partitions of a batch."""
    offsets = np.array(batch.offsets, np.int64)  # a copy, as it may be read-only
    return Partitions(offsets, mask_words(batch, mask_count), interval(batch))


def new_sweeps(spec: RunSpec, machine: Machine, rows: int) -> Sweeps:
    """Room for collapsing partitions of up to so many rows, where the spec asks for that."""
    nodes = len(machine.state_component)
    marks = rows + 1 if spec.collapsed else 1
    return Sweeps(
        np.empty((nodes, marks), np.uint8), np.empty((nodes, marks), np.uint8),
        np.empty((max(len(machine.target), nodes) + 1, 2), np.int64), np.empty(marks, np.int32),
        np.empty((2, marks), np.int32),
    )  # fmt: skip


def new_buffers(spec: RunSpec, depth: int, rows: int, events: int) -> Buffers:
    """Room for output rows, for events where these are traced, and for matches of up to so many events."""
    return Buffers(
        np.empty((rows, FIXED + len(spec.slots) + 1), np.int64),
        np.empty((events if spec.traced else 1, 2), np.int32),
        new_search_state(depth, len(spec.slot_registers)),
    )
