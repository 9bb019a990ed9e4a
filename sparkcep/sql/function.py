"""CREATE [OR REPLACE] TEMPORARY PATTERN FUNCTION name AS a block without its FROM: the table is the call's argument."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError, PatternParseError
from sparkcep.sql.block.parser import parse_block
from sparkcep.sql.block.pattern import parse_block_pattern
from sparkcep.sql.block.spans import BlockFinder
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement

_HEAD = "PARTITION BY, ORDER BY, EVENT TYPE, RETURN or PATTERN"


@dataclass(frozen=True, slots=True)
class FunctionSyntax:
    """The statement's parts; ``form`` is the block, whose relation is nothing but the word AS."""

    name: str
    replace: bool
    form: PatternOccurrence


def read_function(statement: Statement) -> FunctionSyntax | None:
    """The pattern function that a statement creates, None where it is another statement.

    Raises:
        PatternParseError: the block cannot be read (CEP_SYNTAX_ERROR, CEP_PATTERN_SYNTAX, ...).
        PatternAnalysisError: Spark's own classes for names that a temporary function cannot have.
    """
    s = statement
    if s.word(0) != "CREATE":
        return None
    i = 1
    replace = s.word(i) == "OR" and s.word(i + 1) == "REPLACE"
    i += 2 if replace else 0
    temporary = s.word(i) in ("TEMP", "TEMPORARY")
    i += temporary
    if s.word(i) != "PATTERN" or s.word(i + 1) != "FUNCTION":
        return None
    if not temporary:
        raise _refused(s, i, "CEP_PERSISTENT_FUNCTION", "A pattern function is temporary: Spark keeps no Python code.",
                       "CREATE TEMPORARY PATTERN FUNCTION")  # fmt: skip
    name, at = _name(s, i + 2)
    if s.word(at) != "AS":
        raise _expected(s, at, "AS is expected after the function's name.")
    form = _form(s, at)
    # Whatever needs no columns is found now, and not when the function is called.
    syntax = parse_block(s, form)
    if syntax.groups is not None:
        raise _refused(s, syntax.groups[0] - 1, "CEP_FUNCTION_GROUPS", "A pattern function does not run GROUPS.",
                       "run the block in spark.sql, or merge the cases in the query that is the argument")  # fmt: skip
    low, high = syntax.pattern
    parse_block_pattern(s, (low, high), s.tokens[high - 1].end)
    return FunctionSyntax(name, replace, form)


def _name(s: Statement, at: int) -> tuple[str, int]:
    if [s.word(at + k) for k in range(3)] == ["IF", "NOT", "EXISTS"]:
        raise _refused(
            s, at, "INVALID_SQL_SYNTAX.CREATE_TEMP_FUNC_WITH_IF_NOT_EXISTS",
            "CREATE TEMPORARY PATTERN FUNCTION with IF NOT EXISTS is not allowed.", "OR REPLACE",
        )  # fmt: skip
    if at >= len(s.tokens) or s.tokens[at].kind not in ("word", "quoted") or s.word(at) == "AS":
        raise _expected(s, at, "The function's name is expected here.")
    if s.operator(at + 1) == ".":
        raise _refused(
            s, at, "INVALID_SQL_SYNTAX.CREATE_TEMP_FUNC_WITH_DATABASE",
            "CREATE TEMPORARY PATTERN FUNCTION with a schema in its name is not allowed.", "leave the schema out",
        )  # fmt: skip
    return s.tokens[at].text, at + 1


def _form(s: Statement, at: int) -> PatternOccurrence:
    """The block behind AS."""
    high = len(s.tokens)
    while high and s.operator(high - 1) == ";":
        high -= 1
    head = at + 1
    if s.word(head) == "FROM":
        raise _refused(s, head, "CEP_FUNCTION_SOURCE", "A pattern function has no FROM: its table is the argument.",
                       f"begin with {_HEAD}; call it as f(TABLE(t))")  # fmt: skip
    parts = BlockFinder(s).parts(head, high)
    if parts is None:
        raise _expected(s, head, f"{_HEAD} is expected here.")
    keyword, end = parts
    if end < high:
        raise _expected(s, end, f"{s.tokens[end].text!r} is not expected here.",
                        "write it in the query that calls the function")  # fmt: skip
    relation = s.tokens[at]
    return PatternOccurrence(
        kind=OccurrenceKind.BLOCK,
        start=s.tokens[head].start,
        relation_start=relation.start,
        relation_end=relation.end,
        relation_tokens=(at, at + 1),
        keyword=s.tokens[keyword],
        head=(head, keyword),
        body=(keyword + 1, end),
        end=s.tokens[end - 1].end,
        scopes=(),
    )


def _expected(s: Statement, at: int, message: str, hint: str | None = None) -> PatternParseError:
    position = s.tokens[at].start if at < len(s.tokens) else len(s.text)
    return PatternParseError("CEP_SYNTAX_ERROR", message, text=s.text, position=position, hint=hint)


def _refused(s: Statement, at: int, error_class: str, message: str, hint: str) -> PatternAnalysisError:
    return PatternAnalysisError(error_class, message, text=s.text, position=s.tokens[at].start, hint=hint)
