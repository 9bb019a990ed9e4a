"""sqlglot's Spark tokeniser and parser, kept to what a span finder needs.

Tokens carry character offsets into the statement. The tokeniser knows strings, comments and backticks; nothing here
turns tokens back into text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token as SqlToken
from sqlglot.tokenizer_core import TokenType

from sparkcep.errors import PatternParseError

#: A comment to its line's end, and what may hold two hyphens besides.
_COMMENT = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|/\*.*?\*/|--(?:\\\n|[^\r\n])*""", re.DOTALL)


class SparkCepDialect(Spark):
    """Spark without the tokeniser's short cuts that would hide a statement's text."""

    class Tokenizer(Spark.Tokenizer):
        """Spark's, which reads no statement as one string and knows no Jinja."""

        # A leading EXPLAIN or SHOW would turn the rest of the statement into one string.
        COMMANDS: ClassVar[set[TokenType]] = set()
        # Jinja is not Spark SQL; `{#` and `{%` may stand in a row pattern.
        COMMENTS: ClassVar[list[str | tuple[str, str]]] = ["--", ("/*", "*/")]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if not k.startswith(("{", "%}", "+%}", "-%}", "#}", "}}"))
        }

    class Parser(SparkParser):
        """Spark's precedence of `||`, which is that of + and -."""

        TERM: ClassVar[dict[TokenType, type[exp.Binary]]] = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}

    def tokenize(self, sql: str, *given: Any, **options: Any) -> list[SqlToken]:
        """Tokens, of which a string with doubled quotes is one: sqlglot reads `'it''s'` as two. A comment with a
        backslash at its line's end goes on in the next line. What else is given depends on sqlglot's release."""
        if "\\\n" in sql and "--" in sql:
            sql = _COMMENT.sub(lambda m: m[0].replace("\\\n", "  ") if m[0].startswith("--") else m[0], sql)
        found: list[SqlToken] = []
        for t in super().tokenize(sql, *given, **options):
            if found and t.token_type == found[-1].token_type == TokenType.STRING:
                before, quote = found[-1], sql[t.start]
                if t.start == before.end + 1 and quote in "'\"" and quote == sql[before.end]:
                    text, comments = before.text + quote + t.text, [*before.comments, *t.comments]
                    place = before.line, before.col, before.start, t.end
                    found[-1] = SqlToken(TokenType.STRING, text, *place, comments)
                    continue
            found.append(t)
        return found


@dataclass(frozen=True, slots=True)
class Token:
    """One token. ``kind`` is word, quoted (backticks), string, number or op; ``end`` is exclusive.

    ``upper`` is the upper-case text of words and the text of operators; a quoted name's ``upper`` is empty, so that it
    is never taken for a keyword.
    """

    kind: str
    text: str
    upper: str
    start: int
    end: int


#: Words behind which an operand follows, so that what stands there is a name and begins no clause.
WANTS_OPERAND = frozenset(
    "AS AND OR NOT IS IN LIKE ILIKE RLIKE REGEXP BETWEEN WHEN THEN ELSE CASE DIV XOR ESCAPE".split()
)
#: Words that stand behind a whole operand, so that what is before them is one.
BEHIND_OPERAND = frozenset(
    "AND OR NOT IS IN LIKE ILIKE RLIKE REGEXP BETWEEN WHEN THEN ELSE END DIV XOR ESCAPE AS ASC DESC".split()
)
#: Words that end an expression and are no alias of it.
NO_ALIASES = frozenset("END NULL TRUE FALSE".split())
#: With these a query begins, in parentheses.
QUERY_WORDS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
#: Operators that end an operand: parentheses, a parameter `?`, an argument in braces.
CLOSES_OPERAND = frozenset(") ] ? }".split())
#: Operators that may end an operand, a quantified pattern or a percentage.
ENDS_OPERAND = frozenset(") ] } > + * ? %".split())

_STRINGS = {
    TokenType.STRING,
    TokenType.RAW_STRING,
    TokenType.HEX_STRING,
    TokenType.BIT_STRING,
    TokenType.BYTE_STRING,
    TokenType.NATIONAL_STRING,
    TokenType.HEREDOC_STRING,
    TokenType.UNICODE_STRING,
}
#: The papers' typographic signs: kind and meaning.
SIGNS = {
    "∧": ("word", "AND"),
    "∨": ("word", "OR"),
    "¬": ("word", "NOT"),
    "∼": ("op", "!"),
    "≠": ("op", "<>"),
    "≥": ("op", ">="),
    "≤": ("op", "<="),
    "×": ("op", "*"),
}
_SIGN_OR_SLASHES = re.compile("[" + "".join(SIGNS) + "]|//")
# What hides signs and slashes: strings (raw ones without escapes), backticks, comments.
_HIDDEN = re.compile(
    r"""(?<!\w)[rR](?:'[^']*'|"[^"]*")|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*|//[^\n]*|["""
    + "".join(SIGNS)
    + "]",
    re.DOTALL,
)
_HIDDEN_OR_QUOTE = re.compile(_HIDDEN.pattern + "|['\"`]", re.DOTALL)
# sqlglot reads the digits of X'...'.
_NO_DIGITS = re.compile(r"[xX]'(?![\da-fA-F]*')")
_COMMENT_BORDER = re.compile(r"/\*|\*/")
_dialect = SparkCepDialect()


def _comment_end(text: str, at: int) -> int:
    """Offset behind the bracketed comment that begins at an offset, past the text's end where nothing closes it.

    Spark lets them nest.
    """
    depth = 0
    for m in _COMMENT_BORDER.finditer(text, at):
        depth += 1 if m.group() == "/*" else -1
        if depth == 0:
            return m.end()
    return len(text) + 1


def _unclosed(text: str) -> int | None:
    """Offset of the quote or comment that nothing closes."""
    at = 0
    while m := _HIDDEN_OR_QUOTE.search(text, at):
        at = m.end()
        if m.group() in ("'", '"', "`"):
            return m.start()
        if m.group() == "/*":
            at = _comment_end(text, m.start())
            if at > len(text):
                return m.start()
    return None


def _blank_signs(text: str) -> tuple[str, list[Token]]:
    """The text with ``//`` comments as ``--`` ones, signs and some comments as blanks, offsets unchanged; and the
    signs' tokens."""
    if not _SIGN_OR_SLASHES.search(text) and "/*/" not in text:
        return text, []
    out: list[str] = []
    signs: list[Token] = []
    done = at = 0
    while m := _HIDDEN.search(text, at):
        at, found = m.end(), m.group()
        if found == "/*":
            at = _comment_end(text, m.start())
            # sqlglot takes the `*/` of `/*/` for an end, Spark does not.
            if "/*/" in text[m.start() : at] and at <= len(text):
                out += [text[done : m.start()], " " * (at - m.start())]
                done = at
        elif found.startswith("//"):
            out += [text[done : m.start()], "--"]
            done = m.start() + 2
        elif found in SIGNS:
            kind, meaning = SIGNS[found]
            signs.append(Token(kind, found, meaning, m.start(), m.end()))
            out += [text[done : m.start()], " "]
            done = m.end()
    return "".join(out) + text[done:], signs


def tokenize(text: str) -> tuple[Token, ...]:
    """Tokens of a statement.

    Raises:
        PatternParseError: an unterminated string or comment (CEP_SYNTAX_ERROR).
    """
    plain, signs = _blank_signs(text)
    try:
        raw = _dialect.tokenize(plain)
    except TokenError:
        position, message = _unclosed(text), "A string or comment is not closed."
        if position is None:
            literal = _NO_DIGITS.search(text)
            position, message = literal.start() if literal else 0, "A literal X'...' holds hexadecimal digits only."
        raise PatternParseError("CEP_SYNTAX_ERROR", message, text=text, position=position) from None
    out: list[Token] = []
    last = -1
    for t in raw:
        if t.start <= last:  # a suffixed number (2D, 10BD) comes as number, cast and type over one span
            continue
        last = t.start
        source = plain[t.start : t.end + 1]
        if t.token_type in _STRINGS or source[:1] in "'\"":
            out.append(Token("string", t.text, "", t.start, t.end + 1))
        elif t.token_type == TokenType.IDENTIFIER or source[:1] == "`":
            out.append(Token("quoted", t.text, "", t.start, t.end + 1))
        elif t.token_type == TokenType.NUMBER:
            out.append(Token("number", source, source, t.start, t.end + 1))
        elif source[:1].isalpha() or source[:1] == "_" or not source.isascii():
            # Keywords of several words (GROUP BY) come as one token.
            for m in re.finditer(r"\S+", source):
                word = m.group()
                out.append(Token("word", word, word.upper(), t.start + m.start(), t.start + m.end()))
        else:
            out.append(Token("op", source, source, t.start, t.end + 1))
    if signs:
        out = sorted([*out, *signs], key=lambda t: t.start)
    return tuple(out)


def pair_parentheses(tokens: tuple[Token, ...]) -> dict[int, int]:
    """Index of each ``(`` to the index of its ``)``; unbalanced ones are left out."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for i, t in enumerate(tokens):
        if t.kind == "op":
            if t.upper == "(":
                stack.append(i)
            elif t.upper == ")" and stack:
                pairs[stack.pop()] = i
    return pairs


def parse_expression(text: str) -> exp.Expr | None:
    """The syntax tree of a scalar expression, or None where sqlglot cannot read it. Names carry their offsets."""
    try:
        trees = _dialect.parse_into(exp.Condition, text)
    except (ParseError, TokenError, ValueError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 else None
