"""Folders of compiled kernels. They hold machine code and pickles: nobody but this user, root, or whoever could change
the package itself may have written them."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from numba.core import config
from numba.misc.appdirs import AppDirs

from sparkcep.exec.kernel_cache.stamp import SOURCES, stamp

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Days after which kernels that no process has looked for are deleted from a user's cache.
UNUSED = 30
#: The name of a version's folder there: the beginning of its stamp.
_VERSION = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Place:
    """A folder. ``top``: the uppermost folder that sparkcep makes for it; what is above is the user's or the system's.

    ``beside_sources``: as trustworthy as these, whoever owns them. ``private``: not even read by others.
    ``named``: the user has named it.
    """

    folder: Path
    top: Path
    beside_sources: bool = False
    private: bool = False
    named: bool = False

    def refusal(self) -> str:
        """Why what is in the folder may not be used; empty where it may, or where the folder is not there yet."""
        if not hasattr(os, "geteuid"):
            return ""
        if self.beside_sources:
            sources = self.folder.parent.stat()
            return _refusal(self.folder, {os.geteuid(), 0, sources.st_uid}, _OTHERS_WRITE & ~sources.st_mode)
        owners = {os.geteuid()} if self.private else {os.geteuid(), 0}
        forbidden = stat.S_IRWXG | stat.S_IRWXO if self.private else _OTHERS_WRITE
        folders = dict.fromkeys((self.top, self.folder))
        return _above(self.top) or next(filter(None, (_refusal(f, owners, forbidden) for f in folders)), "")

    def make(self) -> None:
        """Make the folder.

        Raises:
            OSError: it cannot be made, or written to.
        """
        self.top.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.top, self.folder):
            folder.mkdir(0o700 if self.private else 0o755, exist_ok=True)
        tempfile.TemporaryFile(dir=self.folder).close()


def _above(folder: Path) -> str:
    """Who, besides this user and root, may put another folder in the place of one above; links are followed."""
    ways = (folder, Path(os.path.realpath(folder)))
    for above in dict.fromkeys(parent for way in ways for parent in way.parents):
        try:
            found = above.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{above}: {error.strerror}"
        if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            return f"anyone may rename what is in {above}"
        if found.st_uid not in (os.geteuid(), 0):
            return f"another user may rename what is in {above}, which is theirs"
    return ""


def _refusal(folder: Path, owners: set[int], forbidden: int) -> str:
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{folder}: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is not a folder"
    if found.st_uid not in owners:
        return f"{folder} belongs to another user"
    if found.st_mode & forbidden:
        return f"{folder} is open to other users (mode {stat.S_IMODE(found.st_mode):o})"
    return ""


@dataclass(frozen=True, slots=True)
class Places:
    """``read``: folders to look in, in order. ``write``: where to put what is compiled; None if nowhere. ``refused``:
    of folders that would have come before, why they are not written to."""

    read: tuple[Path, ...]
    write: Path | None
    refused: tuple[str, ...]


def _candidates(name: str) -> list[Place]:
    """In order: what NUMBA_CACHE_DIR names, the user's caches, which serve all environments, beside the kernels'
    sources, and a folder for temporary files."""
    found = []
    if config.CACHE_DIR:
        with suppress(OSError):  # a relative one, where the working directory was deleted
            own = Path(config.CACHE_DIR).absolute() / f"sparkcep-{name}"
            found.append(Place(own, own, named=True))
    user = Path(AppDirs(appname="sparkcep", appauthor=False).user_cache_dir)
    if user.is_absolute():  # an unknown user's home may be "~"
        found.append(Place(user / name, user))
    sources = files(SOURCES)
    if isinstance(sources, Path) and sources.is_dir():
        found.append(Place(sources / "__pycache__", sources, beside_sources=True))
    try:
        temporary = Path(tempfile.gettempdir()).absolute()
    except OSError:  # there is none, or it is relative to a working directory that was deleted
        return found
    who = os.geteuid() if hasattr(os, "geteuid") else os.environ.get("USERNAME", "user")
    own = temporary / f"sparkcep-{who}"
    found.append(Place(own / name, own, private=True))
    return found


@cache
def places() -> Places:
    """Where this process looks for compiled kernels, and where it puts what it compiles; found once."""
    digest = stamp()
    if digest is None:
        return Places((), None, ("the kernels' sources cannot be read, so nothing would tell what is stale",))
    read: list[Path] = []
    write = None
    refused = []
    for place in _candidates(digest.hex()[:16]):
        reason = place.refusal()
        if not reason:
            if write is None and not (reason := _unwritable(place)):
                write = place.folder
                _forget_unused(write)
            if os.path.isdir(place.folder) and not place.refusal():
                read.append(place.folder)
        if reason and write is None:
            refused.append(reason)
    return Places(tuple(read), write, tuple(refused))


def beside_sources() -> Path | None:
    """The folder beside the sources, where all who run this installation find what is compiled; None where this user
    may not write to it, and where NUMBA_CACHE_DIR names a folder."""
    found = next((p for p in _candidates("") if p.named or p.beside_sources), None)
    return None if found is None or found.named or found.refusal() or _unwritable(found) else found.folder


def _forget_unused(folder: Path) -> None:
    """Delete the kernels of other versions that lie beside a version's folder, if no process has used them in weeks."""
    if not _VERSION.fullmatch(folder.name):
        return
    with suppress(OSError):
        os.utime(folder)
        for other in folder.parent.iterdir():
            if _VERSION.fullmatch(other.name) and time.time() - other.stat().st_mtime > UNUSED * 86_400:
                shutil.rmtree(other, ignore_errors=True)


def _unwritable(place: Place) -> str:
    try:
        place.make()
    except OSError as error:
        return f"{place.folder} cannot be written ({error.strerror})"
    return place.refusal()  # somebody else may have made it just now
