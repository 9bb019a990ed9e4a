"""Which processors compiled kernels run on: this machine's own, or all of a level."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

#: Which compiled kernels are used: "native" for nothing but those compiled for this machine's own processor, "portable"
#: for nothing but those of a level. By default native ones where there are any, else portable ones.
CHOICE = "SPARKCEP_KERNELS"


@dataclass(frozen=True, slots=True)
class Level:
    """Processors with at least these features, by LLVM's names."""

    cpu: str
    features: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        """What makes Numba compile for it, set before Numba is imported. SVML is a library that machines may lack."""
        return {
            "NUMBA_CPU_NAME": self.cpu, "NUMBA_CPU_FEATURES": self.feature_text, "NUMBA_DISABLE_INTEL_SVML": "1",
        }  # fmt: skip

    @property
    def feature_text(self) -> str:
        """The features as Numba and LLVM want them: `+sse3,+ssse3`."""
        return ",".join("+" + f for f in self.features)


#: By what `platform.machine` says. The x86 level is what Linux distributions call x86-64-v2: Intel since 2009, AMD
#: since 2011.
LEVELS: Mapping[str, Level] = MappingProxyType(
    {
        "x86_64": Level("x86-64-v2", ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16", "sahf")),
        "aarch64": Level("generic", ("neon", "fp-armv8")),
    }
)
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def machine() -> str:
    """The kind of machine by its common name, whatever the system calls it."""
    name = platform.machine().lower()
    return _MACHINES.get(name, name)


def level() -> Level | None:
    """The portable level of this kind of machine; None where there is none."""
    return LEVELS.get(machine())


@cache
def fits() -> bool:
    """Whether code of the portable level runs here."""
    from llvmlite.binding import get_host_cpu_features

    wanted = level()
    if wanted is None:
        return False
    host = get_host_cpu_features()
    return all(host.get(f, False) for f in wanted.features)


def portable_key() -> tuple[str, str, str]:
    """What stands for the processor in a cache's key; not LLVM's triple, which on macOS has the system's version."""
    found = level()
    assert found is not None
    return ("portable", sys.platform, found.cpu)


def portable_tag() -> str:
    """The name of a folder of shipped kernels: they hold for one Python, system and kind of machine."""
    return f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}-{sys.platform}-{machine()}"


def key_of(codegen: Any) -> tuple[Any, ...]:
    """The key of what this process compiles."""
    from numba.core import config

    found = level()
    if found is not None and (found.cpu, found.feature_text) == (config.CPU_NAME, config.CPU_FEATURES):
        return portable_key()
    key: tuple[Any, ...] = codegen.magic_tuple()
    # Code that calls Intel's library does not load in an environment without it, and a user's cache serves all.
    return (*key, "svml") if config.USING_SVML else key


def usable_keys(codegen: Any) -> tuple[tuple[Any, ...], ...]:
    """The keys of what this process may run, best first."""
    choice = os.environ.get(CHOICE, "")
    own = key_of(codegen)
    if choice == "native" or not fits() or own == portable_key():
        return (own,)
    return (portable_key(),) if choice == "portable" else (own, portable_key())
