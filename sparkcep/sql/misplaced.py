"""What to say of a statement that Spark cannot parse, where a pattern stands in a place that has none."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from sparkcep.errors import PatternAnalysisError, PatternParseError, SparkCepError
from sparkcep.sql.block.spans import BlockFinder
from sparkcep.sql.commands import read_by_spark
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import OccurrenceKind, Statement
from sparkcep.sql.windows.parser import WindowParser

_CLAUSE = "MATCH_RECOGNIZE"


@dataclass(slots=True)
class _Level:
    """What was read at one nesting level. ``selected``: a SELECT list. ``relation``: where the last relation of FROM
    begins. ``joined``: what stands between relations of FROM, a comma or JOIN. ``behind``: the clause of the query or
    the join one is in."""

    selected: bool = False
    relation: int = -1
    joined: str = ""
    behind: str = ""


def misplaced(statement: Statement) -> SparkCepError | None:
    """The error of the first MATCH_RECOGNIZE or PATTERN that is no form; None where there is none.

    Asked only after Spark has refused the statement: both words may be names in Spark's own SQL.
    """
    if statement.word(0) == "EXECUTE" and statement.word(1) == "IMMEDIATE":
        return _executed(statement)
    if (closed := _closed_too_often(statement)) is not None:
        return closed
    read = {f.keyword.start for f in statement.forms}
    finder = BlockFinder(statement)
    levels = [_Level()]
    for i, token in enumerate(statement.tokens):
        word, op, level = statement.word(i), statement.operator(i), levels[-1]
        if op == "(":
            levels.append(_Level())
        elif op == ")" and len(levels) > 1:
            levels.pop()
        elif word == "SELECT":
            levels[-1] = _Level(selected=True)
        elif word in ("ON", "USING", "WHERE", "GROUP", "HAVING"):
            level.behind = word
        elif word == "FROM" or (op == "," and level.relation >= 0 and not level.behind):
            level.relation, level.behind, level.joined = i + 1, "", "" if word == "FROM" else op
        elif word == "JOIN":
            level.behind, level.joined = "", word
        elif token.start in read:
            continue
        elif statement.operator(i + 1) == "(" and word != _CLAUSE and get_close_matches(word, [_CLAUSE], 1, 0.8):
            return _error(
                statement, "CEP_SYNTAX_ERROR", i, f"{token.text!r} is not expected here.", f"did you mean {_CLAUSE}?"
            )
        elif word == _CLAUSE:
            if statement.operator(i + 1) == "(":
                return _clause(statement, i, level)
            hint = "write MATCH_RECOGNIZE (PARTITION BY ... ORDER BY ... MEASURES ... PATTERN (...) DEFINE ...)"
            return _error(
                statement, "CEP_SYNTAX_ERROR", i + 1, "MATCH_RECOGNIZE needs parentheses around its clauses.", hint
            )
        elif word == "WINDOW" and statement.operator(i + 2) == "(":
            return _error(
                statement, "CEP_SYNTAX_ERROR", i + 2, "AS is missing before the window.", "write WINDOW name AS (...)"
            )
        elif word == "OVER" and (fault := _over(statement, i)) is not None:
            return fault
        elif word in ("SEQ", "PERMUTE") and statement.operator(i + 1) == "(" and _follows_relation(statement, i, level):
            return _error(
                statement, "CEP_SYNTAX_ERROR", i, f"PATTERN is missing before {word}.", f"write PATTERN {word}(...)"
            )
        elif word == "PATTERN" and finder.begins_pattern(i + 1) and not _is_alias(statement, i):
            if level.selected:
                return PatternParseError(
                    "CEP_MISPLACED_PATTERN",
                    "A pattern block starts with FROM; it cannot follow a SELECT list.",
                    text=statement.text,
                    position=token.start,
                    hint="write FROM t ... PATTERN ... RETURN ..., or SELECT ... FROM (FROM t ... PATTERN ...) m",
                )
            if level.joined:
                if level.joined == ",":
                    return PatternParseError(
                        "CEP_MISPLACED_PATTERN",
                        "A pattern block reads one relation: UNION ALL puts events of several tables together, a join "
                        "in parentheses their columns.",
                        text=statement.text,
                        position=statement.tokens[level.relation - 1].start,
                        hint="write FROM (SELECT k, t, 'A' AS type FROM a UNION ALL SELECT k, t, 'B' FROM b) ... "
                        "PATTERN ..., or FROM (a JOIN b ON ...) ... PATTERN ...",
                    )
                return PatternParseError(
                    "CEP_MISPLACED_PATTERN",
                    "A pattern block reads one relation; a join is one in parentheses.",
                    text=statement.text,
                    position=token.start,
                    hint="write FROM (a JOIN b ON ...) ... PATTERN ...",
                )
    return None


def _executed(statement: Statement) -> PatternAnalysisError | None:
    strings = (token for token in statement.tokens if token.kind == "string")
    token = next((token for token in strings if read_statement(token.text).forms), None)
    return None if token is None else read_by_spark(statement, token.start, "EXECUTE IMMEDIATE", "reads the text")


#: What a relation of FROM may end at, besides a clause that is known here.
_ENDS_RELATION = set("JOIN ORDER SORT CLUSTER DISTRIBUTE LATERAL AS LIMIT UNION VALUES".split())


def _follows_relation(statement: Statement, i: int, level: _Level) -> bool:
    """Whether a token stands behind a relation of FROM, in no clause."""
    between = {statement.word(k) for k in range(max(level.relation, 0), i)}
    if not 0 <= level.relation < i or level.behind or level.joined or "PATTERN" in between:
        return False
    return {"EVENT", "TYPE"} <= between or between.isdisjoint(_ENDS_RELATION)


def _is_alias(statement: Statement, i: int) -> bool:
    """Whether what follows PATTERN is a clause of Spark's query, so that it is a relation's name."""
    return statement.word(i + 1) in ("WHERE", "GROUP", "HAVING", "WINDOW", "LATERAL", "ON", "USING", "TABLESAMPLE")


def _clause(statement: Statement, i: int, level: _Level) -> PatternParseError | None:
    if i + 1 not in statement.pairs:
        at = _unclosed(statement, i + 1)
        whose = "of MATCH_RECOGNIZE " if at == i + 1 else ""
        hint = "every '(' of the clause, that of PATTERN too, needs its ')'"
        return _error(statement, "CEP_SYNTAX_ERROR", at, f"The parenthesis {whose}is not closed.", hint)
    if not level.behind:
        return None
    name = {"ON": "a join's ON condition", "USING": "a join's USING list", "GROUP": "GROUP BY"}
    return PatternParseError(
        "CEP_MISPLACED_PATTERN",
        f"MATCH_RECOGNIZE follows a table or subquery; it cannot follow {name.get(level.behind, level.behind)}.",
        text=statement.text,
        position=statement.tokens[i].start,
        hint="write it directly after its table, or after the whole input in parentheses: "
        f"FROM ({_join(statement, i, level)}) MATCH_RECOGNIZE (...)",
    )


def _error(statement: Statement, error_class: str, at: int, message: str, hint: str) -> PatternParseError:
    position = statement.tokens[min(at, len(statement.tokens) - 1)].start
    return PatternParseError(error_class, message, text=statement.text, position=position, hint=hint)


def _over(statement: Statement, i: int) -> PatternParseError | None:
    """What is wrong with the window of `measure OVER window`, where it is one with a pattern."""
    s, at = statement, i + 1
    if s.operator(at) != "(":
        name = s.word(at)
        defined = {s.word(k): k + 2 for k in range(len(s.tokens)) if s.word(k + 1) == "AS" and s.operator(k + 2) == "("}
        if name not in defined:
            known = [of for of, opens in defined.items() if s.words(opens, s.pairs.get(opens, opens)) & {"pattern"}]
            if not known or not name:
                return None
            hint = f"WINDOW has {', '.join(n.lower() for n in known)}"
            return _error(s, "CEP_WINDOW_BASE", at, f"There is no window {s.tokens[at].text}.", hint)
        at = defined[name]
    close = s.pairs.get(at, len(s.tokens))
    if "pattern" not in s.words(at, close):
        return None
    if at not in s.pairs:
        hint = "every '(' of the window needs its ')'"
        return _error(s, "CEP_SYNTAX_ERROR", _unclosed(s, at), "The parenthesis is not closed.", hint)
    try:
        WindowParser(s, (at + 1, close), False).parse_window()
    except PatternParseError as error:
        return error
    return None


def _unclosed(statement: Statement, opens: int) -> int:
    """The parenthesis that nothing closes: the innermost one that is open where a section of the clause begins."""
    opened: list[int] = []
    for i in range(opens, len(statement.tokens)):
        if statement.operator(i) == "(":
            opened.append(i)
        elif statement.operator(i) == ")" and opened:
            opened.pop()
        elif len(opened) > 1 and _begins_section(statement, i):
            return opened[-1]
    return opens


def _begins_section(statement: Statement, i: int) -> bool:
    words = tuple(statement.word(i + k) for k in range(3))
    return (
        (words[0] == "DEFINE" and words[2] == "AS")
        or (words[0] == "SUBSET" and statement.operator(i + 2) == "=")
        or (words[0] == "PATTERN" and statement.operator(i + 1) == "(")
        or words[:2] == ("AFTER", "MATCH")
        or words[1:] in (("ROW", "PER"), ("ROWS", "PER"))
    )


def _closed_too_often(statement: Statement) -> PatternParseError | None:
    """The error of a parenthesis that closes a clause too early, as a later one has nothing to close; None without
    one."""
    extra = statement.closes_nothing()
    if extra is None or not any(form.kind is OccurrenceKind.CLAUSE for form in statement.forms):
        return None
    return _error(
        statement, "CEP_SYNTAX_ERROR", extra, "This parenthesis closes nothing.", "leave it out, or open one before it"
    )


def _join(statement: Statement, i: int, level: _Level) -> str:
    """The join before a token, as it was written where that is short."""
    if level.behind not in ("ON", "USING") or level.relation < 0:
        return "a JOIN b ON ..."
    written = " ".join(statement.text[statement.tokens[level.relation].start : statement.tokens[i - 1].end].split())
    return written if len(written) <= 80 else "a JOIN b ON ..."
