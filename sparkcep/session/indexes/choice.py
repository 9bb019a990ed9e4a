"""The planner's way to an index: which one serves a pattern's input, and what it leaves of it.

An index serves a relation whose rows come, one by one, from the files it has indexed, whatever the relation is called
and by whatever views, filters and joins it is made of them (:mod:`sparkcep.lineage.from_plan`; on Spark Connect
:mod:`sparkcep.lineage.from_text`). Soundness rests on that comparison, never on names: a case that matches with some
of its events holds what the match needs among all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep import index
from sparkcep.errors import PatternIndexError, lacks
from sparkcep.index import access, catalog, sources
from sparkcep.index.access import Access, IndexNotBeneficial, describe_bytes
from sparkcep.index.costs import seconds
from sparkcep.index.event_frames import Input, order_kept
from sparkcep.index.reader import EVERYTHING, Coverage, Reader, Scope, Step
from sparkcep.index.snapshots import Snapshot
from sparkcep.index.storage_errors import UNUSABLE, unread_by_spark
from sparkcep.index.tables import COUNTS, KINDS, MICROSECONDS, Definition, Source
from sparkcep.lineage.comparisons import Comparison, bounds, let_through
from sparkcep.lineage.from_plan import origins
from sparkcep.lineage.from_text import text_origin, text_tests
from sparkcep.lineage.origin import Origin
from sparkcep.lineage.plan_filters import comparisons_by_column
from sparkcep.lineage.text_steps import UnknownOrigin
from sparkcep.planner.pruning import (
    Asks,
    NotPrunable,
    Requirements,
    Roles,
    without_repetitions,
)
from sparkcep.query import PatternQuery, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.settings import INDEX, Settings
from sparkcep.spark.executors import known_cores
from sparkcep.spark.plan import CHAR_METADATA, is_bare, shows_plans
from sparkcep.sql.rewriter import InputSql

#: Types of CASE whose values compare with constants here as they do in Spark.
COMPARED_CASES = ("string", "tinyint", "smallint", "int", "bigint")


@dataclass(slots=True)
class Pruning:
    """How a pattern's input is read. ``frame``: None: as it is. ``lines``: what EXPLAIN says.

    ``steps``: cases that posting lists left, one condition after the other; none where alternatives are looked up.
    ``warnings``: sentences about event types of the pattern that the log does not hold, or never in this order, as far
    as an index knows.
    """

    frame: DataFrame | None = None
    lines: list[str] = field(default_factory=list)
    steps: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()


def prune(analyzer: SparkAnalyzer, asks: Asks, source: DataFrame, input_sql: InputSql, settings: Settings) -> Pruning:
    """Read the input of a planned pattern, or of many, through an index where there is one that serves and pays.

    Args:
        source: the input; ``input_sql``: the query that reads it.
    """
    spark = analyzer.spark
    if not settings.index:
        return Pruning(lines=[f"not used, {INDEX.key} = false"])
    known = catalog.known(spark)
    snapshots = known.indexes
    unreadable = [f"{name} not used, {_sentence(error)}" for name, error in known.unreadable]
    if not snapshots:
        return Pruning(lines=unreadable or ["not used, there is none (CREATE PATTERN INDEX)"])
    named = _source_of(input_sql)
    said: list[str] = []
    warnings: tuple[str, ...] = ()
    has_files = False
    reasons: list[str] = []
    for looked_at in _looked_at(analyzer, asks, source, input_sql, named, reasons):
        files, has_files = looked_at.files, has_files or looked_at.bare
        fitting = [(at, s) for at, s in snapshots if not _lacking(s.built_with, files)]
        states: dict[str, sources.State] = {}
        for location, snapshot in sorted(fitting, key=lambda f: _rank(f[1])):
            kind = str(snapshot.source_state.get("kind"))
            if kind not in states:
                states[kind] = _state(spark, kind, looked_at)
            if kind == "files" and not _overlaps(snapshot.source_state, states[kind]):
                continue
            if kind == "delta" and looked_at.named is None:  # versions go by names
                continue
            if kind == "unknown" and not (
                looked_at.named and catalog.same(snapshot.definition.source, looked_at.named)
            ):
                continue
            found = _through(Reader(spark, location, snapshot), asks, looked_at, states[kind], settings)
            if found.frame is not None:
                return found
            said += found.lines
            warnings = warnings or found.warnings
    return Pruning(
        lines=[*unreadable, *(said or [f"not used, {_why_none(spark, source, named, has_files, reasons, snapshots)}"])],
        warnings=warnings,
    )


@dataclass(frozen=True, slots=True)
class _LookedAt:
    """A pattern's input, and the relation that its rows come from.

    ``frame``: the input, ``files``: that relation. ``columns``: columns of the input that are nothing but a column of
    it. ``named``: its name, where it is the input. ``bare``: whether it is nothing but files. ``origin``: how the input
    is made of it; None: it is the input. ``tests``: by its columns, what filters of the query ask of them.
    """

    frame: DataFrame
    files: DataFrame
    columns: Mapping[str, str]
    named: Source | None = None
    bare: bool = False
    origin: Origin | None = None
    tests: Mapping[str, Sequence[Comparison]] = field(default_factory=dict)

    def has(self, column: str | None, wanted: Sequence[str | None] = ()) -> str | None:
        """The input's column that is a column of the files, one of those wanted if several are; None: none is."""
        found = [own for own, of in self.columns.items() if of == column]
        return next((own for own in found if own in wanted), found[0] if found else None)


def _looked_at(
    analyzer: SparkAnalyzer, asks: Asks, source: DataFrame, input_sql: InputSql, named: Source | None,
    reasons: list[str],
) -> Iterator[_LookedAt]:  # fmt: skip
    """The relations that an input's rows may come from. ``reasons``: gets the reason why there is none."""
    itself = {name: name for name in source.schema.names}
    predicates = _predicates(asks.query)
    if not shows_plans(analyzer.spark):
        table = None if named is None else sources.listed(analyzer.spark, named)
        if named is not None and (table is None or not sources.is_view(table)):
            tests = text_tests(analyzer.as_statement, source, predicates)
            yield _LookedAt(source, source, itself, named, tests=tests)
            return
        try:
            columns = asks.columns_read()
            origin, leaf = text_origin(analyzer.as_statement, source, input_sql.text, columns, predicates)
            yield _LookedAt(source, origin.files, origin.columns, leaf.source, origin=origin, tests=origin.tests)
        except (NotPrunable, UnknownOrigin) as error:
            reasons.append(str(error))
        if named is not None:
            yield _LookedAt(source, source, itself, named)
        return
    predicates = [unescape(text) for text in predicates]
    bare = is_bare(source)
    if bare:
        yield _LookedAt(source, source, itself, named, bare, tests=comparisons_by_column(source, predicates))
        return
    with suppress(NotPrunable):
        for origin in origins(source, asks.columns_read(), predicates):
            yield _LookedAt(source, origin.files, origin.columns, bare=True, origin=origin, tests=origin.tests)
    if named is not None:
        yield _LookedAt(source, source, itself, named)


def _predicates(query: PatternQuery) -> list[str]:
    """What the query itself asks of its input's rows: WHERE around it of its partitions, BETWEEN; fit for Spark's
    formatted sql."""
    found = [query.partition_predicate] if query.partition_predicate else []
    if query.between is not None and query.order_by:
        low, high = query.between
        found.append(f"({query.order_by[0].expression}) BETWEEN ({low}) AND ({high})")
    return found


def _sentence(error: PatternIndexError) -> str:
    """An error as a reason: the query is answered without the index."""
    return f"{error.error_class}: {error.sentence.rstrip('.')}" + (f" ({error.hint})" if error.hint else "")


def _rank(snapshot: Snapshot) -> tuple[int, bool]:
    """What knows most comes first."""
    d = snapshot.built_with
    return list(KINDS).index(d.kind), d.options.lookback is not None


def _why_none(
    spark: SparkSession, source: DataFrame, named: Source | None, has_files: bool, reasons: Sequence[str],
    snapshots: Sequence[tuple[object, Snapshot]],
) -> str:  # fmt: skip
    if reasons:
        return f"the text of the input does not prove that its rows come one by one from rows of a table: {reasons[0]}"
    if not has_files and shows_plans(spark):
        return "rows of the input do not come one by one from rows of files"
    of_name = [s.definition for _, s in snapshots if named and catalog.same(s.definition.source, named)]
    if of_name:
        one = of_name[0]
        if lacking := _lacking(one, source):
            return f"{one.name} is made of columns that {one.source} does not have: {', '.join(lacking)}"
        return f"{one.name} was made of other files, when {one.source} had those: REFRESH PATTERN INDEX {one.name}"
    return f"there is none on {named or 'the files that the input is made of'}"


def _source_of(input_sql: InputSql) -> Source | None:
    if input_sql.table is None:
        return None
    source: Source = index.parse_source(input_sql.table)
    return source


def _lacking(definition: Definition, source: DataFrame) -> list[str]:
    """Columns that an index is made of and a relation does not have."""
    names = {n.casefold() for n in source.schema.names}
    return [c for c in (definition.case, definition.time, definition.event) if c.casefold() not in names]


def _state(spark: SparkSession, kind: str, looked_at: _LookedAt) -> sources.State:
    """The state of what is looked at, as far as it is comparable with states of a kind."""
    named, files = looked_at.named, looked_at.files
    if kind == "files" and shows_plans(spark):
        return sources.files_state(spark, files) if looked_at.bare else sources.UNKNOWN
    if kind == "unknown" or named is None:
        return sources.UNKNOWN
    try:
        return sources.state_of(spark, named, files)
    except (AnalysisException, PatternIndexError):
        return sources.UNKNOWN


def _overlaps(one: sources.State, other: sources.State) -> bool:
    return not set(one.get("files", ())).isdisjoint(other.get("files", ()))


def _through(reader: Reader, asks: Asks, looked_at: _LookedAt, state: sources.State, settings: Settings) -> Pruning:
    """A plan's input through one index, or why not."""
    d = reader.definition
    warnings: tuple[str, ...] = ()

    def unused(reason: str) -> Pruning:
        return Pruning(lines=[f"{d.name} not used, {reason}", *warnings], warnings=warnings)

    columns = {f.name: f for f in looked_at.files.schema.fields}
    if d.case not in columns or d.event not in columns or d.time not in columns:
        return unused("the input's columns are spelled otherwise")
    types = {name: f.dataType.simpleString() for name, f in columns.items()}
    if (types[d.case], types[d.time], types[d.event]) != (d.case_type, d.time_type, d.event_type):
        return unused("the types of the input's columns have changed")
    stored = {d.tiebreak: d.tiebreak_type} if d.tiebreak is not None else {}
    stored |= dict(zip(d.include, d.include_types, strict=True))
    if any(types.get(name, type_) != type_ for name, type_ in stored.items()):
        return unused("the types of the input's columns have changed")
    if str(columns[d.event].metadata.get(CHAR_METADATA, "")).startswith("char"):
        return unused(f"{d.event} is CHAR, which Spark compares with blanks added")
    coverage = reader.coverage(state)
    if coverage.state != "current" and not coverage.added:
        hint = f"; REFRESH PATTERN INDEX {d.name}" if coverage.state == "stale" else ""
        return unused(f"{coverage.reason}{hint}")
    roles = _roles(reader, asks, looked_at)
    if isinstance(roles, str):
        return unused(f"the input does not have its {roles} as it is")
    try:
        if coverage.state == "current":
            warnings = _unknown(reader, asks, roles.event)
        needs = asks.requirements(roles)
        scope, scoped = _scope(reader, needs, looked_at)
        set_aside, set_aside_lines = _set_aside(reader, needs)
        if looked_at.origin is not None and looked_at.origin.repeats:
            needs = without_repetitions(needs)
        files: Sequence[Sequence[int]] = list(state.get("files", {}).values())
        chosen = access.access(
            reader, needs, _input(d, needs, roles, looked_at, scope), coverage, sum(f[0] for f in files),
            settings.index_access_path, settings.index_cases, set_aside,
        )  # fmt: skip
    except (NotPrunable, IndexNotBeneficial) as error:
        return unused(str(error) + (f"; {coverage.reason}: REFRESH PATTERN INDEX {d.name}" if coverage.added else ""))
    except Exception as error:
        failed = error if isinstance(error, PatternIndexError) else unread_by_spark(str(error))
        if failed is None or failed.error_class not in UNUSABLE:
            raise
        return unused(_sentence(failed))
    if coverage.state == "current" and not set_aside:
        warnings = (*warnings, *_never_in_order(reader, needs, chosen))
    steps = chosen.candidates.steps if chosen.candidates is not None and len(needs.branches) == 1 else ()
    lines = _explained(reader, needs, coverage, chosen)
    lines[1:1] = [*set_aside_lines, *(scoped if chosen.candidates is not None else ())]
    if looked_at.origin is not None:
        names = zip(("CASE", "TIME", "TIEBREAK", "EVENT"), (d.case, d.time, d.tiebreak, d.event), strict=True)
        own = zip((roles.case, *roles.order, *[None][len(roles.order) - 1 :], roles.event), names, strict=True)
        renamed = [f"{role} {of} is {name}" for name, (role, of) in own if name not in (None, of)]
        what = f"each row of the input comes from one of {d.source}"
        lines.insert(1, f"{what}{': ' if renamed else ''}{', '.join(renamed)}")
    return Pruning(chosen.frame, [*lines, *warnings], steps, warnings)


def _set_aside(reader: Reader, needs: Requirements) -> tuple[bool, list[str]]:
    """Whether rows that could not be indexed may matter, and what EXPLAIN says of them.

    Raises:
        IndexNotBeneficial: it is not known which rows these are.
    """
    rejected = reader.snapshot.totals.rejected
    if not rejected:
        return False, []
    rows = f"{rejected:,} rows set aside (on_bad_rows = 'quarantine')"
    reasons = reader.set_aside()
    if sum(reasons.values()) != rejected:
        name = reader.definition.name
        raise IndexNotBeneficial(f"it does not know all {rows}; REFRESH PATTERN INDEX {name} FULL")
    if not needs.untyped and reasons.keys() <= {"NULL event"}:
        return False, [f"{rows} have no type, and events without one change nothing here"]
    return True, [f"{rows}: the events of their cases are read from the source"]


def _roles(reader: Reader, asks: Asks, looked_at: _LookedAt) -> Roles | str:
    """The input's columns that an index is on, or which one it lacks."""
    d, query, fields = reader.definition, asks.query, asks.input.fields
    keys = [fields.column_of(text) for text, _ in asks.input.keys]
    if query.case is not None:
        keys.append(fields.column_of(query.case.expression))
    case = looked_at.has(d.case, keys)
    ordering = [fields.column_of(k.expression) for k in query.order_by]
    order = [looked_at.has(d.time, ordering)]
    if d.tiebreak is not None:
        order.append(looked_at.has(d.tiebreak, ordering))
    event = looked_at.has(d.event, [fields.column_of(query.event_type)] if query.event_type else ())
    if case is None or event is None:
        return f"CASE {d.case}" if case is None else f"EVENT {d.event}"
    return Roles(case, tuple(order), event, reader.snapshot.totals.ties == 0)


def _scope(reader: Reader, needs: Requirements, looked_at: _LookedAt) -> tuple[Scope, list[str]]:
    """What the query's filters leave of the log, and what EXPLAIN says of it."""
    d = reader.definition
    if needs.groups:  # whose cases are merged
        return EVERYTHING, []
    lines = []
    ids = None
    if (of_case := looked_at.tests.get(d.case)) and d.case_type in COMPARED_CASES:
        ids = reader.cases_where(partial(let_through, of_case))
        if ids is not None:
            lines.append(f"filters on {d.case} leave {len(ids):,} of {reader.snapshot.totals.cases:,} cases")
    least, most = bounds(looked_at.tests.get(d.time, ()))
    if d.time_type == "date":
        least, most = (None if days is None else days * MICROSECONDS["day"] for days in (least, most))
    scope = Scope(ids, least, most)
    if scope.is_timed:
        first, last = scope.intervals(d.interval) or (0, 0)
        within = f"from {first}" if most is None else f"to {last}" if least is None else f"{first} to {last}"
        each = f"of {d.options.interval_days} days " if d.is_clock else ""
        lines.append(f"filters on {d.time} leave posting lists {each}number {within}")
    return scope, lines


def _input(d: Definition, needs: Requirements, roles: Roles, looked_at: _LookedAt, scope: Scope) -> Input:
    """A pattern's input as the index can give it."""
    frame, files, origin = looked_at.frame, looked_at.files, looked_at.origin
    read = needs.columns - needs.placed
    if origin is None:
        return Input(frame, roles.case, files, read, needs.placed, lambda rows: rows, scope)
    needed = origin.tested.union(*(origin.made_from.get(c, frozenset()) for c in read))
    # What stands behind TIME and TIEBREAK orders nothing, and may be NULL.
    tie = {d.tiebreak} if d.tiebreak is not None and roles.order[-1] in needs.placed else set()
    placed = frozenset(tie - needed if order_kept(d.tiebreak_type) else ())
    return Input(
        frame, roles.case, files, (needed | tie) - placed if origin.by_row else None, placed, origin.over, scope
    )


def _unknown(reader: Reader, asks: Asks, event: str) -> tuple[str, ...]:
    """A sentence for each event type that conditions on a column name and that the log does not hold."""
    named = asks.named(event)
    if not named:
        return ()
    known = reader.dictionary()
    lacking = [value for value in named if value not in known]
    events = (reader.events_by_type() if lacking else None) or dict.fromkeys(known, 0)
    by_frequency = sorted(events, key=lambda type_: -events[type_])
    return tuple(lacks(event, value, by_frequency) for value in lacking)


def _never_in_order(reader: Reader, needs: Requirements, chosen: Access) -> tuple[str, ...]:
    """Where no case is left: sentences about types that follow each other in none, if each alternative has some."""
    cases = chosen.candidates
    if cases is None or len(cases.ids) or COUNTS not in reader.sizes() or not needs.ordered:
        return ()
    if not reader.tells_order(needs.bound) or not all(t in reader.dictionary() for b in needs.branches for t in b):
        return ()
    counts = reader.counts(dict.fromkeys(pair for branch in needs.branches for pair in pairwise(branch)))
    lacking = [[pair for pair in pairwise(branch) if not counts[pair].completions] for branch in needs.branches]
    if not all(lacking):
        return ()  # each pair is in some case, and they are in no case together
    far = "" if reader.definition.options.lookback is None else f" within {reader.definition.lookback_text()}"
    return tuple(f"no case has {b!r} after {a!r}{far}" for a, b in dict.fromkeys(p for own in lacking for p in own))


def _explained(reader: Reader, needs: Requirements, coverage: Coverage, chosen: Access) -> list[str]:
    """What EXPLAIN says about an index that is used."""
    d = reader.definition
    lines = [f"{d.name} ({d.kind}), snapshot {reader.snapshot.number}"]
    if coverage.added:
        lines.append(f"{coverage.reason} and read from the source: REFRESH PATTERN INDEX {d.name} would index them")
    if not needs.ordered:
        lines.append(f"order not used, {needs.unordered}")
    elif chosen.candidates is not None and not reader.tells_order(needs.bound):
        lines.append(f"order not used, steps are not bound by the lookback of {d.lookback_text()}")
    for k, branch in enumerate(needs.branches[:8]):
        pairs = ", ".join(f"{a} -> {b}" for a, b in pairwise(branch)) or branch[0]
        lines.append(f"{'needed' if k == 0 else 'or'}: {pairs if needs.ordered else ', '.join(branch)}")
    if len(needs.branches) > 8:
        lines.append(f"or one of {len(needs.branches) - 8} more alternatives")
    candidates = chosen.candidates
    if candidates is None:
        lines.append(f"cases: {reader.snapshot.totals.cases:,}, picked by a scan of sequences while they are read")
    else:
        for step in candidates.steps[:8]:
            lines.append(f"cases that hold {step.types} ({step.rule}): {step.cases:,} of {candidates.total:,}")
        lines.append(
            f"cases: {len(candidates.ids):,} of {candidates.total:,}; "
            f"{describe_bytes(candidates.bytes_read)} of posting lists read"
        )
    lines.append(f"events from {chosen.access_path}")
    if candidates is not None:
        ways = {path: chosen.work.through(path, candidates.share) for path in chosen.able}
        through = ", ".join(f"{path} {seconds(ways[path])}" for path in sorted(ways, key=ways.__getitem__))
        without = seconds(chosen.work.without())
        assumed = "" if known_cores(reader.spark) else " (assumed, since the session does not tell)"
        lines.append(f"estimated for {chosen.work.cores} cores{assumed}: {through}, without the index {without}")
    return lines
