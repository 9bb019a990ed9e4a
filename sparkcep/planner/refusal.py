"""Asks Spark whether it takes an expression, where no is as good an answer as yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkcep.errors import PatternAnalysisError


def refusal(analyze: Callable[[Sequence[str]], object], text: str) -> str:
    """The class of the error that Spark has for an expression over the input; empty where it has none."""
    try:
        analyze([text])
    except PatternAnalysisError as error:
        return error.error_class
    return ""
