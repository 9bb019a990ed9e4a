"""The planner's way to an index: which one serves a pattern's input, and what it leaves of it.

An index serves a relation that is nothing but the files it has indexed, whatever the relation is called. Soundness
rests on that comparison, never on names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep import index
from sparkcep.errors import PatternIndexError, lacks
from sparkcep.index import access, catalog, sources
from sparkcep.index.access import Access, IndexNotBeneficial, describe_bytes
from sparkcep.index.reader import Coverage, Reader, Step
from sparkcep.index.snapshots import Snapshot
from sparkcep.index.storage_errors import UNUSABLE
from sparkcep.index.tables import KINDS, Source
from sparkcep.planner.conditions.symbols import compared_strings
from sparkcep.planner.plan import AnyPlan
from sparkcep.planner.pruning import NotPrunable, Requirements, Roles, requirements
from sparkcep.settings import INDEX, Settings
from sparkcep.spark_plan import is_bare, is_remote
from sparkcep.sql.rewriter import InputSql


@dataclass(slots=True)
class Pruning:
    """How a pattern's input is read. ``frame``: None: as it is. ``lines``: what EXPLAIN says.

    ``steps``: cases that posting lists left, one condition after the other; none where alternatives are looked up.
    ``unknown``: sentences about event types of the pattern that the log does not hold, as far as an index knows.
    """

    frame: DataFrame | None = None
    lines: list[str] = field(default_factory=list)
    steps: tuple[Step, ...] = ()
    unknown: tuple[str, ...] = ()


def prune(spark: SparkSession, plan: AnyPlan, source: DataFrame, input_sql: InputSql, settings: Settings) -> Pruning:
    """Read a planned pattern's input through an index where there is one that serves and pays.

    Args:
        source: the input; ``input_sql``: the query that reads it.
    """
    if not settings.index:
        return Pruning(lines=[f"not used, {INDEX.key} = false"])
    known = catalog.known(spark)
    snapshots = known.indexes
    unreadable = [f"{name} not used, {_sentence(error)}" for name, error in known.unreadable]
    if not snapshots:
        return Pruning(lines=unreadable or ["not used, there is none (CREATE PATTERN INDEX)"])
    named = _source_of(input_sql)
    fitting = [(at, s) for at, s in snapshots if _has_columns(s.built_with.case, s.built_with.event, source)]
    fitting.sort(key=lambda f: _rank(f[1]))
    bare = bool(fitting) and is_bare(source)
    if not fitting or (named is None and not bare):
        return Pruning(lines=[*unreadable, f"not used, {_why_none(named)}"])
    states: dict[str, sources.State] = {}
    said: list[str] = []
    unknown: tuple[str, ...] = ()
    for location, snapshot in fitting:
        reader = Reader(spark, location, snapshot)
        kind = str(snapshot.source_state.get("kind"))
        if kind not in states:
            states[kind] = _state(spark, kind, named, source, bare)
        if kind == "files" and not _overlaps(snapshot.source_state, states[kind]):
            continue
        if kind == "unknown" and not (named and catalog.same(snapshot.definition.source, named)):
            continue
        found = _through(reader, plan, source, states[kind], settings)
        if found.frame is not None:
            return found
        said += found.lines
        unknown = unknown or found.unknown
    return Pruning(lines=[*unreadable, *(said or [f"not used, {_why_none(named)}"])], unknown=unknown)


def _sentence(error: PatternIndexError) -> str:
    """An error as a reason: the query is answered without the index."""
    return f"{error.error_class}: {error.sentence.rstrip('.')}" + (f" ({error.hint})" if error.hint else "")


def _rank(snapshot: Snapshot) -> tuple[int, bool]:
    """What knows most comes first."""
    d = snapshot.built_with
    return list(KINDS).index(d.kind), d.options.lookback is not None


def _why_none(named: Source | None) -> str:
    if named is None:
        return "the input is not a table, path or bare view of files, or has no index"
    return f"there is none on {named}"


def _source_of(input_sql: InputSql) -> Source | None:
    if input_sql.table is None:
        return None
    source: Source = index.parse_source(input_sql.table)
    return source


def _has_columns(case: str, event: str, source: DataFrame) -> bool:
    names = {n.casefold() for n in source.schema.names}
    return {case.casefold(), event.casefold()} <= names


def _state(spark: SparkSession, kind: str, named: Source | None, source: DataFrame, bare: bool) -> sources.State:
    """The state of a query's input, as far as it is comparable with states of a kind."""
    if kind == "files" and not is_remote(spark):
        return sources.files_state(spark, source) if bare else sources.UNKNOWN
    if kind == "unknown" or named is None:
        return sources.UNKNOWN
    try:
        return sources.state_of(spark, named, source)
    except (AnalysisException, PatternIndexError):
        return sources.UNKNOWN


def _overlaps(one: sources.State, other: sources.State) -> bool:
    return not set(one.get("files", ())).isdisjoint(other.get("files", ()))


def _through(reader: Reader, plan: AnyPlan, source: DataFrame, state: sources.State, settings: Settings) -> Pruning:
    """A plan's input through one index, or why not."""
    d, totals = reader.definition, reader.snapshot.totals

    unknown: tuple[str, ...] = ()

    def unused(reason: str) -> Pruning:
        return Pruning(lines=[f"{d.name} not used, {reason}", *unknown], unknown=unknown)

    columns = {f.name: f for f in source.schema.fields}
    if d.case not in columns or d.event not in columns or d.time not in columns:
        return unused("the input's columns are spelled otherwise")
    types = {name: f.dataType.simpleString() for name, f in columns.items()}
    if (types[d.case], types[d.time], types[d.event]) != (d.case_type, d.time_type, d.event_type):
        return unused("the types of the input's columns have changed")
    stored = {d.tiebreak: d.tiebreak_type} if d.tiebreak is not None else {}
    stored |= dict(zip(d.include, d.include_types, strict=True))
    if any(types.get(name, type_) != type_ for name, type_ in stored.items()):
        return unused("the types of the input's columns have changed")
    if str(columns[d.event].metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")).startswith("char"):
        return unused(f"{d.event} is CHAR, which Spark compares with blanks added")
    if totals.rejected:
        return unused(f"{totals.rejected:,} rows were set aside (on_bad_rows = 'quarantine')")
    coverage = reader.coverage(state)
    if coverage.state != "current" and not coverage.added:
        hint = f"; REFRESH PATTERN INDEX {d.name}" if coverage.state == "stale" else ""
        return unused(f"{coverage.reason}{hint}")
    try:
        if coverage.state == "current":
            unknown = _unknown(reader, plan)
        needs = requirements(plan, Roles(d.case, d.time, d.event, d.tiebreak, totals.ties == 0))
        files: Sequence[Sequence[int]] = list(state.get("files", {}).values())
        found = access.access(
            reader, needs, source, coverage, sum(f[0] for f in files), settings.index_access_path, settings.index_cases
        )
    except (NotPrunable, IndexNotBeneficial) as error:
        return unused(str(error))
    except PatternIndexError as error:
        if error.error_class not in UNUSABLE:
            raise
        return unused(_sentence(error))
    steps = found.candidates.steps if found.candidates is not None and len(needs.branches) == 1 else ()
    return Pruning(found.frame, [*_explained(reader, needs, coverage, found), *unknown], steps, unknown)


def _unknown(reader: Reader, plan: AnyPlan) -> tuple[str, ...]:
    """A sentence for each event type that the plan's conditions name and that the log does not hold."""
    named = compared_strings(plan.input.tests, plan.input.fields, plan.input.column_types).get(
        reader.definition.event, []
    )
    if not named:
        return ()
    known = reader.dictionary()
    return tuple(lacks(reader.definition.event, value, known) for value in named if value not in known)


def _explained(reader: Reader, needs: Requirements, coverage: Coverage, found: Access) -> list[str]:
    """What EXPLAIN says about an index that is used."""
    d = reader.definition
    lines = [f"{d.name} ({d.kind}), snapshot {reader.snapshot.number}"]
    if coverage.added:
        lines.append(f"{coverage.reason} and read from the source: REFRESH PATTERN INDEX {d.name} would index them")
    if not needs.ordered:
        lines.append(f"order not used, {needs.unordered}")
    elif found.candidates is not None and not reader.tells_order(needs.bound):
        lines.append(f"order not used, steps are not bound by the lookback of {d.lookback_text()}")
    for k, branch in enumerate(needs.branches[:8]):
        pairs = ", ".join(f"{a} -> {b}" for a, b in pairwise(branch)) or branch[0]
        lines.append(f"{'needed' if k == 0 else 'or'}: {pairs if needs.ordered else ', '.join(branch)}")
    if len(needs.branches) > 8:
        lines.append(f"or one of {len(needs.branches) - 8} more alternatives")
    candidates = found.candidates
    if candidates is None:
        lines.append(f"cases: {reader.snapshot.totals.cases:,}, picked by a scan of sequences while they are read")
    else:
        for step in candidates.steps[:8]:
            lines.append(f"cases that hold {step.asked} ({step.rule}): {step.cases:,} of {candidates.total:,}")
        lines.append(
            f"cases: {len(candidates.ids):,} of {candidates.total:,}; "
            f"{describe_bytes(candidates.bytes_read)} of posting lists read"
        )
    costs = ", ".join(f"{access_path} {describe_bytes(size)}" for access_path, size in found.cost.items())
    lines.append(f"events from {found.access_path} (estimated: {costs})")
    return lines
