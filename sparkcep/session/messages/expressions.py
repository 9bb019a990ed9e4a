"""What to say of an expression that Spark cannot parse or resolve: where in it the fault is, and what was meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pyspark.errors import AnalysisException, ParseException

from sparkcep.errors import PatternParseError, near_name
from sparkcep.expr.functions import WRITTEN
from sparkcep.pattern import variables
from sparkcep.query import PREFIX, PatternQuery
from sparkcep.sql.lexicon import BEHIND_OPERAND, CLOSES_OPERAND, WANTS_OPERAND, Token, tokenize
from sparkcep.sql.match_functions import AGGREGATES, NAVIGATION
from sparkcep.sql.row_expressions import UNITS
from sparkcep.sql.scope import of_sides

_PLACE = re.compile(r"\(line (\d+), pos (\d+)\)")
_SEMANTICS = re.compile(r"\b(?:RUNNING|FINAL)(?=\s+\w+\s*\()", re.IGNORECASE)
_FORM = re.compile(r"\bMATCH_RECOGNIZE\b|\bPATTERN\b", re.IGNORECASE)
#: Other languages' operators, as Spark has them.
_OPERATORS = {"&&": "AND", "&": "AND", "=>": ">=", "=<": "<=", "!": "NOT"}
_WORDS = (*BEHIND_OPERAND, *UNITS, "NULL", "CASE", "FIRST", "NULLS")
_WINDOW_FUNCTIONS = {"lag": "PREV(x)", "lead": "NEXT(x)"}
_OWN = frozenset({"CLASSIFIER", "MATCH_NUMBER", *NAVIGATION})


def syntax_error(query: PatternQuery, parse: Callable[[str], object]) -> PatternParseError | None:
    """The error of the first expression of a query that cannot be parsed by itself; None where all can.

    Args:
        parse: gives a statement to Spark's parser.
    """
    for start, end in query.expressions:
        text = query.text[start:end]
        if _FORM.search(text):
            continue
        try:
            parse(f"SELECT (\n{_SEMANTICS.sub(lambda m: ' ' * len(m[0]), text)}\n)")
        except ParseException as error:
            return _unexpected(query.text, start, text, parse_offset(error, f"\n{text}\n)") - 1)
        except AnalysisException:
            continue
    return None


def parse_offset(error: ParseException, text: str) -> int:
    """Where in a text, or behind it, Spark's parser stopped."""
    found = _PLACE.search(str(error))
    if found is None:
        return len(text)
    return sum(len(line) + 1 for line in text.split("\n")[: int(found[1]) - 1]) + int(found[2])


def _unexpected(statement: str, start: int, text: str, offset: int) -> PatternParseError:
    """``offset``: where in an expression, or behind it, Spark's parser stopped."""
    tokens = tokenize(text)
    at = next((k for k, token in enumerate(tokens) if token.end > offset), len(tokens))
    hint = None
    if at and _is_stray(tokens, at - 1):
        at -= 1
    if at == len(tokens):
        at, message = at - 1, f"The expression is incomplete after {tokens[-1].text!r}."
    else:
        word = tokens[at].text
        message = f"{word!r} is not expected here."
        meant = _OPERATORS.get(word) or (
            near_name(word, _WORDS) if tokens[at].kind == "word" and len(word) > 1 else None
        )
        hint = f"did you mean {meant}?" if meant else None
    return PatternParseError(
        "PARSE_SYNTAX_ERROR", message, text=statement, position=start + tokens[at].start, hint=hint
    )


def _is_stray(tokens: Sequence[Token], k: int) -> bool:
    """Whether a word stands behind a whole operand, and is none that may."""
    token, before = tokens[k], tokens[k - 1]
    if k == 0 or token.kind != "word" or token.upper in BEHIND_OPERAND:
        return False
    return before.upper in CLOSES_OPERAND if before.kind == "op" else before.upper not in WANTS_OPERAND


def hint_of_column(query: PatternQuery, name: str) -> str | None:
    """What was meant by a name in a clause that no column has; None where nothing is known."""
    upper = name.upper()
    if sides := of_sides(name, query.columns):
        return f"several sides of the join have it: write {' or '.join(sides)}"
    if upper in _OWN:
        return f"{upper} is a function: write {upper}({'x' if upper in NAVIGATION else ''})"
    if not query.is_block and name.upper() in {*variables(query.pattern), *(union for union, _ in query.subsets)}:
        column = next((c for c in query.columns if not c.startswith(PREFIX)), "x")
        return f"{name} is a pattern variable: write {name}.{column}, or count({name}.*) for how many rows it has"
    return None


def hint_of_function(query: PatternQuery, condition: str, name: str) -> str | None:
    """What was meant by a function that Spark does not have, or not here; None where nothing is known."""
    if condition == "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE":
        return f"write {_WINDOW_FUNCTIONS[name]}" if name in _WINDOW_FUNCTIONS else "compute it in the input"
    if condition != "UNRESOLVED_ROUTINE":
        return None
    if name.upper() == "MATCH_ROWTIME" and query.order_by:
        return f"MATCH_ROWTIME() is Flink's; the time of a match's last row is LAST({query.order_by[0].expression})"
    near = near_name(name, [*_OWN, *AGGREGATES, *WRITTEN, "trim", "coalesce", "datediff"])
    return f"did you mean {near}?" if near else None


def quoted(query: PatternQuery, base: str, start: int) -> Token | None:
    """The string of `"A".x` behind a place; None without one."""
    for token in tokenize(query.text):
        if token.kind == "string" and token.start >= start and query.text[token.start : token.end] == base:
            return token
    return None


def place_of(query: PatternQuery, start: int, fragment: str, names: Mapping[str, str]) -> int | None:
    """Where an expression stands in the user's text that Spark complains of; None where it is not found.

    Parentheses, and variables before columns, may differ.

    Args:
        start: where to look from. names: what stands in the user's text for names of ours.
    """
    own = {v.upper() for v in variables(query.pattern)}
    for name in sorted(names, key=len, reverse=True):
        fragment = fragment.replace(name, names[name])
    wanted = [word for word, _ in _plain(tokenize(fragment), own)]
    given = [(word, at) for word, at in _plain(tokenize(query.text), own) if at >= start]
    for k in range(len(given) - len(wanted) + 1):
        if wanted and [word for word, _ in given[k : k + len(wanted)]] == wanted:
            return given[k][1]
    return None


def _plain(tokens: Sequence[Token], variables_: set[str]) -> list[tuple[str, int]]:
    """Words and signs without parentheses and variables, each with where it begins."""
    out, begin = [], -1
    for k, token in enumerate(tokens):
        begin = token.start if begin < 0 else begin
        behind = tokens[k + 1].text if k + 1 < len(tokens) else ""
        dotted = token.text == "." and k > 0 and tokens[k - 1].text.upper() in variables_
        if dotted or (token.text.upper() in variables_ and behind == "."):
            continue
        if behind == "(" and token.upper in ("FIRST", "LAST"):  # slots have none where they need none
            continue
        if token.text not in ("(", ")"):
            out.append((token.text.casefold(), begin))
        begin = begin if token.text == "(" and k and tokens[k - 1].upper in ("FIRST", "LAST") else -1
    return out
