"""Read a rule's text: the tokens of a block or clause, with its parameters' values in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkcep.errors import PatternAnalysisError, PatternParseError, near_name
from sparkcep.sql.block.spans import BlockFinder
from sparkcep.sql.lexicon import pair_parentheses, tokenize
from sparkcep.sql.rule_sets.rule import Rule
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement

_HEAD = "EVENT TYPE, RETURN, PATTERN or MATCH_RECOGNIZE"
#: What the value of a parameter may be: a literal, with a sign, a type or a unit.
_LITERAL = re.compile(
    r"\s*(?:[-+]?\s*[\d.]+(?:[eE][-+]?\d+)?\w*|(?:DATE|TIMESTAMP|TIMESTAMP_NTZ|INTERVAL|X)?\s*'(?:[^'\\]|\\.|'')*'(?:\s+\w+)?"
    r"|INTERVAL\s+[-+]?\d+\s+\w+(?:\s+[-+]?\d+\s+\w+)*|TRUE|FALSE|NULL)\s*",
    re.IGNORECASE,
)


def read_rule(rule: Rule) -> tuple[Statement, PatternOccurrence]:
    """A rule's statement, which is its own text, and the form in it. A block's or clause's relation is empty.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR.
        PatternAnalysisError: CEP_RULE_SOURCE, CEP_RULE_PARAMETER.
    """
    text = with_parameters(rule.text, rule.parameters)
    tokens = tokenize(text)
    s = Statement(text, tokens, pair_parentheses(tokens))
    high = len(tokens)
    while high and s.operator(high - 1) == ";":
        high -= 1
    if not high:
        raise _expected(s, 0, f"The rule is empty; {_HEAD} is expected.")
    if s.word(0) in ("FROM", "SELECT", "WITH"):
        raise PatternAnalysisError(
            "CEP_RULE_SOURCE",
            "A rule is a block without its FROM, or a clause: its log is that of the rule set.",
            text=text, position=tokens[0].start, hint=f"begin with {_HEAD}",
        )  # fmt: skip
    form = _clause(s, high) if s.word(0) == "MATCH_RECOGNIZE" else _block(s, high)
    s.forms.append(form)
    return s, form


def with_parameters(text: str, parameters: Mapping[str, str]) -> str:
    """The text with ``:name`` replaced by the literals of parameters.

    Raises:
        PatternAnalysisError: CEP_RULE_PARAMETER, a value is no literal; a name in the text has none.
        PatternParseError: CEP_SYNTAX_ERROR, an unterminated string or comment.
    """
    if ":" not in text:
        return text
    tokens = tokenize(text)
    out, at = [], 0
    for i in range(len(tokens) - 1):
        colon, name = tokens[i], tokens[i + 1]
        named = colon.kind == "op" and colon.upper == ":" and name.kind == "word" and name.start == colon.end
        if not named or (i and tokens[i - 1].end == colon.start and tokens[i - 1].kind != "op"):  # v:path of a VARIANT
            continue
        value = parameters.get(name.text)
        if value is None or not _LITERAL.fullmatch(value):
            near = near_name(name.text, parameters)
            raise PatternAnalysisError(
                "CEP_RULE_PARAMETER",
                f"The rule's parameter {name.text} has no value."
                if value is None
                else f"The value of the rule's parameter {name.text} must be a literal; it is {value!r}.",
                text=text, position=colon.start,
                hint=f"did you mean {near}?" if near and value is None
                else "map('limit', '10'), map('limit', '\\'text\\'') or map('limit', 'INTERVAL 5 MINUTES')",
            )  # fmt: skip
        out += [text[at : colon.start], value.strip()]
        at = name.end
    return "".join([*out, text[at:]])


def _clause(s: Statement, high: int) -> PatternOccurrence:
    close = s.pairs.get(1)
    if close is None:
        raise _expected(s, 1, "( is expected after MATCH_RECOGNIZE, and ) at its end.")
    if close + 1 < high:
        raise _expected(s, close + 1, f"{s.tokens[close + 1].text!r} is not expected here.", "a rule is one clause")
    return _form(s, OccurrenceKind.CLAUSE, 0, (0, 0), (2, close), close + 1)


def _block(s: Statement, high: int) -> PatternOccurrence:
    found = BlockFinder(s).parts(0, high)
    if found is None:
        raise _expected(s, 0, f"{_HEAD} is expected here.")
    keyword, end = found
    if end < high:
        raise _expected(s, end, f"{s.tokens[end].text!r} is not expected here.", "a rule is one block")
    return _form(s, OccurrenceKind.BLOCK, keyword, (0, keyword), (keyword + 1, end), end)


def _form(
    s: Statement, kind: OccurrenceKind, keyword: int, head: tuple[int, int], body: tuple[int, int], end: int
) -> PatternOccurrence:
    start = s.tokens[0].start
    return PatternOccurrence(
        kind=kind, start=start, relation_start=start, relation_end=start, relation_tokens=(0, 0),
        keyword=s.tokens[keyword], head=head, body=body, end=s.tokens[end - 1].end, scopes=(),
    )  # fmt: skip


def _expected(s: Statement, at: int, message: str, hint: str | None = None) -> PatternParseError:
    position = s.tokens[at].start if at < len(s.tokens) else len(s.text)
    return PatternParseError("CEP_SYNTAX_ERROR", message, text=s.text, position=position, hint=hint)
