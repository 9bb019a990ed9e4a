"""The bits of a signature, see signature.py; without Spark, since kernels are also compiled where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sparkcep.exec.kernels.index import postings as kernel
from sparkcep.exec.kernels.index.postings import Cases

#: Bytes of a signature: the first half for types, the second for pairs.
WIDTH = 512


def sign_cases(cases: Cases) -> npt.NDArray[np.uint8]:
    """Signatures of cases, (cases, WIDTH)."""
    bits = np.zeros((len(cases.ids), WIDTH), np.uint8)
    types = int(cases.codes.max()) + 1 if len(cases.codes) else 1
    kernel.sign(cases, np.zeros(types, np.int64), np.empty(types, np.int64), bits.reshape(-1), WIDTH)
    return bits


def wanted_bits(branch: Sequence[int], by_pairs: bool) -> npt.NDArray[np.uint8]:
    """The signature that every match of a branch must be a superset of."""
    out = np.zeros(WIDTH, np.uint8)
    for code in branch:
        kernel.set_bit(out, 0, code, -1, WIDTH)
    if by_pairs:
        for a, b in pairwise(branch):
            kernel.set_bit(out, 0, a, b, WIDTH)
    return out
