"""What the query of a pattern table may be: one pattern over one log, and expressions over one row of it around."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import quote
from sparkcep.sql.statement import RULE_FUNCTIONS, OccurrenceKind, PatternOccurrence, Statement

#: Words behind a pattern with which its rows are joined, gathered or cut.
_COMBINES = frozenset(
    "JOIN CROSS LATERAL GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET UNION INTERSECT EXCEPT MINUS WINDOW "
    "QUALIFY TABLESAMPLE PIVOT UNPIVOT SELECT".split()
)
#: Functions whose value is another one when the query runs again.
_CHANGES = frozenset(
    "CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME CURDATE LOCALTIMESTAMP LOCALTIME NOW RAND RANDN RANDOM "
    "RANDSTR UNIFORM UUID SHUFFLE CURRENT_USER SESSION_USER".split()
)
#: Of these Spark knows some without parentheses too.
_WITHOUT_PARENTHESES = frozenset(
    "CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME LOCALTIMESTAMP LOCALTIME CURRENT_USER SESSION_USER".split()
)
#: Functions whose value is the session's.
OF_SESSION = frozenset("current_schema current_database current_catalog user".split())
#: Texts of times that stand for the present one.
_PRESENT = re.compile(r"(?i)\s*(now|today|tomorrow|yesterday)\b.*")


def changing_function(plan: str) -> str:
    """A function in a plan of Spark's, as text, whose value is another one when the query runs again; empty: none."""
    found = re.search(rf"(?i)\b({'|'.join(_CHANGES)})\(", plan)
    return found[1].lower() if found else ""


def calls(s: Statement, low: int = 0, high: int | None = None) -> set[str]:
    """Names of the functions that a range of a statement's tokens calls, without a schema."""
    tokens = enumerate(s.tokens[low:high], low)
    return {t.text.lower() for k, t in tokens if s.operator(k + 1) == "(" and t.kind in ("word", "quoted")}


def changing(s: Statement, low: int, high: int, *, subqueries: bool = True) -> tuple[int, str, str] | None:
    """What may have another value when a query runs again: its place, a sentence without its full stop, and a hint."""
    for k, token in enumerate(s.tokens[low:high], low):
        if subqueries and s.opens_subquery(k):
            return (
                token.start, "A subquery in the pattern may give another value when the table is refreshed",
                "write the value, or put the condition into a query over the pattern table",
            )  # fmt: skip
        is_now = token.upper == "UNIX_TIMESTAMP" and s.pairs.get(k + 1) == k + 2
        if token.kind == "string" and _PRESENT.fullmatch(token.text) and s.word(k - 1)[:4] in ("DATE", "TIME"):
            is_now = True
        if is_now or (token.upper in _CHANGES and (s.operator(k + 1) == "(" or token.upper in _WITHOUT_PARENTHESES)):
            return (
                token.start, f"{token.text} gives another value each time the table is refreshed",
                "put the condition into a query over the pattern table",
            )  # fmt: skip
    return None


@dataclass(frozen=True, slots=True)
class TableQuery:
    """The query of a pattern table.

    ``list_end``: the offset behind its SELECT list; None: it gives all columns of the pattern's relation. ``renames``:
    whether these columns have other names in it.
    """

    statement: Statement
    form: PatternOccurrence
    list_end: int | None
    renames: bool = False

    @property
    def is_rule_set(self) -> bool:
        """Whether it is a call of pattern_rules."""
        return self.form.kind is OccurrenceKind.CALL

    def gives(self, name: str) -> bool:
        """Whether a column of a rule set is among the query's own under its name; ``name``: in lower case."""
        s = self.statement
        if not self.is_rule_set or self.list_end is None:
            return self.is_rule_set
        source = next(k for k, token in enumerate(s.tokens) if token.start == self.list_end)
        items = s.between_commas((_top_level(s, "SELECT", 0, source) or 0) + 1, source)
        named = [s.tokens[low:high] for low, high in items if s.tokens[high - 1].text.lower() == name]
        # `measures.x` is an entry of what rules return.
        return all(
            len(item) == 1 or (len(item) == 3 and item[1].upper == "." and item[0].text.lower() != "measures")
            for item in named
        )

    def with_columns(self, names: Sequence[str], prefix: str) -> str:
        """The query with more columns of the pattern's relation behind its own, called ``prefix`` and a number."""
        if self.list_end is None or not names:
            return self.statement.text
        more = "".join(f", {quote(name)} AS {prefix}{k}" for k, name in enumerate(names))
        text = self.statement.text
        return f"{text[: self.list_end].rstrip()}\n{more} {text[self.list_end :]}"  # behind a comment too


def read_table_query(statement: Statement) -> TableQuery:
    """The query of a pattern table.

    Raises:
        PatternAnalysisError: CEP_PATTERN_TABLE_QUERY.
    """
    s = statement
    if len(s.forms) != 1:
        at = s.forms[1].keyword.start if s.forms else 0
        raise _refused(s, at, f"The query of a pattern table has one pattern, not {len(s.forms) or 'none'}", _FORMS)
    form = s.forms[0]
    if form.kind is OccurrenceKind.WINDOW or (
        form.kind is OccurrenceKind.CALL and form.keyword.upper not in RULE_FUNCTIONS[:1]
    ):
        raise _refused(
            s, form.keyword.start, "The query of a pattern table is a pattern block, a MATCH_RECOGNIZE clause or a "
            "call of pattern_rules", _FORMS,
        )  # fmt: skip
    is_call = form.kind is OccurrenceKind.CALL  # whose log and rules may be queries
    wrong = changing(s, *form.body, subqueries=not is_call) or changing(s, 0, len(s.tokens), subqueries=False)
    if wrong is not None:
        raise _refused(s, *wrong)
    behind = next((k for k, token in enumerate(s.tokens) if token.start >= form.end), len(s.tokens))
    return TableQuery(
        s, form, _list_end(s, form, behind), any(_opens_names(s, k) for k in range(behind, len(s.tokens)))
    )


def _opens_names(s: Statement, k: int) -> bool:
    """Whether a parenthesis opens an alias's list of columns: `m (a, b)`, not `WHERE (...)` or `f(x)` in it."""
    before = next((j for j in range(k) if s.word(j) == "WHERE" and s.tokens[j].start > s.forms[0].end), len(s.tokens))
    return k < before and s.operator(k) == "("


def _list_end(s: Statement, form: PatternOccurrence, behind: int) -> int | None:
    first = next(k for k, token in enumerate(s.tokens) if token.start >= form.start)
    opens_query = form.kind is OccurrenceKind.BLOCK and s.word(first) == "FROM"
    if opens_query and behind < len(s.tokens) and s.operator(behind) == ")" and s.operator(first - 1) == "(":
        first, behind = first - 1, behind + 1  # a block in parentheses is a relation
        opens_query = False
    if opens_query and (first == 0 or s.operator(first - 1) == ")"):  # behind a WITH list, or nothing
        _check_behind(s, behind, len(s.tokens))
        return None
    select = _top_level(s, "SELECT", 0, first)
    if select is None:
        raise _refused(s, form.keyword.start, "The pattern stands inside of another query", _OVER)
    if s.word(select + 1) == "DISTINCT":
        raise _refused(s, s.tokens[select + 1].start, "DISTINCT makes one row of several matches", _OVER)
    source = _top_level(s, "FROM", select, first + 1)
    if source is None or source + 1 != first:
        raise _refused(s, form.keyword.start, "The pattern is not the only relation of its query", _OVER)
    for k in range(select + 1, source):
        if s.word(k) in ("SELECT", "OVER", "EXISTS"):
            raise _refused(s, s.tokens[k].start, f"{s.word(k)} in its SELECT list looks at more than one match", _OVER)
    _check_behind(s, behind, len(s.tokens))
    return s.tokens[source].start


_FORMS = "FROM log PATTERN ..., SELECT ... FROM (FROM log PATTERN ...), or SELECT ... FROM log MATCH_RECOGNIZE (...)"
_OVER = "keep the matches in the pattern table, and ask for this by a query over it"


def _top_level(s: Statement, word: str, low: int, high: int) -> int | None:
    k = low
    while k < high:
        if s.word(k) == word:
            return k
        k = s.pairs.get(k, k) + 1
    return None


def _check_behind(s: Statement, low: int, high: int) -> None:
    """What may stand behind the pattern: a name for it, and WHERE."""
    closed = low
    for k in range(low, high):
        if s.operator(k) == "(" and k >= closed:
            closed = s.pairs.get(k, k) + 1
        bad = s.word(k) in _COMBINES or s.operator(k) == "|>" or s.opens_subquery(k)
        if bad or (s.operator(k) == "," and k >= closed):
            raise _refused(
                s, s.tokens[k].start, f"{s.tokens[k].text} behind the pattern needs more than one match or relation",
                _OVER,
            )  # fmt: skip


def _refused(s: Statement, position: int, sentence: str, hint: str) -> PatternAnalysisError:
    return PatternAnalysisError("CEP_PATTERN_TABLE_QUERY", f"{sentence}.", text=s.text, position=position, hint=hint)
