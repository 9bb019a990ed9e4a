"""Sides of comparisons in trends as integers: their order is that of the numbers, however large these are."""

from __future__ import annotations

import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.arrays import order_decimals
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.trends.spec import Key, KeyPair
from sparkcep.exec.engines.trends.tables import key_columns

LEAST, MOST = -(2**63), 2**63 - 1


def same_order(numbers: list[int], keys: list[int]) -> bool:
    return all(
        (a < b) == (x < y) and (a == b) == (x == y)
        for a, x in zip(numbers, keys, strict=True)
        for b, y in zip(numbers, keys, strict=True)
    )


@given(
    st.sampled_from([0, 2**63, -(2**63), 2**64, -(2**64), 2**100, -(2**100)]),
    st.sampled_from([3, 2**62, 2**63, 2**64, 2**65, 2**90]),
    st.lists(st.lists(st.floats(-1, 1), max_size=5), min_size=1, max_size=3),
)
def test_decimals_of_two_words(base: int, width: int, parts: list[list[float]]) -> None:
    numbers = [[base + int(width * x) for x in part] for part in parts]
    found = order_decimals([pa.array(map(Decimal, own), pa.decimal128(38, 0)) for own in numbers])
    assert [len(own) for own in found] == [len(own) for own in numbers]
    assert same_order(list(itertools.chain(*numbers)), np.concatenate(found).tolist())


values = st.one_of(st.none(), st.integers(-5, 5), st.sampled_from([LEAST, LEAST + 1, MOST - 1, MOST]))
keys = st.builds(
    Key,
    st.integers(0, 1),
    st.sampled_from([1, 5, -4, 125, 10**9, 10**17, 10**18 - 1, 10**19]),
    st.sampled_from([0, 1, -75, 10**18]),
)


@given(st.lists(st.tuples(values, values), max_size=6), keys, keys)
def test_what_is_made_of_columns(rows: list[tuple[int | None, int | None]], before: Key, after: Key) -> None:
    columns = tuple(pa.array([row[k] for row in rows], pa.int64()) for k in range(2))
    batch = Batch(np.array([0, len(rows)], np.int64), [], columns, None)
    found, nulls = (a.reshape(2, -1)[:, : len(rows)] for a in key_columns([KeyPair(before, after)], batch))
    numbers, made = [], []
    for k, key in enumerate(dict.fromkeys((before, after))):
        own = columns[key.column].to_pylist()
        assert [bool(n) for n in nulls[k]] == [value is None for value in own]
        for value, key_value in zip(own, found[k].tolist(), strict=True):
            if value is not None:
                numbers.append(key.factor * value + key.summand)
                made.append(key_value)
    assert same_order(numbers, made)
