"""The long run of pairs finds all the tests that it names."""

from __future__ import annotations

import subprocess
import sys


def test_a_run_of_no_pairs() -> None:
    command = [sys.executable, "-m", "tests.exec.pairs", "0", "1"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "0 pairs    0 differences" in ran.stdout
