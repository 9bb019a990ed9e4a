"""Which queries are read as SELECTs over one relation, and what is refused with which reason."""

from __future__ import annotations

import pytest

from sparkcep.lineage.plain_select import NotPlain, Select, plain_select


def shown(select: Select) -> str:
    """A query in short: what each item is, where it reads from, and what else it says of its rows."""
    items = []
    for item in select.items:
        what = "*" if item.star else "" if item.column is None else ".".join(item.column)
        of = ".".join(item.column or ()) + "." if item.star and item.column else ""
        items.append(f"{of}{what if not item.star else '*'}" + (f" {item.name}" if item.name and not item.star else ""))
    relation = select.relation
    source = (
        f"({shown(relation)})"
        if isinstance(relation, Select)
        else str(getattr(relation, "name", None) or ".".join(relation.parts))
    )  # type: ignore[union-attr]
    words = [
        ", ".join(items),
        "<",
        source,
        select.alias or "-",
        *([f"({' '.join(select.names)})"] if select.names else []),
    ]
    words += [word for word, has in {
        f"where {select.where}": select.where is not None, "part": not select.whole, "repeats": select.repeats,
        "more": select.more,
    }.items() if has]  # fmt: skip
    commons = [f"{c.name}: {c.query if isinstance(c.query, str) else shown(c.query)}; " for c in select.commons]
    return "".join(commons) + " ".join(words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t", "* < t t"),
        ("SELECT k, t.e kind, `a b` AS c, v + 1 FROM db.t", "k k, t.e kind, a b c,  < db.t t"),
        ("SELECT x.* FROM t AS x(a, b) WHERE a > 1 -- no\n", "x.* < t x (a b) where a > 1"),
        ("((SELECT k FROM (SELECT * FROM t) q))", "k k < (* < t t) q"),
        ("SELECT k FROM (WITH o AS (SELECT * FROM t) SELECT * FROM o)", "k k < (o: * < t t; * < o o) -"),
        ("WITH o(a) AS (SELECT k FROM t GROUP BY k) SELECT a FROM o", "o: GROUP BY; a a < o o"),
        ("SELECT DISTINCT k FROM t", "k k < t t part"),
        ("SELECT ALL k FROM t ORDER BY v DESC NULLS LAST LIMIT 3 OFFSET 1", "k k < t t part"),
        ("SELECT k FROM {df} WHERE k = 1", "k k < df - where k = 1"),
        ("SELECT * FROM a JOIN b ON a.k = b.k WHERE v", "* < a a where v part repeats more"),
        ("SELECT * FROM a LEFT JOIN VALUES (1) d(x) ON k = x CROSS JOIN c", "* < a a part repeats more"),
        ("SELECT * FROM a LEFT ANTI JOIN (SELECT 1) b ON true", "* < a a part"),
        ("SELECT n FROM t LATERAL VIEW OUTER explode(a) x AS n WHERE n > 1", "n n < t t where n > 1 part repeats more"),
        ("SELECT user, null, true, current_date, `user` u FROM t", ", , , , user u < t t"),
        ("SELECT max(v) OVER (ORDER BY t) AS m FROM t", " m < t t"),
        ("SELECT k FROM parquet.`/a b/c`", "k k < parquet./a b/c /a b/c"),
        (
            "SELECT k FROM t WHERE k IN (SELECT k FROM u GROUP BY k)",
            "k k < t t where k IN (SELECT k FROM u GROUP BY k)",
        ),
        ("SELECT 'FROM u' AS s, k /* FROM v */ FROM t", " s, k k < t t"),
    ],
)
def test_read(text: str, expected: str) -> None:
    assert shown(plain_select(text)) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT k FROM t GROUP BY k", "GROUP BY"),
        ("SELECT k FROM t HAVING k > 1", "HAVING"),
        ("SELECT k FROM t UNION ALL SELECT k FROM t", "UNION"),
        ("SELECT k FROM t ORDER BY k EXCEPT SELECT 1", "EXCEPT"),
        ("SELECT k FROM t WHERE v > 1 INTERSECT SELECT 1", "INTERSECT"),
        ("SELECT * EXCEPT (k) FROM t", "EXCEPT"),
        ("SELECT k FROM t TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
        ("SELECT k FROM t x TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
        ("SELECT k FROM t PIVOT (max(v) FOR e IN ('A'))", "PIVOT"),
        ("SELECT k FROM a, b", ","),
        ("SELECT k FROM a RIGHT JOIN b ON true", "RIGHT JOIN"),
        ("SELECT k FROM a FULL OUTER JOIN b ON true", "FULL OUTER JOIN"),
        ("SELECT * FROM a JOIN b USING (k)", "USING"),
        ("SELECT * FROM a NATURAL JOIN b", "NATURAL JOIN"),
        ("SELECT k FROM a JOIN LATERAL (SELECT 1) ON true", "a FROM that cannot be read"),
        ("SELECT k FROM (a JOIN b ON true)", "a relation in parentheses"),
        ("SELECT k FROM range(3)", "a table function"),
        ("SELECT k FROM IDENTIFIER('t')", "a table function"),
        ("SELECT k FROM STREAM t", "a relation that is no name"),
        ("SELECT k FROM t VERSION AS OF 3", "VERSION"),
        ("SELECT k FROM t TIMESTAMP AS OF '2020-01-01'", "TIMESTAMP"),
        ("SELECT k FROM t WITH ('a' = 1)", "WITH"),
        ("SELECT k FROM t WINDOW w AS (ORDER BY k)", "WINDOW"),
        ("SELECT k FROM t DISTRIBUTE BY k", "DISTRIBUTE BY"),
        ("SELECT k FROM t |> WHERE k > 1", "|>"),
        ("SELECT k FROM t; SELECT 1", ";"),
        ("SELECT /*+ COALESCE(1) */ k FROM t", "a hint"),
        ("SELECT k FROM t WHERE v > 1 ${more}", "${...}, which Spark puts other text for"),
        ("SELECT k FROM t WHERE 'open", "a text that is not closed"),
        ("SELECT k FROM t WHERE", "a condition that cannot be read"),
        ("SELECT k FROM t WHERE a b", "a condition that cannot be read"),
        ("SELECT k, FROM t", "nothing in its SELECT"),
        ("SELECT from FROM t", "nothing in its SELECT"),
        ("SELECT k from from t", "a relation that is no name"),
        ("SELECT explode(a) AS (x, y) FROM t", "a name that cannot be read"),
        ("SELECT TRANSFORM(k) USING 'cat' AS k FROM t", "USING"),
        ("SELECT `a{b` FROM t x(`a``b`)", "a list of column names that cannot be read"),
        ("WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r", "a WITH list that cannot be read"),
        ("FROM t SELECT k", "no SELECT"),
        ("TABLE t", "no SELECT"),
        ("VALUES (1)", "no SELECT"),
        ("SELECT 1", "no FROM"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(NotPlain) as found:
        plain_select(text)
    assert str(found.value) == reason
