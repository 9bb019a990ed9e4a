"""Claims of an index, over a local directory: each ends what is its own, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkcep.errors import PatternIndexError
from sparkcep.index import claims
from sparkcep.index.claims import claimed
from sparkcep.index.storage import Location


def test_one_holds_it_until_it_ends(tmp_path: Path) -> None:
    index = Location(str(tmp_path / "index"))
    with claimed(index), pytest.raises(PatternIndexError, match="has claimed it"), claimed(index):
        raise AssertionError
    with claimed(index) as check:
        check()


def test_a_claim_that_has_run_out_does_not_end_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Location(str(tmp_path / "index"))
    monkeypatch.setattr(claims, "LEASE_SECONDS", 0)
    slow = claimed(index)
    check = slow.__enter__()
    monkeypatch.setattr(claims, "LEASE_SECONDS", 300)
    with claimed(index):
        slow.__exit__(None, None, None)
        with pytest.raises(PatternIndexError, match="has claimed it"), claimed(index):
            raise AssertionError
    check()
