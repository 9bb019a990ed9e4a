"""Where screenshots are kept."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """A folder that git ignores, for who wants to look at what the browser showed."""
    folder = Path(__file__).parents[2] / "artifacts" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
