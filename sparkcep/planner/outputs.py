"""What the operator is asked to give for each output row: rows of the match, values at them, events."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.exec.shape import Gather, OutputSlot
from sparkcep.planner.fields import Fields
from sparkcep.query import Navigation


class Outputs:
    """Collects what the outputs of one form need, each once; what is asked for has a number.

    Args:
        names: variables or component keys; a code is a place in them. fields: columns of prepared rows.

    ``slots``: navigations that the kernel resolves to rows, over the variables in ``slot_registers``. ``gathers``:
    values at such rows. ``traced``: fields that go out for each event of a match, None where events do not go out.
    """

    def __init__(self, names: Sequence[str], fields: Fields) -> None:
        self.names = names
        self.fields = fields
        self.slots: list[OutputSlot] = []
        self.slot_registers: list[frozenset[int]] = []
        self.gathers: list[Gather] = []
        self.traced: list[int] | None = None

    def slot(self, navigation: Navigation, label: bool) -> int:
        """Number of the kernel's output slot for a navigation; ``label``: its variable is wanted, not its row."""
        names = self.names
        of = frozenset(
            range(len(names)) if navigation.variables is None else (names.index(v) for v in navigation.variables)
        )
        if of not in self.slot_registers:
            self.slot_registers.append(of)
        slot = OutputSlot(
            self.slot_registers.index(of),
            navigation.from_first,
            navigation.logical,
            navigation.physical,
            navigation.running,
            label,
        )
        if slot not in self.slots:
            self.slots.append(slot)
        return self.slots.index(slot)

    def gather(self, row: int, text: str) -> int:
        """Number of the output column that holds a row expression at a row (a slot, CURRENT_ROW or SELF_ROW)."""
        item = Gather(row, self.fields.add(text))
        if item not in self.gathers:
            self.gathers.append(item)
        return self.gathers.index(item)

    def trace(self, text: str) -> int:
        """Field of a row expression that goes out for each event of a match."""
        self.traced = self.traced or []
        number = self.fields.add(text)
        if number not in self.traced:
            self.traced.append(number)
        return number
