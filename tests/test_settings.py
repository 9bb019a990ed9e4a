"""Every setting stands in spark-defaults.conf with its default."""

from __future__ import annotations

from pathlib import Path

from sparkcep import settings


def test_spark_defaults_lists_all_settings() -> None:
    lines = Path(__file__).parents[1].joinpath("spark-defaults.conf").read_text().splitlines()
    pairs = dict(line.split() for line in lines if line.startswith(settings.PREFIX))
    assert pairs == {s.key: s.default for s in settings.ALL if s.default}
    examples = {line.split()[1] for line in lines if line.startswith(f"# {settings.PREFIX}")}
    assert examples == {s.key for s in settings.ALL if not s.default}
