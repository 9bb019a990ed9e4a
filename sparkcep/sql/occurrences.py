"""Find pattern forms in a statement: spans of the input relation and of the form, nested and side by side.

FROM items are scanned forwards, since a relation's start cannot be found backwards (`VALUES ... t(x)`).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from sparkcep.errors import PatternParseError
from sparkcep.sql.block.spans import JOIN_TYPES, SET_OPERATORS, BlockFinder, is_list, is_values_row
from sparkcep.sql.lexicon import pair_parentheses, tokenize
from sparkcep.sql.statement import TABLE_FUNCTIONS, CommonTable, OccurrenceKind, PatternOccurrence, Statement
from sparkcep.sql.templates import TEMPLATES
from sparkcep.sql.windows.finder import windowed_selects

_ENDS_RELATION = frozenset(
    "WHERE GROUP ORDER HAVING SELECT LIMIT OFFSET WINDOW UNION INTERSECT EXCEPT MINUS QUALIFY SORT CLUSTER DISTRIBUTE "
    "ON SET WHEN RETURNING".split()
)
# Texts that cannot be tokenised are Spark's to refuse, unless they look like a form of ours.
_LOOKS_LIKE_FORM = re.compile(r"\bmatch_recognize\b|(?:^|[(;]|\bas)\s*from\b.*\bpattern\b", re.IGNORECASE | re.DOTALL)
Scopes = tuple[tuple[CommonTable, ...], ...]


@functools.lru_cache(maxsize=64)
def read_statement(text: str) -> Statement:
    """Tokenise a statement and find its pattern forms. Whoever gets it only reads it.

    Raises:
        PatternParseError: a form with an unterminated string or comment (CEP_SYNTAX_ERROR).
    """
    try:
        tokens = tokenize(text)
    except PatternParseError:
        if _LOOKS_LIKE_FORM.search(text):
            raise
        return Statement(text, (), {})
    statement = Statement(text, tokens, pair_parentheses(tokens))
    scanner = _Scanner(statement)
    scanner.scan()
    statement.forms.extend(windowed_selects(statement, scanner.selects))
    statement.forms.sort(key=statement.span_end)
    statement.templates.sort(key=lambda f: f.end)
    return statement


@dataclass(slots=True)
class _Level:
    """A token range to scan, with the index at which it is known to read a relation, if it is."""

    low: int
    high: int
    scopes: Scopes
    relation: int | None = None


class _Scanner:
    def __init__(self, statement: Statement) -> None:
        self.s = statement
        self.is_merge = statement.word(0) == "MERGE"
        self.is_script = statement.word(0) == "BEGIN"
        self.blocks = BlockFinder(statement)
        self.levels: list[_Level] = []
        #: SELECT's index, that behind its level, and the WITH lists in sight.
        self.selects: list[tuple[int, int, Scopes]] = []

    def scan(self) -> None:
        """Scan level by level, without recursion: statements may nest deeply."""
        self.levels.append(_Level(0, len(self.s.tokens), ()))
        while self.levels:
            self.level(self.levels.pop())

    def level(self, level: _Level) -> None:
        """Scan one nesting level; parenthesised parts are levels of their own."""
        s, scopes, high = self.s, level.scopes, level.high
        relation = level.relation
        in_from = relation is not None
        selected = inserting = False
        # Where a query may begin.
        begin = level.low
        own: tuple[CommonTable, ...] = ()
        i = level.low
        while i < high:
            word, op = s.word(i), s.operator(i)
            inner = (*scopes, own) if own else scopes
            if op == "(":
                close = s.pairs.get(i, high)
                # Parentheses in the place of a relation may hold a join, whose sides may be patterns.
                joins = relation == i and s.word(i + 1) not in ("SELECT", "WITH", "FROM", "VALUES")
                self.levels.append(_Level(i + 1, min(close, high), inner, i + 1 if joins else None))
                i = close + 1
                continue
            if op == ";":
                relation, in_from, own, selected, begin = None, False, (), False, i + 1
            elif op == ",":
                if not (relation is not None and is_values_row(s, relation, i)):
                    relation = i + 1 if in_from else None
            elif op == "|>":
                relation, in_from = None, False
            elif word == "WITH" and (found := self.with_list(i, high, scopes)):
                own, i = found
                begin = i
                continue
            elif (
                word == "FROM"
                and not selected
                and (inserting or self.opens_query(i, begin))
                and (block := self.block(i, high, inner))
            ):
                i = block
                relation, in_from, selected, inserting = None, False, False, False
                continue
            elif word == "FROM" or (word == "USING" and self.is_merge):
                relation, in_from, inserting = i + 1, True, False
            elif word == "JOIN":
                relation = i + 1
            elif word == "INSERT" and self.opens_query(i, begin):
                inserting = True
            elif word == "MATCH_RECOGNIZE" and relation is not None and relation < i and self.is_clause(i):
                i = self.clause(i, relation, inner)
                continue
            elif relation == i and self.is_events_of(i):
                i = self.call(i, i + 2, OccurrenceKind.TEMPLATE, inner)
                continue
            elif relation in (i, i - (s.word(i - 1) == "LATERAL")) and i + 1 in s.pairs and (kind := self.called(i)):
                i = self.call(i, i + 1, kind, inner)
                continue
            elif word in _ENDS_RELATION or (word == "USING" and not self.is_merge):
                relation = None
                in_from = in_from and word == "ON"
                if word == "SELECT":
                    selected, inserting = True, False
                    self.selects.append((i, high, inner))
                elif word in SET_OPERATORS and s.operator(i - 1) != ".":
                    selected, begin = False, i + 1 + (s.word(i + 1) in ("ALL", "DISTINCT"))
            i += 1

    def clause(self, i: int, relation: int, scopes: Scopes) -> int:
        """Note the MATCH_RECOGNIZE at a token, whose relation begins at another; gives the token behind it."""
        s = self.s
        close = s.pairs[i + 1]
        start = s.tokens[relation].start
        s.forms.append(
            PatternOccurrence(
                kind=OccurrenceKind.CLAUSE,
                start=start,
                relation_start=start,
                relation_end=s.tokens[i].start,
                relation_tokens=(relation, i),
                keyword=s.tokens[i],
                head=(i, i),
                body=(i + 2, close),
                end=s.tokens[close].end,
                scopes=scopes,
            )
        )
        self.levels.append(_Level(i + 2, close, scopes))
        return close + 1

    def called(self, i: int) -> OccurrenceKind | None:
        """What the function at a token is, which stands where a relation may; None for Spark's own and a user's."""
        s, word = self.s, self.s.word(i)
        if word in TABLE_FUNCTIONS:
            return OccurrenceKind.CALL
        if word.lower() not in TEMPLATES:
            return None
        inside = range(i + 2, s.pairs[i + 1])
        # A user may have a function of so common a name.
        own = word in ("FUNNEL", "FUNNEL_STEPS") and not any(s.word(k) in ("ARRAY", "STEPS", "EVENT") for k in inside)
        return None if own else OccurrenceKind.TEMPLATE

    def call(self, i: int, opens: int, kind: OccurrenceKind, scopes: Scopes) -> int:
        """Note the call of a function of ours at a token, or EVENTS OF, whose parenthesis ``opens`` at another; gives
        the token behind it."""
        s = self.s
        close = s.pairs[opens]
        token = s.tokens[i]
        call = PatternOccurrence(
            kind, token.start, token.start, token.end, (i, i + 1), token, (i, i), (opens + 1, close),
            s.tokens[close].end, scopes,
        )  # fmt: skip
        # What a template stands for may be the input of a clause behind it: it is no relation by itself.
        (s.forms if kind is OccurrenceKind.CALL else s.templates).append(call)
        self.levels.append(_Level(opens + 1, close, scopes))  # TABLE(SELECT ...) may hold patterns
        return close + 1

    def is_events_of(self, i: int) -> bool:
        """Whether EVENTS OF (...) stands at a token: `events of (a, b)` is Spark's alias with column names."""
        s = self.s
        if s.word(i) != "EVENTS" or s.word(i + 1) != "OF" or i + 2 not in s.pairs:
            return False
        return any(s.operator(k) == "(" for k in range(i + 3, s.pairs[i + 2]))

    # -- blocks ----------------------------------------------------------------------------------------------------

    def opens_query(self, i: int, begin: int) -> bool:
        """Whether a FROM stands where a query begins: at its level's begin, behind AS or the head of an EXPLAIN."""
        s = self.s
        before = s.word(i - 1)
        if i == begin or before == "AS":
            return True
        if i <= 2 and (s.word(0) == "EXPLAIN" or (s.word(0) in ("DESCRIBE", "DESC") and before == "QUERY")):
            return True
        return self.is_script and before in ("BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT")

    def block(self, i: int, high: int, scopes: Scopes) -> int | None:
        """Note the block that a FROM begins; the index behind it, None where there is none."""
        s = self.s
        low = i + 1
        angles = 0
        while s.operator(low + angles) == "<":
            angles += 1
        low += angles
        relation_high = low
        if angles:
            while relation_high < high and s.operator(relation_high) != ">":
                relation_high += 1
        found = self.blocks.pattern_keyword(low, relation_high + angles, high)
        if found is None:
            return None
        head, keyword = found.head, found.keyword
        end = self.blocks.block_end(keyword + 1, high)
        relation_end = relation_high if angles else head
        keeps_from = s.word(end) in ("SELECT", "JOIN") or s.word(end) in JOIN_TYPES or s.operator(end) == "|>"
        s.forms.append(
            PatternOccurrence(
                kind=OccurrenceKind.BLOCK,
                start=s.tokens[i + 1 if keeps_from else i].start,
                relation_start=s.tokens[low].start,
                relation_end=s.tokens[relation_end - 1].end,
                relation_tokens=(low, relation_end),
                keyword=s.tokens[keyword],
                head=(head, keyword),
                body=(keyword + 1, end),
                end=s.tokens[end - 1].end,
                scopes=scopes,
                where=found.where,
            )
        )
        self.levels += [_Level(low, relation_end, scopes, relation=low), _Level(head, end, scopes)]
        return end

    # -- parts -----------------------------------------------------------------------------------------------------

    def is_clause(self, index: int) -> bool:
        """`t match_recognize (a, b)` is Spark's alias with column names; anything else in the parentheses is ours."""
        close = self.s.pairs.get(index + 1)
        if self.s.operator(index + 1) != "(" or close is None:
            return False
        inner = self.s.tokens[index + 2 : close]
        return not (inner and all(t.kind in ("word", "quoted") or t.upper == "," for t in inner) and is_list(inner))

    def with_list(self, index: int, high: int, scopes: Scopes) -> tuple[tuple[CommonTable, ...], int] | None:
        """The definitions of `WITH [RECURSIVE] name [(columns)] AS (query), ...` and the index behind them."""
        s = self.s
        recursive = s.word(index + 1) == "RECURSIVE" and s.operator(index + 2) != "AS"
        i = index + 2 if recursive else index + 1
        own: tuple[CommonTable, ...] = ()
        while i < high and s.tokens[i].kind in ("word", "quoted"):
            name = i
            i += 1
            if s.operator(i) == "(":
                i = s.pairs.get(i, high) + 1
            if s.word(i) == "MAX" and s.word(i + 1) == "RECURSION":
                i += 4
            if s.word(i) == "AS":
                i += 1
            if s.operator(i) != "(" or i not in s.pairs or (i == name + 1 and s.word(i + 1) not in ("SELECT", "FROM")):
                break
            close = s.pairs[i]
            self.levels.append(_Level(i + 1, close, (*scopes, own) if own else scopes))
            own = (*own, CommonTable(s.tokens[name].text, s.tokens[name].start, s.tokens[close].end, recursive))
            i = close + 1
            if s.operator(i) != ",":
                return own, i
            i += 1
        return (own, i) if own else None
