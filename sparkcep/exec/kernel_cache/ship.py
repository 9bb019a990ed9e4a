"""Compiled kernels that other users and other machines find with the package: of functions that Python calls."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from llvmlite.binding import parse_assembly

from sparkcep.exec.kernel_cache.places import places
from sparkcep.exec.kernel_cache.stamp import stamp
from sparkcep.exec.kernel_cache.store import Store
from sparkcep.exec.kernel_cache.target import portable_key, portable_tag


def ship(folder: Path, names: Sequence[str], called: Collection[str]) -> list[Path]:
    """Copy entries from this machine's caches to ``folder``, below the name of this Python, system and kind of machine.

    Args:
        names: of the functions' files.
        called: those of them that kernels call, too, so that compilers need more of them than machine code.

    Returns:
        The files written; what was there before is deleted.

    Raises:
        LookupError: a function was not compiled for the portable level.
        OSError: the folder cannot be written.
    """
    out = folder / portable_tag()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    copy_kernels(out, names, called, portable_key())
    (out / "saving.lock").unlink(missing_ok=True)
    return sorted(out.iterdir())


def copy_kernels(folder: Path, names: Sequence[str], called: Collection[str], key: tuple[Any, ...]) -> int:
    """Copy entries for a processor from this machine's caches to a folder, which may have some of them.

    Args:
        names, called: see :func:`ship`. key: what stands for the processor.

    Returns:
        How many were copied.

    Raises:
        LookupError: a function was not compiled for this processor.
        OSError: the folder cannot be written.
    """
    digest = stamp()
    if digest is None:
        raise LookupError("the kernels' sources cannot be read")
    copied = 0
    for name in names:
        out = Store(folder, name, digest)
        if any(held == key for _, held in out.index()):
            continue
        stores = (Store(place, name, digest) for place in places().read)
        found = ((k, store.load(k)) for store in stores for k in store.index() if k[1] == key)
        wanted, entry = next((f for f in found if f[1] is not None), (None, None))
        if entry is None:
            raise LookupError(f"{name} was not compiled for {key[0]}")
        out.save(wanted, entry if name in called else _machine_code(entry))
        copied += 1
    return copied


def _machine_code(entry: Any) -> Any:
    """An entry, as `CompileResult._reduce` makes it, without two thirds of its size, which are there for compiling its
    callers and for showing how it was typed."""
    library, descriptor, environment, signature, objects, lifted, _, reload, environments = entry
    name, kind, (code, _) = library
    # What Python calls is found in the machine code where the module says that it is defined.
    entry_point = f'define void @"{descriptor.llvm_cpython_wrapper_name}"() {{ ret void }}'
    module = parse_assembly(entry_point).as_bitcode()
    return ((name, kind, (code, module)), descriptor, environment, signature, objects, lifted, "", reload, environments)
