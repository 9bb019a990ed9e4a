# ruff: noqa: E501 (statements as data)
"""Random statements, by grammar and by mutation of real ones, and the way of a statement until Spark is asked.

`python -m tests.parsing.hostile 100000 [SEED]` tries that many by hand and prints what came of them.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random

from sparkcep import settings
from sparkcep.errors import SparkCepError
from sparkcep.planner.choice import make_plan
from sparkcep.sql.block.binder import bind_block
from sparkcep.sql.clause.binder import bind
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.command_reader import mentions
from sparkcep.sql.commands import classify
from sparkcep.sql.function import read_function
from sparkcep.sql.index_statements import read_index_statement
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.outer import most_probable, partition_predicate, plain_limit, wanted_names, wants_repairs_only
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement, mentions_pattern
from sparkcep.sql.table_functions import plain_literal, read_call, relation_name

from ..sqltest import read_cases

ROOT = Path(__file__).parents[2]
COLUMNS = ("id", "ts", "kind", "val", "price", "it", "symbol", "k", "name")
LOG = {"spark.sparkcep.log.time": "ts", "spark.sparkcep.log.event": "kind", "spark.sparkcep.log.case": "id"}
TYPES = {"id": "int", "ts": "timestamp", "val": "int", "price": "double", "it": "bigint", "k": "int"}
#: No statement may take longer to be read and planned, on a machine that runs `_yardstick` in a hundredth of it.
SECONDS = 5.0


def _yardstick() -> float:
    """CPU seconds of a fixed piece of Python: how slow the machine is just now."""
    started = time.process_time()
    found: dict[int, list[int]] = {}
    for k in range(800_000):
        found.setdefault(k % 1_000, []).append(k)
    return time.process_time() - started


def in_bounded_time(started: float) -> bool:
    """Whether the CPU time since ``started`` (of `time.process_time`) is what a statement may take."""
    took = time.process_time() - started
    return took < SECONDS or took < 100 * max(_yardstick() for _ in range(5))


# -- the way of a statement ----------------------------------------------------------------------------------------


def analyze(items: Sequence[str]) -> list[tuple[str, str]]:
    """Spark's part: what is not a column is a number."""
    return [(item.strip("`"), TYPES.get(item.strip("` "), "int")) for item in items]


def outcome(text: str) -> str:
    """What becomes of a statement: foreign, index, read, or the class of its refusal.

    Raises:
        AssertionError: a refusal without a place inside the text, or text outside of the forms that is not kept.
        Exception: what a user must never see.
    """
    try:
        return _outcome(text)
    except SparkCepError as error:
        place = re.search(r" Line (\d+), column (\d+)\.$", str(error).split("\n")[0])
        place = place or re.search(r" Line (\d+), column (\d+)\.\n", str(error))
        assert place, f"no place: {error}"
        lines = text.split("\n")
        line, column = int(place[1]), int(place[2])
        assert 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1, f"place outside: {error}"
        return error.error_class


def _outcome(text: str) -> str:
    if read_index_statement(text) is not None:
        return "index"
    if not mentions_pattern(text):
        return "foreign"
    statement = read_statement(text)
    if read_function(statement) is not None:
        return "function"
    if not statement.forms:
        return "foreign"
    classify(statement)
    rewriter = Rewriter(statement)
    for number, form in enumerate(statement.forms):
        rewriter.input_sql(form)
        if form.kind is OccurrenceKind.CALL:
            for low, high in read_call(statement, form).arguments.values():
                relation_name(statement, low, high)
                plain_literal(statement, low, high)
        else:
            _plan(statement, form, rewriter)
        rewriter.replace(form, f"{{r{number}}}")
    kept = rewriter.render(0, len(text))
    names = {f"r{n}": text[f.start : f.end] for n, f in enumerate(statement.forms)}
    # An inner form is gone with the text of the outer one.
    assert kept.format(**names) == text, "text outside of the forms has changed"
    return "read"


def _plan(statement: Statement, form: PatternOccurrence, rewriter: Rewriter) -> None:
    own = settings.read(LOG.get)
    wanted_names(statement, form)
    plain_limit(statement, form)
    most_probable(statement, form)
    partition_predicate(statement, form, lambda name: name if name in COLUMNS else None)
    wants_repairs_only(statement, form)
    types = [TYPES.get(c, "string") for c in COLUMNS]
    qualifiers, prefix = rewriter.qualifiers(form), rewriter.with_prefix(form)
    if form.kind is OccurrenceKind.CLAUSE:
        clause = parse_clause(statement, form.body)
        query = bind(statement, clause, form.body, COLUMNS, qualifiers, rewriter.render, own, prefix)
        if query.non_answers is None:
            make_plan(query, own, analyze, lambda *_: None, types)
        return
    query = bind_block(
        statement, form, COLUMNS, qualifiers, rewriter.render, own, prefix, lambda relation: {},
        lambda expression: analyze([expression])[0][1],
    )  # fmt: skip
    types += ["int"] * (len(query.columns) - len(types))
    if not (query.trends or query.non_answers is not None or query.uncertainty is not None):
        make_plan(query, own, analyze, lambda *_: None, types)


# -- statements ----------------------------------------------------------------------------------------------------

_WORDS = """SELECT FROM WHERE GROUP BY ORDER PARTITION PATTERN MATCH_RECOGNIZE SEQ AND OR NOT WITHIN SLIDE RETURN BETWEEN
GROUPS EVENT TYPE SELECTION STRICT CONTIGUITY SKIP TILL NEXT ANY MATCH MATCHES ALL NON OVERLAPPING FIRST LAST PREV
COLLAPSED TIME UNCERTAINTY STEP PROBABILITY CONFIDENCE EXPLAIN ANSWERS MEASURES DEFINE SUBSET AFTER PAST ROW ROWS PER ONE
SHOW EMPTY OMIT WITH UNMATCHED PERMUTE CLASSIFIER() MATCH_NUMBER() RUNNING FINAL AS ASC DESC NULLS UNION JOIN ON LATERAL
VIEW VALUES CASE WHEN THEN END NULL INTERVAL 'x' "y" `z` a b c A B C X id ts kind val price 1 2 0 1.5 1e9 99999999999
{ } {2} {,3} {2,} {0} {3,1} {- -} ( ) [ ] [] < > <= >= <> = == + * ? | || ! ~ ^ $ % , . .. ; : :: -> => |> @ # & / // \\
- -- /* */ ∧ ∨ ¬ ∼ ≠ ≥ ≤ × é 🚀 \u200b \x00 ' " ` {{ }} {df} ? 5 minutes 80% a.val b[i].val b[i-1].val b[b.LEN].val
avg(b[..i-1].val) b[].val a.* a.(val,id) INDEX REFRESH CREATE DROP VACUUM TEMPORARY FUNCTION EXTENDED IF EXISTS INCLUDE USING
RECURSIVE BEGIN DECLARE MERGE INSERT INTO TABLE pattern_statistics pattern_continuations TRUE FALSE I LEN DISTINCT""".split()
_NAMES = ("a", "b", "c", "A", "B", "C", "X", "`a b`", "`é``x`", "pattern", "`select`", "🚀", "seq", "return")


def _either(r: Random, *options: Callable[[Random], str] | str) -> str:
    chosen = options[r.randrange(len(options))]
    return chosen if isinstance(chosen, str) else chosen(r)


def _some(r: Random, part: str, chance: float = 0.4) -> str:
    return part if r.random() < chance else ""


def _odd(r: Random, good: Callable[[Random], str] | str, *bad: Callable[[Random], str] | str) -> str:
    """Mostly the first: else hardly a statement is read to its end."""
    return _either(r, *bad) if r.random() < 0.04 else _either(r, good)


def _name(r: Random) -> str:
    return _odd(r, "abc"[r.randrange(3)], *_NAMES)


def _quantifier(r: Random) -> str:
    good = _either(r, "", "", "*", "+", "?", "{2}", "{,3}", "{2,}", "{1,2}", "*?", "{ 3 , 7 }+"[:9])
    return _odd(r, good, "{99999}", "{0}", "{ 3 , 1 }", "{}")


def row_pattern(r: Random, depth: int = 0) -> str:
    parts = []
    for _ in range(r.randrange(1, 4)):
        leaf = depth > 3 or r.random() < 0.6
        item = _name(r) if leaf else _either(
            r, lambda r: f"({row_pattern(r, depth + 1)})", lambda r: f"{{- {row_pattern(r, depth + 1)} -}}", "()", "^", "$",
            lambda r: "PERMUTE(" + ", ".join(row_pattern(r, depth + 2) for _ in range(r.randrange(2, 4))) + ")",
            lambda r: _odd(r, _name, "!" + _name(r), "PERMUTE(a)"),
        )  # fmt: skip
        parts.append(item + _quantifier(r))
    return _either(r, " ", " ", " | ").join(parts)


def scalar(r: Random, depth: int = 0) -> str:
    if depth > 2 or r.random() < 0.35:
        return _either(
            r, "1", "val", "price", "id", "'x'", "NULL", "1.5", "-9223372036854775808", "TRUE", "DATE'2026-01-01'", "ts",
            lambda r: f"{_name(r)}.{_odd(r, _either(r, 'val', 'price', 'ts', '`val`'), 'nope', '*')}",
            lambda r: _odd(
            r, "b.val", f"{_name(r)}[{_either(r, '', 'i', 'i-1', '1', 'i-99', '..i', '..i-1', '2', 'b.LEN', 'a.LEN')}].val"
        ),
        )  # fmt: skip
    return _either(
        r,
        lambda r: f"{scalar(r, depth + 1)} {_either(r, '+', '-', '*', '/', '%', '||', 'DIV')} {scalar(r, depth + 1)}",
        lambda r: f"{_either(r, 'PREV', 'NEXT', 'FIRST', 'LAST')}({scalar(r, depth + 1)}{_odd(r, _either(r, '', ', 1'), ', 99999999999', ', -1')})",
        lambda r: f"{_either(r, 'avg', 'sum', 'min', 'count', 'median', 'count_if', 'array_agg')}({_either(r, '', 'DISTINCT ')}{scalar(r, depth + 1)})",
        lambda r: f"{_odd(r, 'RUNNING', 'FINAL')} LAST(val)",
        lambda r: f"CASE WHEN {condition(r, depth + 1)} THEN {scalar(r, depth + 1)} END",
        lambda r: f"({scalar(r, depth + 1)})",
        lambda r: f"(SELECT max({_name(r)}) FROM t)",
        lambda r: f"transform(array({scalar(r, depth + 1)}), {_name(r)} -> {_name(r)} + 1)",
        lambda r: f"CAST({scalar(r, depth + 1)} AS {_either(r, 'INT', 'STRING', 'DECIMAL(38,0)', 'NOPE')})",
        lambda r: _odd(r, "CLASSIFIER()", "MATCH_NUMBER()", "count(*)", "NEXT(b).val"),
    )  # fmt: skip


def condition(r: Random, depth: int = 0) -> str:
    if depth < 2 and r.random() < 0.3:
        return f"{condition(r, depth + 1)} {_either(r, 'AND', 'OR', 'AND NOT', '∧', ',')} {condition(r, depth + 1)}"
    return _either(
        r,
        lambda r: (
            f"{scalar(r, depth)} {_either(r, '=', '<', '>=', '<>', '<=>', '≤', 'LIKE', 'IS NOT DISTINCT FROM')} {scalar(r, depth)}"
        ),
        lambda r: f"{scalar(r, depth)} BETWEEN {scalar(r, depth + 1)} AND {scalar(r, depth + 1)}",
        lambda r: f"{scalar(r, depth)} IN ({scalar(r, depth + 1)}, 2)",
        lambda r: f"{scalar(r, depth)} IS NULL",
        lambda r: (
            f"{_either(r, 'a', 'b', 'c')}.val {_either(r, '<', '=', '>=')} {_either(r, 'a', 'b', 'c')}.{_either(r, 'val', 'price')} {_odd(r, '', '+ 80% * a.val')}"
        ),
    )


def block_condition(r: Random) -> str:
    return f" {_odd(r, 'AND', 'OR', '∧', ',')} ".join(
        _either(
            r, condition, "b[i].val > b[i-1].val", "avg(b[..i-1].val) < b[i].val", "max(b[].price) > 3", "b[b.LEN].val < a.val",
            "a.val = c.val", "b[1].price < c.price", "NEXT(b).val > b.val", "[id]", "[a.id, k]",
            lambda r: f"({_either(r, 'time', 'gap')}, {_either(r, 'within', 'atleast')}, {_either(r, '3', '5 minutes')}, {r.randrange(4)}, {r.randrange(4)})",
            lambda r: _either(r, "skip_till_any_match(a, b)", "skip_till_next_match(a, b) { [id] }", "strict_contiguity"),
        )
        for _ in range(r.randrange(1, 4))
    )  # fmt: skip


def clause(r: Random) -> str:
    interval = _either(r, "INTERVAL 5 MINUTES", "INTERVAL '1' DAY", "10", "val", "INTERVAL 1 MONTH")
    parts = [
        _some(r, "PARTITION BY " + _odd(r, _either(r, "id", "id, k", "val + 1"), "nope")),
        _some(r, "ORDER BY " + _odd(r, _either(r, "ts", "ts DESC NULLS LAST", "val, ts"), "1"), 0.8),
        _some(r, "EVENT TYPE kind"),
        _some(r, "MEASURES " + ", ".join(f"{scalar(r)}{_some(r, f' AS m{k}', 0.99)}" for k in range(r.randrange(1, 4)))),
        _some(r, _either(r, "ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
                         "ALL ROWS PER MATCH OMIT EMPTY MATCHES")),
        _some(r, "AFTER MATCH SKIP " + _either(r, "PAST LAST ROW", "TO NEXT ROW", f"TO FIRST {_name(r)}", f"TO {_name(r)}")),
        _some(r, "EVENT SELECTION " + _odd(r, _either(r, "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH", "STRICT CONTIGUITY"), "X")),
        f"PATTERN ({_odd(r, row_pattern(r, 2) + ' a b+ c', row_pattern)})",
        _some(r, f"WITHIN {interval}", 0.2),
        _some(r, f"SUBSET {_name(r)} = ({_name(r)}, {_name(r)})", 0.2),
        _some(r, "DEFINE " + ", ".join(f"{_odd(r, name, _name)} AS {condition(r)}" for name in r.sample("abc", r.randrange(1, 4))), 0.8),
        _some(r, "EXPLAIN NON ANSWERS (k => 1, uncertainty => 2, step => 1)", 0.05),
    ]  # fmt: skip
    if r.random() < 0.1:
        r.shuffle(parts)
    return " ".join(p for p in parts if p)


def block_pattern(r: Random, depth: int = 0) -> str:
    parts = []
    for _ in range(r.randrange(1, 4)):
        if depth > 3 or r.random() < 0.65:
            quantifier = _odd(r, _either(r, "", "", "+", "*", "?", "{2}", "{1,3}", "{2,}"), "{77777777}")
            type_ = _odd(r, "ABC"[len(parts) % 3], "'x y'", "`D`", "t")
            parts.append(_some(r, _either(r, "!", "NOT ", "~"), 0.15) + type_ + quantifier
                         + _some(r, " " + _odd(r, f"{'abc'[len(parts) % 3]}{depth or ''}", _name), 0.9)
                         + _some(r, "[]", 0.5 if quantifier not in ("", "?") else 0.01))  # fmt: skip
        else:
            inner = block_pattern(r, depth + 1)
            parts.append(_odd(r, _either(r, f"({inner})", f"SEQ({inner})", f"({inner})+", f"!({inner})", f"OR({inner}, B)"),
                              f"AND({inner}, C)", f"<{inner}>", "<(B,_),(A,+),(C,!),(E,||,[F,G])>", f"(B|C)+ {_name(r)}[]"))  # fmt: skip
    return _either(r, ", ", ", ", ", ", ", ", " ", " | ", " OR ").join(parts)


def block(r: Random, relation: str = "") -> str:
    span = _either(r, "10 minutes", "INTERVAL 1 DAY", "5", "1.5 hours", "INTERVAL '1-2' YEAR TO MONTH", "0", "-1 day")
    head = [
        _some(r, h, 0.25) for h in ("PARTITION BY id", "ORDER BY ts", f"EVENT TYPE {_odd(r, 'kind', 'NONE', 'nope')}")
    ]
    tail = [
        _some(r, f"WHERE {block_condition(r)}", 0.6), _some(r, f"WITHIN {span}{_some(r, ' SLIDE 1 minute', 0.3)}"),
        _some(r, "BETWEEN '2026-01-01' AND '2026-02-01'", 0.1), _some(r, f"GROUP BY {_either(r, 'id', 'a.id', 'k, id')}", 0.1),
        _some(r, f"GROUPS {_odd(r, '[(1-3,8),(5-7)]', '[(9-1)]', '[()]', '[(1,99999999999999999999)]')}", 0.1),
        _some(r, f"EVENT SELECTION {_either(r, 'SKIP TILL ANY MATCH', 'skip_till_next_match', 'STRICT CONTIGUITY')}", 0.2),
        _some(r, f"MATCHES {_odd(r, _either(r, 'ALL', 'NON OVERLAPPING', 'FIRST'), 'LAST')}", 0.2), _some(r, "COLLAPSED", 0.1),
        _some(r, "STRICT TIME", 0.1),
        _some(r, f"UNCERTAINTY {_either(r, '(ts, ts)', '5 seconds', '1')} STEP 1 second CONFIDENCE >= {_either(r, '0.5', '2', 'x')}", 0.1),
        _some(r, f"EXPLAIN NON ANSWERS {_either(r, '(4,1,1)', '<4,1,1>', '(k => 1)', '(1 minute, 2, 3)')}", 0.1),
        _some(r, "RETURN " + _either(r, "count(*), SUM(a.val)", *[", ".join(
            _odd(r, _either(r, "a.val", "avg(b[].val) AS x", "c.price AS y"), "a.(val, id)", "a.*", "SUM(a.val)", scalar)
            for _ in range(r.randrange(1, 4)))] * 3)),
    ]  # fmt: skip
    if r.random() < 0.3:
        r.shuffle(tail)
    rest = _some(
        r, _either(r, ", ", " | ") + _either(r, "D", "!D, E", "(D, E)+", "SEQ(!(D, E), F)", "(D|E)* d[]", "D{2,4} d[]")
    )
    pattern = _odd(r, f"A{_some(r, '?')} a, {_some(r, '!X x, ', 0.2)}B+ b[], C{_some(r, '*')} c{rest}", block_pattern)
    return " ".join(p for p in (relation, *head, f"PATTERN {pattern}", *tail) if p)


def index_statement(r: Random) -> str:
    name = _either(r, "ix", "`i x`", "../up", "`../../etc`", "a.b", "🚀", "")
    roles = [_some(r, p, 0.9) for p in ("CASE id", "TIME ts", "TIEBREAK k", "EVENT kind", "CASE k")]
    options = f"({_either(r, 'lookback', 'postings', 'x')} = {_either(r, chr(39) + '30 days' + chr(39), '30', 'positions', '', '-1')})"
    return _either(
        r,
        f"CREATE PATTERN INDEX {_some(r, 'IF NOT EXISTS')} {name} ON {_either(r, 't', 'a.b.c', 'parquet.`/x`', '')} "
        f"({', '.join(p for p in roles if p)}) {_some(r, 'INCLUDE (val, price)')} {_some(r, 'USING siesta')} "
        f"{_some(r, 'WITH ' + options)}",
        f"REFRESH PATTERN INDEX {name} {_some(r, 'FULL')}", f"SHOW PATTERN INDEXES {_some(r, 'ON t')}",
        f"DESCRIBE PATTERN INDEX {_some(r, 'EXTENDED')} {name}", f"ALTER PATTERN INDEX {name} SET {options}",
        f"DROP PATTERN INDEX {_some(r, 'IF EXISTS')} {name}", f"ANALYZE PATTERN INDEX {name} ;",
        f"VACUUM PATTERN INDEX {name} {_some(r, f'RETAIN {_either(r, chr(49), chr(45) + chr(49), chr(46), chr(178))} HOURS')}",
    )  # fmt: skip


def relation(r: Random, depth: int = 0) -> str:
    return _either(
        r, "t", "t", "t AS u", "`a b`.`c``d`", "(SELECT * FROM t) s", "VALUES (1, 2), (3, 4) AS v(id, val)", "range(10)",
        lambda r: f"({statement(r, depth + 1)}) q" if depth < 2 else "t", "{df}", "t TABLESAMPLE (5 ROWS)",
    )  # fmt: skip


def statement(r: Random, depth: int = 0) -> str:
    form = f"{relation(r, depth)} MATCH_RECOGNIZE ({clause(r)})"
    query = _either(r, f"SELECT * FROM {form}", f"SELECT a, count(*) FROM {form} AS m WHERE m.x > 1 AND id = 3", f"FROM {block(r, relation(r, depth))}",
                    f"FROM {block(r, relation(r, depth))}", f"SELECT x FROM (FROM {block(r, relation(r, depth))}) LIMIT {_either(r, '3', '٣', '99999999999999999999')}",
                    f"SELECT * FROM t JOIN {form} m ON m.id = t.id, {form}")  # fmt: skip
    if depth:
        return query
    return _either(
        r, *[query] * 12, f"WITH c AS ({query}), t AS (SELECT 1) SELECT * FROM c {_some(r, 'MATCH_RECOGNIZE (PATTERN (A))')}",
        f"CREATE TABLE x AS {query}", f"CREATE {_some(r, 'OR REPLACE')} {_some(r, 'TEMPORARY')} VIEW {_name(r)} {_some(r, '(a, b)')} AS {query}",
        f"INSERT INTO x {query}", f"EXPLAIN {_either(r, '', 'EXTENDED', 'ANALYZE', 'LOGICAL')} {query}", index_statement,
        f"CREATE {_some(r, 'OR REPLACE')} {_some(r, 'TEMPORARY', 0.8)} PATTERN FUNCTION {_name(r)} AS {block(r)}",
        f"SELECT * FROM {_either(r, 'pattern_statistics', 'pattern_continuations')}({_either(r, 't', 'log => t', '')}, {_either(r, repr('A B'), 'k => 1', '')})",
        f"{query} UNION ALL {query}", f"BEGIN {query}; END", f"CACHE TABLE x AS {query}", f"FROM t |> {query}", f"({query})",
    )  # fmt: skip


@lru_cache(maxsize=1)
def real_statements() -> tuple[str, ...]:
    """Those of the tests and examples."""
    out = [c.sql for f in sorted((ROOT / "tests" / "sql").rglob("*.test")) for c in read_cases(f) if c.sql]
    out += [f.read_text() for f in sorted((ROOT / "sql_examples").rglob("*.sql"))]
    return tuple(t for t in out if len(t) < 3000 and (mentions_pattern(t) or mentions(t, "INDEX")))


_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


def mutated(r: Random, text: str) -> str:
    """A statement with a few tokens deleted, doubled, swapped, replaced or added, or cut off, or with another's tail."""
    tokens = _TOKEN.findall(text)
    for _ in range(r.randrange(1, 5)):
        if not tokens:
            break
        i = r.randrange(len(tokens))
        match r.randrange(8):
            case 0:
                del tokens[i]
            case 1:
                tokens.insert(i, tokens[i])
            case 2:
                k = r.randrange(len(tokens))
                tokens[i], tokens[k] = tokens[k], tokens[i]
            case 3 | 4:
                tokens[i] = _WORDS[r.randrange(len(_WORDS))]
            case 5:
                tokens.insert(i, f" {_WORDS[r.randrange(len(_WORDS))]} ")
            case 6:
                del tokens[i : i + r.randrange(1, 12)]
            case 7 if r.random() < 0.3:
                del tokens[i:]
            case _:
                tokens[i:] = _TOKEN.findall(real_statements()[r.randrange(len(real_statements()))])[-len(tokens) :]
    return "".join(tokens)


def hostile(r: Random) -> str:
    """Any statement, well-formed or not."""
    pick = r.randrange(4)
    if pick == 0:
        return statement(r)
    if pick == 1:
        return mutated(r, statement(r))
    if pick == 2:
        return mutated(r, real_statements()[r.randrange(len(real_statements()))])
    words = " ".join(_WORDS[r.randrange(len(_WORDS))] for _ in range(r.randrange(1, 30)))
    return (
        _either(r, "FROM t PATTERN ", "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A) ", "CREATE PATTERN INDEX ", "")
        + words
    )


def main(count: int, seed: int) -> None:
    came: Counter[str] = Counter()
    slowest = (0.0, "")
    for number in range(count):
        text = hostile(Random(f"{seed}/{number}"))
        started = time.perf_counter()
        try:
            came[outcome(text)] += 1
        except Exception as fault:
            came[f"FAULT {type(fault).__name__}"] += 1
            print(f"--- {number}: {type(fault).__name__}: {str(fault)[:300]}\n{text}", flush=True)
        slowest = max(slowest, (time.perf_counter() - started, text))
    for name, times in came.most_common():
        print(f"{times:8d} {name}")
    print(f"slowest: {slowest[0]:.2f} s\n{slowest[1][:600]}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
