"""What tests of the engines share."""

from __future__ import annotations

from typing import Any

import pytest

from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows import matcher


@pytest.fixture(autouse=True)
def _called_back(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a test with the parameter ``called_back``, whether the rows kernel calls back for each condition."""
    if not getattr(request.node, "callspec", None) or not request.node.callspec.params.get("called_back"):
        return

    def always(conditions: Any, ansi: bool, _: CallsBack, labels: bool) -> Any:
        return compile_conditions(conditions, ansi, CallsBack.ALWAYS, labels)

    monkeypatch.setattr(matcher, "compile_conditions", always)
