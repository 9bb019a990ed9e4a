"""A rule: a name, the text of a block without its FROM or of a clause, and values of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sparkcep.errors import SparkCepError, describe_position

#: Columns of a report of rules that are refused.
REPORT = ("rule", "error_class", "message", "line", "column", "hint")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``parameters``: SQL literals by the names that the text has behind colons. ``source``: the file that
    it was read from, empty for none."""

    name: str
    text: str
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    source: str = ""


@dataclass(frozen=True, slots=True)
class RuleError:
    """Why a rule is refused, a row of the report. ``line``, ``column``: from 1, in the rule's text; None where the
    error has no place in it."""

    rule: str
    error_class: str
    message: str
    line: int | None
    column: int | None
    hint: str | None

    @classmethod
    def of(cls, rule: str, error: SparkCepError) -> RuleError:
        """The row of an error."""
        line = column = None
        if error.text is not None and error.position is not None:
            line, column, _ = describe_position(error.text, error.position)
        return cls(rule, error.error_class, error.sentence, line, column, error.hint)

    def row(self) -> tuple[str | int | None, ...]:
        """Values of :data:`REPORT`."""
        return self.rule, self.error_class, self.message, self.line, self.column, self.hint
