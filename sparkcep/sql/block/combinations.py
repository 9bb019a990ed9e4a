"""What a pattern block may not combine: each clause that is defined for some blocks only, by its error class."""

from __future__ import annotations

from collections.abc import Callable

from sparkcep.errors import PatternAnalysisError
from sparkcep.pattern import Permutation, variables, walk
from sparkcep.query import Matches, PatternQuery, Selection
from sparkcep.sql.block.parser import BlockSyntax
from sparkcep.sql.block.pattern import BlockPattern
from sparkcep.sql.block.where import WhereSyntax

#: Makes an error of a class and a sentence at an offset of the statement, with a hint.
Refuse = Callable[[str, str, int, str | None], PatternAnalysisError]


def check_combinations(
    query: PatternQuery, syntax: BlockSyntax, where: WhereSyntax, strategy: Selection, error: Refuse
) -> None:
    """Refuse clauses that exclude each other.

    Args:
        strategy: of the block, where components may have others.

    Raises:
        PatternAnalysisError: CEP_LATEST, CEP_UNSUPPORTED_SELECTION, CEP_UNCERTAINTY, CEP_CENSORED, CEP_TIMED_OUT.
    """
    _latest(query, bool(where.constraints), syntax.latest, error)
    _steps(query, strategy, error)
    _uncertainty(query, syntax.positions.get("CONFIDENCE", 0), error)
    _censored(query, error)
    _timed_out(query, error)


def check_immediately(pattern: BlockPattern, error: Refuse) -> None:
    """`!B b IMMEDIATELY` is about the event behind one that the match has taken, of which there is one only.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_PATTERN.
    """
    permuted = [n for n in walk(pattern.pattern) if isinstance(n, Permutation)]
    for n, c in enumerate(pattern.components):
        if not c.negated or c.step is None:
            continue
        around = c.key in pattern.repeated or any(c.key in variables(p) for p in permuted)
        if around or len(pattern.negations[c.key]) > 1:
            why = "stands in a group that repeats, in PERMUTE or in another negation"
        elif all(b.negated for b in pattern.components[:n]):
            why = "has no event before it"
        else:
            continue
        raise error(
            "CEP_UNSUPPORTED_PATTERN", f"!{c.variable} IMMEDIATELY {why}, so it is open behind which event no "
            f"{c.variable} may come.", c.position, "SEQ(A a, !B b IMMEDIATELY, C c)",
        )  # fmt: skip


def _latest(query: PatternQuery, constraints: bool, position: int, error: Refuse) -> None:
    """Refuse MATCHES LATEST where it is not said what the later run would have to fulfil.

    Raises:
        PatternAnalysisError: CEP_LATEST.
    """
    if position < 0:
        return
    others = [
        (any(c.step is not None for c in query.components), "strategies of single components"),
        (constraints, "time and gap constraints; write conditions on times"),
        (any(e.components for e in query.equivalences), "equivalences of single components; write conditions"),
        (bool(query.trends), "aggregates over trends"),
        (query.selection is not Selection.NEXT, query.strategy),
    ]
    for found, what in others:
        if found:
            raise error(
                "CEP_LATEST", f"MATCHES LATEST cannot be combined with {what}.", position,
                "without it, negations say the same: SEQ(A a, !A later, B b)",
            )  # fmt: skip


def _steps(query: PatternQuery, strategy: Selection, error: Refuse) -> None:
    """Refuse what is defined for one strategy where components have their own.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_SELECTION.
    """
    if query.selection is not Selection.BY_STEP:
        return
    conditions = strategy is Selection.STRICT and not query.partition_contiguity
    others = [
        (bool(query.trends), "aggregates over trends", "count matches: SELECT count(*) FROM (FROM ...)"),
        (query.uncertainty is not None, "UNCERTAINTY", ""),
        (query.non_answers is not None, "EXPLAIN NON ANSWERS", ""),
        (query.timed_out, "WITH TIMED OUT", ""),
        (query.collapsed, "COLLAPSED", ""),
        (
            conditions and any(not e.components for e in query.equivalences),
            "an equivalence under STRICT CONTIGUITY", "partition by its columns: PARTITION BY x",
        ),
    ]  # fmt: skip
    for found, what, hint in others:
        if found:
            own = next(c for c in query.components if c.step not in (None, strategy))
            raise error(
                "CEP_UNSUPPORTED_SELECTION",
                f"Strategies of single components, as of {own.variable}, cannot be combined with {what}.",
                own.position,
                hint or "give the whole block one strategy, with EVENT SELECTION",
            )


def _uncertainty(query: PatternQuery, position: int, error: Refuse) -> None:
    """Refuse what has no meaning where the order of events is not known.

    Raises:
        PatternAnalysisError: CEP_UNCERTAINTY.
    """
    if query.uncertainty is None:
        if query.confidence is not None:
            raise error(
                "CEP_UNCERTAINTY", "CONFIDENCE needs UNCERTAINTY.", position,
                "UNCERTAINTY (lower, upper) CONFIDENCE >= 0.5",
            )  # fmt: skip
        return
    some = "which match is taken depends on all others of a world"
    probable = "ORDER BY confidence DESC LIMIT k after the block takes the most probable matches"
    refused = [
        (query.selection is Selection.STRICT, "contiguity", "", None),
        (query.between is not None, "BETWEEN", "", None),
        (query.matches is not Matches.ALL, query.which, f": {some}", probable),
    ]
    for found, what, why, hint in refused:
        if found:
            sentence = f"UNCERTAINTY cannot be combined with {what}{why}."
            raise error("CEP_UNCERTAINTY", sentence, query.uncertainty.position, hint)


def _censored(query: PatternQuery, error: Refuse) -> None:
    """Refuse OMIT CENSORED MATCHES where the log's end decides nothing.

    Raises:
        PatternAnalysisError: CEP_CENSORED.
    """
    if not query.omit_censored:
        return
    others = [
        (bool(query.trends), "aggregates over trends: their windows end where they end"),
        (query.uncertainty is not None, "UNCERTAINTY: the log's last event has no certain time"),
        (query.non_answers is not None, "EXPLAIN NON ANSWERS: its rows are not matches"),
    ]
    for found, what in others:
        if found:
            raise error(
                "CEP_CENSORED",
                f"OMIT CENSORED MATCHES cannot be combined with {what}.",
                query.censored_position,
                "leave OMIT CENSORED MATCHES out",
            )


def _timed_out(query: PatternQuery, error: Refuse) -> None:
    """Refuse WITH TIMED OUT where no run of a start event times out.

    Raises:
        PatternAnalysisError: CEP_TIMED_OUT.
    """
    if not query.timed_out:
        return
    others = [
        (bool(query.trends), "aggregates over trends, which are of matches", ""),
        (query.uncertainty is not None, "UNCERTAINTY: its matches have a confidence instead", ""),
        (query.non_answers is not None, "EXPLAIN NON ANSWERS, which says why a partition has no match", ""),
        (query.collapsed, "COLLAPSED: a row of it is many matches", "leave COLLAPSED out"),
        (query.matches is Matches.FIRST, "MATCHES FIRST", "write MATCHES NON OVERLAPPING WITH TIMED OUT"),
    ]
    for found, what, hint in others:
        if found:
            raise error(
                "CEP_TIMED_OUT",
                f"WITH TIMED OUT cannot be combined with {what}.",
                query.timed_out_position,
                hint or "leave WITH TIMED OUT out",
            )
    if query.within is None:
        raise error(
            "CEP_TIMED_OUT",
            "Without WITHIN no run times out.",
            query.timed_out_position,
            "add WITHIN: how long after its first event a match may end",
        )
