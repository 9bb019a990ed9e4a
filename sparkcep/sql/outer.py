"""What the statement around a pattern form may need of its columns."""

from __future__ import annotations

from sparkcep.sql.statements import Form, Statement

#: Where these occur, columns may be used without being named.
_IMPLICIT = frozenset({"NATURAL", "PIVOT", "UNPIVOT", "IDENTIFIER", "TABLE"})


def wanted_names(statement: Statement, form: Form) -> frozenset[str] | None:
    """Case-folded names that occur outside of a form; None where its columns may be used without their names.

    An upper bound: a name counts wherever it stands and whatever it means there.
    """
    s = statement
    names: set[str] = set()
    for i, token in enumerate(s.tokens):
        if form.start <= token.start < form.end:
            continue
        if token.kind in ("word", "quoted"):
            if s.word(i) in _IMPLICIT:
                return None
            names.add(token.text.casefold())
        elif s.operator(i) == "*":
            if not (s.word(i - 2) == "COUNT" and s.operator(i - 1) == "("):
                return None
        elif s.operator(i) in ("|>", "{"):
            return None
    if not _is_selected_from(s, form) or _renames_columns(s, form):
        return None
    return frozenset(names)


def _is_selected_from(s: Statement, form: Form) -> bool:
    """Whether a SELECT stands before the form on its own level; `FROM t` alone gives all columns."""
    i = form.relation_tokens[0] - 1
    opens = {close: start for start, close in s.pairs.items()}
    while i >= 0:
        if s.operator(i) == ")" and i in opens:
            i = opens[i]
        elif s.operator(i) == "(":
            return False
        elif s.word(i) == "SELECT":
            return True
        i -= 1
    return False


def _renames_columns(s: Statement, form: Form) -> bool:
    """Whether the form's alias has a list of column names."""
    i = next((k for k, t in enumerate(s.tokens) if t.start >= form.end), len(s.tokens))
    i += s.word(i) == "AS"
    return i < len(s.tokens) and s.tokens[i].kind in ("word", "quoted") and s.operator(i + 1) == "("
