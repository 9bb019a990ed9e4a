"""Match-dependent conditions: from the user's text to the kernel's expression tree.

Whatever looks at one row inside them is still Spark's: it becomes a column, and the tree loads it where the match
points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlglot import exp

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.expressions import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    LABEL_COLUMN,
    NULL,
    ROW_COLUMN,
    STRING,
    AggregateSlot,
    Call,
    ConditionSlot,
    Constant,
    CurrentNumber,
    Expression,
    Load,
    NavigationSlot,
    NotCompilable,
    NumberSlot,
    RowValue,
    Type,
)
from sparkcep.planner.fields import Fields, quote, unescape
from sparkcep.query import (
    POSITION,
    PREFIX,
    WHOLE,
    Aggregate,
    MatchNumber,
    Navigation,
    PatternQuery,
    RowExpression,
    RowMarker,
    Scalar,
)
from sparkcep.settings import LIMIT_PAIRS
from sparkcep.sql.dialect import Token, pair_parentheses, parse_expression, tokenize

MAXIMUM_DEPTH = 100
_SLOT = PREFIX + "s"
_TEXT = PREFIX + "t"


_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=",
    exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>", exp.And: "and",
    exp.Or: "or",
}  # fmt: skip
_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Abs: "abs", exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length", exp.Trim: "trim",
    exp.ArrayMax: "array_max", exp.ArrayMin: "array_min", exp.ArraySize: "size", exp.ArrayContains: "array_contains",
    exp.Neg: "negate", exp.Not: "not",
}  # fmt: skip
#: Functions that are NULL when their argument is.
_STRICT = frozenset(
    """abs lower upper length char_length trim ltrim rtrim substring substr left right round bround floor ceil ceiling
    date_trunc trunc year quarter month day dayofmonth dayofweek dayofyear hour minute second weekofyear unix_timestamp
    unix_seconds unix_millis unix_micros to_date to_timestamp date cast double float int bigint string sqrt sign signum
    exp ln log log10 log2 reverse initcap""".split()
)
_NOT_FUNCTIONS = frozenset(
    "IN AND OR NOT WHEN THEN ELSE CASE BETWEEN LIKE ILIKE RLIKE IS ANY SOME ALL EXISTS ARRAY".split()
)


#: Calls over several rows that the condition program or the interpreter evaluates by itself.
_EVALUATED = frozenset(
    "ABS LOWER UPPER LENGTH TRIM ARRAY_MAX ARRAY_MIN SIZE ARRAY_CONTAINS NEGATIVE IF NULLIF COALESCE NVL IFNULL LEAST "
    "GREATEST DATEDIFF DATE_DIFF CONCAT ARRAY CAST TRY_CAST DOUBLE BIGINT".split()
)


@dataclass(slots=True)
class DependentConditions:
    """Collects the match-dependent part of all definitions: conditions, their slots and the fields they load."""

    query: PatternQuery
    fields: Fields
    column_types: Mapping[str, str] = field(default_factory=dict)
    limit_pairs: int = int(LIMIT_PAIRS.default)
    pairs: bool = False
    conditions: dict[int, Expression] = field(default_factory=dict)
    slots: list[ConditionSlot] = field(default_factory=list)
    registers: list[frozenset[int]] = field(default_factory=list)
    each: set[int] = field(default_factory=set)
    columns: list[int] = field(default_factory=list)
    descriptions: dict[int, list[str]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    def add(self, label: int, scalar: Scalar) -> None:
        """Add one conjunct of a variable's condition.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION.
        """
        try:
            condition = Conjunct(self, scalar.pieces).convert()
            if _depth(condition) > MAXIMUM_DEPTH:
                raise NotCompilable(f"more than {MAXIMUM_DEPTH} operations inside each other")
        except NotCompilable as error:
            raise self.unsupported(scalar, str(error)) from None
        except RecursionError:
            raise self.unsupported(scalar, f"more than {MAXIMUM_DEPTH} operations inside each other") from None
        earlier = self.conditions.get(label)
        self.conditions[label] = condition if earlier is None else Call("and", (earlier, condition))
        self.descriptions.setdefault(label, []).append(describe(scalar))

    def unsupported(self, scalar: Scalar, what: str) -> PatternAnalysisError:
        return PatternAnalysisError(
            "CEP_UNSUPPORTED_CONDITION",
            f"A condition that depends on the match cannot use {what}.",
            text=self.query.text or None,
            position=scalar.position,
            hint="compute it as a column of the input, or compare values of one row at a time",
        )

    def register(self, variables: tuple[str, ...] | None, each: bool = False) -> int:
        """The register of these variables' rows; with ``each`` one of its own, which a condition goes through."""
        labels = self.labels or self.query.labels
        of = frozenset(range(len(labels)) if variables is None else (labels.index(v) for v in variables))
        for g, other in enumerate(self.registers):
            if other == of and (g in self.each) == each:
                return g
        self.registers.append(of)
        if each:
            self.each.add(len(self.registers) - 1)
        return len(self.registers) - 1

    def column(self, text: str) -> int:
        """Kernel column that holds a row expression."""
        if text == POSITION:
            return ROW_COLUMN
        number = self.fields.add(text)
        if number not in self.columns:
            self.columns.append(number)
        return self.columns.index(number)

    def slot(self, slot: ConditionSlot) -> Load:
        if slot not in self.slots:
            self.slots.append(slot)
        return Load(self.slots.index(slot))


def _depth(node: Expression) -> int:
    deepest, stack = 0, [(node, 1)]
    while stack:
        at, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(at, Call):
            stack.extend((a, depth + 1) for a in at.arguments)
    return deepest


def describe(scalar: Scalar) -> str:
    """A conjunct for EXPLAIN, slots written out."""
    return unescape("".join(p if isinstance(p, str) else describe_slot(p) for p in scalar.pieces))


def describe_slot(slot: object) -> str:
    if isinstance(slot, MatchNumber):
        return "MATCH_NUMBER()"
    if isinstance(slot, Aggregate):
        inner = "*" if slot.star else ", ".join(a.text for a in slot.arguments)
        of = "" if slot.variables is None else " of " + "|".join(slot.variables)
        return f"{slot.function}({'DISTINCT ' if slot.distinct else ''}{inner}{of})"
    assert isinstance(slot, Navigation)
    text = slot.argument.text.replace(PREFIX + "label", "CLASSIFIER()")
    if slot.variables is not None:
        text = "|".join(slot.variables) + "." + text
    if slot.from_first or slot.logical:
        text = f"{'FIRST' if slot.from_first else 'LAST'}({text}{f', {slot.logical}' if slot.logical else ''})"
    if slot.physical:
        text = f"{'PREV' if slot.physical < 0 else 'NEXT'}({text}, {abs(slot.physical)})"
    return text


class Conjunct:
    """Turns one expression (pieces of text and slots) into the kernel's tree.

    ``in_row`` is set for the argument of an aggregate or a navigation: columns are then those of the row at hand.
    """

    def __init__(self, owner: DependentConditions, pieces: Sequence[object], in_row: bool = False) -> None:
        self.owner = owner
        self.in_row = in_row
        self.slots: list[object] = []
        self.texts: list[str] = []
        text = ""
        for p in pieces:
            if isinstance(p, str):
                text += unescape(p)
            else:
                text += f" {_SLOT}{len(self.slots)} "
                self.slots.append(p)
        self.text = text
        self.loads: dict[str, Expression] = {}

    def convert(self) -> Expression:
        self.text = self.lift(self.text)
        tree = parse_expression(self.text)
        if tree is None:
            raise NotCompilable(f"the expression {self.text.strip()!r}, which cannot be read")
        return self.node(tree)

    # Spark evaluates what it can: literals with types of their own, and calls over one row.

    def lift(self, text: str) -> str:
        """Replace what Spark can evaluate row by row with names; fills ``loads``."""
        tokens = tokenize(text)
        pairs = pair_parentheses(tokens)
        edits: list[tuple[int, int, str]] = []
        i = 0
        while i < len(tokens):
            end = self.constant_end(tokens, pairs, i)
            if end is not None:
                source = text[tokens[i].start : tokens[end - 1].end]
                edits.append((tokens[i].start, tokens[end - 1].end, self.name(self.row_value(source))))
                i = end
                continue
            if (shifted := self.interval_sum(text, tokens, pairs, i)) is not None:
                value, end = shifted
                edits.append((tokens[i].start, tokens[end - 1].end, self.name(value)))
                i = end
                continue
            if (access := self.element_access(text, tokens, i)) is not None:
                value, end = access
                edits.append((tokens[i].start, tokens[end - 1].end, self.name(value)))
                i = end
                continue
            if (
                tokens[i].kind == "word"
                and i + 1 in pairs
                and tokens[i + 1].upper == "("
                and tokens[i].upper not in _NOT_FUNCTIONS
                and not (i and tokens[i - 1].upper == ".")
            ):
                close = pairs[i + 1]
                lifted = self.lift_call(text, tokens[i : close + 1])
                if lifted is not None:
                    edits.append((tokens[i].start, tokens[close].end, self.name(lifted)))
                    i = close + 1
                    continue
            i += 1
        for start, stop, new in reversed(edits):
            text = text[:start] + new + text[stop:]
        return text

    def name(self, value: Expression) -> str:
        name = f"{_TEXT}{len(self.loads)}"
        self.loads[name] = value
        return f" {name} "

    def constant_end(self, tokens: Sequence[Token], pairs: dict[int, int], i: int) -> int | None:
        """End of an INTERVAL, DATE or TIMESTAMP literal, a parameter or a subquery that begins at a token."""
        t = tokens[i]
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        if following is None:
            return None
        if t.upper == "INTERVAL" and following.kind in ("number", "string"):
            end = i + 2
            while end < len(tokens) and (
                tokens[end].upper in _INTERVAL_WORDS or (tokens[end].kind in ("number", "string") and end > i + 2)
            ):
                end += 1
            return end
        if t.upper in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X") and following.kind == "string":
            return i + 2
        if t.upper == ":" and following.kind == "word" and (i == 0 or _wants_operand(tokens[i - 1])):
            return i + 2
        if t.upper == "{" and i + 2 < len(tokens) and tokens[i + 2].upper == "}":
            return i + 3
        if t.upper == "(" and following.upper in ("SELECT", "WITH", "VALUES", "FROM") and i in pairs:
            return pairs[i] + 1
        return None

    def interval_sum(
        self, text: str, tokens: Sequence[Token], pairs: dict[int, int], i: int
    ) -> tuple[Expression, int] | None:
        """`A.ts + INTERVAL 1 DAY`: Spark adds in local time, and needs one row to do so."""
        if tokens[i].kind not in ("word", "quoted") or (i and tokens[i - 1].upper in _BINDS_TIGHTER):
            return None
        if i + 3 >= len(tokens) or tokens[i + 1].upper not in ("+", "-") or tokens[i + 2].upper != "INTERVAL":
            return None
        end = self.constant_end(tokens, pairs, i + 2)
        lifted = None if end is None else self.lift_call(text, tokens[i:end], strict=True)
        return None if lifted is None or end is None else (lifted, end)

    def element_access(self, text: str, tokens: Sequence[Token], i: int) -> tuple[Expression, int] | None:
        """`column[...]`, `A.column.field[...]` and the like: one row's value, so Spark's."""
        if tokens[i].kind not in ("word", "quoted") or (i and tokens[i - 1].upper == "."):
            return None
        end, brackets = i + 1, False
        while end < len(tokens):
            if tokens[end].upper == "." and end + 1 < len(tokens):
                end += 2
            elif tokens[end].upper == "[":
                depth = 0
                while end < len(tokens):
                    depth += {"[": 1, "]": -1}.get(tokens[end].upper, 0)
                    end += 1
                    if depth == 0:
                        break
                brackets = True
            else:
                break
        if not brackets:
            return None
        lifted = self.lift_call(text, tokens[i:end], strict=True)
        return None if lifted is None else (lifted, end)

    def row_value(self, text: str, slot: Navigation | None = None) -> Expression:
        """A load of a row expression: at the row at hand, at the tested row, or where a navigation points."""
        # `{name}` alone is the user's keyword argument; Spark is to fill it in.
        is_field = text.startswith("{")
        column = self.owner.column(text if is_field else text.replace("{", "{{").replace("}", "}}"))
        if self.in_row:
            return RowValue(column)
        if slot is None:
            return self.owner.slot(NavigationSlot(self.owner.register(None), False, 0, 0, column))
        return self.owner.slot(
            NavigationSlot(
                self.owner.register(slot.variables, slot.each), slot.from_first, slot.logical, slot.physical, column
            )
        )

    def lift_call(self, text: str, tokens: Sequence[Token], strict: bool = False) -> Expression | None:
        """A call whose arguments are all of one row becomes a column that Spark computes.

        ``strict``: it is known to be NULL where its operand is.
        """
        slots: set[tuple[object, ...]] = set()
        bare = False
        found: list[tuple[Token, Navigation]] = []
        for k, t in enumerate(tokens):
            if t.upper in ("SELECT", "->"):
                return None
            if t.kind not in ("word", "quoted"):
                continue
            if t.kind == "word" and t.text.startswith(_SLOT) and t.text[len(_SLOT) :].isdigit():
                slot = self.slots[int(t.text[len(_SLOT) :])]
                if not isinstance(slot, Navigation) or slot.argument.markers:
                    return None
                slots.add(_place(slot))
                found.append((t, slot))
            elif self.owner.fields.column_of(quote(t.text)) is not None:
                named = k and tokens[k - 1].upper in (".", "AS", "{")
                calls = k + 1 < len(tokens) and tokens[k + 1].upper == "("
                bare = bare or not (named or calls)
        if len(slots) + bare > 1:
            return self.pair(text, tokens, found, bare)
        if not slots:
            return self.row_value(text[tokens[0].start : tokens[-1].end])
        navigation = found[0][1]
        value = self.row_value(_filled(text, tokens, found, _argument), navigation)
        if strict or _is_strict(tokens):
            return value
        # Where the navigation points nowhere its columns are NULL, but the call need not be.
        there = self.row_value("true", navigation)
        return Call(
            "case", (Call("isnull", (there,)), self.row_value(_filled(text, tokens, found, _no_argument)), value)
        )

    def pair(
        self, text: str, tokens: Sequence[Token], found: Sequence[tuple[Token, Navigation]], bare: bool
    ) -> Expression | None:
        """A call over two rows of the match: Spark evaluates it for every pair of rows of the partition.

        One row's column holds an array, with a value for each row that may be the other.
        """
        rows = {_place(slot): slot for _, slot in found}
        if self.in_row or len(rows) + bare != 2 or tokens[0].upper in _EVALUATED:
            return None
        *firsts, other = rows.values()
        own = firsts[0] if firsts else None  # None: the tested row

        def nowhere(*gone: Navigation) -> str:
            """The call where navigations point at no row."""
            places = set(map(_place, gone))
            return _filled(text, tokens, found, lambda s: _no_argument(s) if _place(s) in places else _argument(s))

        self.owner.pairs = True
        arguments = list(dict.fromkeys(_argument(s) for _, s in found if _place(s) == _place(other)))
        names = {argument: f"a{k}" for k, argument in enumerate(arguments)}
        listed = f"collect_list(struct({', '.join(f'{a} AS {n}' for a, n in names.items())})) OVER {WHOLE}"

        def of_pair(slot: Navigation) -> str:
            argument = _argument(slot)
            return f"{PREFIX}q.{names[argument]}" if _place(slot) == _place(other) else argument

        limit = self.owner.limit_pairs
        message = f"[CEP_PAIR_LIMIT] A partition has more than {limit} rows ({LIMIT_PAIRS.key})."
        every = f"transform({listed}, {PREFIX}q -> {_filled(text, tokens, found, of_pair)})"
        guarded = f"CASE WHEN count(1) OVER {WHOLE} <= {limit} THEN {every} ELSE raise_error('{message}') END"
        where = NavigationSlot(
            self.owner.register(other.variables, other.each),
            other.from_first,
            other.logical,
            other.physical,
            ROW_COLUMN,
        )
        value: Expression = Call("element", (self.row_value(guarded, own), self.owner.slot(where)))
        there = self.row_value("true", other)
        value = Call("case", (Call("isnull", (there,)), self.row_value(nowhere(other), own), value))
        if own is not None:
            absent = Call("isnull", (self.row_value("true", own),))
            both = Call(
                "case",
                (Call("isnull", (there,)), self.row_value(nowhere(own, other)), self.row_value(nowhere(own), other)),
            )
            value = Call("case", (absent, both, value))
        return value

    # -- the tree --------------------------------------------------------------------------------------------------

    def node(self, tree: exp.Expr) -> Expression:
        if isinstance(tree, exp.Paren):
            return self.node(tree.this)
        if isinstance(tree, (exp.Column, exp.Dot)):
            return self.column(tree)
        if isinstance(tree, exp.Literal):
            return literal(tree)
        if isinstance(tree, exp.Boolean):
            return Constant(bool(tree.this), BOOLEAN)
        if isinstance(tree, exp.Null):
            return Constant(None, NULL)
        if isinstance(tree, (exp.And, exp.Or)):
            return self.chain(tree)
        if tree.args.get("negate"):  # NOT LIKE
            positive = tree.copy()
            positive.set("negate", None)
            return Call("not", (self.node(positive),))
        name = _BINARY.get(type(tree))
        if isinstance(tree, exp.Sub):
            return Call("-", (self.local_time(self.node(tree.this)), self.local_time(self.node(tree.expression))))
        if name is not None:
            return Call(name, (self.node(tree.this), self.node(tree.expression)))
        if isinstance(tree, (exp.Cast, exp.TryCast)):
            return self.cast(tree)
        if isinstance(tree, exp.Trim) and (tree.args.get("position") or tree.args.get("expression")):
            raise NotCompilable("TRIM with options over several rows of the match")
        if type(tree) in _FUNCTIONS:
            rest = [tree.args["expression"]] if tree.args.get("expression") is not None else []
            return Call(_FUNCTIONS[type(tree)], tuple(self.node(a) for a in (tree.this, *rest)))
        return self.construct(tree)

    def chain(self, tree: exp.Expr) -> Expression:
        """A run of ANDs or ORs as a balanced tree, so that long ones do not nest deeply."""
        kind = type(tree)
        operands: list[Expression] = []
        stack: list[exp.Expr] = [tree]
        while stack:
            at = stack.pop()
            if type(at) is kind:
                stack += [at.expression, at.this]
            else:
                operands.append(self.node(at))
        while len(operands) > 1:
            pairs = [operands[k : k + 2] for k in range(0, len(operands), 2)]
            operands = [Call(_BINARY[kind], (p[0], p[1])) if len(p) == 2 else p[0] for p in pairs]
        return operands[0]

    def local_time(self, value: Expression) -> Expression:
        """Spark subtracts timestamps by the session's local time: a timestamp column as TIMESTAMP_NTZ."""
        slot = self.owner.slots[value.slot] if isinstance(value, Load) else None
        if not isinstance(slot, NavigationSlot) or slot.argument is not None or slot.column == LABEL_COLUMN:
            return value
        text = self.owner.fields.texts[self.owner.columns[slot.column]]
        if self.owner.column_types.get(self.owner.fields.column_of(text) or "") != "timestamp":
            return value
        return self.owner.slot(replace(slot, column=self.owner.column(f"CAST({text} AS TIMESTAMP_NTZ)")))

    def construct(self, tree: exp.Expr) -> Expression:
        if isinstance(tree, exp.Is):
            value = self.node(tree.this)
            if isinstance(tree.expression, exp.Null):
                return Call("isnull", (value,))
            if isinstance(tree.expression, exp.Boolean):
                return Call("<=>", (value, Constant(bool(tree.expression.this), BOOLEAN)))
        if isinstance(tree, exp.NullSafeNEQ):
            return Call("not", (Call("<=>", (self.node(tree.this), self.node(tree.expression))),))
        if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
            value = self.node(tree.this)
            low = Call(">=", (value, self.node(tree.args["low"])))
            return Call("and", (low, Call("<=", (value, self.node(tree.args["high"])))))
        if isinstance(tree, exp.In) and tree.expressions and not tree.args.get("query"):
            return Call("in", (self.node(tree.this), *map(self.node, tree.expressions)))
        if isinstance(tree, exp.Like):
            return Call("like", (self.node(tree.this), self.node(tree.expression)))
        if isinstance(tree, exp.Escape) and isinstance(tree.this, exp.Like):
            like = tree.this
            value = Call("like", (self.node(like.this), self.node(like.expression)), extra=tree.expression.name)
            return Call("not", (value,)) if like.args.get("negate") else value
        if isinstance(tree, exp.Case):
            return self.case(tree)
        if isinstance(tree, exp.If):
            no = tree.args.get("false")
            default = self.node(no) if no is not None else Constant(None, NULL)
            return Call("case", (self.node(tree.this), self.node(tree.args["true"]), default))
        if isinstance(tree, exp.Nullif):
            value = self.node(tree.this)
            return Call("case", (Call("=", (value, self.node(tree.expression))), Constant(None, NULL), value))
        if isinstance(tree, (exp.Coalesce, exp.Least, exp.Greatest)):
            name = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}[type(tree)]
            return Call(name, (self.node(tree.this), *map(self.node, tree.expressions)))
        if isinstance(tree, exp.DateDiff) and not tree.args.get("unit"):
            ends = (_dropped_cast(tree.this), _dropped_cast(tree.expression))
            return Call("datediff", tuple(map(self.node, ends)))
        if type(tree) is exp.Concat:
            return Call("concat", tuple(map(self.node, tree.expressions)))
        if isinstance(tree, exp.DPipe):
            return Call("concat", (self.node(tree.this), self.node(tree.expression)))
        if isinstance(tree, exp.Array):
            return Call("array", tuple(map(self.node, tree.expressions)))
        raise NotCompilable(what(tree))

    def case(self, tree: exp.Case) -> Expression:
        subject = self.node(tree.this) if tree.this is not None else None
        out: list[Expression] = []
        for branch in tree.args["ifs"]:
            test = self.node(branch.this)
            out.append(test if subject is None else Call("=", (subject, test)))
            out.append(self.node(branch.args["true"]))
        default = tree.args.get("default")
        return Call("case", (*out, self.node(default) if default is not None else Constant(None, NULL)))

    def cast(self, tree: exp.Cast) -> Expression:
        to = tree.to.this
        value = tree.this
        if isinstance(value, exp.Literal) and not value.is_string:  # 1.5D, 10L
            if to == exp.DType.DOUBLE:
                return Constant(float(value.name), DOUBLE)
            if to == exp.DType.BIGINT:
                return Constant(int(value.name), BIGINT)
        if to in (exp.DType.DOUBLE, exp.DType.BIGINT):
            return Call("cast_double" if to == exp.DType.DOUBLE else "cast_bigint", (self.node(value),))
        raise NotCompilable(f"CAST to {tree.to.sql()} over several rows of the match")

    def column(self, tree: exp.Expr) -> Expression:
        parts = [p.name for p in tree.parts] if isinstance(tree, exp.Column) else []
        if isinstance(tree, exp.Dot):
            at: exp.Expr = tree
            while isinstance(at, exp.Dot):
                parts.insert(0, at.expression.name)
                at = at.this
            parts = [p.name for p in at.parts] + parts if isinstance(at, exp.Column) else []
        if not parts:
            raise NotCompilable(what(tree))
        first = parts[0]
        path = "".join("." + quote(p) for p in parts[1:])
        if first in self.loads and not path:
            return self.loads[first]
        if first.startswith(_SLOT) and first[len(_SLOT) :].isdigit():
            return self.slot(self.slots[int(first[len(_SLOT) :])], path)
        if first.startswith(_TEXT):
            raise NotCompilable("a field of a computed value")
        return self.row_value(unescape(quote(first) + path))

    def slot(self, slot: object, path: str) -> Expression:
        if isinstance(slot, RowMarker):
            return RowValue(LABEL_COLUMN) if slot is RowMarker.LABEL else CurrentNumber()
        if isinstance(slot, MatchNumber):
            return self.owner.slot(NumberSlot())
        if isinstance(slot, Aggregate):
            arguments = tuple(self.argument(a) for a in slot.arguments)
            keep = self.argument(slot.filter) if slot.filter is not None else None
            register = self.owner.register(slot.variables, slot.each)
            return self.owner.slot(AggregateSlot(slot.function, register, arguments, slot.distinct, keep, slot.before))
        assert isinstance(slot, Navigation)
        if not slot.argument.markers:
            text = unescape(slot.argument.text)
            return self.row_value(f"({text}){unescape(path)}" if path else text, slot)
        where = (self.owner.register(slot.variables), slot.from_first, slot.logical, slot.physical)
        if slot.argument.is_label:
            return self.owner.slot(NavigationSlot(*where, LABEL_COLUMN))
        return self.owner.slot(NavigationSlot(*where, LABEL_COLUMN, self.argument(slot.argument)))

    def argument(self, argument: RowExpression) -> Expression:
        """An argument over one row: Spark's whole where it needs no label, else converted."""
        inner = Conjunct(self.owner, argument.pieces, in_row=True)
        if argument.markers:
            return inner.convert()
        return inner.row_value(unescape(argument.text))


def _place(slot: Navigation) -> tuple[object, ...]:
    """Which row a navigation points at."""
    return slot.variables, slot.from_first, slot.logical, slot.physical, slot.each


def _argument(slot: Navigation) -> str:
    return f"({unescape(slot.argument.text)})"


def _no_argument(slot: Navigation) -> str:
    """A NULL of the argument's type."""
    return f"if(false, {_argument(slot)}, NULL)"


def _filled(
    text: str,
    tokens: Sequence[Token],
    found: Sequence[tuple[Token, Navigation]],
    form: Callable[[Navigation], str],
) -> str:
    """Text of some tokens with the slots among them written out."""
    out, at = "", tokens[0].start
    for t, slot in found:
        out += text[at : t.start] + form(slot)
        at = t.end
    return out + text[at : tokens[-1].end]


def _wants_operand(token: Token) -> bool:
    """Whether an operand must follow a token."""
    if token.kind == "op":
        return token.upper not in (")", "]")
    return token.upper in ("AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "WHEN", "THEN", "ELSE", "CASE", "DIV")


def _is_strict(tokens: Sequence[Token]) -> bool:
    """Whether a call is NULL where its operand is: all its functions are, and no operator takes a NULL."""
    for k, t in enumerate(tokens):
        if t.upper in ("IS", "CASE", "AND", "OR", "IN", "<=>", "EXISTS"):
            return False
        # A type with arguments, as in CAST(x AS DECIMAL(10, 2)), is no function.
        calls = k + 1 < len(tokens) and tokens[k + 1].upper == "(" and not (k and tokens[k - 1].upper == "AS")
        if t.kind == "word" and calls and t.text.lower() not in _STRICT:
            return False
    return True


def _dropped_cast(tree: exp.Expr) -> exp.Expr:
    """sqlglot wraps datediff's operands in casts of its own; operands must be dates as they are."""
    return tree.this if isinstance(tree, exp.TsOrDsToDate) else tree


_BINDS_TIGHTER = frozenset({".", "+", "-", "*", "/", "%", "||"})
_INTERVAL_WORDS = frozenset(
    "TO NANOSECOND NANOSECONDS MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS SECOND SECONDS MINUTE MINUTES HOUR "
    "HOURS DAY DAYS WEEK WEEKS MONTH MONTHS QUARTER QUARTERS YEAR YEARS".split()
)


def literal(tree: exp.Literal) -> Constant:
    """A literal with Spark's type: int, bigint, decimal or double."""
    text = tree.name
    if tree.is_string:
        return Constant(text, STRING)
    if text.isdigit():
        value = int(text)
        if value < 2**31:
            return Constant(value, INT)
        if value < 2**63:
            return Constant(value, BIGINT)
        return Constant(Decimal(value), Type("decimal", len(text), 0))
    if "e" in text.lower():
        return Constant(float(text), DOUBLE)
    number = Decimal(text)
    digits = number.as_tuple()
    scale = max(0, -int(digits.exponent))
    return Constant(number, Type("decimal", max(len(digits.digits), scale), scale))


def what(tree: exp.Expr) -> str:
    """How to name a construct in an error."""
    if isinstance(tree, exp.Anonymous):
        return f"the function {tree.name}"
    if isinstance(tree, exp.Func):
        return f"the function {tree.sql_name().lower()}"
    return {"Bracket": "element access", "Subquery": "a subquery", "Lambda": "a lambda function"}.get(
        type(tree).__name__, type(tree).__name__
    )
