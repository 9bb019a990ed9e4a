"""Where compiled kernels are kept and taken from, on machines that are not like this one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import sparkcep
from sparkcep.exec.kernel_cache import places as places_module
from sparkcep.exec.kernel_cache import report, target
from sparkcep.exec.kernel_cache.lock import locked
from sparkcep.exec.kernel_cache.places import Place
from sparkcep.exec.kernel_cache.stamp import _digest
from sparkcep.exec.kernel_cache.store import Store
from sparkcep.session.machine import ahead

pytestmark = [pytest.mark.full]

SOURCE = Path(sparkcep.__file__).parent
#: A user without name and home.
NOBODY = 54321
#: Calls one small kernel, says what had to be compiled and where that is kept.
CALL = """
import json, os, sys, tempfile
if os.environ.get("NO_TEMPORARY"):
    tempfile.tempdir = os.environ["NO_TEMPORARY"]
import numpy as np
from sparkcep.exec.kernels.index import postings
from sparkcep.exec.kernel_cache.places import places
from sparkcep.exec.kernel_cache.report import held
before = held(postings.set_bit._cache.name)
row = np.zeros(16, np.uint8)
postings.set_bit(row, 0, 1, 2, 1)
found = places()
print(json.dumps({
    "compiled": sum(postings.set_bit.stats.cache_misses.values()), "from": before, "bits": row.tolist(),
    "write": found.write and str(found.write), "refused": found.refused, "file": postings.__file__,
}))
"""


#: `sparkcep warmup`, of one small kernel; gives the lines that it says.
WARM = (
    CALL
    + """
import contextlib, io
from sparkcep.cli.main import main
from sparkcep.session.machine import warmup
warmup.ENTRIES = (postings.set_bit,)
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert main(["warmup"]) == 0
print(json.dumps({"said": out.getvalue().splitlines()}))
"""
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that all users can look into; pytest's own are private."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        (Path(name) / "tmp").mkdir()
        os.chmod(Path(name) / "tmp", 0o1777)
        yield Path(name)


@pytest.fixture
def package(folder: Path) -> Path:
    """The package without anything compiled, in a folder of its own."""
    copy_package(folder / "packages")
    return folder / "packages"


def copy_package(folder: Path, shipped: bool = False) -> None:
    left_out = ("__pycache__",) if shipped else ("__pycache__", "shipped")
    shutil.copytree(SOURCE, folder / "sparkcep", ignore=shutil.ignore_patterns(*left_out))


def beside(package: Path) -> Path:
    return package / "sparkcep" / "exec" / "kernels" / "__pycache__"


def environment(packages: Path, home: Path, **more: str) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "SPARKCEP_", "XDG_"))}
    temporary = str(packages.parent / "tmp")
    python = {"PYTHONPATH": str(packages), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return inherited | python | {"HOME": str(home), "TMPDIR": temporary} | more


def start(packages: Path, home: Path, code: str = CALL, user: int | None = None, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code]
    if user is not None:
        command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
    return subprocess.Popen(
        command, env=environment(packages, home, **more), cwd=packages.parent, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def result(process: subprocess.Popen[str]) -> Mapping[str, Any]:
    out, err = process.communicate()
    assert process.returncode == 0, err
    found: Mapping[str, Any] = json.loads(out.splitlines()[-1])
    return found


def call(packages: Path, home: Path, code: str = CALL, user: int | None = None, **more: str) -> Mapping[str, Any]:
    return result(start(packages, home, code, user, **more))


def can_be_nobody() -> bool:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("setpriv") is None:
        return False
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", sys.executable, "-c"]
    return subprocess.run([*command, "import numba"], capture_output=True, check=False).returncode == 0


as_nobody = pytest.mark.skipif(not can_be_nobody(), reason="needs root, setpriv and a Python that others can run")


# -- where there is no folder to write to ------------------------------------------------------------------------------


def test_the_users_cache_serves_all_environments(package: Path, folder: Path) -> None:
    copy_package(folder / "another environment")
    first, second = call(package, folder), call(folder / "another environment", folder)
    assert (first["compiled"], second["compiled"]) == (1, 0)
    assert (first["from"], second["from"]) == ("none", "native")
    assert Path(second["write"]).parent == folder / ".cache" / "sparkcep"
    assert first["write"] == second["write"]
    assert first["bits"] == second["bits"]
    assert not any(package.rglob("*.nbi"))


@as_nobody
def test_unknown_user_without_a_home(package: Path, folder: Path) -> None:
    """Numba alone raises RuntimeError: cannot cache function. Here it is kept among temporary files, for this user."""
    found = [call(package, Path("/no/such/home"), user=NOBODY) for _ in range(2)]
    assert [f["compiled"] for f in found] == [1, 0]
    kept = Path(found[1]["write"])
    assert kept.parent == folder / "tmp" / f"sparkcep-{NOBODY}"
    assert stat.S_IMODE(kept.parent.stat().st_mode) == stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert kept.stat().st_uid == NOBODY
    assert any("cannot be written" in reason for reason in found[1]["refused"])


@pytest.mark.long
@as_nobody
def test_nowhere_to_write(package: Path) -> None:
    """Every process compiles, and answers."""
    found = [call(package, Path("/no/such/home"), user=NOBODY, NO_TEMPORARY="/no/such") for _ in range(2)]
    assert [(f["compiled"], f["write"]) for f in found] == [(1, None)] * 2
    assert len(found[0]["refused"]) == 3


@pytest.mark.full
@as_nobody
def test_what_root_has_compiled_serves_all(package: Path, folder: Path) -> None:
    """An image: compiled while it is built, run by another user, who cannot look into root's home."""
    (folder / "root").mkdir(0o700)
    assert call(package, folder / "root", WARM)["said"][1].endswith("kernels/__pycache__.")
    (again,) = call(package, folder / "root", WARM)["said"]
    assert again.startswith("All kernels were compiled before, in ") and again.endswith(f", {beside(package)}.")
    for home in ("/no/such/home", "/", str(folder / "root")):
        found = call(package, Path(home), user=NOBODY)
        assert (found["compiled"], found["from"]) == (0, "native")


@pytest.mark.long
@as_nobody
def test_what_root_has_compiled_into_a_named_folder(package: Path, folder: Path) -> None:
    named = str(folder / "kernels")
    assert len(call(package, folder, WARM, NUMBA_CACHE_DIR=named)["said"]) == 1
    assert call(package, Path("/no/such/home"), user=NOBODY, NUMBA_CACHE_DIR=named)["compiled"] == 0
    assert not any(package.rglob("*.nbi"))


@pytest.mark.full
@as_nobody
def test_a_user_who_may_not_write_beside_the_sources(package: Path, folder: Path) -> None:
    """Root has installed the package: a user's warm-up serves this user."""
    (folder / "home").mkdir(0o700)
    os.chown(folder / "home", NOBODY, NOBODY)
    assert len(call(package, folder / "home", WARM, NOBODY)["said"]) == 1
    assert call(package, folder / "home", user=NOBODY)["from"] == "native"
    assert not any(package.rglob("*.nbi"))


@pytest.mark.long
@as_nobody
def test_a_read_only_home(package: Path, folder: Path) -> None:
    """A home that exists and is not the user's."""
    (folder / "home").mkdir()
    found = call(package, folder / "home", user=NOBODY)
    assert Path(found["write"]).parent == folder / "tmp" / f"sparkcep-{NOBODY}"


# -- packages in a zip -------------------------------------------------------------------------------------------------


def zipped(package: Path, name: str) -> Path:
    made = package.parent / name
    with zipfile.ZipFile(made, "w") as archive:
        for path in sorted(package.rglob("*")):
            if path.is_file():
                archive.write(path, str(path.relative_to(package)))
    return made


def test_a_zip_and_its_successor(package: Path, folder: Path) -> None:
    """Machine code of the zip that was there before is not run."""
    made = zipped(package, "all.zip")
    first, second = call(made, folder), call(made, folder)
    assert first["file"].startswith(str(made))
    assert (first["compiled"], second["compiled"]) == (1, 0)
    assert folder in Path(second["write"]).parents
    postings = package / "sparkcep" / "exec" / "kernels" / "index" / "postings.py"
    line = "    bits[begin + (at >> 3)] |= np.uint8(1 << (at & 7))\n"
    assert postings.read_text().count(line) == 1
    postings.write_text(postings.read_text().replace(line, f"{line}    bits[15] = np.uint8(77)\n"))
    third = call(zipped(package, "all.zip"), folder)
    assert (first["bits"][15], third["bits"][15], third["compiled"]) == (0, 77, 1)


@pytest.mark.long
def test_a_wheel_on_the_path(package: Path, folder: Path) -> None:
    made = zipped(package, "sparkcep-1-py3-none-any.whl")
    assert [call(made, folder)["compiled"] for _ in range(2)] == [1, 0]


@pytest.mark.long
@as_nobody
def test_commands_of_an_unknown_user(package: Path) -> None:
    """With a wheel on the path: doctor says where what is compiled would go."""
    code = (
        "import json, sys\nfrom sparkcep.cli import doctor\nfound = doctor.kernels()\n"
        "print(json.dumps([found.text, found.fix, found.fatal]))"
    )
    text, fix, fatal = call(zipped(package, "sparkcep.whl"), Path("/no/such/home"), code, NOBODY)
    assert text.startswith("not compiled yet; the first pattern query of each kind does it; kept in ")
    assert f"/tmp/sparkcep-{NOBODY}/" in text
    assert fix.startswith("export NUMBA_CACHE_DIR=")
    assert not fatal


def test_the_stamp_covers_all_sources(package: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers have their callees compiled in; and another version is another stamp whatever its sources."""
    kernels = package / "sparkcep" / "exec" / "kernels"
    stamps = {_digest(kernels), _digest(zipfile.Path(zipped(package, "all.zip"), "sparkcep/exec/kernels/"))}
    assert len(stamps) == 1
    for path in kernels.rglob("*.py"):
        before = path.read_bytes()
        path.write_bytes(before + b"#")
        assert _digest(kernels) not in stamps
        path.write_bytes(before)
    assert _digest(kernels) in stamps
    monkeypatch.setattr("sparkcep.exec.kernel_cache.stamp.__version__", "0.0.0")
    assert _digest(kernels) not in stamps
    (folder / "empty").mkdir()
    assert _digest(folder / "empty") is None


def candidates(monkeypatch: pytest.MonkeyPatch, temporary: Path) -> list[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return [place.folder for place in places_module._candidates("name")]


def test_temporary_files_serve_where_they_are_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert candidates(monkeypatch, tmp_path)[-1] == tmp_path / f"sparkcep-{os.geteuid()}" / "name"


def test_a_working_directory_that_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(places_module.config, "CACHE_DIR", "relative")
    found = candidates(monkeypatch, tmp_path)
    assert found[-1] == tmp_path / f"sparkcep-{os.geteuid()}" / "name"
    assert not any(folder.name == "sparkcep-name" for folder in found)
    # Nor does it keep a query from having its kernels compiled.
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(ahead, "is_compiled", lambda group: False)
    monkeypatch.setattr(ahead, "places", lambda: places_module.Places((), tmp_path, ()))
    monkeypatch.setattr(ahead, "_is_local", lambda spark: True)
    monkeypatch.setattr(ahead, "_seen", set())
    paths: list[str] = []

    def refuse(command: object, env: Mapping[str, str], **options: object) -> None:
        paths.append(env["PYTHONPATH"])
        raise OSError

    monkeypatch.setattr(ahead.subprocess, "Popen", refuse)
    assert ahead.compile_ahead(None, ["ranges"]) == []  # type: ignore[arg-type]
    assert paths == [os.pathsep.join(sys.path[1:])]


# -- others on the machine ---------------------------------------------------------------------------------------------


def test_two_processes_compile_once(package: Path, folder: Path) -> None:
    found = [result(p) for p in [start(package, folder) for _ in range(3)]]
    assert sum(f["compiled"] for f in found) == 1
    assert len({json.dumps(f["bits"]) for f in found}) == 1


@as_nobody
@pytest.mark.parametrize(
    "trap",
    [
        "another user's",
        pytest.param("open to all", marks=pytest.mark.long),
        pytest.param("a link", marks=pytest.mark.long),
    ],
)
def test_a_folder_laid_out_by_somebody_else(package: Path, folder: Path, trap: str) -> None:
    """The name of a folder among temporary files can be guessed."""
    own = folder / "tmp" / f"sparkcep-{NOBODY}"
    if trap == "a link":
        (folder / "elsewhere").mkdir()
        os.chown(folder / "elsewhere", NOBODY, NOBODY)
        own.symlink_to(folder / "elsewhere")
    else:
        own.mkdir()
        os.chown(own, NOBODY + (trap == "another user's"), NOBODY)
        os.chmod(own, 0o777)
    found = call(package, Path("/no/such/home"), user=NOBODY)
    assert (found["compiled"], found["write"]) == (1, None)
    said = {"another user's": "belongs to another user", "open to all": "is open to other users", "a link": "no folder"}
    assert said[trap] in found["refused"][-1]
    assert not any(folder.rglob("*.nbc"))


def test_folders_that_others_can_change(tmp_path: Path) -> None:
    own = Place(tmp_path / "a" / "b", tmp_path / "a")
    assert own.refusal() == ""  # is not there yet
    own.make()
    assert own.refusal() == ""
    os.chmod(own.folder, 0o770)
    assert "open to other users" in own.refusal()
    os.chmod(own.folder, 0o755)
    os.chmod(tmp_path, 0o777)
    assert "anyone may rename" in own.refusal()
    os.chmod(tmp_path, 0o1777)
    assert own.refusal() == ""
    # Beside the sources: as open as these, which run, too.
    (tmp_path / "kernels" / "__pycache__").mkdir(parents=True)
    beside = Place(tmp_path / "kernels" / "__pycache__", tmp_path / "kernels", beside_sources=True)
    os.chmod(beside.folder, 0o775)
    assert "open to other users" in beside.refusal()
    os.chmod(tmp_path / "kernels", 0o775)
    assert beside.refusal() == ""


def test_all_folders_above_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can rename a folder far above can put another one in its place."""
    top = tmp_path / "one" / "two" / "three" / "own"
    own = Place(top / "kernels", top)
    own.make()
    assert own.refusal() == ""
    os.chmod(tmp_path / "one", 0o777)
    assert own.refusal() == f"anyone may rename what is in {tmp_path / 'one'}"
    os.chmod(tmp_path / "one", 0o755)
    # Through a link, too.
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o777)
    (tmp_path / "open" / "home").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "open" / "home")
    linked = tmp_path / "link" / "own"
    assert "anyone may rename" in Place(linked / "kernels", linked).refusal()


@as_nobody
def test_folders_above_that_are_another_users(tmp_path: Path) -> None:
    top = tmp_path / "theirs" / "home" / "own"
    own = Place(top / "kernels", top)
    own.make()
    os.chown(tmp_path / "theirs", NOBODY, NOBODY)
    assert own.refusal() == f"another user may rename what is in {tmp_path / 'theirs'}, which is theirs"
    os.chown(tmp_path / "theirs", 0, 0)
    assert own.refusal() == ""


# -- locks -------------------------------------------------------------------------------------------------------------

#: Holds the lock of the small kernel until its input ends.
HOLD = """
import sys
from pathlib import Path
from sparkcep.exec.kernel_cache.lock import locked
from sparkcep.exec.kernels.index import postings
folder = Path(postings.set_bit._cache.cache_path)
with locked(folder / (postings.set_bit._cache.name + ".lock"), 0) as held:
    print(held, flush=True)
    sys.stdin.read()
"""


def patient_for(seconds: float) -> str:
    """As CALL, with so much patience."""
    return f"import sparkcep.exec.kernel_cache.cache as cache\ncache.COMPILING = {seconds}\n{CALL}"


def hold(package: Path, folder: Path) -> subprocess.Popen[str]:
    """A process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], env=environment(package, folder), text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "True\n"
    return process


def test_a_lock_is_not_waited_for_without_end(package: Path, folder: Path) -> None:
    with hold(package, folder) as holder:
        found = call(package, folder, patient_for(0.2))
        assert found["compiled"] == 1
        holder.communicate()


def test_what_nobody_may_use_is_not_waited_for(package: Path, folder: Path) -> None:
    """What is compiled for this processor is not what SPARKCEP_KERNELS=portable asks for."""
    with hold(package, folder) as holder:
        waiting = start(package, folder, patient_for(600), SPARKCEP_KERNELS="portable")
        out, _ = waiting.communicate(timeout=240)
        assert json.loads(out)["compiled"] == 1
        holder.communicate()


def test_locks_are_the_users_own(tmp_path: Path) -> None:
    path = tmp_path / "f.lock"
    path.touch(0o644)
    with locked(path, 0) as held, locked(path, 0.1) as twice:
        assert (held, twice) == (True, False)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (tmp_path / "link").symlink_to(path)
    with locked(tmp_path / "link", 0) as held:
        assert not held
    with locked(tmp_path / "no folder" / "f.lock", 0) as held:
        assert not held


@as_nobody
def test_another_users_lock_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "f.lock"
    path.touch()
    os.chown(path, NOBODY, NOBODY)
    with locked(path, 600) as held:
        assert not held


@pytest.mark.long
def test_what_numba_cache_dir_names_is_refused_where_all_may_write(package: Path, folder: Path) -> None:
    (folder / "open").mkdir()
    os.chmod(folder / "open", 0o777)
    found = call(package, folder, NUMBA_CACHE_DIR=str(folder / "open"))
    assert "anyone may rename" in found["refused"][0]
    assert Path(found["write"]).parent == folder / ".cache" / "sparkcep"


def test_ahead_of_a_query(package: Path, folder: Path) -> None:
    """What is missing is compiled by a process of its own, once; what is there, or on another machine, is not."""
    code = """
import json
from sparkcep.exec.kernel_cache.report import held
from sparkcep.exec.warm import GROUPS
from sparkcep.session.machine import ahead
class Session:
    class conf:
        get = staticmethod(lambda key, default: master)
master = "spark://elsewhere:7077"
far = ahead.compile_ahead(Session, ["ranges"])
ahead._seen.clear()
master = "local[2]"
started = ahead.compile_ahead(Session, ["ranges"])
again = ahead.compile_ahead(Session, ["ranges"])
codes = [process.wait() for process in started]
ahead._seen.clear()
names = [entry._cache.name for entry in GROUPS["ranges"]]
print(json.dumps([len(far), codes, len(again), len(ahead.compile_ahead(Session, ["ranges"])),
                  [held(name) for name in names]]))
"""
    assert call(package, folder, code) == [0, [0], 0, 0, ["native", "native"]]


def test_kernels_are_counted_as_they_become_ready(package: Path, folder: Path) -> None:
    code = """
import json
from sparkcep.exec.kernel_cache.called import counted
from sparkcep.exec.warm import GROUPS
from sparkcep.progress import Activity
from sparkcep.session.machine.compilers import Compiler
shown = []
for _ in range(2):
    activity, steps = Activity("Compiling"), []
    tell = counted(activity, GROUPS["ranges"])
    def ready(name):
        tell(name)
        steps.append(activity.done)
    compiler = Compiler()
    warmed = compiler.compile("ranges", ready)
    compiler.end()
    shown.append([warmed.compiled, activity.total, steps, compiler.process.returncode])
print(json.dumps(shown))
"""
    (compiled, total, steps, ended), (again, _, loaded, _) = call(package, folder, code)
    assert (compiled, again, ended) == (2, 0, 0)
    assert steps == sorted(steps)
    assert steps[-1] == total == len(set(steps))
    assert loaded[-1] == total and len(loaded) == 2  # what Python calls; its parts are in there


def test_a_compiler_ends_with_the_process_that_has_started_it(package: Path, folder: Path) -> None:
    code = """
from sparkcep.session.machine.compilers import Compiler
compiler = Compiler()
print(compiler.process.pid, flush=True)
compiler.compile("rows", lambda name: print(name, flush=True))
"""
    parent = start(package, folder, code)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert parent.stdout.readline()  # it compiles, for half a minute
    assert is_running(child)
    parent.terminate()
    assert parent.wait() == -signal.SIGTERM
    end = time.monotonic() + 15
    while is_running(child) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_running(child)


def is_running(number: int) -> bool:
    """Whether there is such a process; one that has ended may wait for its parent to hear of it."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_without_spark(package: Path, folder: Path) -> None:
    """Where an image is built there may be none yet, or none that Python finds."""
    (package / "pyspark.py").write_text("raise ModuleNotFoundError('No module named pyspark', name='pyspark')")
    code = """
import json, sys
from sparkcep.cli.main import main
from sparkcep.exec.warm import GROUPS
from sparkcep.session.machine import warmup
warmup.PARTS, warmup.ENTRIES = {"ranges": None}, GROUPS["ranges"]
codes = [main(["warmup"]), main(["warmup"])]
print(json.dumps([codes, [entry.stats.cache_misses for entry in warmup.ENTRIES]]))
"""
    process = start(package, folder, code)
    out, err = process.communicate()
    assert process.returncode == 0, err
    group, compiled, others, before, found = out.splitlines()
    assert group.split()[:3] == ["ranges", "2", "kernels"]
    assert compiled.startswith("Compiled 2 kernels in ") and f"into {folder}/.cache/sparkcep/" in compiled
    assert others == f"Other users of this installation find them in {beside(package)}."
    assert before.startswith("All kernels were compiled before")
    assert json.loads(found) == [[0, 0], [{}, {}]]


@pytest.mark.parametrize("machine", ["ppc64le", "s390x", "riscv64", "i686", "armv7l", ""])
def test_a_kind_of_machine_without_a_portable_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    target.fits.cache_clear()
    monkeypatch.setattr(report, "places", lambda: places_module.Places((tmp_path,), tmp_path, ()))
    digest = report.stamp()
    assert digest is not None
    own = report.key_of(report.cpu_target.target_context.codegen())
    try:
        assert report.held("f") == "none"
        Store(tmp_path, "f", digest).save(("int", own), "machine code")
        assert report.held("f") == "native"
    finally:
        target.fits.cache_clear()


def test_where_numba_compiles_nothing(package: Path, folder: Path) -> None:
    """NUMBA_DISABLE_JIT, for a debugger: kernels are Python's functions."""
    code = """
import json
import numpy as np
from sparkcep.exec.kernels.index import postings
from sparkcep.cli import doctor
from sparkcep.errors import SparkCepError
from sparkcep.session.machine import ahead
from sparkcep.session.machine import warmup
row = np.zeros(16, np.uint8)
postings.set_bit(row, 0, 1, 2, 1)
try:
    said = list(warmup.warm_for(1, False, print))
except SparkCepError as error:
    said = str(error)
started = ahead.compile_ahead(None, ["ranges"])
print(json.dumps([row.any().item(), started, warmup.compiled(), doctor.kernels().fix, said]))
"""
    changed, started, compiled, fix, said = call(package, folder, code, NUMBA_DISABLE_JIT="1")
    assert (changed, started, compiled, fix) == (True, [], 0, "unset NUMBA_DISABLE_JIT")
    assert "switched off" in said
    assert not any(folder.rglob("*.nbi"))


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_damaged_files_are_compiled_again(package: Path, folder: Path) -> None:
    for pattern in ("*.nbc", "*.nbi"):
        call(package, folder)
        (damaged,) = (folder / ".cache").rglob(f"index.postings.set_bit.{pattern}")
        damaged.write_bytes(damaged.read_bytes()[:-7])
        assert call(package, folder)["compiled"] == 1
        assert call(package, folder)["compiled"] == 0


def test_a_store_keeps_what_its_stamp_says(tmp_path: Path) -> None:
    old, new = Store(tmp_path, "f", b"o" * 32), Store(tmp_path, "f", b"n" * 32)
    old.save("int", "old int")
    old.save("float", "old float")
    assert (old.load("int"), old.load("float"), new.load("int")) == ("old int", "old float", None)
    new.save("int", "new int")
    assert (new.load("int"), new.load("float"), old.load("int")) == ("new int", None, None)
    assert len(list(tmp_path.glob("*.nbc"))) == 1  # what no index names is deleted
    assert not list(tmp_path.glob("*.tmp"))


def test_kernels_of_other_versions_are_deleted_when_nobody_uses_them(tmp_path: Path) -> None:
    current, used, unused, theirs = (tmp_path / name for name in ("0" * 16, "1" * 16, "2" * 16, "notes"))
    for folder, days in ((current, 90), (used, 29), (unused, 31), (theirs, 90)):
        folder.mkdir()
        (folder / "f.nbi").touch()
        os.utime(folder, (0, time.time() - days * 86_400))
    places_module._forget_unused(current)
    assert sorted(tmp_path.iterdir()) == [current, used, theirs]
    assert time.time() - current.stat().st_mtime < 3600
    places_module._forget_unused(theirs)
    assert theirs.stat().st_mtime < time.time() - 86_400


def test_code_that_calls_intels_library_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that lacks it cannot load such code, and shares the user's cache with those that have it."""
    codegen = report.cpu_target.target_context.codegen()
    keys = []
    for using in (False, True):
        monkeypatch.setattr(places_module.config, "USING_SVML", using)
        keys.append(target.key_of(codegen))
    assert keys[0] != keys[1]


def test_without_a_stamp_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places_module, "stamp", lambda: None)
    places_module.places.cache_clear()
    try:
        found = places_module.places()
    finally:
        places_module.places.cache_clear()
    assert (found.read, found.write) == ((), None)


# -- what a wheel brings -----------------------------------------------------------------------------------------------

#: Ships one small kernel: what `sparkcep warmup --into` does with all.
SHIP = """
import json, sys
from pathlib import Path
import numpy as np
from sparkcep.exec.kernels.index import postings
from sparkcep.exec.kernel_cache.ship import ship
postings.set_bit(np.zeros(16, np.uint8), 0, 1, 2, 1)
print(json.dumps([str(f) for f in ship(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("shipped"),
                                       [postings.set_bit._cache.name], ())]))
"""


@pytest.fixture
def shipping(package: Path, folder: Path) -> Path:
    """A package that brings one kernel, and has no cache."""
    from sparkcep.exec.kernel_cache.target import level

    found = level()
    if found is None:
        pytest.skip("no portable level for this kind of machine")
    files = call(package, folder, SHIP, **found.environment)
    assert len(files) == 2
    shutil.rmtree(folder / ".cache")
    shutil.move(folder / "shipped", package / "sparkcep" / "exec" / "kernel_cache" / "shipped")
    return package


def test_shipped_kernels_serve_until_native_ones_are_there(shipping: Path, folder: Path) -> None:
    first = call(shipping, folder)
    assert (first["compiled"], first["from"]) == (0, "shipped")
    native = call(shipping, folder, SPARKCEP_KERNELS="native")
    assert (native["compiled"], native["from"], native["bits"]) == (1, "none", first["bits"])
    assert call(shipping, folder)["from"] == "native"
    assert call(shipping, folder, SPARKCEP_KERNELS="portable")["from"] == "shipped"


@pytest.mark.long
def test_shipped_kernels_in_a_zip(shipping: Path, folder: Path) -> None:
    found = call(zipped(shipping, "all.zip"), folder)
    assert (found["compiled"], found["from"]) == (0, "shipped")


@pytest.mark.parametrize(
    "change", ["sources", *(pytest.param(c, marks=pytest.mark.long) for c in ("version", "damage", "processor"))]
)
def test_shipped_kernels_that_do_not_fit(shipping: Path, folder: Path, change: str) -> None:
    """They are compiled here."""
    package = shipping / "sparkcep"
    if change == "sources":
        with open(package / "exec" / "kernels" / "conditions.py", "a") as file:
            file.write("# changed\n")
    elif change == "version":
        text = (package / "__init__.py").read_text()
        (package / "__init__.py").write_text(text.replace(f'"{sparkcep.__version__}"', '"9.9.9"'))
    elif change == "damage":
        (data,) = (package / "exec" / "kernel_cache" / "shipped").rglob("*.nbc")
        data.write_bytes(data.read_bytes()[:-1] + b"\0")
    else:
        target = package / "exec" / "kernel_cache" / "target.py"
        target.write_text(target.read_text().replace('"popcnt", ', '"popcnt", "no-such-feature", '))
    found = call(shipping, folder)
    assert found["compiled"] == 1
