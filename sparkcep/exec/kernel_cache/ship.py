"""Compiled kernels to ship with the package: those for the portable level, of functions that Python calls."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from sparkcep.exec.kernel_cache.places import places
from sparkcep.exec.kernel_cache.stamp import stamp
from sparkcep.exec.kernel_cache.store import Store
from sparkcep.exec.kernel_cache.target import portable_key, portable_tag


def ship(folder: Path, names: Sequence[str]) -> list[Path]:
    """Copy entries from this machine's caches to ``folder``, below the name of this Python, system and kind of machine.

    Returns:
        The files written; what was there before is deleted.

    Raises:
        LookupError: a function was not compiled for the portable level.
        OSError: the folder cannot be written.
    """
    digest = stamp()
    if digest is None:
        raise LookupError("the kernels' sources cannot be read")
    out = folder / portable_tag()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name in names:
        found = None
        for place in places().read:
            store = Store(place, name, digest)
            found = next((k for k in store.index() if k[1] == portable_key()), None)
            if found is not None:
                Store(out, name, digest).save(found, store.load(found))
                break
        if found is None:
            raise LookupError(f"{name} was not compiled for the portable level")
    (out / "saving.lock").unlink(missing_ok=True)
    return sorted(out.iterdir())
