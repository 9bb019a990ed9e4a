"""Known weaknesses of what sparkcep installs, by pip-audit in an environment of its own; `make audit`.

Skipped, with a word, where pip-audit cannot be installed or no advisories can be reached.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


def installed(name: str, extra: str | None, out: dict[str, str]) -> dict[str, str]:
    """Versions of a distribution's requirements, and of theirs."""
    for line in distribution(name).requires or []:
        requirement, _, marker = line.partition(";")
        wanted = re.search(r"extra\s*==\s*['\"](\w+)['\"]", marker)
        if wanted and wanted[1] != extra:
            continue
        found = re.match(r"\s*([\w.-]+)\s*(?:\[(\w+)\])?", requirement)
        assert found is not None
        if found[1] in out:
            continue
        try:
            out[found[1]] = distribution(found[1]).version
        except PackageNotFoundError:  # for another platform
            continue
        installed(found[1], found[2], out)
    return out


def skip(reason: str) -> int:
    print(f"audit skipped: {reason}")
    return 0


def main(folder: Path) -> int:
    audit = folder / "bin" / "pip-audit"
    if not audit.exists():
        venv.create(folder, with_pip=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--retries", "1", "pip-audit"]
        if subprocess.run(pip, check=False, capture_output=True).returncode:
            return skip("pip-audit cannot be installed")
    wanted = folder / "installed.txt"
    found = installed("sparkcep", "local", {})
    wanted.write_text("".join(f"{name}=={version}\n" for name, version in sorted(found.items())))
    command = [audit, "--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json", "-r", wanted]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    try:
        told = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return skip((done.stderr.strip().splitlines() or ["no answer"])[-1])
    looked = [d for d in told if "skip_reason" not in d]
    if not looked:
        return skip("the package index serves no advisories")
    weak = [(d["name"], d["version"], v["id"]) for d in looked for v in d["vulns"]]
    print(f"audit: {len(looked)} of {len(told)} packages looked up, {len(weak)} known weaknesses")
    for row in weak:
        print("  " + " ".join(row))
    return min(1, len(weak))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
