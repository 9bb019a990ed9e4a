"""What to say of a statement that Spark cannot parse, where a pattern stands in a place that has none."""

from __future__ import annotations

from sparkcep.errors import PatternParseError
from sparkcep.sql.block.spans import BlockFinder
from sparkcep.sql.statement import Statement


def misplaced(statement: Statement) -> PatternParseError | None:
    """The error of the first MATCH_RECOGNIZE or PATTERN that is no form; None where there is none.

    Asked only after Spark has refused the statement: both words may be names in Spark's own SQL.
    """
    read = {f.keyword.start for f in statement.forms}
    finder = BlockFinder(statement)
    selected: list[bool] = [False]
    joined: list[str] = [""]
    for i, token in enumerate(statement.tokens):
        word, op = statement.word(i), statement.operator(i)
        if op == "(":
            selected.append(False)
            joined.append("")
        elif op == ")" and len(selected) > 1:
            selected.pop()
            joined.pop()
        elif word == "SELECT":
            selected[-1], joined[-1] = True, ""
        elif word in ("ON", "USING", "WHERE", "GROUP", "HAVING"):
            joined[-1] = word
        elif word in ("FROM", "JOIN"):
            joined[-1] = ""
        elif token.start in read:
            continue
        elif word == "MATCH_RECOGNIZE" and statement.operator(i + 1) == "(":
            return _clause(statement, i, joined[-1])
        elif word == "PATTERN" and selected[-1] and finder.begins_pattern(i + 1) and not _is_alias(statement, i):
            return PatternParseError(
                "CEP_MISPLACED_PATTERN",
                "A pattern block begins with FROM; it cannot follow a SELECT list.",
                text=statement.text,
                position=token.start,
                hint="write FROM t ... PATTERN ... RETURN ..., or SELECT ... FROM (FROM t ... PATTERN ...) m",
            )
    return None


def _is_alias(statement: Statement, i: int) -> bool:
    """Whether what follows PATTERN is a clause of Spark's query, so that it is a relation's name."""
    return statement.word(i + 1) in ("WHERE", "GROUP", "HAVING", "WINDOW", "LATERAL", "ON", "USING", "TABLESAMPLE")


def _clause(statement: Statement, i: int, behind: str) -> PatternParseError | None:
    if i + 1 not in statement.pairs:
        return PatternParseError(
            "CEP_SYNTAX_ERROR",
            "The parenthesis of MATCH_RECOGNIZE is not closed.",
            text=statement.text,
            position=statement.tokens[i + 1].start,
            hint="every '(' of the clause, that of PATTERN too, needs its ')'",
        )
    if not behind:
        return None
    name = {"ON": "a join's ON condition", "USING": "a join's USING list", "GROUP": "GROUP BY"}.get(behind, behind)
    return PatternParseError(
        "CEP_MISPLACED_PATTERN",
        f"MATCH_RECOGNIZE follows a table or subquery; it cannot follow {name}.",
        text=statement.text,
        position=statement.tokens[i].start,
        hint="write it directly after its table, or after the whole input in parentheses: "
        "FROM (a JOIN b ON ...) MATCH_RECOGNIZE (...)",
    )
