"""Rule sets: many patterns over the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sparkcep.exec.engine import Events, FieldAt, OutputColumn, Value
from sparkcep.exec.engines.shared.items import TYPE
from sparkcep.exec.engines.shared.matcher import SharedMatcher
from sparkcep.exec.engines.shared.released import SharedReleased
from sparkcep.exec.engines.shared.spec import SharedSpec
from sparkcep.exec.engines.shared.taken import TAKES
from sparkcep.exec.shape import OperatorColumns


class SharedEngine:
    """Matches of rules, each with the rule's number."""

    name = "shared"

    def columns(self, spec: SharedSpec, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """See :class:`Engine`."""
        items = (Value("measures", TYPE),) if spec.has_items else ()
        event_id = () if spec.event_id is None else (("i", spec.event_id),)
        return (
            Value("rule", "int"), Value("number", "bigint"),
            FieldAt("start", "first", spec.time), FieldAt("end", "last", spec.time),
            Events("events", (("r", "int"), ("p", "int"), ("v", "int")), (("t", spec.time), *event_id)),
            *items,
        )  # fmt: skip

    def matcher(self, spec: SharedSpec, shape: OperatorColumns) -> SharedMatcher:
        """See :class:`Engine`."""
        return SharedMatcher(spec)

    def released(self, spec: SharedSpec, shape: OperatorColumns) -> SharedReleased:
        """See :class:`StreamingEngine`."""
        return SharedReleased(spec)

    def needs(self, spec: SharedSpec, shape: OperatorColumns) -> tuple[str, ...]:
        """See :class:`Engine`."""
        return tuple(sorted({TAKES[type(rule.pattern)].name for rule in spec.rules}))

    def warm_ups(self) -> Mapping[str, Callable[[], None]]:
        """See :class:`Engine`: its kernels are those of rows and runs."""
        return {}
