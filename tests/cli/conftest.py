"""The command in the tests' own process and session, and a log for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli.main import main
from sparkcep.settings import LOG_CASE, LOG_EVENT, LOG_TIEBREAK, LOG_TIME

ROWS = """order_id;when happened;step;amount
1;2024-05-01 10:00:00;register;10
1;2024-05-01 11:00:00;pay;10
1;2024-05-03 12:00:00;ship;10
2;2024-05-02 10:00:00;register;20
2;2024-05-02 10:30:00;pay;20
2;2024-05-02 10:40:00;pay;20
3;2024-05-02 09:00:00;register;30
3;2024-05-07 09:00:00;ship;30
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Run]:
    """The command in this process and its session, in a folder with log.csv; gives code, output and what was said."""
    monkeypatch.setattr("sparkcep.session.machine.local.local_session", lambda *_: spark)
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(ROWS)
    keys = [s.key for s in (LOG_CASE, LOG_TIME, LOG_EVENT, LOG_TIEBREAK)]

    def command(*argv: str) -> tuple[int, str, str]:
        for key in keys:
            spark.conf.unset(key)
        capsys.readouterr()
        code = main(argv)
        out, err = capsys.readouterr()
        return code, out, re.sub(r"^\S.*( \.\.\. \d+ s|: [\d.]+ s)\n", "", err, flags=re.MULTILINE)

    yield command
    for key in keys:
        spark.conf.unset(key)
