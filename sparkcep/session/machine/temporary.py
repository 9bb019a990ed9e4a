"""Folders that last as long as the process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path


def temporary_folder() -> Path:
    """A folder that is deleted when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="sparkcep-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
