"""docs/templates.md, from the templates themselves."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.sql.templates.allen import ALLEN
from sparkcep.sql.templates.declare import DECLARE
from sparkcep.sql.templates.template import Arguments, Log, Template

_HEAD = """# Templates: Declare and Allen

A template is a table function that stands for a pattern: the text of a `MATCH_RECOGNIZE` or of a block takes its place in
the statement before anything else happens, so that whatever holds for a pattern holds for it (views, CTAS, joins, dbt, Spark
Connect), and EXPLAIN prints that text. Below is each template with its SQL: take it from there where a condition is missing.

```sql
CREATE OR REPLACE TEMP VIEW orders AS
SELECT order_id, TIMESTAMP'2026-01-01 09:00:00' + make_dt_interval(day) AS time, activity
FROM VALUES (1, 0, 'receive'), (1, 1, 'pay'), (1, 2, 'ship'), (2, 0, 'pay'), (2, 1, 'ship'), (2, 2, 'pay'), (3, 0, 'receive')
  AS t(order_id, day, activity);

SELECT * FROM declare_response(TABLE(orders) PARTITION BY order_id ORDER BY time EVENT TYPE activity, 'pay', 'ship');
```

| order_id | activations | fulfilments | violations | holds | violating |
|--:|--:|--:|--:|---|---|
| 1 | 1 | 1 | 0 | true | [] |
| 2 | 2 | 1 | 1 | false | [{pay, 2026-01-03 09:00:00}] |
| 3 | 0 | 0 | 0 | true | [] |

**The log** is the first argument: a name or `TABLE(name)`, or a query, `TABLE(SELECT ...)`. Behind it, as in Spark's table
arguments, `PARTITION BY` (the case), `ORDER BY` (ascending), and the block's `EVENT TYPE`; several columns stand in
parentheses, `PARTITION BY (shop, order_id)`. All are columns; compute anything else in the query. What is left out comes from
where it comes from in a [block](patterns.md): the table's properties `sparkcep.case`, `sparkcep.time`, `sparkcep.tiebreak`
and `sparkcep.event`, then the settings `spark.sparkcep.log.*`. Event types are strings; for a condition on an event's data give
it a type of its own, `TABLE(SELECT *, CASE WHEN amount > 1000 THEN 'big' ELSE activity END AS type FROM orders)`.

```sql
SELECT 'response' AS constraint, count_if(NOT holds) AS cases, sum(violations) AS events
FROM declare_response(TABLE(orders) PARTITION BY order_id ORDER BY time EVENT TYPE activity, 'pay', 'ship')
UNION ALL
SELECT 'at most one pay', count_if(NOT holds), sum(size(violating))
FROM declare_absence(TABLE(orders) PARTITION BY order_id ORDER BY time EVENT TYPE activity, 'pay', n => 2);
```

| constraint | cases | events |
|---|--:|--:|
| at most one pay | 1 | 1 |
| response | 1 | 1 |

Where only the events that break a constraint are asked for, a block may say it in less, and a
[pattern index](pattern_index.md) may serve it: a pay that no ship follows is

```sql
FROM orders PARTITION BY order_id ORDER BY time EVENT TYPE activity PATTERN SEQ(pay a, !ship b) RETURN order_id, a.time;
```

| order_id | time |
|--:|---|
| 2 | 2026-01-03 09:00:00 |

a ship that no pay precedes `SEQ(!pay a, ship b)`, and a pay with a ship behind it, which breaks not succession,
`SEQ(pay a, ship b)`.

Templates are read by `spark.sql` of a session with sparkcep, as blocks are: not in SQL scripts and EXECUTE IMMEDIATE.

## Declare

Constraints of Declare, over the events of one case, a finite trace. There is one row for each case, also for one without
activations, with

| column | is |
|---|---|
| the case's columns | |
| `activations` | events that the constraint says something about, by the table below; a constraint on the case as a whole has one activation, the case |
| `fulfilments`, `violations` | how many of them keep it and break it |
| `holds` | whether there are no violations; without activations it holds vacuously |
| `violating` | array&lt;struct&lt;event, time&gt;&gt;, in order: the activations that break it; of absence and exactly the events that are too many, of init and end the event in the place of a, of exclusive choice all events a and b |

In formulas F, G, X, U are finally, globally, next (there is one) and until; Y, O, S the same of the past: the event before, once
before or now, since. Events at the same time are in the order of ties that patterns have: tie-break, then type. An event
without a type counts as any other event. a and b differ.

"""  # noqa: E501
_ALLEN = """## Allen

Relations between two intervals of one case, a of one event type and b of one, which may be the same: a row for each pair that is
so related, with the case's columns, `a_start`, `a_end`, `b_start`, `b_end`. An interval is an event: its start is the ORDER BY
column, its end the column `end`, and it takes part if it starts before it ends. Each pair of intervals has exactly one of the
thirteen relations.

```sql
CREATE OR REPLACE TEMP VIEW stays AS SELECT * FROM VALUES
  (7, 1, 5, 'surgery'), (7, 4, 9, 'icu'), (7, 6, 8, 'surgery') AS t(patient, admitted, discharged, ward);

SELECT * FROM allen_overlaps(TABLE(stays) PARTITION BY patient ORDER BY admitted EVENT TYPE ward, 'surgery', 'icu', end => discharged);
```

| patient | a_start | a_end | b_start | b_end |
|--:|--:|--:|--:|--:|
| 7 | 1 | 5 | 4 | 9 |

Intervals of two tables are a log by `TABLE(SELECT id, s, e, 'a' AS kind FROM x UNION ALL SELECT id, s, e, 'b' FROM y)`.

"""  # noqa: E501
_LOG = Log("log", ("id",), ("ts",), "event")


def templates_page() -> str:
    """Every template with its meaning, definition and SQL."""
    lines = [_HEAD + _table(DECLARE, ("formula", "activated by"))]
    lines += [_section(t) for t in DECLARE]
    lines.append(_ALLEN + _table(ALLEN, ("a to b",)))
    lines += [_section(t) for t in ALLEN]
    return "\n".join(lines)


def _table(templates: Sequence[Template], more: Sequence[str]) -> str:
    lines = [f"| template | holds where | {' | '.join(more)} |", "|---" * (2 + len(more)) + "|"]
    for t in templates:
        cells = [f"[{_call(t)}](#{t.name})", t.meaning, f"`{t.formula}`", t.activation]
        lines.append(f"| {' | '.join(cells[: 2 + len(more)])} |")
    return "\n".join([*lines, ""])


def _call(template: Template) -> str:
    named = [f"{p} => 1" if p in template.optional else p for p in template.parameters]
    return f"{template.name}({', '.join(named)})"


def _section(template: Template) -> str:
    number = "n" if "n" in template.parameters else ""
    sql = template.sql(_LOG, Arguments("'A'", "'B'", 3 if number else 1, "finish"))
    given = ["log", "'A'"] + ["'B'"] * ("b" in template.parameters) + ["n => 3"] * bool(number)
    given += ["end => finish"] * ("end" in template.parameters)
    return f"### {template.name}\n\n`{template.name}({', '.join(given)})` stands for\n\n```text\n{sql}\n```\n"
