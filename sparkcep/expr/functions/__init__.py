"""Operators and functions of conditions over several events: each is one object, in the table of its chapter."""

from __future__ import annotations

from sparkcep.expr.functions.collections import COLLECTIONS
from sparkcep.expr.functions.dates import DATES
from sparkcep.expr.functions.function import Function
from sparkcep.expr.functions.lambdas import WRITTEN as _WITH_LAMBDAS
from sparkcep.expr.functions.numbers import NUMBERS
from sparkcep.expr.functions.operators import OPERATORS
from sparkcep.expr.functions.texts import TEXTS

#: Chapters as their page names them.
CHAPTERS: dict[str, tuple[Function, ...]] = {
    "operators": OPERATORS, "numbers": NUMBERS, "texts": TEXTS, "dates": DATES, "arrays, maps and structs": COLLECTIONS,
}  # fmt: skip
#: By the name in trees.
FUNCTIONS = {function.name: function for functions in CHAPTERS.values() for function in functions}
#: What is written as a call -> the name in trees.
WRITTEN = {name: function.name for function in FUNCTIONS.values() for name in function.written} | _WITH_LAMBDAS
