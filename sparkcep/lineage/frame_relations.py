"""A DataFrame of Spark Connect as a query over one table: what its client sends to the server for it.

Read are tables and the session's own SQL, with columns picked, renamed, added and dropped, rows filtered, sorted and
limited. The client's messages have no public interface: where they say anything else, nothing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sparkcep.lineage.plain_select import NotPlain, Select, name_parts, plain_select
from sparkcep.lineage.text_steps import Column, Leaf, Place, Step, UnknownOrigin, as_named, find, folded

#: Messages that take some rows away, or change their order.
_TAKE_AWAY = ("sort", "limit", "offset", "repartition")


@dataclass(frozen=True, slots=True)
class FrameRelations:
    """Reads DataFrames.

    Args:
        query, table: read a query of the session, and a name.
        place: where these stand.
    """

    query: Callable[[Select], Step]
    table: Callable[[tuple[str, ...]], Leaf | Step]
    place: Place

    def relation(self, message: Any) -> Leaf | Step:
        """What a message of the client stands for.

        Raises:
            UnknownOrigin: with the reason.
        """
        kind = str(message.WhichOneof("rel_type"))
        of_kind = getattr(message, kind)
        if kind == "read":
            return self.read(of_kind)
        if kind == "sql":
            return self.sql(of_kind)
        if kind == "subquery_alias":
            return self.relation(of_kind.input)
        if kind == "filter" or kind in _TAKE_AWAY:
            below = self.relation(of_kind.input)
            return Step(below, tuple(as_named(below.names)), gap=below.gap, whole=False, place=self.place)
        if kind == "project":
            return self.project(self.relation(of_kind.input), of_kind.expressions)
        if kind == "with_columns":
            return self.with_columns(self.relation(of_kind.input), of_kind.aliases)
        if kind == "with_columns_renamed":
            return self.renamed(self.relation(of_kind.input), of_kind)
        raise UnknownOrigin(f"a DataFrame with {kind}")

    def read(self, message: Any) -> Leaf | Step:
        """A table by its name."""
        if not message.HasField("named_table") or message.is_streaming or message.named_table.options:
            raise UnknownOrigin("a DataFrame of files, or of a table with options")
        parts = name_parts(message.named_table.unparsed_identifier)
        if parts is None:
            raise UnknownOrigin("a DataFrame of a table whose name cannot be read")
        return self.table(parts)

    def sql(self, message: Any) -> Step:
        """A query of the session."""
        if message.args or message.pos_args or message.named_arguments or message.pos_arguments:
            raise UnknownOrigin("a DataFrame of a query with arguments")
        try:
            # As the statement's own text is: Spark formats it.
            return self.query(plain_select(message.query.replace("{", "{{").replace("}", "}}")))
        except NotPlain as error:
            raise UnknownOrigin(f"{error} in a DataFrame's query") from None

    def project(self, below: Leaf | Step, expressions: Sequence[Any]) -> Step:
        """Columns that are picked."""
        columns: list[Column] = []
        gap: int | None = None
        for expression in expressions:
            if expression.WhichOneof("expr_type") == "unresolved_star":
                star = expression.unresolved_star
                if star.HasField("unparsed_target") or star.HasField("plan_id"):
                    raise UnknownOrigin("a DataFrame with the columns of another one")
                gap = len(columns) + below.gap if gap is None and below.gap is not None else gap
                columns += as_named(below.names)
            else:
                columns.append(self.column(below, expression))
        return self.step(below, columns, gap)

    def with_columns(self, below: Leaf | Step, aliases: Sequence[Any]) -> Step:
        """Columns that are added, or take others' places."""
        if below.gap is not None:
            raise UnknownOrigin("a DataFrame with columns added to some that are not known")
        columns = as_named(below.names)
        for alias in aliases:
            if len(alias.name) != 1 or alias.metadata:
                raise UnknownOrigin("a DataFrame with ambiguous columns")
            column = Column(alias.name[0], _below(below, alias.expr))
            same = [at for at, own in enumerate(columns) if folded(own.name or "") == folded(alias.name[0])]
            if len(same) > 1 or any(columns[at].name != alias.name[0] for at in same):
                raise UnknownOrigin("a DataFrame with ambiguous columns")
            if same:
                columns[same[0]] = column
            else:
                columns.append(column)
        return self.step(below, columns)

    def renamed(self, below: Leaf | Step, message: Any) -> Step:
        """Columns with other names, one after the other."""
        if message.rename_columns_map:
            raise UnknownOrigin("a DataFrame with columns renamed by an older client")
        names = list(below.names)
        for rename in message.renames:
            at = find(names, (rename.col_name,))
            if at is None or names[at] != rename.col_name:
                raise UnknownOrigin(f"a DataFrame with {rename.col_name} renamed")
            names[at] = rename.new_col_name
        return self.step(below, as_named(names), below.gap)

    def column(self, below: Leaf | Step, expression: Any) -> Column:
        """A column that is picked, as far as its message says what it is."""
        name = None
        if expression.WhichOneof("expr_type") == "alias":
            alias = expression.alias
            if len(alias.name) != 1:
                raise UnknownOrigin("a DataFrame with ambiguous columns")
            name, expression = alias.name[0], alias.expr
        at = _below(below, expression)
        if at is not None and name is None:
            parts = name_parts(expression.unresolved_attribute.unparsed_identifier)
            name = None if parts is None else parts[-1]
        return Column(name, at)

    def step(self, below: Leaf | Step, columns: Sequence[Column], gap: int | None = None) -> Step:
        """A DataFrame over another one. What is not read may make many rows of one."""
        repeats = any(column.below is None for column in columns)
        return Step(below, tuple(columns), gap=gap, repeats=repeats, place=self.place)


def _below(below: Leaf | Step, expression: Any) -> int | None:
    """The column that an expression is nothing but; None of others."""
    if expression.WhichOneof("expr_type") != "unresolved_attribute":
        return None
    own = expression.unresolved_attribute
    # With the number of a plan it may be a column of any DataFrame below.
    if own.HasField("plan_id") or own.is_metadata_column:
        return None
    parts = name_parts(own.unparsed_identifier)
    if parts is None or len(parts) != 1:
        return None
    at = find(below.names, parts)
    return at if at is not None and below.names[at] == parts[0] else None
