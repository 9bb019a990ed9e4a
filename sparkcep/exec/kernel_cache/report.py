"""Where a compiled kernel would come from, without loading it."""

from __future__ import annotations

from typing import Literal

from numba.core.registry import cpu_target

from sparkcep.exec.kernel_cache.cache import shipped_folder
from sparkcep.exec.kernel_cache.places import places
from sparkcep.exec.kernel_cache.stamp import stamp
from sparkcep.exec.kernel_cache.store import Store
from sparkcep.exec.kernel_cache.target import key_of, portable_key, usable_keys

Held = Literal["native", "portable", "shipped", "none"]


def held(name: str) -> Held:
    """What the first call of a kernel loads: machine code for this processor or for the portable level from a cache, or
    what the package ships; "none" where it compiles.

    Args:
        name: of the kernel's files, as its cache has it.
    """
    digest = stamp()
    if digest is None:
        return "none"
    codegen = cpu_target.target_context.codegen()
    folders = [*places().read, shipped_folder()]
    for wanted in usable_keys(codegen):
        for folder in folders:
            if folder is not None and any(key == wanted for _, key in Store(folder, name, digest).index()):
                if folder is folders[-1]:
                    return "shipped"
                return "portable" if wanted[0] == "portable" else "native"
    return "none"


def kept(name: str, portable: bool) -> bool:
    """Whether a cache of this machine holds a kernel, for the portable level or else for this processor."""
    digest = stamp()
    if digest is None:
        return False
    wanted = portable_key() if portable else key_of(cpu_target.target_context.codegen())
    return any(key == wanted for folder in places().read for _, key in Store(folder, name, digest).index())
