"""Compiled kernels in a folder, or in a folder of a zip: of each function an index, and a file for each of its entries.

Numba's own files are not used: it writes an index before the data that the index names, under names that serve again,
so that a process may read another version's machine code in between.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import uuid
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from numba.core.serialize import dumps

from sparkcep.exec.kernel_cache.lock import locked

_STAMP_BYTES = 32
#: Seconds to wait for another process that saves; without its lock, what the other one has just saved may be forgotten.
SAVING = 30.0


class Store:
    """The entries of one function. An index is the stamp, then a pickle of {key: digest of the entry's file}."""

    def __init__(self, folder: Path | Traversable, name: str, stamp: bytes) -> None:
        self.folder = folder
        self.name = name
        self.stamp = stamp

    def load(self, key: Any) -> Any:
        """What was saved under the key; None where there is nothing, or where it is stale or damaged."""
        digest = self.index().get(key)
        if digest is None:
            return None
        try:
            data = self.folder.joinpath(self._data_name(digest)).read_bytes()
        except OSError:
            return None
        return pickle.loads(data) if hashlib.sha256(data).hexdigest() == digest else None

    def index(self) -> Mapping[Any, str]:
        """Digests of compiled kernels by signature and processor; empty where there are none of these sources."""
        try:
            content = self.folder.joinpath(f"{self.name}.nbi").read_bytes()
        except OSError:
            return {}
        # Of another version not even the keys can be read.
        if content[:_STAMP_BYTES] != self.stamp:
            return {}
        try:
            index: Mapping[Any, str] = pickle.loads(content[_STAMP_BYTES:])
        except (EOFError, pickle.UnpicklingError):
            return {}
        return index

    def save(self, key: Any, entry: Any) -> None:
        """Save an entry, and delete what the index does not name any longer.

        Raises:
            OSError: the folder cannot be written.
        """
        assert isinstance(self.folder, Path)
        data = dumps(entry)
        digest = hashlib.sha256(data).hexdigest()
        with locked(self.folder / "saving.lock", SAVING):
            index = {**self.index(), key: digest}
            self._write(self._data_name(digest), data)
            self._write(f"{self.name}.nbi", self.stamp + dumps(index))
            named = {self._data_name(d) for d in index.values()}
            for old in self.folder.glob(f"{self.name}.*.nbc"):
                if old.name not in named:
                    old.unlink(missing_ok=True)

    def _data_name(self, digest: str) -> str:
        return f"{self.name}.{digest[:16]}.nbc"

    def _write(self, name: str, data: bytes) -> None:
        path = Path(str(self.folder), name)
        draft = path.with_name(f"{name}.{uuid.uuid4().hex[:16]}.tmp")
        try:
            draft.write_bytes(data)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
