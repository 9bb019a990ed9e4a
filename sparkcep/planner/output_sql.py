"""What Spark computes after matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class OutputSql:
    """The statement over ``{SOURCE}``, the operator's output."""

    def sql(self) -> str:
        """One SELECT."""
        raise NotImplementedError

    def place(self, fragments: Sequence[str]) -> tuple[int | None, Mapping[str, str]]:
        """Where SQL that Spark complains of begins in the user's text, None where that is not known; and what is
        written there for names of ours."""
        return None, {}
