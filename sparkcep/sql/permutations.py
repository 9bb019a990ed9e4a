"""PERMUTE, in MATCH_RECOGNIZE and in a pattern block: how many orders there are, and what they leave open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from sparkcep.errors import PatternAnalysisError
from sparkcep.pattern import Pattern, Permutation, Quantified, children, variables, walk
from sparkcep.settings import LIMIT_PERMUTE


def check_permutations(
    pattern: Pattern, limit: int, error: Callable[[str, str, int, str | None], PatternAnalysisError]
) -> None:
    """Each PERMUTE keeps limit.permute, since n patterns have n! orders.

    Raises:
        PatternAnalysisError: MATCH_RECOGNIZE_PERMUTE_TOO_MANY_PATTERNS.
    """
    for node in walk(pattern):
        if isinstance(node, Permutation) and len(node.items) > limit:
            raise error(
                "MATCH_RECOGNIZE_PERMUTE_TOO_MANY_PATTERNS",
                f"PERMUTE has {len(node.items)} patterns; the limit is {limit}.",
                node.position,
                f"SET {LIMIT_PERMUTE.key} = {len(node.items)}",
            )


def unordered(pattern: Pattern, repeated: bool = False) -> Iterator[tuple[str, str, bool]]:
    """Pairs of variables of which either may come first, and whether that may be so several times in a match."""
    if isinstance(pattern, Permutation):
        for first, second in combinations(pattern.items, 2):
            for x in variables(first):
                yield from ((x, y, repeated) for y in variables(second))
    if isinstance(pattern, Quantified):
        repeated = repeated or pattern.maximum is None or pattern.maximum > 1
    for child in children(pattern):
        yield from unordered(child, repeated)
