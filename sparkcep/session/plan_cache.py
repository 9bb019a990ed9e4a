"""What statements leave behind for later ones: plans and samples, at most ``MAX`` of each."""

from __future__ import annotations

from typing import TypeVar

from sparkcep.planner.plan import AnyPlan
from sparkcep.planner.sampling import Sample

T = TypeVar("T")

#: Plans of forms by all that they were made from.
PLANS: dict[tuple[object, ...], AnyPlan] = {}
#: Answers of samples; an old one may cost time, never an answer.
SAMPLES: dict[tuple[object, ...], Sample | None] = {}
MAX = 1000


def keep(kept: dict[tuple[object, ...], T], key: tuple[object, ...], value: T) -> T:
    """Remember a value; whatever was remembered goes where it is too much."""
    if len(kept) >= MAX:
        kept.clear()
    kept[key] = value
    return value
