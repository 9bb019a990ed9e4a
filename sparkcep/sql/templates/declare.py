"""Constraints of Declare (Pesic, Schonenberg, van der Aalst 2007), with activations as Di Ciccio and Mecella (2015)
have them, each as one MATCH_RECOGNIZE whose pattern takes the whole case.

Every pattern takes every sequence of events to its end, in the order of preference of its alternatives: an event of
type a or b is taken as FULFILLED or VIOLATED, which differ only by their place in the pattern. No condition looks at
the match, so that matching is linear in the events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkcep.sql.templates.template import Arguments, Log, Template

#: Labels of activations: of events a and b, where both activate.
_SUBSETS = {
    "FULFILLED": ("FULFILLED_A", "FULFILLED_B"),
    "VIOLATED": ("VIOLATED_A", "VIOLATED_B"),
}


@dataclass(frozen=True, slots=True)
class _Clause:
    """A pattern over labels. ``labels``: what each of them takes. ``measures``: of fulfilments and violations."""

    pattern: str
    labels: dict[str, str]
    fulfilments: str
    violations: str
    activations: str
    holds: str
    subsets: Mapping[str, tuple[str, ...]]

    def sql(self, log: Log) -> str:
        partition = f"  PARTITION BY {', '.join(log.partition_by)}\n" if log.partition_by else ""
        subsets = ", ".join(f"{name} = ({', '.join(of)})" for name, of in self.subsets.items())
        defined = ",\n    ".join(f"{label} AS {condition}" for label, condition in self.labels.items() if condition)
        violating = f"array_agg(struct(VIOLATED.{log.event} AS event, VIOLATED.{log.time} AS time))"
        if "VIOLATED" not in self.subsets and "VIOLATED" not in self.labels:
            violating = f"array_agg(struct({log.event} AS event, {log.time} AS time)) FILTER (WHERE false)"
        return (
            f"{log.relation} MATCH_RECOGNIZE (\n"
            f"{partition}"
            f"  ORDER BY {', '.join(log.order_by)}\n"
            f"  MEASURES {self.activations} AS activations, {self.fulfilments} AS fulfilments,\n"
            f"    {self.violations} AS violations, {self.holds} AS holds,\n"
            f"    {violating} AS violating\n"
            f"  PATTERN ({self.pattern})\n"
            + (f"  SUBSET {subsets}\n" if subsets else "")
            + f"  DEFINE\n    {defined}\n)"
        )


def _per_activation(pattern: str, labels: dict[str, str]) -> _Clause:
    """A constraint on each event that is taken as FULFILLED or VIOLATED, or as one of their kinds."""
    subsets = {name: of for name, of in _SUBSETS.items() if of[0] in labels}
    activations = [x for of in subsets.values() for x in of] or ["FULFILLED", "VIOLATED"]
    return _Clause(
        pattern,
        labels,
        "count(FULFILLED.*)",
        "count(VIOLATED.*)",
        "count(ACTIVATION.*)",
        "count(VIOLATED.*) = 0",
        {**subsets, "ACTIVATION": tuple(activations)},
    )


def _per_case(pattern: str, labels: dict[str, str], holds: str, subsets: Mapping[str, tuple[str, ...]]) -> _Clause:
    """A constraint on the case as a whole, which is its one activation. ``holds``: a condition."""
    return _Clause(
        pattern, labels, f"CAST(({holds}) AS BIGINT)", f"CAST(NOT ({holds}) AS BIGINT)", "1L", holds, subsets
    )


def _is(log: Log, literal: str) -> str:
    return f"{log.event} = {literal}"


def _other(log: Log, *literals: str) -> str:
    """An event of none of some types; one without a type, too."""
    return " AND ".join(f"{log.event} IS DISTINCT FROM {literal}" for literal in literals)


@dataclass(frozen=True, slots=True)
class _OneSided:
    """SQL of a constraint whose activations are the events of one type, ``a`` or ``b``; TARGET is the other one."""

    pattern: str
    activation: str

    def __call__(self, log: Log, arguments: Arguments) -> str:
        a, b = arguments.a, arguments.b
        of, target = (a, b) if self.activation == "a" else (b, a)
        labels = {
            "FULFILLED": _is(log, of),
            "VIOLATED": _is(log, of),
            "TARGET": _is(log, target),
            "OTHER": _other(log, a, b),
        }
        return _per_activation(self.pattern, labels).sql(log)


@dataclass(frozen=True, slots=True)
class _TwoSided:
    """SQL of a constraint whose activations are the events of both types. ``per_case``: where the case is one, when
    it holds."""

    pattern: str
    per_case: str = ""

    def __call__(self, log: Log, arguments: Arguments) -> str:
        a, b = _is(log, arguments.a), _is(log, arguments.b)
        labels = {"FULFILLED_A": a, "FULFILLED_B": b, "VIOLATED_A": a, "VIOLATED_B": b}
        labels["OTHER"] = _other(log, arguments.a, arguments.b)
        if self.per_case:
            return _per_case(self.pattern, labels, self.per_case, _SUBSETS).sql(log)
        return _per_activation(self.pattern, labels).sql(log)


def _choice(log: Log, arguments: Arguments) -> str:
    labels = {
        "CHOSEN": f"{log.event} IN ({arguments.a}, {arguments.b})",
        "OTHER": _other(log, arguments.a, arguments.b),
    }
    return _per_case("(CHOSEN | OTHER)*", labels, "count(CHOSEN.*) > 0", {}).sql(log)


def _counted(log: Log, arguments: Arguments, most: int, holds: str) -> str:
    """A constraint on the number of events a, of which those past ``most`` are too many."""
    counted = ("COUNTED", "VIOLATED") if most else ("VIOLATED",)
    labels = dict.fromkeys(counted, _is(log, arguments.a)) | {"OTHER": _other(log, arguments.a)}
    allowed = f"(OTHER* COUNTED){log.at_most(most)} " if most else ""
    subsets = {"ALL_A": counted} if "ALL_A" in holds else {}
    return _per_case(f"{allowed}(VIOLATED | OTHER)*", labels, holds, subsets).sql(log)


def _existence(log: Log, arguments: Arguments) -> str:
    labels = {"COUNTED": _is(log, arguments.a), "OTHER": _other(log, arguments.a)}
    return _per_case("(COUNTED | OTHER)*", labels, f"count(COUNTED.*) >= {arguments.n}", {}).sql(log)


def _absence(log: Log, arguments: Arguments) -> str:
    return _counted(log, arguments, arguments.n - 1, "count(VIOLATED.*) = 0")


def _exactly(log: Log, arguments: Arguments) -> str:
    return _counted(log, arguments, arguments.n, f"count(ALL_A.*) = {arguments.n}")


def _end_of_case(pattern: str, log: Log, arguments: Arguments) -> str:
    labels = {"FULFILLED": _is(log, arguments.a), "VIOLATED": _other(log, arguments.a), "REST": ""}
    return _per_case(pattern, labels, "count(FULFILLED.*) > 0", {}).sql(log)


def _init(log: Log, arguments: Arguments) -> str:
    return _end_of_case("(FULFILLED | VIOLATED) REST*", log, arguments)


def _end(log: Log, arguments: Arguments) -> str:
    return _end_of_case("REST* (FULFILLED | VIOLATED)", log, arguments)


def _both(label: str, otherwise: str) -> str:
    """All events a and b as one label where both types occur, else as the other one."""
    a, b = f"{label}_A", f"{label}_B"
    return (
        f"OTHER* ({a} ({a} | OTHER)* {b} | {b} ({b} | OTHER)* {a}) ({a} | {b} | OTHER)* "
        f"| ({otherwise}_A | {otherwise}_B | OTHER)*"
    )


_A, _N, _AB = ("log", "a"), ("log", "a", "n"), ("log", "a", "b")
#: In the order of the documentation. In formulas past operators are Y (the event before) and O (some event before).
_TEMPLATES = (
    Template("declare_existence", _N, "a occurs at least n times", "F(a ∧ X F(a ∧ ...)), n times", _existence, ("n",)),
    Template("declare_participation", _A, "a occurs", "F a", _existence),
    Template("declare_absence", _N, "a occurs at most n - 1 times", "¬ existence(n, a)", _absence, ("n",)),
    Template(
        "declare_exactly", _N, "a occurs n times", "existence(n, a) ∧ absence(n + 1, a)", _exactly, ("n",), least=0
    ),
    Template("declare_init", _A, "the case begins with a", "a", _init),
    Template("declare_end", _A, "the case ends with a", "F(a ∧ ¬X true)", _end),
    Template(
        "declare_responded_existence", _AB, "where a occurs, b occurs before or after it", "F a → F b",
        _OneSided("(FULFILLED | OTHER)* TARGET (FULFILLED | TARGET | OTHER)* | (VIOLATED | OTHER)*", "a"),
    ),
    Template(
        "declare_co_existence", _AB, "where one of a and b occurs, so does the other", "F a ↔ F b",
        _TwoSided(_both("FULFILLED", "VIOLATED")),
    ),
    Template(
        "declare_response", _AB, "each a is followed by b", "G(a → X F b)",
        _OneSided("((FULFILLED | OTHER)* TARGET)* (VIOLATED | OTHER)*", "a"),
    ),
    Template(
        "declare_alternate_response", _AB, "each a is followed by b before the next a", "G(a → X(¬a U b))",
        _OneSided("(FULFILLED OTHER* TARGET | VIOLATED | TARGET | OTHER)*", "a"),
    ),
    Template(
        "declare_chain_response", _AB, "the event after each a is b", "G(a → X b)",
        _OneSided("(FULFILLED TARGET | VIOLATED | TARGET | OTHER)*", "a"),
    ),
    Template(
        "declare_precedence", _AB, "each b comes after an a", "G(b → O a)",
        _OneSided("(VIOLATED | OTHER)* (TARGET (FULFILLED | TARGET | OTHER)*)?", "b"),
    ),
    Template(
        "declare_alternate_precedence", _AB, "each b comes after an a that no other b lies behind",
        "G(b → Y(¬b S a))", _OneSided("(VIOLATED | OTHER | TARGET (TARGET | OTHER)* FULFILLED?)*", "b"),
    ),
    Template(
        "declare_chain_precedence", _AB, "the event before each b is a", "G(b → Y a)",
        _OneSided("(TARGET FULFILLED | VIOLATED | TARGET | OTHER)*", "b"),
    ),
    Template(
        "declare_succession", _AB, "response and precedence", "G(a → X F b) ∧ G(b → O a)",
        _TwoSided(
            "(VIOLATED_B | OTHER)* (FULFILLED_A (FULFILLED_A | FULFILLED_B | OTHER)* FULFILLED_B)? "
            "(VIOLATED_A | OTHER)*"
        ),
    ),
    Template(
        "declare_alternate_succession", _AB, "alternate response and alternate precedence",
        "G(a → X(¬a U b)) ∧ G(b → Y(¬b S a))",
        _TwoSided("(FULFILLED_A OTHER* FULFILLED_B | VIOLATED_A | VIOLATED_B | OTHER)*"),
    ),
    Template(
        "declare_chain_succession", _AB, "chain response and chain precedence", "G(a → X b) ∧ G(b → Y a)",
        _TwoSided("(FULFILLED_A FULFILLED_B | VIOLATED_A | VIOLATED_B | OTHER)*"),
    ),
    Template(
        "declare_not_co_existence", _AB, "a and b do not both occur", "¬(F a ∧ F b)",
        _TwoSided(_both("VIOLATED", "FULFILLED")),
    ),
    Template(
        "declare_not_succession", _AB, "no a is followed by b", "G(a → ¬X F b)",
        _TwoSided(
            "(FULFILLED_B | OTHER)* (VIOLATED_A (VIOLATED_A | VIOLATED_B | OTHER)* VIOLATED_B)? (FULFILLED_A | OTHER)*"
        ),
    ),
    Template(
        "declare_not_chain_succession", _AB, "the event after an a is never b", "G(a → ¬X b)",
        _TwoSided("(VIOLATED_A VIOLATED_B | FULFILLED_A | FULFILLED_B | OTHER)*"),
    ),
    Template("declare_choice", _AB, "a or b occurs", "F a ∨ F b", _choice),
    Template(
        "declare_exclusive_choice", _AB, "one of a and b occurs, and not the other", "(F a ∨ F b) ∧ ¬(F a ∧ F b)",
        _TwoSided(_both("VIOLATED", "FULFILLED"), "count(VIOLATED.*) = 0 AND count(FULFILLED.*) > 0"),
    ),
)  # fmt: skip


def _activation(template: Template) -> str:
    if isinstance(template.sql, _OneSided):
        return template.sql.activation
    return "a and b" if isinstance(template.sql, _TwoSided) and not template.sql.per_case else "the case"


#: All constraints.
DECLARE: Sequence[Template] = tuple(replace(t, activation=_activation(t)) for t in _TEMPLATES)
