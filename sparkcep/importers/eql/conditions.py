"""Conditions of EQL as SQL over one event of a pattern.

A comparison with a field that has no value is false in EQL, and `not` makes it true ("Otherwise returns false", says
Elastic's EQL syntax reference), where SQL has NULL: behind NOT stands what turns NULL into false. A comparison with a
list holds if it holds for one of its elements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sparkcep.importers.eql.nodes import Call, Expression, Field, Literal, Logical, Lookup, Not, Operation, fields_in
from sparkcep.importers.event_schema import Column, EventSchema
from sparkcep.importers.literals import literal, string
from sparkcep.importers.problems import NotImported
from sparkcep.importers.truths import ALWAYS, NEVER, Truth, joined, negated, one_of, whole_text
from sparkcep.sql.text_tests import network, wildcards_inside

_ELEMENT = "x"
_TEXTS = ("concat", "string", "substring")
_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*"}
#: In regular expressions: escapes of letters, quantifiers behind quantifiers, `(?`, intersections of classes.
_OTHERWISE = re.compile(r"(?<!\\)(?:\\\\)*\\\w|(?<!\\)[*+?}][+?]|(?<!\\)\(\?|&&")
_OPERATORS = ("+", "-", "*", "/", "%")
_TESTS = {"startswith": "startswith", "endswith": "endswith", "stringcontains": "contains"}


@dataclass(frozen=True, slots=True)
class Conditions:
    """Writes conditions on a pattern's variable.

    Args:
        schema: the log's columns. variable: of the pattern. elements: lists of which one element is meant, by name.
    """

    schema: EventSchema
    variable: str
    elements: Mapping[str, Column] = field(default_factory=dict)

    # -- truth -----------------------------------------------------------------------------------------------------

    def conjuncts(self, node: Expression) -> list[str]:
        """Conditions that hold together where an expression is true; none where it always is.

        Raises:
            NotImported: SQL has no counterpart, or the log no such column.
        """
        if isinstance(node, Logical) and node.operator == "and":
            found = [text for operand in node.operands for text in self.conjuncts(operand)]
            return [NEVER] if NEVER in found else found
        text, _ = self.condition(node)
        return [] if text == ALWAYS else [text]

    def condition(self, node: Expression) -> Truth:
        """SQL of a truth, and whether it may be NULL."""
        if (truth := _truth(node)) is not None:
            return self.condition(truth)
        match node:
            case Logical(operator=operator, operands=operands):
                return joined(operator.upper(), [self.condition(operand) for operand in operands])
            case Not(operand=operand) if (truth := _truth(operand)) is not None:
                return self.condition(Not(truth))
            case Not(operand=Operation(operator="==", left=left, right=right) as equal):
                return self.differs(equal, left, right)
            case Not(operand=operand):
                return negated(*self.condition(operand))
            case Literal(value=bool() as value):
                return literal(value), False
            case Operation(operator="!=", left=left, right=right):
                return self.condition(Not(replace(node, operator="==")))
            case _:
                return self.of_one_element(node)

    def differs(self, equal: Operation, left: Expression, right: Expression) -> Truth:
        """`not ==`."""
        scalar = isinstance(left, Field) and self.known(left).sql and not self.known(left).is_array
        if scalar and isinstance(right, Literal) and right.value is not None and self.comparable(left, right):
            return f"{self.value(left)} IS DISTINCT FROM {self.beside(left, right)}", False
        return negated(*self.of_one_element(equal))

    def of_one_element(self, node: Expression) -> Truth:
        """A test, of one element of a list where it has one."""
        fields = {f.name: f for f in fields_in(node)}
        if not fields:
            raise NotImported("a condition on no field")
        tested = _null_test(node)
        if not all(self.known(f).sql for f in fields.values()):  # of a field that the log does not have
            return (NEVER if tested is None else ALWAYS), False
        lists = [f for f in fields.values() if self.known(f).is_array]
        if not lists:
            return self.test(node)
        is_compared = isinstance(node, Operation) and isinstance(node.left, Call) and self.kind(node.left) == "boolean"
        if len(lists) > 1 or (tested is not None and not isinstance(tested, Field)) or is_compared:
            raise NotImported(f"a comparison of {' and '.join(f.name for f in lists)} by more than its elements")
        whole = self.value(lists[0])
        if tested is not None:
            return f"coalesce(size(array_compact({whole})), 0) <= 0", False
        inner = replace(self, elements={lists[0].name: Column(_ELEMENT, self.known(lists[0]).kind)})
        text, _ = inner.test(node)
        return (text, False) if text == NEVER else (f"exists({whole}, {_ELEMENT} -> {text})", True)

    def test(self, node: Expression) -> Truth:
        """A comparison, a lookup, a function or a field that is true or false."""
        match node:
            case Operation(operator=operator, left=left, right=right) if operator in ("==", "<", "<=", ">", ">="):
                if (tested := _null_test(node)) is not None:
                    return f"{self.value(tested)} IS NULL", False
                return self.compared("=" if operator == "==" else operator, left, right)
            case Lookup():
                text = self.looked_up(node)
                return text, text != NEVER
            case Call(function=function) if function in _TESTS or function == "cidrmatch":
                text = self.value(node)
                return text, text != NEVER
            case Field() if self.known(node).kind in ("boolean", ""):
                return self.value(node), True
        raise NotImported("a condition that is neither true nor false")

    # -- comparisons -----------------------------------------------------------------------------------------------

    def compared(self, operator: str, left: Expression, right: Expression) -> Truth:
        """A comparison; false where a value cannot be one of the column.

        Raises:
            NotImported: both sides read a field.
        """
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, right = right, left
            operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        if any(fields_in(left)) and any(fields_in(right)):
            raise NotImported("a comparison of two fields")
        if not self.comparable(left, right):
            return NEVER, False
        return f"{self.value(left)} {operator} {self.beside(left, right)}", True

    def comparable(self, left: Expression, right: Expression) -> bool:
        """Whether a value can be one of a column, as Elasticsearch reads values by the column's type."""
        try:
            self.beside(left, right)
        except ValueError:
            return False
        return True

    def kind(self, node: Expression) -> str:
        """string, number or boolean; empty where that is not known."""
        match node:
            case Field():
                return self.known(node).kind
            case Literal(value=value):
                return "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
            case Operation(operator=operator) if operator in _OPERATORS:
                return "number"
            case Call(function=function):
                return "string" if function in _TEXTS else "boolean" if function in (*_TESTS, "cidrmatch") else "number"
        return "boolean"

    def beside(self, left: Expression, right: Expression) -> str:
        """The right side of a comparison, as the type of a column on the left side has it.

        Raises:
            ValueError: it is no such value.
        """
        kind = self.kind(left)
        if not isinstance(right, Literal) or not kind:
            return self.value(right)
        value = right.value
        if not isinstance(left, Field) and kind != self.kind(right):
            raise ValueError(value)
        if kind == "string" and isinstance(value, (int, float)):
            return string(literal(value))
        if kind == "number" and isinstance(value, str):
            number = float(value) if not value.lstrip("-").isdigit() else int(value)
            if not math.isfinite(number):
                raise ValueError(value)
            return literal(number)
        if kind == "boolean" and isinstance(value, str):
            if value not in ("true", "false"):
                raise ValueError(value)
            return value
        return literal(value)

    def looked_up(self, node: Lookup) -> str:
        """`like`, `regex` and `in`."""
        values = [v for v in node.values if isinstance(v, Literal)]
        if len(values) < len(node.values) or (node.operator != "in" and any(v.value is None for v in values)):
            raise NotImported(f"{node.operator} with something else than values")
        if node.operator == "in":
            return self.one_of(node, values)
        left, texts = self.text(node.left), [v.value if isinstance(v.value, str) else literal(v.value) for v in values]
        if node.operator == "regex":
            return whole_text(left, map(_java, texts), ignores_case=node.ignores_case)
        if not any("*" in text or "?" in text for text in texts):
            if not node.ignores_case:
                return f"{left} {one_of(list(map(string, texts)))}"
            return f"lower({left}) {one_of([string(text.lower()) for text in texts])}"
        if node.ignores_case:
            return f"wildcard_match({left}, {', '.join(map(string, texts))})"
        return whole_text(left, map(wildcards_inside, texts), ignores_case=False)

    def one_of(self, node: Lookup, values: Sequence[Literal]) -> str:
        """`in`, of which null is a value like others."""
        known = [v for v in values if v.value is not None and self.comparable(node.left, v)]
        left = self.value(node.left)
        parts = [f"{left} IS NULL"] if any(v.value is None for v in values) else []
        folded = [v for v in known if node.ignores_case and isinstance(v.value, str)]
        others = [v for v in known if v not in folded]
        if folded:
            parts.append(f"lower({left}) {one_of([string(str(v.value).lower()) for v in folded])}")
        if others:
            parts.append(f"{left} {one_of([self.beside(node.left, v) for v in others])}")
        return joined("OR", [(part, True) for part in parts])[0]

    # -- values ----------------------------------------------------------------------------------------------------

    def known(self, node: Field) -> Column:
        """The column of a field.

        Raises:
            NotImported: the log has none, and the field is not optional.
        """
        if node.name in self.elements:
            return self.elements[node.name]
        if node.optional and self.schema.column(node.parts) is None:
            return Column("")
        column = self.schema.existing(node.parts)
        if column.kind == "struct":
            raise NotImported(f"{node.name} is a struct")
        return column

    def value(self, node: Expression) -> str:
        """SQL of a value."""
        match node:
            case Literal(value=value):
                return literal(value)
            case Field():
                column = self.known(node)
                if node.name in self.elements:
                    return column.sql
                return f"{self.variable}.{column.sql}" if column.sql else "NULL"
            case Operation(operator=operator, left=left, right=right) if operator in _ARITHMETIC.values():
                if not {self.kind(left), self.kind(right)} <= {"number", ""}:
                    raise NotImported(f"the operator {operator} on something else than numbers")
                return f"({self.value(left)} {operator} {self.value(right)})"
            case Operation(operator="/" | "%" as operator):
                raise NotImported(f"the operator {operator}")
            case Call():
                return self.called(node)
        return self.condition(node)[0]

    def text(self, node: Expression) -> str:
        """A value as text."""
        if isinstance(node, Literal) and node.value is not None:
            return string(node.value if isinstance(node.value, str) else literal(node.value))
        is_text = isinstance(node, Field) and self.known(node).kind in ("string", "")
        return self.value(node) if is_text or isinstance(node, Call) else f"CAST({self.value(node)} AS STRING)"

    def called(self, node: Call) -> str:
        """A function's value.

        Raises:
            NotImported: SQL has no counterpart.
        """
        function, arguments = node.function, node.arguments
        if function in _ARITHMETIC and len(arguments) == 2:
            return self.value(Operation(_ARITHMETIC[function], arguments[0], arguments[1], node.position))
        if function in _TESTS and len(arguments) == 2:
            return self.tested(node, *arguments)
        if function == "cidrmatch" and len(arguments) > 1:
            return f"cidr_match({self.text(arguments[0])}, {', '.join(map(string, _ranges(arguments[1:])))})"
        if function == "length" and len(arguments) == 1:
            return f"length({self.text(arguments[0])})"
        if function == "string" and len(arguments) == 1:
            return f"CAST({self.value(arguments[0])} AS STRING)"
        if function == "concat":
            return f"concat({', '.join(map(self.text, arguments))})"
        if function == "substring" and len(arguments) in (2, 3):
            return self.substring(node)
        raise NotImported(f"the function {function}")

    def tested(self, node: Call, text: Expression, part: Expression) -> str:
        """startsWith, endsWith and stringContains, which nothing is in that is empty."""
        if node.function == "stringcontains" and isinstance(part, Literal) and not part.value:
            return NEVER
        arguments = ", ".join(f"lower({self.text(a)})" if node.ignores_case else self.text(a) for a in (text, part))
        return f"{_TESTS[node.function]}({arguments})"

    def substring(self, node: Call) -> str:
        """Positions count from 0, negative ones from the end."""
        places = [_whole_number(a) for a in node.arguments[1:]]
        text = self.text(node.arguments[0])
        if len(places) == 1:
            return f"substring({text}, {places[0] + 1})" if places[0] >= 0 else f"right({text}, {-places[0]})"
        if places[0] < 0 or places[1] < 0:
            raise NotImported("substring with an end, counted from the end of a text")
        return f"substring({text}, {places[0] + 1}, {max(0, places[1] - places[0])})"


def _truth(node: Expression) -> Expression | None:
    """What a truth compared with true or false says."""
    if isinstance(node, Operation) and node.operator == "==" and isinstance(node.right, Literal):
        is_truth = isinstance(node.left, (Logical, Not, Lookup)) or (
            isinstance(node.left, Operation) and node.left.operator not in _OPERATORS
        )
        if is_truth and isinstance(node.right.value, bool):
            return node.left if node.right.value else Not(node.left)
    return None


def _null_test(node: Expression) -> Expression | None:
    """What is compared with null."""
    if not isinstance(node, Operation) or node.operator != "==":
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(other, Literal) and other.value is None:
            return one
    return None


def _whole_number(node: Expression) -> int:
    sign = 1
    if isinstance(node, Operation) and node.operator == "-" and isinstance(node.left, Literal) and node.left.value == 0:
        sign, node = -1, node.right
    if isinstance(node, Literal) and isinstance(node.value, int):
        return sign * node.value
    raise NotImported("substring of computed places")


def _ranges(nodes: Sequence[Expression]) -> list[str]:
    """Ranges of addresses as texts."""
    out = []
    for node in nodes:
        if not isinstance(node, Literal) or not isinstance(node.value, str):
            raise NotImported("a range of addresses that is computed")
        try:
            network(node.value)
        except ValueError:
            raise NotImported(f"{node.value!r}, which is no range of addresses") from None
        out.append(node.value)
    return out


def _java(pattern: str) -> str:
    """A regular expression of Lucene's as one of Java's: `^` and `$` are characters there.

    Raises:
        NotImported: it has what Java does not have, or reads otherwise.
    """
    if (found := _OTHERWISE.search(pattern)) is not None:
        raise NotImported(f"{found[0]} in a regular expression")
    out, in_class, at = [], False, 0
    while at < len(pattern):
        c = pattern[at]
        if c == "\\" and at + 1 < len(pattern):
            out.append(pattern[at : at + 2])
            at += 2
            continue
        if not in_class and c in '~<>&@#"':
            raise NotImported(f"{c} in a regular expression")
        in_class = c == "[" or (in_class and c != "]")
        out.append(f"\\{c}" if not in_class and c in "^$" else c)
        at += 1
    return "".join(out)
