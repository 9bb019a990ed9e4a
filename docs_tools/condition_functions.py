"""docs/condition_functions.md, from the tables of functions."""

from __future__ import annotations

from collections.abc import Iterable

from sparkcep.exec.conditions.compiler import AGGREGATES
from sparkcep.expr.aggregates import FOLDS
from sparkcep.expr.functions import CHAPTERS, WRITTEN
from sparkcep.expr.functions.function import Function
from sparkcep.expr.functions.lambdas import WITH_LAMBDAS

_HEAD = """# Functions over several events

What conditions may do with values of *several* events of the match, without Spark's evaluating it for every pair of
events: [conditions, fast and slow](conditions.md) says what that means. Over values of *one* event conditions have
every function of Spark's, and outputs (MEASURES, RETURN) have every function over all events. This page is made from
`sparkcep/expr/functions` and `sparkcep/expr/aggregates.py`, where each is one entry.

*kernel*: compiled code has it, for most types that it takes. *Python*: the kernel calls back, for many events at once
where it can. Values, types, NULLs and errors are Spark's in both."""
#: How users write what has a syntax of its own.
_SYNTAX = {
    "isnull": ("IS NULL",), "in": ("IN", "BETWEEN"), "case": ("CASE", "IF", "NULLIF"), "field": ("value.name",),
    "coalesce": ("COALESCE", "NVL", "IFNULL"), "<=>": ("<=>", "IS DISTINCT FROM"), "%": ("%", "mod"),
    "trim": ("trim",), "datediff": ("datediff",), "concat": ("concat", "||"), "timestampdiff": ("timestampdiff",),
}  # fmt: skip
#: Of operators what users do not write.
_INSIDE = ("element",)


def functions_page() -> str:
    """Every operator, function and aggregate that conditions have over several events."""
    lines = [_HEAD]
    for title, functions in CHAPTERS.items():
        lines += ["", f"## {title.capitalize()}", "", "| | of | runs in |", "|---|---|---|"]
        # Those that are alike share a line.
        alike: dict[tuple[str, bool], list[str]] = {}
        for each in functions:
            if each.name not in _INSIDE:
                alike.setdefault((each.takes, each.in_kernel), []).append(_written(each))
        for (takes, in_kernel), names in alike.items():
            lines.append(f"| {', '.join(names)} | {takes} | {'kernel' if in_kernel else 'Python'} |")
    named = [name for name, own in WRITTEN.items() if own in WITH_LAMBDAS]
    lines += ["", "## With lambda functions", "", f"In Python: {_listed(named)}.", "", "## Aggregates", ""]
    lines.append(f"In the kernel, without DISTINCT and FILTER: {_listed(n for n in FOLDS if n in AGGREGATES)}.")
    lines += ["", f"In Python: {_listed(n for n in FOLDS if n not in AGGREGATES)}."]
    return "\n".join(lines) + "\n"


def _written(function: Function) -> str:
    names = _SYNTAX.get(function.name) or function.written or (function.name.upper(),)
    casts = [f"CAST(... AS {function.name[5:].upper()})"] * function.name.startswith("cast_")
    return _listed([*names, *casts]).replace("`||`", "<code>&#124;&#124;</code>")  # which would end the cell


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
