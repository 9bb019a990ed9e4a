"""The papers' queries as printed, with `FROM r` before them where they have no FROM."""

# ruff: noqa: E501 - printed lines stay whole

from __future__ import annotations

import re

import pytest

from sparkcep.pattern import render

from .blocks import bind, conditions, equivalences, returns

# name, text, pattern, selection and matches, conditions and equivalences
PAPERS = [
    ("SASE+ Q1", """PATTERN SEQ(Shelf a, ~(Register b), Exit c)
    WHERE skip_till_next_match(a, b, c) { a.tag_id = b.tag_id and a.tag_id = c.tag_id }  WITHIN 12 hours""",
     "a !b c", "NEXT ALL 12 HOUR",
     ["<last a.tag_id> = <last b.tag_id> @ b awaits a", "<last a.tag_id> = <last c.tag_id> @ c"]),
    ("SASE+ Q1 with an equivalence", """PATTERN SEQ(Shelf a, ~(Register b), Exit c)
    WHERE skip_till_next_match(a, b, c) { [tag_id] }  WITHIN 12 hours""", "a !b c", "NEXT ALL 12 HOUR", ["[tag_id]"]),
    ("SASE+ Q2", """PATTERN SEQ(Alert a, Shipment+ b[ ])
    WHERE skip_till_any_match(a, b[ ]) { a.type = 'contaminated' and b[1].from = a.site and b[i].from = b[i-1].to }  WITHIN 3 hours""",
     "a b+", "ANY ALL 3 HOUR",
     ["<last a.type> = 'contaminated' @ a", "<first b.from> = <last a.site> @ b first",
      "<last b.from> = <last-1 b.to> @ b min 2"]),
    ("SASE+ Q3", """PATTERN SEQ(Stock+ a[ ], Stock b)
    WHERE skip_till_next_match(a[ ], b) { [symbol] and a[1].volume > 1000 and a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume }  WITHIN 1 hour""",
     "a+ b", "NEXT ALL 1 HOUR",
     ["[symbol]", "<first a.volume> > 1000 @ a first", "<last a.price> > <avg a.price before> @ a min 2",
      "<last b.volume> < 0.80 * <last a.volume> @ b"]),
    ("SASE+ T1", """pattern(stock+ a[ ], stock b) where partition_contiguity { [symbol] and a[1].price % 500 = 0 and true and b.volume < 150 } within 500""",
     "a+ b", "STRICT ALL 500 SECOND", ["[symbol]", "<first a.price> % 500 = 0 @ a first", "<last b.volume> < 150 @ b"]),
    ("SASE+ T2", """pattern(stock+ a[ ], stock b) where skip_till_next_match { [symbol] and a[1].price % 500 = 0 and a[i].price > a[i-1].price and b.volume < 150 } within 500""",
     "a+ b", "NEXT ALL 500 SECOND",
     ["[symbol]", "<first a.price> % 500 = 0 @ a first", "<last a.price> > <last-1 a.price> @ a min 2",
      "<last b.volume> < 150 @ b"]),
    ("SASE+ T3", """pattern(stock+ a[ ], stock b, stock c) where skip_till_next_match { [symbol] and a[1].price % 500 = 0 and a[i].price > min(a[..i-1].price) and b.volume < 150 and c.price > a[1].price and c.price < a[a.LEN].price } within 500""",
     "a+ b c", "NEXT ALL 500 SECOND",
     ["[symbol]", "<first a.price> % 500 = 0 @ a first", "<last a.price> > <min a.price before> @ a min 2",
      "<last b.volume> < 150 @ b", "<last c.price> > <first a.price> @ c",
      "<last c.price> < <last a.price> @ c"]),
    ("SASE++ Q1", """Pattern seq(JobStart a, Mapper+ b[ ], JobEnd c)  Where a.job_id = b[i].job_id ∧ a.job_id = c.job_id  Within 1 day  Return avg(b[ ].period), max(b[ ].period)""",
     "a b+ c", "NEXT ALL 1 DAY",
     ["<last a.job_id> = <last b.job_id> @ b", "<last a.job_id> = <last c.job_id> @ c",
      "avg(b[ ].period): <avg b.period>", "max(b[ ].period): <max b.period>"]),
    ("SASE++ Q2", """Pattern seq(JobStart a, Reducer+ b[ ], JobEnd c)  Where [job_id]  Within 1 day  Return avg(b[ ].period), max(b[ ].period)""",
     "a b+ c", "NEXT ALL 1 DAY", ["[job_id]", "avg(b[ ].period): <avg b.period>", "max(b[ ].period): <max b.period>"]),
    ("SASE++ Q3", """Pattern seq(ReducerStart a, DataPull+ b[ ])  Where [task_id] ∧ (b[b.LEN].period > 2 × avg(b[ ].period))  Within 10 minutes  Return a.(task_id, period)""",
     "a b+", "NEXT ALL 10 MINUTE",
     ["[task_id]", "<last b.period> > 2  *  <avg b.period> @leave b", "task_id: <last a.task_id>",
      "period: <last a.period>"]),
    ("SASE++ Q4", """Pattern seq(JobStart a, DataIO+ b[ ])  Where [task_id]  Within 1 day  Return a.timestamp, b[b.LEN].timestamp, sum(b[ ].size)""",
     "a b+", "NEXT ALL 1 DAY",
     ["[task_id]", "timestamp: <last a.`ts`>", "b[b.LEN].timestamp: <last b.`ts`>", "sum(b[ ].size): <sum b.size>"]),
    ("SASE++ Q5", """Pattern seq(Balance a, ReducerStart b, Imbalance+ c[], ReducerEnd d, Balance e)  Where [task_id]  Within 10 minutes  Return a.task_id""",
     "a b c+ d e", "NEXT ALL 10 MINUTE", ["[task_id]", "task_id: <last a.task_id>"]),
    ("SASE++ Q6.1", """Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c)  Where [task_id] ∧ b[i].val >= b[i-1].val  Within 10 minutes  Return a.task_id""",
     "a b+ c", "NEXT ALL 10 MINUTE", ["[task_id]", "<last b.val> >= <last-1 b.val> @ b min 2", "task_id: <last a.task_id>"]),
    ("SASE++ Q6.2", """Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c)  Where [task_id] ∧ b[i].val >= max(b[1..i-1].val)  Within 10 minutes  Return a.task_id""",
     "a b+ c", "NEXT ALL 10 MINUTE",
     ["[task_id]", "<last b.val> >= <max b.val before> @ b min 2", "task_id: <last a.task_id>"]),
    ("SASE++ F3", "PATTERN(a, b+, c) WITHIN 10", "a b+ c", "NEXT ALL 10 SECOND", []),
    ("SASE++ F4", "PATTERN SEQ(A a, B+ b[], C c) WHERE [task_id] ^ b[i].val >= b[i-1].val WITHIN 100",
     "a b+ c", "NEXT ALL 100 SECOND", ["[task_id]", "<last b.val> >= <last-1 b.val> @ b min 2"]),
    ("Imprecise time Q1", """PATTERN SEQ(TaskStart a, CPU b, TaskFinish c, CPU d)
    WHERE a.taskId = c.taskId AND b.nodeId = a.nodeId AND d.nodeId = a.nodeId AND b.value > 95% AND d.value <= 70% AND skip_till_any_match(a, b, c, d)
    WITHIN 15 seconds  RETURN a, b, c""",
     "a b c d", "ANY ALL 15 SECOND",
     ["<last a.taskId> = <last c.taskId> @ c", "<last b.nodeId> = <last a.nodeId> @ b",
      "<last d.nodeId> = <last a.nodeId> @ d", "<last b.value> > 95 @ b", "<last d.value> <= 70 @ d",
      "a: <last a.event>", "b: <last b.event>", "c: <last c.event>"]),
    ("GRETA Q1", """RETURN sector, COUNT(*)  PATTERN Stock S+  WHERE [company, sector] AND S.price > NEXT(S).price  GROUP-BY sector  WITHIN 10 minutes SLIDE 10 seconds""",
     "S+", "ANY ALL 10 MINUTE SLIDE 10 SECOND",
     ["[company]", "[sector]", "<last-1 S.price> > <last S.price> @ S min 2 after S", "GROUP BY sector: sector, COUNT(*)"]),
    ("GRETA Q2", """RETURN mapper, SUM(M.cpu)  PATTERN SEQ(Start S, Measurement M+, End E)  WHERE [job, mapper] AND M.load < NEXT(M).load  GROUP-BY mapper  WITHIN 1 minute SLIDE 30 seconds""",
     "S M+ E", "ANY ALL 1 MINUTE SLIDE 30 SECOND",
     ["[job]", "[mapper]", "<last-1 M.load> < <last M.load> @ M min 2 after M", "GROUP BY mapper: mapper, SUM(M.cpu)"]),
    ("GRETA Q3", """RETURN segment, COUNT(*), AVG(P.speed)  PATTERN SEQ(NOT Accident A, Position P+)  WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed  GROUP-BY segment  WITHIN 5 minutes SLIDE 1 minute""",
     "!A P+", "ANY ALL 5 MINUTE SLIDE 1 MINUTE",
     ["[P.vehicle]", "[segment]", "<last-1 P.speed> > <last P.speed> @ P min 2 after P",
      "GROUP BY segment: segment, COUNT(*), AVG(P.speed)"]),
    ("GRETA E1.1", "PATTERN (SEQ(A+, B))+", "(A+ B)+", "NEXT ALL", []),
    ("GRETA E1.2", "PATTERN (SEQ(A+, NOT SEQ(C, NOT E, D), B))+", "(A+ !(C !E D) B)+", "NEXT ALL", []),
    ("GRETA E1.3", "PATTERN SEQ(A+, NOT E)", "A+ !E", "NEXT ALL", []),
    ("GRETA E1.4", "PATTERN SEQ(NOT E, A+)", "!E A+", "NEXT ALL", []),
    ("GRETA E1.5", "PATTERN SEQ(A+, B, A, A+, B+)", "A+ B `A#2` `A#3`+ `B#2`+", "NEXT ALL", []),
    ("SIESTA T", """FROM <<process_name>> PATTERN <A,B,C> WHERE (time, within, 60 minutes, 1, 2) BETWEEN '2020-01-01' AND '2020-02-01' GROUPS [(1-3,8),(5-7)] EXPLAIN-NON-ANSWERS <4,1,1> RETURN-ALL true""",
     "A B C", "NEXT NON_OVERLAPPING",
     ["<last B.`ts`> <= <last A.`ts`> + INTERVAL 60 MINUTE @ B needs A", "BETWEEN '2020-01-01' AND '2020-02-01'",
      "GROUPS ((1, 2, 3, 8), (5, 6, 7))", "REPAIR 4, INTERVAL 1 SECOND, INTERVAL 1 SECOND"]),
    ("SIESTA E", """FROM <<main>>  PATTERN <(B,_),(A,_),(C,_)>  WHERE (time, within, 2, 2, 3)  EXPLAIN-NON-ANSWERS (4, 1, 1)""",
     "B A C", "NEXT FIRST",
     ["<last C.`ts`> <= <last A.`ts`> + INTERVAL 2 SECOND @ C needs A", "REPAIR 4, INTERVAL 1 SECOND, INTERVAL 1 SECOND"]),
    ("SIESTA P1", "FROM <main> PATTERN <A,B,C> RETURN-ALL false", "A B C", "NEXT FIRST", []),
    ("SIESTA P2", "PATTERN <A,B,!C,D,E*,A,B+,C,D,E>", "A B !C D E* `A#2` `B#2`+ `C#2` `D#2` `E#2`", "NEXT FIRST", []),
    ("SIESTA P3", "PATTERN <(A,_),(B,_),(C,_)> WHERE (time, within, 60 minutes, 1, 2)", "A B C", "NEXT FIRST",
     ["<last B.`ts`> <= <last A.`ts`> + INTERVAL 60 MINUTE @ B needs A"]),
    ("SIESTA P4", "PATTERN <(A,||,[B,C])>", "A", "NEXT FIRST", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "pattern", "way", "parts"), [p[1:] for p in PAPERS], ids=[p[0] for p in PAPERS])
def test_papers(text: str, pattern: str, way: str, parts: list[str]) -> None:
    query = bind(text if text.startswith("FROM") else f"FROM r {text}")
    assert render(query.pattern) == pattern
    assert not any("is read as" in remark for remark in query.remarks)
    found = [query.selection.name, query.matches.name]
    found += [query.within.removeprefix("INTERVAL ")] if query.within else []
    found += ["SLIDE", query.slide.removeprefix("INTERVAL ")] if query.slide else []
    assert " ".join(found) == way
    assert query.partition_contiguity == ("partition_contiguity" in text)
    said = [f"[{e}]" for e in equivalences(query)] + conditions(query)
    said += [re.sub(r"struct\(.*\)", "event", r) for r in returns(query)]
    if query.group_by:
        keys = ", ".join(k.expression for k in query.group_by)
        said.append(f"GROUP BY {keys}: {', '.join(e.name for e in query.output)}")
    if query.between:
        said.append("BETWEEN " + " AND ".join(query.between))
    if query.groups:
        said.append(f"GROUPS {query.groups}")
    if query.non_answers:
        asked = query.non_answers
        said.append(f"REPAIR {asked.cost}, {asked.uncertainty}, {asked.step}")
    assert said == parts
