"""Claims of an index, over a local directory: each ends what is its own, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake.exceptions import CommitFailedError, DeltaError

from sparkcep.errors import PatternIndexError
from sparkcep.index import claims
from sparkcep.index.claims import check_conditional_put, claimed
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


@pytest.mark.parametrize("overwrites", [False, True])
def test_a_store_is_asked_until_it_has_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrites: bool
) -> None:
    """Commits one after the other see the table and never come to the store, so that they say nothing of it."""
    late = DeltaError("A Delta Lake table already exists at that location.")
    refused = CommitFailedError("Failed to commit transaction: 0")
    rounds = iter([[late] * 5, [late] * 5, [late] * 4 if overwrites else [late] * 4 + [refused]])
    monkeypatch.setattr(claims, "_commits_at_once", lambda root: next(rounds))
    root = Location(str(tmp_path))
    if overwrites:
        with pytest.raises(PatternIndexError, match="of 6 commits at once 2 have overwritten each other"):
            check_conditional_put(root)
    else:
        check_conditional_put(root)
    assert next(rounds, None) is None


def test_a_local_folder_refuses_what_is_there(tmp_path: Path) -> None:
    check_conditional_put(Location(str(tmp_path)))
    assert not list(tmp_path.iterdir())
