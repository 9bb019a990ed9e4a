"""Notes to errors of Spark: what they mean for pattern queries, and what to do.

Spark tells by its own words, and long after sparkcep has planned, that an executor has died or that a file of an index
is damaged. Such an error gets a note (PEP 678), which Python shows behind its text;
:func:`sparkcep.errors.error_behind` reads it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from sparkcep.errors import SparkCepError, error_behind

#: What an error's text means; None: nothing for sparkcep.
Meaning: TypeAlias = Callable[[str], SparkCepError | None]

_meanings: list[Meaning] = []
#: Functions of modules that are patched; what was there is an attribute of the patch.
_patched: dict[str, str] = {}
_MARK = "_sparkcep_inner"


def note_errors(meaning: Meaning) -> None:
    """From now on Spark's errors get a note where they mean something. Idempotent."""
    if meaning not in _meanings:
        _meanings.append(meaning)
    install()


def meaning_of(error: BaseException) -> SparkCepError | None:
    """What an error means that does not say so itself."""
    text = str(error)
    return next(filter(None, (meaning(text) for meaning in _meanings)), None)


def noted(error: BaseException, meaning: SparkCepError | None) -> BaseException:
    """The error, with a note of what it means."""
    if meaning is not None and str(meaning) not in getattr(error, "__notes__", ()):
        error.add_note(str(meaning))
    return error


def install() -> None:
    """Have Spark's errors noted as they come from the JVM, or from a Connect server. Idempotent.

    A classic session puts its own function in py4j's place when it starts, so this is done when there is one.
    """
    for module, name, made in (
        ("py4j.java_gateway", "get_return_value", _raising),
        ("pyspark.sql.connect.client.core", "convert_exception", _giving),
    ):
        loaded = sys.modules.get(module)
        inner = getattr(loaded, name, None)
        if inner is not None and not hasattr(inner, _MARK):
            patch = made(inner)
            setattr(patch, _MARK, inner)
            setattr(loaded, name, patch)
            _patched[module] = name


def uninstall() -> None:
    """Undo :func:`install`."""
    for module, name in _patched.items():
        before = getattr(getattr(sys.modules[module], name), _MARK, None)
        if before is not None:  # else somebody has patched it since, who still calls it
            setattr(sys.modules[module], name, before)
    _patched.clear()


def _raising(inner: Callable[..., Any]) -> Callable[..., Any]:
    def get_return_value(*args: Any, **kwargs: Any) -> Any:
        try:
            return inner(*args, **kwargs)
        except Exception as error:
            with suppress(Exception):
                noted(error, meaning_of(error))
            raise

    return get_return_value


def _giving(inner: Callable[..., Any]) -> Callable[..., Any]:
    def convert_exception(*args: Any, **kwargs: Any) -> Any:
        error = inner(*args, **kwargs)
        with suppress(Exception):
            own = meaning_of(error)
            if own is not None or error_behind(error) is not None:  # the stack of the server's JVM says nothing more
                bound = inspect.signature(inner).bind(*args, **kwargs)
                bound.arguments["display_server_stacktrace"] = False
                error = noted(inner(*bound.args, **bound.kwargs), own)
        return error

    return convert_exception
