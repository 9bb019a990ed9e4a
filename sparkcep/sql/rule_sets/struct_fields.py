"""Fields of structs that a rule names, where Spark cannot be asked."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sparkcep.errors import PatternAnalysisError, near_hint
from sparkcep.query import PatternQuery
from sparkcep.sql.lexicon import Token, tokenize

_NAMES = ("word", "quoted")


def check_fields(query: PatternQuery, types: Mapping[str, str]) -> None:
    """Refuse a rule that names a field which its struct does not have: `a.process.nam`.

    Args:
        types: of the log's columns, by their names; those that are not known are empty.

    Raises:
        PatternAnalysisError: CEP_UNRESOLVED_COLUMN.
    """
    structs = {name.casefold(): type_ for name, text in types.items() if (type_ := _struct(text)) is not None}
    variables = {c.variable.casefold() for c in query.components}
    tokens = tokenize(query.text)
    # What a lambda function calls its arguments is no column either.
    variables |= {t.text.casefold() for t, behind in pairwise(tokens) if behind.upper == "->"}
    for k, token in enumerate(tokens):
        name = token.text.casefold()
        if token.kind not in _NAMES or name not in structs:
            continue
        before = [t.text.casefold() for t in tokens[max(0, k - 3) : k]]
        of_variable = before[-1:] == ["."] and (before[-2] in variables or before[-2] == "]") and before[0] != "."
        if of_variable or (before[-1:] != ["."] and name not in variables):
            _check(query.text, tokens[k:], structs[name])


def _check(text: str, tokens: tuple[Token, ...], type_: exp.DataType) -> None:
    """See :func:`check_fields`. ``tokens``: from the column on."""
    known = tokens[0].text
    for dot, token in zip(tokens[1::2], tokens[2::2], strict=False):
        if dot.upper != "." or token.kind not in _NAMES or not type_.is_type(exp.DataType.Type.STRUCT):
            return
        fields = {field.name.casefold(): field for field in type_.expressions}
        if token.text.casefold() not in fields:
            names = [field.name for field in fields.values()]
            raise PatternAnalysisError(
                "CEP_UNRESOLVED_COLUMN", f"{known} has no field {token.text}.", text=text, position=token.start,
                hint=near_hint(token.text, names, f"its fields are {', '.join(names)}"),
            )  # fmt: skip
        known, type_ = f"{known}.{token.text}", fields[token.text.casefold()].args["kind"]


def _struct(text: str) -> exp.DataType | None:
    """A type, if it is one of structs."""
    try:
        type_ = exp.DataType.build(text, dialect="spark") if text else None
    except SqlglotError:
        return None
    return type_ if type_ is not None and type_.is_type(exp.DataType.Type.STRUCT) else None
