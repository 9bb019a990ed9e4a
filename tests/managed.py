"""A classic session in which sparkcep finds locked what managed runtimes lock, each time it is reached for.

Not there for an isolated user, on shared clusters and serverless: the JVM behind sessions and DataFrames, SparkContext,
RDDs, global temporary views, settings that Spark does not know. PySpark itself and the tests may go on.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkAttributeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.conf import RuntimeConfig

#: Attributes of objects that lead to the JVM.
LOCKED = {SparkSession: ("_jvm", "_jsparkSession", "_jsc", "_sc"), RuntimeConfig: ("_jconf",)}
PROPERTIES = {SparkSession: ("sparkContext",), DataFrame: ("rdd",)}
VIEWS = ("createGlobalTempView", "createOrReplaceGlobalTempView")


def is_ours() -> bool:
    """Whether a module of sparkcep asks."""
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith("sparkcep.")


def refusal(name: str) -> PySparkAttributeError:
    """What such runtimes raise."""
    return PySparkAttributeError(errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name})


class Locked:
    """An attribute that sparkcep cannot read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        if is_ours():
            raise refusal(self.name)
        try:
            return instance.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


def locked_property(found: property, name: str) -> property:
    """A property that sparkcep cannot read."""

    def get(instance: Any) -> Any:
        if is_ours():
            raise refusal(name)
        assert found.fget is not None
        return found.fget(instance)

    return property(get)


def locked_method(found: Callable[..., Any], error: Callable[..., Exception | None]) -> Callable[..., Any]:
    """A method that sparkcep cannot call where there is an error for its arguments."""

    @functools.wraps(found)
    def call(instance: Any, *arguments: Any) -> Any:
        if is_ours() and (refused := error(*arguments)) is not None:
            raise refused
        return found(instance, *arguments)

    return call


def unknown_setting(key: str, *_: Any) -> Exception | None:
    """The error of a setting that Spark does not know."""
    return AnalysisException(f"[CONFIG_NOT_AVAILABLE] {key}") if key.startswith("spark.sparkcep.") else None


@contextmanager
def locked(frames: type[DataFrame]) -> Iterator[None]:
    """With all that locked. ``frames``: the class of the session's DataFrames."""
    with pytest.MonkeyPatch.context() as patch:
        for cls, names in {**LOCKED, frames: ("_jdf", "_sc")}.items():
            for name in names:
                patch.setattr(cls, name, Locked(name), raising=False)
        for cls, names in {**PROPERTIES, frames: ("rdd",)}.items():
            for name in names:
                patch.setattr(cls, name, locked_property(getattr(cls, name), name))
        for name in VIEWS:
            patch.setattr(frames, name, locked_method(getattr(frames, name), lambda *_: refusal("global_temp")))
        for name in ("set", "unset"):
            patch.setattr(RuntimeConfig, name, locked_method(getattr(RuntimeConfig, name), unknown_setting))
        yield
