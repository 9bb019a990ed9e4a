"""The reference of patterns in windows: each row's frame is searched by itself, straight from ISO/IEC 19075-5."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkcep.pattern import Pattern
from sparkcep.query import SkipMode

from .reference_rows import Path, first_way

#: Condition of a variable: (path so far with the tested row as its last, frame's first row, its last row) -> bool.
Condition = Callable[[Path, int, int], bool]


def reference_windows(
    pattern: Pattern,
    ends: Sequence[int],
    conditions: dict[str, Condition],
    skip: SkipMode = SkipMode.PAST_LAST_ROW,
    skip_variables: tuple[str, ...] = (),
    seek: bool = False,
) -> list[Path | None]:
    """What each row of one partition has: the rows of its match, none of an empty one; None without a match.

    Args:
        ends: of each row the last row of its frame.
        conditions: by variable; a missing one is true.

    Raises:
        ValueError: AFTER MATCH SKIP to the match's first row or to a variable that took no row.
    """
    out: list[Path | None] = [None] * len(ends)
    row = 0
    while row < len(ends):
        first, last = row, min(ends[row], len(ends) - 1)

        def take(path: Path, first: int = first, last: int = last) -> bool:
            condition = conditions.get(path[-1][0])
            return condition is None or condition(path, first, last)

        path: Path | None = None
        for start in range(first, last + 1 if seek else first + 1):
            path = first_way(pattern, start, last + 1, take)
            if path is not None:
                break
        out[row] = path
        if not path or skip is SkipMode.TO_NEXT_ROW:
            row += 1
        elif skip is SkipMode.PAST_LAST_ROW:
            row = path[-1][1] + 1
        else:
            targets = [taken for name, taken, _ in path if name in skip_variables]
            if not targets:
                raise ValueError("skip target absent")
            target = targets[0] if skip is SkipMode.TO_FIRST else targets[-1]
            if target == path[0][1]:
                raise ValueError("skip to first row")
            row = target
    return out
