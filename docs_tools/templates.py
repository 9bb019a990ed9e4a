"""docs/templates.md, from the templates themselves."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.sql.templates.allen import ALLEN
from sparkcep.sql.templates.declare import DECLARE
from sparkcep.sql.templates.funnel import FUNNEL
from sparkcep.sql.templates.template import Arguments, FunnelStep, Log, Template

_HEAD = """# Templates: funnels, Declare, Allen

A template is a table function that stands for SQL text, mostly a pattern. sparkcep replaces the call by that text first, so you
can use templates wherever you can use a pattern (views, CTAS, joins, dbt, Spark Connect). EXPLAIN prints the text. This page
shows it for each template: copy it from here if you need another condition.

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

**The log** is the first argument: a name, `TABLE(name)`, or a query, `TABLE(SELECT ...)`. After it follow, as in Spark's table
arguments, `PARTITION BY` (the case), `ORDER BY` (ascending), and the block's `EVENT TYPE`. Put several columns in parentheses:
`PARTITION BY (shop, order_id)`. Name columns only, and compute anything else in the query. As in a [block](patterns.md), clauses
that you leave out come from the table's properties `sparkcep.case`, `sparkcep.time`, `sparkcep.tiebreak` and `sparkcep.event`,
then from the settings `spark.sparkcep.log.*`, then from `sparkcep.read_log`. Event types are strings. For a condition on an event's data, compute a type:
`TABLE(SELECT *, CASE WHEN amount > 1000 THEN 'big' ELSE activity END AS type FROM orders)`.

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

If you only want the events that break a constraint, a block is shorter, and a [pattern index](pattern_index.md) can serve it. A
pay that no ship follows is

```sql
FROM orders PARTITION BY order_id ORDER BY time EVENT TYPE activity PATTERN SEQ(pay a, !ship b) RETURN order_id, a.time;
```

| order_id | time |
|--:|---|
| 2 | 2026-01-03 09:00:00 |

a ship that no pay precedes is `SEQ(!pay a, ship b)`, and a pay with a ship after it, which breaks not succession, is
`SEQ(pay a, ship b)`.

As with blocks, `spark.sql` of a session with sparkcep reads templates; SQL scripts and EXECUTE IMMEDIATE do not.

"""  # noqa: E501
_DECLARE = """## Declare

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
_FUNNEL = """## Funnels

How far each case comes through a list of steps. `funnel` has a row for each case: the case's columns, `level` (how many steps
it reached) and `reached` (when it reached each of them). `funnel_steps` has a row for each step, in numbers that can be drawn:

```sql
CREATE OR REPLACE TEMP VIEW visits AS
SELECT user, TIMESTAMP'2026-05-01 09:00:00' + make_dt_interval(0, 0, minute) AS ts, event
FROM VALUES (1, 0, 'visit'), (1, 4, 'cart'), (1, 9, 'pay'), (2, 0, 'visit'), (2, 90, 'cart'), (3, 0, 'cart'), (3, 1, 'visit')
  AS t(user, minute, event);

SELECT * FROM funnel(TABLE(visits) PARTITION BY user ORDER BY ts EVENT TYPE event,
                     steps => ARRAY('visit', 'cart', 'pay'), within => INTERVAL 1 HOUR);
```

| user | level | reached |
|--:|--:|---|
| 1 | 3 | [2026-05-01 09:00:00, 2026-05-01 09:04:00, 2026-05-01 09:09:00] |
| 2 | 1 | [2026-05-01 09:00:00] |
| 3 | 1 | [2026-05-01 09:01:00] |

```sql
SELECT step, name, cases, share, drop_off, p90_wait FROM funnel_steps(
  TABLE(visits) PARTITION BY user ORDER BY ts EVENT TYPE event, ARRAY('visit', 'cart', 'pay'));
```

| step | name | cases | share | drop_off | p90_wait |
|--:|---|--:|--:|--:|---|
| 1 | visit | 3 | 1.0 | NULL | NULL |
| 2 | cart | 2 | 0.6666666666666666 | 0.33333333333333337 | INTERVAL '0 01:21:24' DAY TO SECOND |
| 3 | pay | 1 | 0.3333333333333333 | 0.5 | INTERVAL '0 00:05:00' DAY TO SECOND |

| column | is |
|---|---|
| `cases` | cases that reached the step |
| `share` | their part of the cases that reached the first step |
| `drop_off` | the part of the cases at the step before that did not get here |
| `median_wait`, `p90_wait` | the time from the step before, for half and for 90% of the cases |

[`pictures.funnel`](pictures.md#the-funnel) draws the second one.

* **Steps** are event types, or conditions on one event, which AS may name:
  `ARRAY('visit', event = 'cart' AND amount > 100 AS full_cart, 'pay')`.
* **`within`** is the longest time from the first step to the last one, inclusive; without it there is no limit.
* **`mode`** says what counts:

| mode | a level is reached |
|---|---|
| `'in_order'` (the default) | step after step, with any events between. An event that fits several steps that follow each other serves them all. |
| `'strict_once'` | in order, and each event serves one step: use it where a step occurs twice. |
| `'strict_order'` | in order, and no other event of the case lies between two steps. |
| `'any_order'` | once all steps up to the level have occurred within the time, in any order. |

The level is the highest that any chain of events reaches; `reached` is that of the first chain to get there. Events without a
time do not count. `'in_order'`, `'strict_order'` and `'strict_once'` are the default and two modes of ClickHouse's windowFunnel.
Its `strict_increase` is `STRICT TIME` in a [block](patterns.md), and its `strict_deduplication` is `!a` there.

A funnel is Spark's own SQL: one pass over the log, and no index.
"""  # noqa: E501
_STEPS = (FunnelStep("'A'", True, "'A'"), FunnelStep("'B'", True, "'B'"), FunnelStep("x > 1", False, "'x > 1'"))
_LOG = Log("log", ("id",), ("ts",), "event")


def templates_page() -> str:
    """Every template with its meaning, definition and SQL."""
    lines = [_HEAD, _FUNNEL, *(_funnel_section(t) for t in FUNNEL)]
    lines.append(_DECLARE + _table(DECLARE, ("formula", "activated by")))
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


def _funnel_section(template: Template) -> str:
    given = "log, steps => ARRAY('A', 'B', x > 1), within => INTERVAL 1 DAY, mode => 'strict_once'"
    return _stands_for(template, given, Arguments(steps=_STEPS, within="INTERVAL 1 DAY", mode="strict_once"))


def _section(template: Template) -> str:
    number = "n" if "n" in template.parameters else ""
    given = ["log", "'A'"] + ["'B'"] * ("b" in template.parameters) + ["n => 3"] * bool(number)
    given += ["end => finish"] * ("end" in template.parameters)
    return _stands_for(template, ", ".join(given), Arguments("'A'", "'B'", 3 if number else 1, "finish"))


def _stands_for(template: Template, given: str, arguments: Arguments) -> str:
    sql = template.sql(_LOG, arguments)
    return f"### {template.name}\n\n`{template.name}({given})` stands for\n\n```text\n{sql}\n```\n"
