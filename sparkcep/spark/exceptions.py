"""What an error of Spark's says, by any release: its class, its parameters, its sentence, the SQL that it is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.errors import PySparkException


def condition_of(error: PySparkException) -> str:
    """The error class; empty where it has none."""
    found = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()  # before Spark 4.0
    return found or ""


def parameters_of(error: PySparkException) -> dict[str, str]:
    """Parts of the sentence, by their names."""
    return dict(error.getMessageParameters() or {})


def message(error: PySparkException) -> str:
    """Class and sentence, and what follows them: the place in the SQL that ran, the plan."""
    if hasattr(error, "getMessage"):
        return error.getMessage() or str(error)
    return getattr(error, "desc", None) or str(error)  # before Spark 4.0, whose texts end in the JVM's stack


def reason(error: PySparkException) -> str:
    """Class and sentence, without the SQL state, as a part of another sentence."""
    return message(error).split("\n")[0].split(" SQLSTATE")[0].rstrip(". ")


def sentence(error: PySparkException) -> str:
    """The sentence alone. Places and SQL states belong to the statement that Spark saw, not to the user's."""
    text = re.split(r"\n== SQL|; line \d| SQLSTATE:|\(line \d+, pos \d+\)", message(error).strip())[0].strip()
    return text.removeprefix(f"[{condition_of(error)}] ")


def contexts(error: BaseException) -> list[Any]:
    """Parts of SQL that it is about, as the JVM and the Connect client describe them."""
    if hasattr(error, "getQueryContext"):
        found = error.getQueryContext() or []
        return [c for c in found if not hasattr(c, "contextType") or c.contextType().name == "SQL"]
    # Before Spark 4.0 the JVM alone knows them, and all are of SQL.
    origin = getattr(error, "_origin", None)
    return [] if origin is None else list(origin.getQueryContext())


def fragments(error: PySparkException) -> list[str]:
    """The SQL that it is about."""
    return [c.fragment() for c in contexts(error)]
