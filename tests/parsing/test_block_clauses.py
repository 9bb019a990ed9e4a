"""The head and the clauses of blocks: keys, RETURN, strategies, times, and what is refused."""

from __future__ import annotations

import re

import pytest

from sparkcep.errors import PatternAnalysisError, SparkCepError
from sparkcep.query import GROUP_KEY, TREND_VALUE, WINDOW_OF_GROUP, Matches, Selection, Uncertainty

from .blocks import LOG, bind, returns

# RETURN of SEQ(A a, B+ b, !C c) over PARTITION BY symbol with [site], items
RETURNS = [
    ("a.x, b[b.LEN].x", ["x: <last a.x>", "b[b.LEN].x: <last b.x>"]),
    ("a.x AS n, b[1].x m, upper(a.site) `u v`", ["n: <last a.x>", "m: <first b.x>", "u v: upper(<last a.site>)"]),
    ("a.(x, y, timestamp)", ["x: <last a.x>", "y: <last a.y>", "timestamp: <last a.ts>"]),
    ("a, b[] AS bs", ["a: <last a.event>", "bs: <array_agg b.event>"]),
    ("count(b[]), max_by(b[].x, b[].y) AS m", ["count(b[]): <count b>", "m: <max_by b.x,y>"]),
    ("percentile(b[].x, 0.5)", ["percentile(b[].x, 0.5): <percentile b.x,0.5>"]),
    ("a.type.name, a.x + 1", ["name: <last a.type>.name", "a.x + 1: <last a.x> + 1"]),
    ("symbol, upper(r.symbol) k", ["symbol: <last a|b.symbol>", "k: upper(<last a|b.symbol>)"]),
    ("concat(site, a.x)", ["concat(site, a.x): concat(<last a|b.site>, <last a.x>)"]),
    ("a.x BETWEEN 1 AND 2 AS inside", ["inside: <last a.x> BETWEEN 1 AND 2"]),
    ("CASE WHEN a.x = 1 THEN 2 END, a.x IS NULL",
     ["CASE WHEN a.x = 1 THEN 2 END: CASE WHEN <last a.x> = 1 THEN 2 END", "a.x IS NULL: <last a.x> IS NULL"]),
    ("a.x AS within, a.y AS collapsed WITHIN 5 COLLAPSED", ["within: <last a.x>", "collapsed: <last a.y>"]),
    ("a.x, a.x, a.x", ["x: <last a.x>", "a.x: <last a.x>", "a.x_2: <last a.x>"]),
]  # fmt: skip
HEAD = "FROM r PARTITION BY symbol ORDER BY ts PATTERN SEQ(A a, B+ b, !C c) WHERE [site]"


@pytest.mark.parametrize(("items", "expected"), RETURNS)
def test_returns(items: str, expected: list[str]) -> None:
    query = bind(f"{HEAD} RETURN {items}")
    assert [re.sub(r"struct\(`ts`, .*`y`\)", "event", r) for r in returns(query)] == expected
    assert not any(getattr(s, "running", False) for m in query.measures for s in m.expression.slots)
    assert query.selection is Selection.NEXT


def test_trends() -> None:
    query = bind(
        "FROM r PATTERN SEQ(A a, B+ b) WITHIN 10 minutes SLIDE 1 minute GROUP BY sector, site RETURN site, COUNT(*), "
        "COUNT(b) AS n, COUNT(DISTINCT *), SUM(b.x * b.y) s, mean(a.x), try_count(*), approx_count(*), window w, sector"
    )
    found = [(t.name, t.function, t.argument and t.argument.text, t.components, t.distinct) for t in query.trends]
    assert found == [
        ("COUNT(*)", "count", None, (), False),
        ("COUNT(b)", "count", None, ("b",), False),
        ("COUNT(DISTINCT *)", "count", None, (), True),
        ("SUM(b.x * b.y)", "sum", "x * y", ("b",), False),
        ("mean(a.x)", "avg", "x", ("a",), False),
        ("try_count(*)", "try_count", None, (), False),
        ("approx_count(*)", "approx_count", None, (), False),
    ]
    assert [k.expression for k in query.group_by] == ["sector", "site"]
    names = ["site", "COUNT(*)", "n", "COUNT(DISTINCT *)", "s", "mean(a.x)", "try_count(*)", "approx_count(*)"]
    assert [e.name for e in query.output] == [*names, "w", "sector"]
    texts = [f"{GROUP_KEY}1", *(f"{TREND_VALUE}{n}" for n in range(7)), WINDOW_OF_GROUP, f"{GROUP_KEY}0"]
    assert [e.text for e in query.output] == texts
    assert (query.selection, query.matches, query.has_return) == (Selection.ANY, Matches.ALL, False)


def test_expressions_over_trends() -> None:
    query = bind(
        "FROM r PATTERN SEQ(A a, B+ b) GROUP BY x % 2, word HAVING n > 1 AND SUM(y) < 3 RETURN COUNT(*) AS n, "
        "(r.x % 2) + count( * ) * SUM(b.y) AS v, x % 2 = 1 OR n = 3 AS w, upper(x) AS word, window.start AS low"
    )
    assert [(t.name, t.components) for t in query.trends] == [
        ("COUNT(*)", ()), ("SUM(b.y)", ("b",)), ("SUM(y)", ("a", "b")),
    ]  # fmt: skip
    n, key, word = f"{TREND_VALUE}0", f"{GROUP_KEY}0", f"{GROUP_KEY}1"
    assert [e.text for e in query.output] == [
        n, f"({key}) + {n} * {TREND_VALUE}1", f"{key} = 1 OR ({n}) = 3", word, f"{WINDOW_OF_GROUP}.start",
    ]  # fmt: skip
    assert [k.expression for k in query.group_by] == ["x % 2", "upper(x)"]
    assert query.having is not None
    assert query.having.text == f"({n}) > 1 AND {TREND_VALUE}2 < 3"


@pytest.mark.parametrize(
    ("clauses", "selection", "contiguity"),
    [
        ("", Selection.NEXT, False),
        ("RETURN COUNT(*)", Selection.ANY, False),
        ("RETURN COUNT(*) EVENT SELECTION SKIP TILL NEXT MATCH", Selection.NEXT, False),
        ("EVENT SELECTION skip_till_any_match", Selection.ANY, False),
        ("EVENT SELECTION Strict Contiguity", Selection.STRICT, False),
        ("WHERE [x] AND partition_contiguity(a, b)", Selection.STRICT, True),
        ("WHERE SKIP_TILL_ANY_MATCH(a, b[]) EVENT SELECTION SKIP TILL ANY MATCH", Selection.ANY, False),
    ],
)
def test_strategies(clauses: str, selection: Selection, contiguity: bool) -> None:
    query = bind(f"FROM r PATTERN SEQ(A a, B+ b[]) {clauses}")
    assert (query.selection, query.partition_contiguity) == (selection, contiguity)


@pytest.mark.parametrize(
    ("written", "time_type", "expected"),
    [
        ("12 hours", "timestamp", "INTERVAL 12 HOUR"),
        ("1 hour 30 min", "timestamp", "INTERVAL 1 HOUR 30 MINUTE"),
        ("5s", "timestamp", "INTERVAL 5 SECOND"),
        ("INTERVAL 2 DAYS", "timestamp", "INTERVAL 2 DAY"),
        ("INTERVAL '1' DAY", "timestamp", "INTERVAL '1' DAY"),
        ("10", "timestamp", "INTERVAL 10 SECOND"),
        ("10", "date", "INTERVAL 10 SECOND"),
        ("10", "bigint", "10"),
        ("10", "decimal(10,2)", "10"),
        ("2 * 3", "int", "2 * 3"),
    ],
)
def test_times(written: str, time_type: str, expected: str) -> None:
    query = bind(f"FROM r PATTERN SEQ(A a, B b) WITHIN {written} SLIDE {written} RETURN COUNT(*)", time_type=time_type)
    assert (query.within, query.slide) == (expected, expected)


def test_other_clauses() -> None:
    query = bind(
        "FROM r PATTERN SEQ(A a, B b) UNCERTAINTY (x, y) STEP 1 second PROBABILITY price CONFIDENCE >= 50% STRICT TIME "
        "COLLAPSED MATCHES ALL"
    )
    assert query.uncertainty == Uncertainty("x", "y", None, "INTERVAL 1 SECOND", "price")
    assert (query.confidence, query.strict_time, query.collapsed) == (0.5, True, True)
    query = bind("FROM r PATTERN SEQ(A a, B b) UNCERTAINTY 5 SECONDS CONFIDENCE >= .25")
    assert query.uncertainty == Uncertainty(None, None, "INTERVAL 5 SECOND", None, None)
    query = bind(
        "FROM r PATTERN SEQ(A a, B b) MATCHES NON OVERLAPPING GROUPS (1-2,7) BETWEEN '2026-01-01' AND now() "
        "EXPLAIN NON ANSWERS (step => 1 minute, k => 4, uncertainty => 3 minutes)"
    )
    assert (query.matches, query.groups) == (Matches.NON_OVERLAPPING, ((1, 2, 7),))
    assert query.between == ("'2026-01-01'", "now()")
    assert query.non_answers is not None
    assert (query.non_answers.uncertainty, query.non_answers.step) == ("INTERVAL 3 MINUTE", "INTERVAL 1 MINUTE")


# -- keys --------------------------------------------------------------------------------------------------------------

PROPERTIES = {
    "sparkcep.case": "job, `task_id`",
    "sparkcep.time": "val",
    "sparkcep.tiebreak": "x",
    "sparkcep.event": "type",
}


def test_own_clauses_win_over_properties_and_settings() -> None:
    head = "PARTITION BY (job), upper(site) ORDER BY ts DESC NULLS LAST, y EVENT TYPE (symbol)"
    query = bind(f"FROM r {head} PATTERN SEQ(A a, B b)", properties=PROPERTIES)
    assert [k.expression for k in query.partition_by] == ["job", "upper(site)"]
    assert [k.text for k in query.order_by] == ["ts DESC NULLS LAST", "y ASC NULLS FIRST", "`x` ASC NULLS FIRST"]
    assert (query.event_type, query.order_by[-1].expression) == ("symbol", "`x`")


def test_a_tiebreak_is_no_key_twice() -> None:
    query = bind("FROM r ORDER BY ts, `X` DESC PATTERN SEQ(A a, B b)", properties=PROPERTIES)
    assert [k.text for k in query.order_by] == ["ts ASC NULLS FIRST", "`X` DESC NULLS LAST"]
    assert query.tiebreak is None


def test_properties_win_over_settings() -> None:
    query = bind("FROM r PATTERN SEQ(A a, B b)", properties=PROPERTIES)
    assert [k.expression for k in query.partition_by] == ["`job`", "`task_id`"]
    assert [k.text for k in query.order_by] == ["`val` ASC NULLS FIRST", "`x` ASC NULLS FIRST"]
    assert (query.event_type, query.order_by[-1].expression) == ("`type`", "`x`")
    assert {"job", "task_id", "val", "type", "x"} <= query.identifiers


def test_properties_are_those_of_a_table() -> None:
    for relation in ("(SELECT * FROM r) s", "range(3)", "VALUES (1) t(x)"):
        assert bind(f"FROM {relation} PATTERN SEQ(A a, B b)", properties=PROPERTIES).event_type == "`kind`"
    common = bind("WITH r AS (SELECT 1) FROM r PATTERN SEQ(A a, B b)", properties=PROPERTIES)
    assert common.event_type == "`kind`"
    assert bind("FROM c.`s`.r AS t PATTERN SEQ(A a, B b)", properties=PROPERTIES).event_type == "`type`"


@pytest.mark.parametrize(
    "text",
    [
        "FROM r EVENT TYPE NONE PATTERN SEQ(A a, B b)",
        "FROM Stock PATTERN SEQ(stock+ a[], stock b)",
        "FROM x.stock s PATTERN SEQ(stock+ a[], s b)",
        "FROM (SELECT 1) Stock PATTERN Stock S+",
        "FROM <Stock> PATTERN Stock S+",
        "FROM r PATTERN SEQ(ANY a, any+ b[])",
        "FROM r PATTERN <ANY,(Any,+)>",
        "FROM Stock PATTERN SEQ((stock | Trade) a, !ANY, STOCK b)",
    ],
)
def test_blocks_without_event_types(text: str) -> None:
    query = bind(text, log={"spark.sparkcep.log.time": "ts"})
    assert query.event_type is None
    assert all(c.types == () for c in query.components)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("FROM Stock PATTERN SEQ(Stock+ a[], ANY x, Stock b)", ["Stock", "", "Stock"]),
        ("FROM x.stock s PATTERN SEQ(stock+ a[], s b)", ["stock", "s"]),
        ("WITH s AS (SELECT 1) FROM s PATTERN SEQ(s a, (s | ANY) b)", ["s", ""]),
        ("FROM (SELECT 1) Stock PATTERN <Stock,ANY,(Stock,||,[ANY])>", ["Stock", "", ""]),
        ("FROM r PATTERN SEQ('ANY' a, \"ANY\" b, `ANY` c, any d)", ["ANY", "ANY", "ANY", ""]),
        ("FROM r PATTERN <'ANY',`any`,!ANY,any>", ["ANY", "any", "", ""]),
    ],
)
@pytest.mark.parametrize("of", ["clause", "property", "setting", "index"])
def test_a_name_is_a_type_where_one_is_known(text: str, types: list[str], of: str) -> None:
    time = {"spark.sparkcep.log.time": "ts"}
    query = bind(
        text.replace("PATTERN", "EVENT TYPE kind PATTERN") if of == "clause" else text,
        log=LOG if of == "setting" else time,
        properties={"sparkcep.event": "kind"} if of == "property" else None,
        indexed={"case": "job", "time": "ts", "event": "kind"} if of == "index" else None,
    )
    known = of != "property" or not text.startswith(("WITH", "FROM ("))
    assert query.event_type in ("kind", "`kind`") if known else query.event_type is None
    assert ["|".join(c.types) for c in query.components] == (types if known else [""] * len(types))


def test_a_setting_that_names_no_column_of_the_input_says_no_type() -> None:
    log = {"spark.sparkcep.log.time": "ts", "spark.sparkcep.log.event": "action"}
    assert bind("FROM Stock PATTERN SEQ(Stock+ a[], Stock b)", log=log).event_type is None
    with pytest.raises(PatternAnalysisError, match="names action, but the input has no such column"):
        bind("FROM Stock PATTERN SEQ(Stock+ a[], Trade b)", log=log)


# -- refused -----------------------------------------------------------------------------------------------------------

# text behind FROM r, error class, text before the place
REFUSED = [
    ("PATTERN A a WITHIN", "CEP_SYNTAX_ERROR", "PATTERN A a WITHIN"),
    ("PATTERN A a WITHIN 5 WITHIN 6", "CEP_DUPLICATE_CLAUSE", "PATTERN A a WITHIN 5 "),
    ("RETURN a.x PATTERN A a RETURN a.y", "CEP_DUPLICATE_CLAUSE", "RETURN a.x PATTERN A a "),
    ("PATTERN A a MATCHES ALL RETURN-ALL true", "CEP_DUPLICATE_CLAUSE", "PATTERN A a MATCHES ALL "),
    ("PATTERN A a RETURN-ALL perhaps", "CEP_SYNTAX_ERROR", "PATTERN A a RETURN-ALL "),
    ("PATTERN A a MATCHES NON SENSE", "CEP_SYNTAX_ERROR", "PATTERN A a MATCHES "),
    ("PATTERN A a BETWEEN 3", "CEP_SYNTAX_ERROR", "PATTERN A a BETWEEN 3"),
    ("PATTERN A a CONFIDENCE > 3", "CEP_SYNTAX_ERROR", "PATTERN A a CONFIDENCE "),
    ("PATTERN A a UNCERTAINTY 5 s CONFIDENCE >= 3", "CEP_CONFIDENCE", "PATTERN A a UNCERTAINTY 5 s CONFIDENCE >= "),
    ("PATTERN A a CONFIDENCE >= 0.5", "CEP_UNCERTAINTY", "PATTERN A a "),
    ("PATTERN A a UNCERTAINTY 5 s MATCHES FIRST", "CEP_UNCERTAINTY", "PATTERN A a "),
    ("PATTERN A a UNCERTAINTY 5 s BETWEEN 1 AND 2", "CEP_UNCERTAINTY", "PATTERN A a "),
    ("PATTERN A a EXPLAIN NON ANSWERS (1, 2)", "CEP_SYNTAX_ERROR", "PATTERN A a EXPLAIN NON ANSWERS "),
    ("PATTERN A a EXPLAIN NON ANSWERS (k => 1, k => 2, 3)", "CEP_SYNTAX_ERROR",
     "PATTERN A a EXPLAIN NON ANSWERS (k => 1, "),
    ("PATTERN A a EXPLAIN NON ANSWERS <1, 2, 3", "CEP_SYNTAX_ERROR", "PATTERN A a EXPLAIN NON ANSWERS "),
    ("PATTERN A a GROUPS [(1-x)]", "CEP_GROUPS", "PATTERN A a GROUPS [("),
    ("PATTERN A a GROUPS [(3-1)]", "CEP_GROUPS", "PATTERN A a GROUPS [("),
    ("PATTERN A a GROUPS [(1-999999999999)]", "CEP_GROUPS", "PATTERN A a GROUPS [("),
    ("PATTERN A a GROUPS [1]", "CEP_GROUPS", "PATTERN A a GROUPS "),
    ("PATTERN A a EVENT SELECTION skip_till_any", "CEP_SYNTAX_ERROR", "PATTERN A a EVENT SELECTION "),
    ("PATTERN A a WITHIN 5 mintes", "CEP_INTERVAL", "PATTERN A a WITHIN 5 "),
    ("PATTERN A a WITHIN a.x", "CEP_PATTERN_VARIABLE_NOT_ALLOWED", "PATTERN A a WITHIN "),
    ("ORDER BY ts DESC PATTERN A a WITHIN 5", "CEP_WITHIN_ORDER", "ORDER BY ts DESC PATTERN A a "),
    ("PARTITION BY symbl PATTERN A a", "CEP_UNRESOLVED_COLUMN", "PARTITION BY "),
    ("ORDER BY a.x PATTERN A a", "CEP_PATTERN_VARIABLE_NOT_ALLOWED", "ORDER BY "),
    ("PARTITION BY x WHERE y = 1 WHERE x = 2 PATTERN A a", "CEP_DUPLICATE_CLAUSE", "PARTITION BY x WHERE y = 1 "),
    ("PARTITION BY x WITHIN 5 PATTERN A a", "CEP_SYNTAX_ERROR", "PARTITION BY x "),
    ("PARTITION BY x MEASURES a.x AS y PATTERN A a", "CEP_SYNTAX_ERROR", "PARTITION BY x "),
    ("PATTERN A a DEFINE a AS a.x > 1", "CEP_SYNTAX_ERROR", "PATTERN A a "),
    ("PATTERN SEQ(A a, B b) WHERE a.x = 1 MEASURES FIRST(a.x) AS y", "CEP_SYNTAX_ERROR",
     "PATTERN SEQ(A a, B b) WHERE a.x = 1 "),
    ("PATTERN SEQ(A a, B b) SUBSET u = (a, b)", "CEP_SYNTAX_ERROR", "PATTERN SEQ(A a, B b) "),
    ("PATTERN SEQ(A a, B b) WITHIN 5 AFTER MATCH SKIP PAST LAST ROW", "CEP_SYNTAX_ERROR",
     "PATTERN SEQ(A a, B b) WITHIN 5 "),
    ("PATTERN SEQ(A a, B b) ALL ROWS PER MATCH", "CEP_SYNTAX_ERROR", "PATTERN SEQ(A a, B b) "),
    ("PATTERN SEQ(A a, B b) SKIP TILL ANY MATCH", "CEP_SYNTAX_ERROR", "PATTERN SEQ(A a, B b) "),
    ("PATTERN SEQ(A a, B+ b[] STRICT CONTIGUITY)", "CEP_UNSUPPORTED_PATTERN", "PATTERN SEQ(A a, B+ b[] "),
    ("PATTERN AND(A, B)", "CEP_CONJUNCTION", "PATTERN "),
    ("PATTERN AND(A, B) RETURN SUM(A.x)", "CEP_CONJUNCTION", "PATTERN "),
    ("PATTERN A a GROUP BY x", "CEP_TREND_RETURN", "PATTERN A a "),
    ("PATTERN A a RETURN COUNT(*) MATCHES FIRST", "CEP_TREND_MATCHES", "PATTERN A a RETURN COUNT(*) "),
    ("PATTERN A a RETURN COUNT(*), x", "CEP_NOT_IN_GROUP_BY", "PATTERN A a RETURN COUNT(*), "),
    ("PATTERN A a RETURN a.x, COUNT(*)", "CEP_MIXED_RETURN", "PATTERN A a RETURN "),
    ("PATTERN A a RETURN a.x + COUNT(*)", "CEP_MIXED_RETURN", "PATTERN A a RETURN "),
    ("PATTERN A a RETURN a.x HAVING a.x > 1", "CEP_TREND_RETURN", "PATTERN A a RETURN a.x "),
    ("PATTERN A a RETURN COUNT(*) HAVING a.x > 1", "CEP_MIXED_RETURN", "PATTERN A a RETURN COUNT(*) HAVING "),
    ("PATTERN A+ a RETURN a.x, avg(a.y)", "CEP_MIXED_RETURN", "PATTERN A+ a RETURN "),
    ("PATTERN A a RETURN COUNT(DISTINCT a)", "CEP_TREND_ARGUMENT", "PATTERN A a RETURN "),
    ("PATTERN A a RETURN SUM(DISTINCT a.x)", "CEP_TREND_ARGUMENT", "PATTERN A a RETURN "),
    ("PATTERN SEQ(A, B) RETURN SUM(A.x + B.x)", "CEP_TREND_ARGUMENT", "PATTERN SEQ(A, B) RETURN SUM("),
    ("PATTERN SEQ(A, B) RETURN SUM(A.x + y)", "CEP_TREND_ARGUMENT", "PATTERN SEQ(A, B) RETURN SUM("),
    ("PATTERN A a RETURN stddev(a.x)", "CEP_AGGREGATE_RANGE", "PATTERN A a RETURN "),
    ("PATTERN SEQ(A, !C) RETURN C.x", "CEP_NEGATED_VARIABLE", "PATTERN SEQ(A, !C) RETURN "),
    ("PATTERN SEQ(A, !C) RETURN COUNT(C)", "CEP_NEGATED_VARIABLE", "PATTERN SEQ(A, !C) RETURN COUNT("),
    ("PATTERN A+ a[] RETURN a[i].x", "CEP_INDEX", "PATTERN A+ a[] RETURN "),
    ("PATTERN A a RETURN x", "CEP_AMBIGUOUS_COLUMN", "PATTERN A a RETURN "),
    ("PATTERN A a RETURN a.x AS n, a.y AS n", "CEP_DUPLICATE_COLUMN", "PATTERN A a RETURN a.x AS n, a.y AS "),
    ("PATTERN A a RETURN a.(x, q)", "CEP_UNRESOLVED_COLUMN", "PATTERN A a RETURN a.(x, "),
    ("PATTERN A a RETURN a.x,", "CEP_SYNTAX_ERROR", "PATTERN A a RETURN a.x,"),
    ("PATTERN A a RETURN NEXT(a).x", "CEP_NEXT", "PATTERN A a RETURN "),
]  # fmt: skip


@pytest.mark.parametrize(("text", "error_class", "before"), REFUSED)
def test_refused_clauses(text: str, error_class: str, before: str) -> None:
    with pytest.raises(SparkCepError) as error:
        bind(f"FROM r {text}")
    assert error.value.error_class == error_class
    assert f"column {len('FROM r ' + before) + 1}." in str(error.value)


@pytest.mark.parametrize("log", [{}, {"spark.sparkcep.log.time": "ts"}, {"spark.sparkcep.log.event": "kind"}])
def test_missing_keys_name_all_places(log: dict[str, str]) -> None:
    with pytest.raises(SparkCepError) as error:
        bind("FROM r PATTERN SEQ(A a, B b)", log=log)
    assert error.value.error_class == "CEP_LOG_COLUMNS"
    for role in ("case", "time", "tiebreak", "event"):
        assert f"sparkcep.{role}" in str(error.value)
        assert f"spark.sparkcep.log.{role}" in str(error.value)


def test_properties_that_name_no_column_are_refused() -> None:
    with pytest.raises(SparkCepError, match=r"sparkcep\.time names tss, but the input has no such column") as error:
        bind("FROM r PATTERN SEQ(A a, B b)", properties={"sparkcep.time": "tss"})
    assert error.value.hint == "did you mean ts?"


def test_columns_of_ours_and_doubled_columns_are_refused() -> None:
    refused = {"CEP_RESERVED_COLUMN": ["ts", "kind", "__cep_x"], "CEP_DUPLICATE_COLUMN": ["ts", "kind", "TS"]}
    for error_class, columns in refused.items():
        with pytest.raises(SparkCepError) as error:
            bind("FROM r PATTERN A a", columns=columns)
        assert error.value.error_class == error_class


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(A define, B measures) RETURN define.x, measures.x AS measures, define.y AS after",
        "PATTERN SEQ(define, subset) WHERE define.x = subset.x RETURN subset.x AS define",
        "PATTERN SEQ(A a, B skip) WHERE skip.x = 1",
        "PATTERN SEQ(A one, B b IMMEDIATELY) EVENT SELECTION SKIP TILL ANY MATCH",
    ],
)
def test_words_of_other_languages_are_names(text: str) -> None:
    assert bind(f"FROM r {text}").components


# -- remarks -----------------------------------------------------------------------------------------------------------

COUNTS = "RETURN count(*) counts every combination of events that fits"


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        (
            "PATTERN SEQ(Send Fine a, B b)",
            ["Send Fine a is read as the event type Send with the variable Fine, then the"],
        ),
        ("PATTERN SEQ(B b, Send Fine)", []),
        ("PATTERN SEQ(Create Fine Notice a, B b)", ["Create Fine Notice a is read as the event type Create with"]),
        ("PATTERN (a b c)", ["a b c is read as the event type a with the variable b, then the event type c"]),
        ("PATTERN SEQ(A a B b)", []),
        ("PATTERN SEQ(A a, B b IMMEDIATELY, NOT C c)", []),
        ("PATTERN SEQ('Send Fine' a, B b)", []),
        ("PATTERN SEQ(A a, B+ b, C c)", []),
        ("PATTERN SEQ(A+ B C, D d)", []),
        ("PATTERN SEQ(A a, B b) RETURN count(*)", [COUNTS]),
        ("PATTERN SEQ(A a, B b) WITHIN 5 RETURN sum(a.x), COUNT(*) AS n", [COUNTS]),
        ("PATTERN SEQ(A a, B b) EVENT SELECTION SKIP TILL ANY MATCH RETURN COUNT(*)", []),
        ("PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.x = b.x } RETURN COUNT(*)", []),
        ("PATTERN SEQ(A a, B b) WITHIN 5 SLIDE 1 RETURN COUNT(*)", []),
        ("PATTERN SEQ(A a, B b) GROUP BY x RETURN x, COUNT(*)", []),
        ("PATTERN AND(A, B) RETURN COUNT(*)", []),
        ("PATTERN SEQ(A a, B b) RETURN sum(a.x)", []),
    ],
)
def test_remarks(text: str, remarks: list[str]) -> None:
    found = bind(f"FROM r {text}").remarks
    assert len(found) == len(remarks)
    assert all(a.startswith(b) for a, b in zip(found, remarks, strict=True))
