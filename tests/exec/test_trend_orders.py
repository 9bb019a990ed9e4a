"""Ranks in trees against their definition, for keys of any width."""

from __future__ import annotations

import numpy as np
import pytest

from sparkcep.exec.engines.trends.tables import new_ranks
from sparkcep.exec.kernels.caching import kernel
from sparkcep.exec.kernels.trends.orders import COUNTS, rank_rows
from sparkcep.exec.kernels.trends.tables import AT, FIRST, PRECEDING, QUERY, RANK_WIDTH, Orders

LOW, HIGH = -(2**63), 2**63 - 1
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal}


@kernel
def rank_all(first, count, rows, orders, keys, nulls, counts, ranks):
    rank_rows(0, first, count, rows, orders, keys, nulls, counts, ranks)


def columns(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    return {
        "few": lambda: rng.integers(0, 3, n),
        "narrow": lambda: rng.integers(-500, 10_000, n),
        "thousands": lambda: rng.integers(-50, 50, n) * 4096 + 7,
        "wide": lambda: rng.integers(LOW, HIGH, n, endpoint=True),
        "floats": lambda: rng.normal(100, 5, n).round(2).view(np.int64),
        "extremes": lambda: rng.choice(np.array([LOW, LOW + 1, 0, HIGH - 1, HIGH]), n),
        "one": lambda: np.full(n, 42),
    }[kind]()


@pytest.mark.parametrize("n", [1, 2, 40, 300, *(pytest.param(n, marks=pytest.mark.compiled) for n in (0, 6000))])
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(
    "kinds", ["narrow", "wide", "floats", "extremes", "one", "thousands", "few narrow", "few wide", "wide wide"]
)
def test_what_precedes_a_row_is_a_prefix_of_its_tree(kinds: str, same: bool, n: int) -> None:
    """Kinds of the pairs of columns: those that must be equal in front, the ordered one last."""
    rng = np.random.default_rng([n, same, *kinds.encode()])
    for operator, ordered in [("<", True), ("<=", True), (">", True), (">=", True), ("=", False)]:
        names = kinds.split()[::-1]  # the ordered pair is the first
        sides = [[columns(rng, k, n + 2), columns(rng, k, n + 2)] for k in names]
        if same:
            sides = [[a, a] for a, _ in sides]
        empty = [[rng.random(n + 2) < 0.05 for _ in pair] for pair in sides]
        if same:
            empty = [[a, a] for a, _ in empty]
        numbers = np.arange(len(names)) * 2
        orders = Orders(
            np.array([0, len(names)]), np.column_stack([numbers, numbers + (not same)]).ravel(),
            np.array([ordered], np.uint8), np.array([operator in ("<=", ">=")], np.uint8),
            np.array([operator in (">", ">=")], np.uint8), np.array([same], np.uint8),
        )  # fmt: skip
        ranks = new_ranks(1, max(n, 1), same)
        keys, nulls = np.concatenate([s for p in sides for s in p]), np.concatenate([s for p in empty for s in p])
        # One row before the block, one behind it.
        rank_all(1, n, n + 2, orders, keys, nulls.astype(np.uint8), np.zeros(COUNTS, np.int64), ranks)
        row = ranks.row[0, : RANK_WIDTH * n].reshape(n, RANK_WIDTH)
        before = [(p[0][1 : n + 1], e[0][1 : n + 1]) for p, e in zip(sides, empty, strict=True)]
        after = [(p[1][1 : n + 1], e[1][1 : n + 1]) for p, e in zip(sides, empty, strict=True)]
        known = ~np.any([e for _, e in before], axis=0)
        assert ((row[:, AT] >= 0) == known).all()
        for j in rng.permutation(n)[:60]:
            follows = known.copy()
            for k, ((b, _), (a, none)) in enumerate(zip(before, after, strict=True)):
                of = operator if k == 0 else "="
                follows &= ~none[j] & COMPARE[of](b, a[j])
            found = np.zeros(n, bool)
            if row[j, PRECEDING]:
                low, number = row[j, QUERY], row[j, PRECEDING]
                found = known & (row[:, FIRST] == low) & (row[:, AT] < low + number)
                assert number <= ranks.size[0, low]
            assert (found == follows).all()
        if ordered and n:
            assert len(set(row[known, AT])) == known.sum()
            for first in set(row[known, FIRST]):
                own = row[known & (row[:, FIRST] == first), AT]
                assert sorted(own) == list(range(first, first + ranks.size[0, first]))
