"""Where a pattern block has its PATTERN and its end, and what of Spark's own only looks like one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkcep.sql.block.foreign_words import foreign_section
from sparkcep.sql.lexicon import ENDS_OPERAND, WANTS_OPERAND, Token

if TYPE_CHECKING:
    from sparkcep.sql.statement import Statement

SET_OPERATORS = frozenset("UNION INTERSECT EXCEPT MINUS".split())
_UNITS = frozenset("DAY DAYS HOUR HOURS MINUTE MINUTES SECOND SECONDS MONTH MONTHS YEAR YEARS WEEK WEEKS TO".split())
JOIN_TYPES = frozenset("LEFT RIGHT FULL INNER CROSS NATURAL OUTER SEMI ANTI ASOF".split())
#: Between FROM and PATTERN these say that the query is Spark's own.
_NO_BLOCK = SET_OPERATORS | frozenset(
    "SELECT JOIN HAVING LIMIT OFFSET SORT CLUSTER DISTRIBUTE INSERT LATERAL WINDOW MAP REDUCE".split()
)
#: Behind these an operand follows, so that what stands there is a name.
_WANTS_OPERAND = WANTS_OPERAND | {"BY", "TYPE", "OF"}


@dataclass(frozen=True, slots=True)
class BlockHead:
    """Where the sections before a block's PATTERN begin, PATTERN itself, and the condition of a WHERE among them."""

    head: int
    keyword: int
    where: tuple[int, int] | None


class BlockFinder:
    """Answers questions about blocks of one statement."""

    def __init__(self, statement: Statement) -> None:
        self.s = statement

    def pattern_keyword(self, relation: int, behind: int, high: int) -> BlockHead | None:
        """What stands before a block's pattern, for a relation that begins at a token; None where there is no block."""
        s = self.s
        head: int | None = None
        where = where_end = -1
        aliases = 0
        k = max(relation, behind)
        while k < high:
            op, word = s.operator(k), s.word(k)
            if op == "(":
                k = s.pairs.get(k, high) + 1
                continue
            if op in (";", "|>") or (op == "," and head is None and not is_values_row(self.s, relation, k)):
                return None
            if word == "FROM" and k > relation:
                # At most it is a strange alias: where every FROM looks for a PATTERN, none may look far.
                aliases += 1
                if aliases > 1 or not self.wants_operand(k):
                    return None
            if word and k > relation and not self.wants_operand(k):
                if word in _NO_BLOCK and not (word == "HAVING" and head is not None):
                    return None
                if word == "PATTERN" and self.begins_pattern(k + 1):
                    condition = (where, where_end if where_end > where else k)
                    return BlockHead(k if head is None else head, k, condition if where >= 0 else None)
                if self.begins_head(k):
                    head = k if head is None else head
                    where_end = k if where_end < where else where_end
                if word == "WHERE" and where < 0:
                    where = k + 1
                    k += s.operator(where) != "("  # what follows is an operand, whatever its name
            k += 1
        return None

    def parts(self, head: int, high: int) -> tuple[int, int] | None:
        """Where a block without a FROM, from a token on, has its PATTERN and ends; None where there is no PATTERN."""
        s, keyword = self.s, head
        while keyword < high and not (
            s.word(keyword) == "PATTERN"
            and (keyword == head or not self.wants_operand(keyword))
            and self.begins_pattern(keyword + 1)
        ):
            opens = s.operator(keyword) == "(" and keyword in s.pairs
            keyword = s.pairs[keyword] + 1 if opens else keyword + 1
        return None if keyword >= high else (keyword, self.block_end(keyword + 1, high))

    def wants_operand(self, i: int) -> bool:
        """Whether the token before an index wants an operand, so that what stands there is no keyword."""
        before = self.s.tokens[i - 1]
        if before.kind == "op":
            return before.upper not in ENDS_OPERAND
        if self.s.word(i - 1) == "TYPE" and self.s.word(i - 2) != "EVENT":  # a column of that name
            return False
        return before.kind == "word" and before.upper in _WANTS_OPERAND and self.s.operator(i - 2) != "."

    def begins_head(self, i: int) -> bool:
        """Whether a section that may come before PATTERN begins at a token."""
        word, second = self.s.word(i), self.s.word(i + 1)
        if word == "RETURN":  # an alias, where PATTERN follows at once
            return not (second == "PATTERN" and self.begins_pattern(i + 2))
        return (
            word == "WHERE"
            or bool(foreign_section(self.s, i))
            or (word in ("PARTITION", "ORDER") and second == "BY")
            or (word == "EVENT" and second == "TYPE")
        )

    def begins_pattern(self, i: int) -> bool:
        """Whether a pattern may begin at a token; a table alias `pattern` is followed by other things."""
        s = self.s
        if i >= len(s.tokens):
            return False
        token, word, second = s.tokens[i], s.word(i), s.word(i + 1)
        if token.kind != "word":
            if token.upper == "(":
                close = s.pairs.get(i)
                inner = s.tokens[i + 1 : close]
                named = bool(inner) and all(t.kind in ("word", "quoted") or t.upper == "," for t in inner)
                if close is not None and named and is_list(inner):
                    return not self.goes_on(close + 1) and s.operator(close + 1) != ","
            return token.kind in ("quoted", "string") or token.upper in ("(", "<", "<>", "!", "~")
        if self.goes_on(i) or word in SET_OPERATORS or word in ("LIMIT", "OFFSET", "INSERT", "AS", "RETURN"):
            return False
        if word in ("ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "PARTITION"):
            return second != "BY"
        if word in ("MATCH_RECOGNIZE", "PIVOT", "UNPIVOT", "TABLESAMPLE"):
            return s.operator(i + 1) != "("
        if word == "PATTERN":
            run = i
            while s.word(run) == "PATTERN":
                run += 1
            return self.begins_pattern(run) == ((run - i) % 2 == 0)
        return not (word == "EVENT" and second == "TYPE")

    def goes_on(self, i: int) -> bool:
        """Whether Spark's own FROM-first query goes on at a token."""
        s = self.s
        if s.operator(i) == "|>" or s.word(i) in ("SELECT", "JOIN", "LATERAL"):
            return s.word(i) != "LATERAL" or s.word(i + 1) == "VIEW"
        for _ in range(4):  # NATURAL LEFT OUTER JOIN
            if s.word(i) not in JOIN_TYPES:
                return False
            i += 1
            if s.word(i) == "JOIN":
                return True
        return False

    def block_end(self, i: int, high: int) -> int:
        """The token behind a block: a set operator, LIMIT, ORDER BY, a join, `;` or `|>`, or ``high``.

        ``i``: a token of the block from which to look.
        """
        s = self.s
        while i < high:
            word, op = s.word(i), s.operator(i)
            if op in (";", "|>"):
                return i
            if op == "(":
                i = s.pairs.get(i, high) + 1
                continue
            if word and not self.wants_operand(i):
                if word in SET_OPERATORS or word in ("LIMIT", "OFFSET", "SELECT"):
                    return i
                if word in ("ORDER", "SORT", "CLUSTER", "DISTRIBUTE") and s.word(i + 1) == "BY":
                    return i
                if (word == "JOIN" or word in JOIN_TYPES) and self.goes_on(i):
                    return i
            i += 1
        return high


def is_values_row(s: Statement, start: int, comma: int) -> bool:
    """Whether a comma stands between rows of `VALUES (1, 2), (3, 4) [AS] t(a, b)`, not behind its alias."""
    if s.word(start) != "VALUES":
        return False
    # Every comma asks: what was read for one before is not read again.
    i = s.values_read.get(start, start + 1)
    while i < comma:
        if s.operator(i) == "(":
            i = s.pairs.get(i, comma)
        elif s.word(i) == "AS":
            return False
        elif s.tokens[i].kind in ("word", "quoted") and s.word(i) not in _UNITS:
            # A name right behind a row is the alias; elsewhere it begins an expression (NULL, DATE'...').
            behind = s.tokens[i - 1]
            if behind.upper == ")" or behind.kind in ("number", "string"):
                return False
        i += 1
    s.values_read[start] = i
    return True


def is_list(tokens: tuple[Token, ...]) -> bool:
    """Whether tokens are single ones with commas between them."""
    return len(tokens) % 2 == 1 and all((t.upper == ",") == (k % 2 == 1) for k, t in enumerate(tokens))
