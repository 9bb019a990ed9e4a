"""A query's events, read through an index: which cases, and from which of its tables.

Candidate cases come from posting lists, or from a scan of all events where that is cheaper.
Their events come from `activities` (only some types matter, and nothing but case, time and type is asked for), from
`sequences` (all columns asked for are there), or from the source, joined to the candidates' keys. All three give the
same rows; which of them, and whether any, is decided by the work that they take (:mod:`sparkcep.index.costs`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.index import lookup, read_here, sources
from sparkcep.index.costs import Work, seconds
from sparkcep.index.event_frames import (
    ARROW_TYPES,
    Input,
    can_be_read_here,
    exploded,
    from_activities,
    from_cases,
    from_lists,
    holds,
    in_few_tasks,
)
from sparkcep.index.local_events import CaseGroups
from sparkcep.index.reader import Candidates, Coverage, Reader
from sparkcep.index.tables import ACTIVITIES, COUNTS, SEQUENCES
from sparkcep.planner.pruning import MAX_BRANCHES, Requirements
from sparkcep.query import in_backticks
from sparkcep.spark.executors import usable_cores
from sparkcep.spark.plan import is_remote

#: Where events may come from.
FROM_ACTIVITIES, FROM_SEQUENCES, FROM_SOURCE = ACCESS_PATHS = ("activities", "sequences", "source")
#: Events that the driver itself looks at in posting lists, in three seconds of a core and a hundred megabytes or so,
#: and in `sequences`, of which it decodes all columns that are asked for; more are read by Spark.
MAX_LISTED_EVENTS = 20_000_000
MAX_STORED_EVENTS = 4_000_000
#: Events that it hands to Spark, some forty bytes each, which the JVM of the driver holds as long as the query.
MAX_SHIPPED_EVENTS = 4_000_000
#: So many looks of a branch at an event are cheaper than reading posting lists.
SCANNED_EVENTS = 3_000_000
#: What is left of a source that is joined to its candidates must be less than this share of the cases.
MAX_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Access:
    """``frame``: rows of all cases that can match, with the columns asked for; ``access_path``: where they come from.

    ``candidates``: None: cases are picked while they are read. ``able``: access paths that can serve, ``work``: what
    the query asks of the log.
    """

    frame: DataFrame
    access_path: str
    candidates: Candidates | None
    able: tuple[str, ...]
    work: Work


class IndexNotBeneficial(Exception):
    """Why reading through the index does not pay."""


def access(
    reader: Reader,
    ask: Requirements,
    source: Input,
    coverage: Coverage,
    source_bytes: int,
    access_path: str = "auto",
    cases: str = "auto",
    set_aside: bool = False,
) -> Access:
    """Read the events of the cases that can match.

    Args:
        ask: what a match needs. source: the query's input.
        coverage: how the index stands to it; `current`, or `stale` with files added.
        source_bytes: its size.
        access_path: one of ACCESS_PATHS, where it can serve; auto: the cheapest.
        cases: how they are found, `lists` or `scan` (only with sequences); auto: the cheapest.
        set_aside: whether rows that could not be indexed may matter; all events of their cases come from the source.

    Raises:
        IndexNotBeneficial: with the reason.
    """
    if ask.groups and coverage.state != "current":
        raise IndexNotBeneficial("files that are not indexed may have events of a group's cases")
    if ask.groups and set_aside:
        raise IndexNotBeneficial("rows that were set aside may be events of a group's cases")
    case_type = reader.definition.case_type
    if (ask.groups or set_aside) and case_type not in ARROW_TYPES:
        what = "for GROUPS" if ask.groups else "by rows that were set aside"
        raise IndexNotBeneficial(f"cases of type {case_type} are not looked up {what}")
    paths = _able(reader, ask, source, coverage.state == "current" and not set_aside)
    work = _work(reader, ask, source, source_bytes)
    is_free = access_path == cases == "auto"
    likely = cache(lambda: _likely(reader, ask))
    if access_path not in paths:
        access_path = work.quickest(paths, (lambda: 1.0) if ask.groups else likely)
    if is_free and not ask.groups:
        _demand_gain(work, access_path, likely)
    if access_path == FROM_SEQUENCES and _scans(reader, ask, source, cases):
        frame = _over(source, exploded(reader, _scan(reader, ask), ask, source))
        return Access(frame, access_path, None, paths, work)
    if len(ask.branches) > MAX_BRANCHES and access_path == FROM_SOURCE and (share := likely()) > MAX_SHARE:
        raise IndexNotBeneficial(f"by the counts of pairs about {share:.0%} of the cases can match one of the rules")
    types = sorted(t for t in ask.only or () if t in reader.dictionary())
    is_local = access_path == FROM_ACTIVITIES and access_path in work.here
    with ThreadPoolExecutor(1) as aside:
        # Which events are needed does not wait for which cases.
        lists = aside.submit(read_here.lists_of_types, reader, types, bool(source.placed)) if is_local else None
        if ask.groups:
            candidates = reader.candidates_of_groups(ask.branches, ask.groups)
        else:
            candidates = reader.candidates(ask.branches, ask.bound, ask.ordered, source.scope)
    if access_path == FROM_SOURCE and (share := candidates.share) > MAX_SHARE:
        raise IndexNotBeneficial(f"{share:.0%} of the cases can match, and the events must come from the source")
    if lists is not None and candidates.share * work.wanted * work.events <= MAX_SHIPPED_EVENTS:
        frame = _over(source, from_lists(reader, types, lists.result(), candidates.ids, source))
    elif access_path == FROM_ACTIVITIES:
        frame = _over(source, from_activities(reader, types, candidates.ids, source.placed))
    elif access_path == FROM_SEQUENCES and (where := _stored_here(reader, source, candidates)) is not None:
        frame = _over(source, from_cases(reader, ask, where, candidates.ids, source))
    elif access_path == FROM_SEQUENCES:
        ids = None if candidates.share == 1 else candidates.ids
        frame = _over(source, exploded(reader, reader.lists(ids), ask, source))
    else:
        frame = _from_source(reader, source, coverage, candidates, set_aside)
    return Access(frame, access_path, candidates, paths, work)


def _from_source(
    reader: Reader, source: Input, coverage: Coverage, candidates: Candidates, set_aside: bool
) -> DataFrame:
    """The query's input, of the cases that can match, and of those of files and rows that are not indexed."""
    keys = _keys(reader, candidates, set_aside)
    if coverage.added:
        new = sources.in_files(source.files, coverage.added)
        keys = keys.union(new.select(F.col(in_backticks(reader.definition.case)))).distinct()
    keys, rows = keys.toDF("__cep_case"), source.frame
    return rows.join(F.broadcast(keys), rows[in_backticks(source.case)].eqNullSafe(keys["__cep_case"]), "left_semi")


def _keys(reader: Reader, candidates: Candidates, set_aside: bool) -> DataFrame:
    """CASE values of cases that can match, in one column. ``set_aside``: and of rows that could not be indexed."""
    case_type = reader.definition.case_type
    is_kept = lookup.is_kept(reader.state(SEQUENCES))
    if is_remote(reader.spark) or case_type not in ARROW_TYPES or not is_kept:
        keys = reader.case_keys(candidates.ids)
        return keys.union(reader.keys_set_aside()).distinct() if set_aside else keys
    own = read_here.keys_of_cases(reader, candidates.ids, set_aside).cast(ARROW_TYPES[case_type])
    return in_few_tasks(reader.spark, pa.table({"case_key": own}))


def _wanted(reader: Reader, types: Collection[str] | None) -> float:
    """The share of events that are of some types, were all types as frequent where nothing tells; None: of any."""
    if types is None:
        return 1.0
    if (events := reader.events_by_type()) is not None:
        return min(1.0, sum(events.get(t, 0) for t in types) / max(1, reader.snapshot.totals.events))
    known = reader.dictionary()
    return len(known.keys() & types) / max(1, len(known))


def _work(reader: Reader, ask: Requirements, source: Input, source_bytes: int) -> Work:
    """What a query asks of an indexed log."""
    events, wanted, here = reader.snapshot.totals.events, _wanted(reader, ask.only), []
    if not is_remote(reader.spark) and reader.definition.case_type in ARROW_TYPES:
        here += [FROM_ACTIVITIES] if wanted * events <= MAX_LISTED_EVENTS else []
    if can_be_read_here(reader, source) and events <= MAX_STORED_EVENTS:
        here.append(FROM_SEQUENCES)
    return Work(events, source_bytes, wanted, usable_cores(reader.spark), here)


def _demand_gain(work: Work, access_path: str, likely: Callable[[], float]) -> None:
    """Compare the way through an index with that without.

    Raises:
        IndexNotBeneficial: it is slower by estimate.
    """
    # Counts are read only where it matters how many cases can match.
    if work.loses(access_path, 1.0) and work.loses(access_path, share := likely()):
        through, without = seconds(work.through(access_path, share)), seconds(work.without())
        raise IndexNotBeneficial(
            f"by estimate it would take {through}, with events from {access_path}, and {without} without it"
        )


def _over(source: Input, rows: DataFrame) -> DataFrame:
    """The query's rows from rows of the index.

    Raises:
        IndexNotBeneficial: Spark does not make them.
    """
    try:
        return source.over(rows)
    except Exception as error:  # plans have no public interface: what fails there is no reason to fail the query
        raise IndexNotBeneficial(f"Spark does not read the input over the index's rows ({error})") from error


def _able(reader: Reader, ask: Requirements, source: Input, is_all: bool) -> tuple[str, ...]:
    """Access paths that can serve. ``is_all``: the index has all rows that matter."""
    d, paths = reader.definition, [FROM_SOURCE]
    if not is_all or source.needed is None:
        return tuple(paths)
    stored = {d.case, d.time, d.event}
    tie = {d.tiebreak} if d.tiebreak is not None else set()
    if source.needed <= stored | tie | set(d.include):
        paths.append(FROM_SEQUENCES)
    if ACTIVITIES in reader.sizes() and ask.only is not None and source.needed <= stored:
        paths.append(FROM_ACTIVITIES)
    return tuple(paths)


def _scans(reader: Reader, ask: Requirements, source: Input, cases: str) -> bool:
    """Whether looking at all events is cheaper than posting lists. Segments would have to be stitched first."""
    if cases == "auto" and can_be_read_here(reader, source):
        return False  # no Spark job is cheaper than any
    totals = reader.snapshot.totals
    # A test for each branch is a part of Spark's plan, and looks at all events.
    can = ask.ordered and not totals.segmented and len(ask.branches) <= MAX_BRANCHES
    looked_at = totals.events * max(1, len(ask.branches))
    return can and (cases == "scan" or (cases == "auto" and looked_at <= SCANNED_EVENTS))


def _likely(reader: Reader, ask: Requirements) -> float:
    """The share of cases that hold one of many branches, as far as counts tell without posting lists: each branch is
    taken to be in as many cases as its rarest pair, and branches not to depend on each other. 0 where nothing tells."""
    if COUNTS not in reader.sizes() or not ask.ordered or not reader.tells_order(ask.bound):
        return 0.0
    pairs = {branch: list(pairwise(branch)) for branch in ask.branches if len(branch) > 1}
    cases = reader.cases_with(dict.fromkeys(pair for own in pairs.values() for pair in own))
    total = max(1, reader.snapshot.totals.cases)
    missing = 1.0
    for own in pairs.values():
        missing *= 1 - min(min(cases[pair] for pair in own) / total, 1)
    return 1 - missing


def _scan(reader: Reader, ask: Requirements) -> DataFrame:
    codes = reader.dictionary()
    known = [[codes[t] for t in b] for b in ask.branches if all(t in codes for t in b)]
    return reader.lists().where(holds(known) if known else F.lit(False))


def _stored_here(reader: Reader, source: Input, candidates: Candidates) -> CaseGroups | None:
    """Where `sequences` has cases that the driver itself reads; None: Spark does."""
    if not can_be_read_here(reader, source):
        return None
    totals, rows = reader.snapshot.totals, max(1, reader.sizes()[SEQUENCES][1])
    if candidates.share * totals.events > MAX_STORED_EVENTS:
        return None
    where = read_here.groups_of_cases(reader, candidates.ids)
    return where if where.rows / rows * totals.events <= MAX_STORED_EVENTS else None


def describe_bytes(size: int) -> str:
    """Bytes in the unit that leaves one to three digits."""
    value, unit = float(size), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
