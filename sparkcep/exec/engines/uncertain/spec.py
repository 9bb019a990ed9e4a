"""UncertainSpec: what an executor needs to match events with imprecise times. Picklable, no Spark."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.query import Selection


@dataclass(frozen=True, slots=True)
class StreamedTicks:
    """What a stream asks of ticks. ``step``: a tick's length in microseconds; ``ahead``: how many of them before its
    row's time an event's interval may begin. ``closes``: whether a trailing negation waits for WITHIN to pass;
    ``looks_back``: a leading one looks at events before the match."""

    step: int
    ahead: int
    closes: bool = False
    looks_back: bool = False


@dataclass(frozen=True, slots=True)
class UncertainSpec:
    """One pattern over events of which only a range of ticks is known.

    ``run``: the pattern, its conditions and its outputs. ``sets``: codes of Kleene components whose members are a set.
    ``within``: most ticks between the first and the last event. ``confidence``: the least that is asked for.
    ``most``: how many matches of the highest confidence are asked for, 0: all.
    ``probable``: the last kernel field is the probability of each tick.
    ``limit_ticks``: most ticks of an event; ``limit_shared``: most events that may have to stay out of several gaps.
    ``stream``: where the input is one; then ``run`` gives the events of each match.
    """

    run: RunSpec
    sets: frozenset[int]
    within: int | None
    confidence: float
    probable: bool
    limit_ticks: int
    limit_shared: int
    most: int = 0
    stream: StreamedTicks | None = None

    @property
    def keeps_out(self) -> bool:
        """Whether some events must not lie between those of a match."""
        return self.run.selection is Selection.NEXT or bool(self.run.automaton.negations)

    @property
    def condition_bits(self) -> dict[int, int]:
        """Of the pattern's components, see RunSpec."""
        return self.run.condition_bits

    @property
    def mask_words(self) -> int:
        """Words of condition bits of a row."""
        return self.run.mask_words
