"""Joins in parentheses whose sides have columns of one name: each goes by its side's name inside the pattern."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from pyspark.errors import AnalysisException

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import folded, quote
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import PatternOccurrence

#: Column names of a query.
Names = Callable[[str], Sequence[str]]


def joined_input(
    rewriter: Rewriter, form: PatternOccurrence, columns: Sequence[str], names: Names, *, case_sensitive: bool
) -> tuple[InputSql, frozenset[str]] | None:
    """A query that reads a join with columns ``side.column`` where several sides have the column, and their names.

    Inside the form such columns then mean the new ones; a bare name, which Spark calls ambiguous, means none.

    Args:
        columns: what ``SELECT *`` of the form's input gives.

    Returns:
        None where no names are equal, or where sides do not tell them apart.

    Raises:
        PatternAnalysisError: see :func:`_check_variables`.
    """

    def fold(name: str) -> str:
        return folded(name, case_sensitive)

    equal = {name: count for name, count in Counter(map(fold, columns)).items() if count > 1}
    sides = rewriter.sides(form)
    if not equal or not sides:
        return None
    _check_variables(rewriter, form, sides, next(c for c in columns if fold(c) in equal))
    # By side in the order of FROM, so that the n-th column of a name is that of the n-th side that has it.
    owners: dict[str, list[tuple[str, str]]] = {name: [] for name in equal}
    for side in sides:
        try:
            found = names(rewriter.input_sql(form, f"{quote(side)}.*").text)
        except AnalysisException:  # a side without a name, or one that its join does not give, as LEFT SEMI JOIN
            continue
        for name in found:
            if fold(name) in equal:
                owners[fold(name)].append((side, name))
    if any(len(owners[name]) != count for name, count in equal.items()):
        return None
    new: dict[tuple[str, str], str] = {}
    items = []
    for name in columns:
        if fold(name) in equal:
            side, own = owners[fold(name)].pop(0)
            new[side.casefold(), fold(name)] = f"{side}.{own}"
            items.append(f"{quote(side)}.{quote(own)} AS {quote(f'{side}.{own}')}")
        else:
            items.append(quote(name))

    def renamed(side: str, name: str) -> str | None:
        found = new.get((side.casefold(), fold(name)))
        return None if found is None else quote(found)

    rewriter.rename_columns(form, renamed)
    return rewriter.input_sql(form, ", ".join(items)), frozenset(new.values())


def _check_variables(rewriter: Rewriter, form: PatternOccurrence, sides: Sequence[str], column: str) -> None:
    """Refuse a join with a column in two sides, where a side has a pattern variable's name.

    Raises:
        PatternAnalysisError: CEP_DUPLICATE_COLUMN.
    """
    for side in sides:
        if rewriter.names_variable(form, [side]):
            raise PatternAnalysisError(
                "CEP_DUPLICATE_COLUMN",
                f"Two sides of the join have a column {column}, and {side} is also a pattern variable.",
                text=rewriter.statement.text,
                position=form.relation_start,
                hint=f"give the side {side} an alias that is not a pattern variable, and name its columns by that",
            )


def plain_names(sql: str, new: frozenset[str], names: Names) -> str:
    """A form's relation whose columns ``side.column`` go by the column's name where only one of its columns does."""
    columns = names(f"SELECT * FROM {sql}")
    plain = [name.rpartition(".")[2] if name in new else name for name in columns]
    count = Counter(name.casefold() for name in plain)
    if not new.intersection(columns):
        return sql
    items = [
        f"{quote(name)} AS {quote(short)}" if count[short.casefold()] == 1 else quote(name)
        for name, short in zip(columns, plain, strict=True)
    ]
    return f"(SELECT {', '.join(items)} FROM {sql})"
