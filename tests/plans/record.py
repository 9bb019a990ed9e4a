"""Ask a real session what planners ask, and write answers and plans down.

python -m tests.plans.record [NAME ...]    all files, or those whose names begin so: sql/clause docs/patterns
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any
from unittest import mock

import sparkcep
from docs_tools import pages
from sparkcep.session.machine.local import local_session

from ..conftest import CONFIGURATION
from ..quick import INTERPRETED
from .answers import Answers
from .corpus import PAGE_FILES, Source, Step, sources
from .plans import SETTINGS, answers_file, planned, plans_file


def recorded(source: Source, root: Any) -> tuple[Answers, str]:
    """A file's answers and plans, asked anew."""
    real = root.newSession()
    names: dict[str, Any] = {"spark": real, "sparkcep": sparkcep}

    def run(step: Step) -> None:
        if step.kind == "set":
            key, value = step.setting
            real.conf.set(key, value) if value else real.conf.unset(key)
        elif step.kind in ("python", "files"):
            with mock.patch("sparkcep.local_session", lambda: real):
                pages.run(pages.Step(0, "python", step.text, None, None, (0, 0)), names)
        else:
            sparkcep.sql(real, step.text)

    shutil.rmtree(PAGE_FILES, ignore_errors=True)  # what an earlier run of a page has written
    answers = Answers({}, asks=True)
    return answers, planned(source, answers, real, run)


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def main() -> None:
    wanted = tuple(sys.argv[1:])
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as warehouse:
        own = CONFIGURATION | INTERPRETED | SETTINGS | {"spark.sql.warehouse.dir": warehouse}
        own["spark.sparkcep.index.path"] = f"{warehouse}/indexes"
        root = local_session("local[2]", None, own)
        sparkcep.enable()
        for source in sources():
            if wanted and not source.name.startswith(wanted):
                continue
            try:
                answers, text = recorded(source, root)
            except Exception:
                failed.append(source.name)
                traceback.print_exc()
                continue
            write(answers_file(source), answers.text())
            write(plans_file(source), text)
            print(source.name, len(answers.given), len(text), flush=True)
        root.stop()
    if failed:
        sys.exit(f"Not recorded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
