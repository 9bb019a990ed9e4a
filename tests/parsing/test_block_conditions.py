"""Conditions of blocks: which component decides one, when, and over which events."""

# ruff: noqa: E501 - a case is a line
from __future__ import annotations

import pytest

from sparkcep.errors import SparkCepError

from .blocks import bind, conditions, equivalences

TWO = "SEQ(A a, B b)"
KLEENE = "SEQ(A+ a[], B+ b[], C c)"
NEGATED = "SEQ(A+ a[], NOT SEQ(C, NOT E, D), B)"

# pattern, WHERE, conditions as tests.parsing.blocks.condition_text writes them
CONDITIONS = [
    # one event
    (TWO, "a.val > 1 AND b.val = 'x'", ["<last a.val> > 1 @ a", "<last b.val> = 'x' @ b"]),
    (TWO, "a.val < b.val", ["<last a.val> < <last b.val> @ b"]),
    (TWO, "a.`val` < A.val", ["<last a.`val`> < <last a.val> @ a"]),
    (TWO, "a[1].val < b[b.LEN].val + b[i].val", ["<last a.val> < <last b.val> + <last b.val> @ b"]),
    (TWO, "abs(a.val - b.val) > 1", ["abs(<last a.val> - <last b.val>) > 1 @ b"]),
    (TWO, "a.timestamp > b.ts", ["<last a.`ts`> > <last b.ts> @ b"]),
    (TWO, "a.type.name = 'q' AND a.to[0] = 1", ["<last a.type>.name = 'q' @ a", "<last a.to>[0] = 1 @ a"]),
    # Kleene variables
    (KLEENE, "b[i].val > 1", ["<last b.val> > 1 @ b"]),
    (KLEENE, "b[1].val > 1", ["<first b.val> > 1 @ b first"]),
    (KLEENE, "b[1].val > b[i].val", ["<first b.val> > <last b.val> @ b"]),
    (KLEENE, "b[i].val > b[i-1].val", ["<last b.val> > <last-1 b.val> @ b min 2"]),
    (KLEENE, "b[i].val > b[ i - 3 ].val", ["<last b.val> > <last-3 b.val> @ b min 4"]),
    (KLEENE, "b[i].val > avg(b[..i-1].val)", ["<last b.val> > <avg b.val before> @ b min 2"]),
    (KLEENE, "b[i].val > MAX(b[1..i-1].val)", ["<last b.val> > <max b.val before> @ b min 2"]),
    (KLEENE, "sum(b[..i].val) < 9", ["<sum b.val> < 9 @ b"]),
    (KLEENE, "count(b[1..i-1]) < 9", ["<count b before> < 9 @ b min 2"]),
    (KLEENE, "b[b.LEN].val > 2 × avg(b[ ].val)", ["<last b.val> > 2  *  <avg b.val> @leave b"]),
    (KLEENE, "count(b[]) > 2", ["<count b> > 2 @leave b"]),
    (KLEENE, "b[i].val < avg(b[].val)", ["<last b.val each> < <avg b.val> @leave b each b"]),
    (KLEENE, "b[i-2].val < b[b.LEN].val", ["<last-2 b.val each> < <last b.val> @leave b min 3 each b"]),
    (KLEENE, "b[1].val < b[b.LEN].val", ["<first b.val> < <last b.val> @leave b"]),
    (KLEENE, "sum(b[].val * b[].price) > 1", ["<sum b.val * price> > 1 @leave b"]),
    # of another variable
    (KLEENE, "c.val > a[1].val", ["<last c.val> > <first a.val> @ c"]),
    (KLEENE, "c.val > a[a.LEN].val", ["<last c.val> > <last a.val> @ c"]),
    (KLEENE, "c.val > min(a[].val)", ["<last c.val> > <min a.val> @ c"]),
    (KLEENE, "c.val > a.val", ["<last c.val> > <last a.val each> @ c each a"]),
    (KLEENE, "c.val > a[i-1].val", ["<last c.val> > <last-1 a.val each> @ c min 2 each a"]),
    (KLEENE, "c.val > avg(a[..i-1].val)", ["<last c.val> > <avg a.val before each> @ c min 2 each a"]),
    (KLEENE, "a[i].val + a[1].val < c.val", ["<last a.val each> + <first a.val> < <last c.val> @ c each a"]),
    (KLEENE, "a.val < b.val", ["<last a.val each> < <last b.val> @ b each a"]),
    (KLEENE, "a.val + b[1].val < c.val", ["<last a.val each> + <first b.val> < <last c.val> @ c each a"]),
    (KLEENE, "b[b.LEN].val > a[1].val", ["<last b.val> > <first a.val> @leave b"]),
    # repeated groups and unnamed occurrences
    ("(SEQ(A a, B b))+", "a.val = b.val", ["<last a.val> = <last b.val> @ b"]),
    ("(SEQ(A a, B b))+", "b[i].val > b[i-1].val", ["<last b.val> > <last-1 b.val> @ b min 2"]),
    ("SEQ(A+, B, A)", "A.val > 3", ["<last A|A#2.val> > 3 @ A|A#2"]),
    ("SEQ(A+, B, A)", "A.val < B.val",
     ["<last A|A#2.val> < <last B.val> @ A needs B", "<last A|A#2.val> < <last B.val> @ A#2"]),
    # negation
    ("SEQ(A a, ~(B b), C c)", "a.val = b.val", ["<last a.val> = <last b.val> @ b awaits a"]),
    # of a variable that may take nothing
    ("SEQ(A a, B? b, C c)", "b.val > 1", ["<last b.val> > 1 @ b"]),
    ("SEQ(A a, B? b, C c)", "b[b.LEN].val > 1", ["<last b.val> > 1 @ b", "<last b.val> > 1 @without b"]),
    ("SEQ(A a, B? b, C c)", "count(b[]) = 1", ["<count b> = 1 @ b", "<count b> = 1 @without b"]),
    ("SEQ(A a, B* b[], C c)", "sum(b[].val) > a.val",
     ["<sum b.val> > <last a.val> @leave b", "<sum b.val> > <last a.val> @without b"]),
    ("SEQ(A a, B* b[], C c)", "b[b.LEN].val > b[1].val", ["<last b.val> > <first b.val> @leave b"]),
    ("SEQ(A a, B* b[], C c)", "b[i].val < max(b[].val)", ["<last b.val each> < <max b.val> @leave b each b"]),
    ("SEQ(A a, (SEQ(B b, C c) | D d))", "count(c[]) = 0", ["<count c> = 0 @ c", "<count c> = 0 @without c"]),
    ("SEQ(A a, B* b[], C c)", "count(b[]) > c.val", ["<count b> > <last c.val> @ c"]),
    ("SEQ(A a, !X x, B b, C? c)", "x.val = c.val", ["<last x.val> = <last c.val> @ x needs c awaits c"]),
    ("SEQ(A a, !X x, B* b[])", "x.val = b[b.LEN].val", ["<last x.val> = <last b.val> @ x awaits b"]),
    ("SEQ(A? a, !X x, B b)", "x.val = a.val", ["<last x.val> = <last a.val> @ x awaits a"]),
    ("PERMUTE(A* a[], B b)", "count(a[]) >= b.val",
     ["<count a> >= <last b.val> @leave a needs b", "<count a> >= <last b.val> @ b needs a",
      "<count a> >= <last b.val> @without a needs b"]),
    ("SEQ(A a, !B b, C c)", "b.val = c.val", ["<last b.val> = <last c.val> @ b needs c awaits c"]),
    ("SEQ(A a, !(B+ b), C c)", "b[i].val = c.val", ["<last b.val> = <last c.val> @ b needs c awaits c"]),
    (NEGATED, "C.val = D.val", ["<last C.val> = <last D.val> @ D awaits C"]),
    (NEGATED, "E.val = D.val", ["<last E.val> = <last D.val> @ E needs D awaits D"]),
    (NEGATED, "C.val > a.val", ["<last C.val> > <last a.val each> @ C awaits a each a"]),
    ("SEQ(A, !A, B)", "A.val > 3", ["<last A.val> > 3 @ A", "<last A#2.val> > 3 @ A#2"]),
    ("SEQ(!A, B, !A)", "A.val > B.val",
     ["<last A.val> > <last B.val> @ A needs B awaits B", "<last A#2.val> > <last B.val> @ A#2 awaits B"]),
    # NEXT
    ("A S+", "S.val > NEXT(S).val", ["<last-1 S.val> > <last S.val> @ S min 2 after S"]),
    ("SEQ(A a, B+ b)", "a.val > NEXT(b).val", ["<last a.val> > <last b.val> @ b needs a after a"]),
    ("SEQ(A, B, A)", "A.val > NEXT(A).val", ["<last-1 A|A#2.val> > <last A|A#2.val> @ A|A#2 min 2 after A|A#2"]),
    # without a variable: of every event
    (TWO, "val > 5", ["<last a.val > 5> @ a", "<last b.val > 5> @ b"]),
    ("SEQ(A a, !B b, C c)", "r.val > 5", ["<last a.val > 5> @ a", "<last b.val > 5> @ b", "<last c.val > 5> @ c"]),
    (TWO, "true", []),
    # conjuncts
    (TWO, "(a.val = 1 AND (b.val = 2 ∧ (a.x = 3)))", ["<last a.val> = 1 @ a", "<last b.val> = 2 @ b", "<last a.x> = 3 @ a"]),
    (TWO, "a.val = 1 AND a.x BETWEEN 1 AND 2", ["<last a.val> = 1 @ a", "<last a.x> BETWEEN 1 AND 2 @ a"]),
    (TWO, "a.val = 1 OR b.val = 2 AND a.x = 3", ["<last a.val> = 1 OR <last b.val> = 2 AND <last a.x> = 3 @ b"]),
    (TWO, "CASE WHEN a.x = 1 AND a.y = 2 THEN true END", ["CASE WHEN <last a.x> = 1 AND <last a.y> = 2 THEN true END @ a"]),
    (TWO, "a.val ^ 3 = b.val ^ a.x = 1", ["<last a.val> ^ 3 = <last b.val> @ b", "<last a.x> = 1 @ a"]),
    (TWO, "a.x = 1 ^ a.val ^ 3 = 2", ["<last a.x> = 1 @ a", "<last a.val> ^ 3 = 2 @ a"]),
    (TWO, "exists(array(1), v -> v > a.val)", ["exists(array(1), v -> v > <last a.val>) @ a"]),
    (TWO, "a.x IN (SELECT b.x FROM s b)", ["<last a.x> IN (SELECT b.x FROM s b) @ a"]),
    # the papers' signs, percentages and comments
    (TWO, "a.x ≥ 1 ∨ ¬(a.y ≠ '×∧') ∨ a.x ≤ 0", ["<last a.x>  >=  1  OR   NOT (<last a.y>  <>  '×∧')  OR  <last a.x>  <=  0 @ a"]),
    (TWO, "a.x < 80% * a.y AND a.y * 12.5% < 1", ["<last a.x> < 0.80 * <last a.y> @ a", "<last a.y> * 0.125 < 1 @ a"]),
    (TWO, "a.x > 95% AND a.y % 500 = 0", ["<last a.x> > 95 @ a", "<last a.y> % 500 = 0 @ a"]),
    (TWO, "a.x % b.x = 0 AND 7 % a.x = 1", ["<last a.x> % <last b.x> = 0 @ b", "7 % <last a.x> = 1 @ a"]),
    (TWO, "a.x > // it's more\n 3 /* than */ AND a.y = 1", ["<last a.x> >\n3 @ a", "<last a.y> = 1 @ a"]),
    (TWO, "a.x = '{y}'", ["<last a.x> = '{{y}}' @ a"]),
    (TWO, "a.ts > timestamp '2026-01-01' + interval 1 day", ["<last a.ts> > timestamp '2026-01-01' + interval 1 day @ a"]),
    # constraints
    (TWO, "(time, within, 60 minutes, 1, 2)", ["<last b.`ts`> <= <last a.`ts`> + INTERVAL 60 MINUTE @ b needs a"]),
    (TWO, "(time, atleast, 2, 1, 2)", ["<last b.`ts`> >= <last a.`ts`> + INTERVAL 2 SECOND @ b needs a"]),
    (TWO, "(gap, within, 3, 1, 2), (Gap, AtLeast, 2, 1, 2)",
     ["<last b.__cep_position> <= <last a.__cep_position> + 3 @ b needs a",
      "<last b.__cep_position> >= <last a.__cep_position> + 2 @ b needs a"]),
    (KLEENE, "(time, within, 1 day, 1, 2)", ["<first b.`ts`> <= <last a.`ts`> + INTERVAL 1 DAY @ b needs a first"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "where", "expected"), CONDITIONS)
def test_conditions(pattern: str, where: str, expected: list[str]) -> None:
    assert sorted(conditions(bind(f"FROM r PATTERN {pattern} WHERE {where}"))) == sorted(expected)


def test_sources_are_the_users_text() -> None:
    query = bind("FROM r PATTERN SEQ(A a, B+ b[]) WHERE a.x > 80% * b[i].x ∧ [symbol] WITHIN 5")
    assert [c.source for c in query.conditions] == ["a.x > 80% * b[i].x"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("[symbol]", ["symbol"]),
        ("[company, sector]", ["company", "sector"]),
        ("a.x = 1 AND [b.vehicle, a.type.id, segment] AND [r.sector]", ["b.vehicle", "a.type.id", "segment", "sector"]),
        ("skip_till_any_match { [symbol] ^ [x] }", ["symbol", "x"]),
    ],
)
def test_equivalences(where: str, expected: list[str]) -> None:
    assert equivalences(bind(f"FROM r PATTERN SEQ(A a, B b) WHERE {where}")) == expected


@pytest.mark.parametrize(
    ("where", "between"),
    [
        ("a.x = 1 BETWEEN 3 AND 5", ("3", "5")),
        ("a.x BETWEEN 1 AND 2 BETWEEN 3 AND 5", ("3", "5")),
        ("[x] BETWEEN 3 AND 5", ("3", "5")),
        ("(time, within, 2, 1, 2) BETWEEN '2026-01-01' AND '2026-02-01'", ("'2026-01-01'", "'2026-02-01'")),
        ("skip_till_next_match(a, b) { a.x = 1 } BETWEEN 3 AND 5", ("3", "5")),
        ("NOT a.x BETWEEN 3 AND 5", None),
        ("a.x NOT BETWEEN 3 AND 5", None),
        ("a.x = 1 AND (a.x) BETWEEN 3 AND 5", None),
        ("CASE WHEN a.x = 1 THEN a.y BETWEEN 3 AND 5 END", None),
    ],
)
def test_between_is_a_clause_behind_a_whole_condition(where: str, between: tuple[str, str] | None) -> None:
    assert bind(f"FROM r PATTERN SEQ(A a, B b) WHERE {where}").between == between


# pattern, WHERE, error class, text before the place
REFUSED = [
    (TWO, "", "CEP_SYNTAX_ERROR", ""),
    (TWO, "a.x = 1 AND AND b.x = 3", "CEP_SYNTAX_ERROR", "a.x = 1 AND "),
    (TWO, "a.x = 1, b.x = 3", "CEP_SYNTAX_ERROR", "a.x = 1"),
    (TWO, "a.x = 1)", "CEP_SYNTAX_ERROR", "a.x = 1"),
    (TWO, "a.x = (1", "CEP_SYNTAX_ERROR", "a.x = "),
    (TWO, "c.x = 1", "CEP_UNDEFINED_VARIABLE", ""),
    (TWO, "a.xx = 1", "CEP_UNRESOLVED_COLUMN", "a."),
    (TWO, "a.x > b", "CEP_UNRESOLVED_COLUMN", "a.x > "),
    (TWO, "a.x > val", "CEP_AMBIGUOUS_COLUMN", "a.x > "),
    (TWO, "a.* > 1", "CEP_STAR_NOT_ALLOWED", "a."),
    (TWO, "a[i-1].x > 1", "CEP_INDEX", ""),
    (TWO, "avg(a[..i-1].x) > 1", "CEP_INDEX", ""),
    (KLEENE, "b[2].x > 1", "CEP_INDEX", "b["),
    (KLEENE, "b[i+1].x > 1", "CEP_INDEX", "b["),
    (KLEENE, "b[a.LEN].x > 1", "CEP_INDEX", "b["),
    (KLEENE, "b[i.x > 1", "CEP_SYNTAX_ERROR", "b"),
    (KLEENE, "b[].x > 1", "CEP_AGGREGATE_RANGE", ""),
    (KLEENE, "avg(b.x) > 1", "CEP_AGGREGATE_RANGE", ""),
    (KLEENE, "count(*) > 1", "CEP_AGGREGATE_RANGE", ""),
    (KLEENE, "avg(b[].x + a.x) > 1", "CEP_MIXED_VARIABLES", ""),
    (KLEENE, "avg(b[].x + y) > 1", "CEP_MIXED_VARIABLES", "avg(b[].x + "),
    (KLEENE, "sum(avg(b[].x)) > 1", "CEP_NESTED_NAVIGATION", "sum("),
    (KLEENE, "histogram_numeric(b[].x, 5) > 1", "CEP_UNSUPPORTED_AGGREGATE", ""),
    (KLEENE, "a[i].x < b[i].x", "CEP_TWO_INDEXES", "a[i].x < "),
    (KLEENE, "a.x + b.x < c.x", "CEP_TWO_INDEXES", "a.x + "),
    (KLEENE, "prev(b.x) > 1", "CEP_NOT_IN_BLOCK", ""),
    (KLEENE, "sum(b[].x) OVER () > 1", "MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION", "sum(b[].x) "),
    (TWO, "NEXT(b).x > 1", "CEP_NEXT", ""),
    (TWO, "NEXT(b.x) > a.x", "CEP_NEXT", ""),
    (TWO, "a.x > NEXT(b).x + b.x", "CEP_NEXT", "a.x > "),
    (KLEENE, "b[1].x > NEXT(b).x", "CEP_NEXT", ""),
    ("SEQ(A a, !B b)", "a.x > NEXT(b).x", "CEP_NEGATED_VARIABLE", "a.x > "),
    ("SEQ(A a, !B b, C c)", "b[b.LEN].x > 1", "CEP_NEGATED_VARIABLE", ""),
    ("SEQ(A, !B, C, !D)", "B.x = D.x", "CEP_TWO_NEGATIONS", "B.x = "),
    ("SEQ(A, !A, B)", "A.x > B.x", "CEP_AMBIGUOUS_VARIABLE", ""),
    (TWO, "NOT [symbol]", "CEP_EQUIVALENCE", "NOT "),
    (TWO, "[symbol] OR a.x = 1", "CEP_EQUIVALENCE", ""),
    (TWO, "[symbol", "CEP_SYNTAX_ERROR", ""),
    (TWO, "[]", "CEP_EQUIVALENCE", ""),
    (TWO, "[x + 1]", "CEP_EQUIVALENCE", "["),
    (TWO, "[symbl]", "CEP_UNRESOLVED_COLUMN", "["),
    (TWO, "[c.symbol]", "CEP_UNDEFINED_VARIABLE", "["),
    (TWO, "[x,]", "CEP_SYNTAX_ERROR", "[x,"),
    (TWO, "(time, within, 2, 1, 3)", "CEP_CONSTRAINT", "(time, within, 2, 1, "),
    (TWO, "(time, within, 2, 2, 1)", "CEP_CONSTRAINT", "(time, within, 2, "),
    (TWO, "(time, within, 2, 1)", "CEP_CONSTRAINT", ""),
    (TWO, "(time, before, 2, 1, 2)", "CEP_CONSTRAINT", "(time, "),
    (TWO, "(gap, within, 2 days, 1, 2)", "CEP_CONSTRAINT", "(gap, within, "),
    (TWO, "(time, within, 2 dayz, 1, 2)", "CEP_INTERVAL", "(time, within, 2 "),
    ("SEQ(A a, !X x, B b)", "(time, within, 2, 1, 2)", "CEP_CONSTRAINT", "(time, within, 2, 1, "),
    (TWO, "skip_till_any_match(a, c)", "CEP_UNDEFINED_VARIABLE", "skip_till_any_match(a, "),
    (TWO, "skip_till_any_match(a, b) { a.x = 1", "CEP_SYNTAX_ERROR", "skip_till_any_match(a, b) "),
    (TWO, "skip_till_any_match(a, b) { }", "CEP_SYNTAX_ERROR", "skip_till_any_match(a, b) { "),
    (TWO, "skip_till_any_match AND strict_contiguity", "CEP_SELECTION_CONFLICT", "skip_till_any_match AND "),
]


@pytest.mark.parametrize(("pattern", "where", "error_class", "before"), REFUSED)
def test_refused_conditions(pattern: str, where: str, error_class: str, before: str) -> None:
    head = f"FROM r PATTERN {pattern} WHERE "
    with pytest.raises(SparkCepError) as error:
        bind(head + where)
    assert error.value.error_class == error_class
    place = len(head + before if where else head.rstrip())
    assert f"column {place + 1}." in str(error.value)


def test_deep_conditions_are_read_quickly() -> None:
    depth = 5000
    nested = "(a.x = 1 AND " * depth + "b.x = 2" + ")" * depth
    assert len(bind(f"FROM r PATTERN SEQ(A a, B b) WHERE {nested}").conditions) == depth + 1
    assert len(bind(f"FROM r PATTERN SEQ(A a, B b) WHERE {'(' * depth}a.x = 1{')' * depth}").conditions) == 1
