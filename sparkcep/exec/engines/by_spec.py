"""The engine of each spec; imports nothing of Spark, so that kernels are compiled where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from sparkcep.exec.engine import Engine
from sparkcep.exec.engines.non_answers.engine import NonAnswersEngine
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.engines.rows.engine import RowsEngine
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.runs.engine import RunsEngine
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.engines.shared.engine import SharedEngine
from sparkcep.exec.engines.shared.spec import SharedSpec
from sparkcep.exec.engines.trends.engine import TrendsEngine
from sparkcep.exec.engines.trends.spec import TrendSpec
from sparkcep.exec.engines.uncertain.engine import UncertainEngine
from sparkcep.exec.engines.uncertain.spec import UncertainSpec

#: What an engine is told to match.
Spec: TypeAlias = MatchSpec | RunSpec | TrendSpec | RepairSpec | UncertainSpec | SharedSpec

#: The engine of each spec; nothing else asks for a spec's type.
ENGINES: Mapping[type, Engine[Any]] = MappingProxyType(
    {
        UncertainSpec: UncertainEngine(),
        RunSpec: RunsEngine(),
        TrendSpec: TrendsEngine(),
        MatchSpec: RowsEngine(),
        RepairSpec: NonAnswersEngine(),
        SharedSpec: SharedEngine(),
    }
)
