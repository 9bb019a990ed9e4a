"""What the numbers of a rule set over a stream stand for, by which its state is known to another set."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RuleNames:
    """What a set's numbers stand for, by which another set knows the state of this one.

    ``fields``: of each prepared field a digest of its text; ``bits``: the same of each bit of the masks; ``rules``: of
    each rule, of its name and all that says what it matches; ``names``: of rules, for people.
    """

    fields: Mapping[int, str]
    bits: tuple[str, ...]
    rules: tuple[str, ...]
    names: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """As bytes."""
        fields = {str(number): text for number, text in sorted(self.fields.items())}
        return json.dumps([fields, self.bits, self.rules, self.names]).encode()

    @staticmethod
    def from_bytes(data: bytes) -> RuleNames:
        """What :meth:`to_bytes` made bytes of."""
        fields, *more = json.loads(data)
        return RuleNames({int(number): text for number, text in fields.items()}, *map(tuple, more))
