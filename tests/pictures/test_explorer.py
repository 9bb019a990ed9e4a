"""`sparkcep.explore()`: what the widget is told, and what it shows of that in a browser."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import sparkcep
from sparkcep.errors import SparkCepError
from sparkcep.pictures import explorer
from sparkcep.pictures.explorer import Step, exploration

from .browser import needs_browser, screenshot


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """Case 1: a b c, case 2: a x b, case 3: a b b c ; two days between events."""
    return spark.sql("""SELECT case_id, TIMESTAMP'2026-01-05 08:00:00' + make_dt_interval(p * 2) AS ts, e AS activity
        FROM VALUES (1, 'a b c'), (2, 'a x b'), (3, 'a b b c') t(case_id, s)
        LATERAL VIEW posexplode(split(s, ' ')) AS p, e""")


def test_a_pattern(frame: DataFrame) -> None:
    log = exploration(frame, None, None, None, None, "explored")
    assert log.summary["facts"][:4] == ["10 events", "3 cases", "4 event types", "3 variants"]
    sql = log.sql([Step("a"), Step("x", "none"), Step("b", "one or more")], 5, "days")
    assert sql == (
        "FROM explored PARTITION BY case_id ORDER BY ts EVENT TYPE activity\n"
        "PATTERN SEQ('a' v1, NOT 'x' v2, 'b'+ v3[])\nWITHIN 5 days\nMATCHES NON OVERLAPPING"
    )
    found = log.matches(sql)
    assert (found["cases"], found["matches"]) == (2, 2)
    assert [c["case"] for c in found["shown"]] == ["1", "3"]
    assert [e["taken"] for e in found["shown"][0]["events"]] == ["v1", "v3", None]
    assert [bool(e["taken"]) for e in found["shown"][1]["events"]] == [True, True, True, False]


def test_all_types_are_told(spark: SparkSession) -> None:
    rows = spark.sql("SELECT id DIV 3 AS case_id, id AS ts, concat('type ', id % 60) AS activity FROM range(240)")
    log = exploration(rows, None, None, None, None, "many")
    assert sorted(t["name"] for t in log.summary["types"]) == sorted(f"type {n}" for n in range(60))


@pytest.mark.full
def test_times_that_are_text(spark: SparkSession) -> None:
    """Are read, or refused with what to write; by its text 2006 would come last."""
    rows = [(1, "31.12.2006 08:00", "a"), (1, "02.01.2007 08:00", "b"), (2, "02.01.2007 09:00", "a")] * 2
    frame = spark.createDataFrame(rows, "case_id int, `wann?` string, activity string")
    log = exploration(frame, None, None, None, None, "größe")
    assert log.summary["facts"][-1] == "wann? is read as d.M.yyyy H:mm"
    sql = log.sql([Step("a"), Step("b")], 3, "days")
    assert sql.startswith("FROM `größe` PARTITION BY case_id ORDER BY `wann?` EVENT TYPE activity\n")
    assert log.matches(sql)["matches"] == 1
    frame = frame.withColumn("wann?", frame["activity"])
    with pytest.raises(SparkCepError, match=r"\[CEP_TIME_FORMAT\] wann\? of the log has 'a' in some row") as error:
        exploration(frame, None, "wann?", None, None, "größe")
    assert error.value.hint == "df.withColumn('wann?', F.to_timestamp('wann?', 'dd.MM.yyyy HH:mm'))"


def test_the_widget(frame: DataFrame) -> None:
    widget = sparkcep.explore(frame, case="case_id", name="explored")
    widget.request = {"steps": [{"type": "a", "kind": "once"}, {"type": "x", "kind": "once"}], "number": 1}
    assert "SEQ('a' v1, 'x' v2)" in widget.sql
    assert "shown" not in widget.answer
    widget.request = {**widget.request, "run": True, "number": 2}
    assert (widget.answer["number"], widget.answer["matches"]) == (2, 1)
    widget.request = {"steps": [{"type": "a", "kind": "none"}], "number": 3}
    assert "at least one event" in widget.answer["error"]


def test_a_snapshot(frame: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an exported notebook shows, up to date with the last answer."""
    from IPython.core import getipython

    shown: list[Any] = []

    class Handle:
        def update(self, page: Any) -> None:
            shown.append(page.data)

    def display(page: Any, **options: Any) -> Handle:
        if options.get("display_id"):
            shown.append(page.data)
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(getipython, "get_ipython", lambda: SimpleNamespace(kernel=True))
    widget = sparkcep.explore(frame, case="case_id", name="explored")
    widget._ipython_display_()
    assert 'class="type"' in shown[0] and "Pattern" not in shown[0]
    widget.request = {"steps": [{"type": "a", "kind": "once"}, {"type": "x", "kind": "one or more"}], "run": True}
    assert "<b>1 match in 1 case</b>" in shown[1]
    assert "SEQ(&#x27;a&#x27; v1, &#x27;x&#x27;+ v2[])" in shown[1]
    assert shown[1].count('class="event taken"') >= 2
    assert "<script" not in shown[1]


@pytest.mark.full
def test_each_widget_has_a_view_of_its_own(spark: SparkSession, frame: DataFrame) -> None:
    spark.sql("SELECT 'mine' AS whose").createOrReplaceTempView("log")
    part = frame.where("case_id = 1")
    first, second, again = sparkcep.explore(frame), sparkcep.explore(part), sparkcep.explore(frame)
    for widget in (first, second, again):
        widget.request = {"steps": [{"type": "a"}], "run": True, "number": 1}
    assert [w.sql.split()[1] for w in (first, second, again)] == ["log_2", "log_3", "log_2"]
    assert [w.answer["matches"] for w in (first, second)] == [3, 1]
    assert spark.table("log").columns == ["whose"]
    spark.catalog.dropTempView("log")


def test_times_of_within(frame: DataFrame) -> None:
    log = exploration(frame, None, None, None, None, "explored")
    said = {t: log.sql([Step("a")], *t).split("\n")[2] for t in ((1.5, "days"), (0, "hours"), (0.5, "seconds"))}
    assert list(said.values()) == ["WITHIN 36 hours", "WITHIN 0 hours", "WITHIN 0.5 seconds"]
    assert "not negative" in log.answer({"steps": [{"type": "a"}], "within": -3})["error"]
    assert "WITHIN" not in log.answer({"steps": [{"type": "a"}], "within": None})["sql"]


def test_refusals(frame: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SparkCepError, match=r"CEP_UNRESOLVED_COLUMN.*caseid") as raised:
        exploration(frame, "caseid", None, None, None, "explored")
    assert raised.value.hint == "did you mean case_id?"
    with pytest.raises(SparkCepError, match="CEP_LOG_COLUMNS"):
        exploration(frame.drop("ts"), None, None, None, None, "explored")
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(SparkCepError, match="CEP_NOTEBOOK_MISSING"):
        sparkcep.explore(frame)


@pytest.mark.long
@needs_browser
@pytest.mark.parametrize("night", [False, True], ids=["light", "dark"])
def test_in_a_browser(frame: DataFrame, night: bool, artefacts: Path) -> None:
    """The widget's script with a model of two lines; a click, and an answer of Python's."""
    import json

    log = exploration(frame, None, None, None, None, "explored")
    steps = [{"type": "a", "kind": "once"}, {"type": "b", "kind": "one or more"}]
    answer = log.answer({"steps": steps, "run": True})
    here = Path(explorer.__file__).parent
    page = f"""<meta charset=utf-8><style>{(here / "explorer.css").read_text()}</style><div id=w></div>
<script type=module>{(here / "explorer.js").read_text().replace("export default { render };", "")}
const state = {json.dumps({"summary": log.summary, "request": {}, "answer": {}})}, told = {{}};
const model = {{ get: k => state[k], set: (k, v) => {{ state[k] = v; }}, off() {{}}, save_changes() {{}},
  on: (k, f) => {{ told[k] = f; }} }};
render({{ model, el: document.getElementById('w') }});
document.querySelectorAll('.type')[0].click();
const slider = document.querySelector('input[type=range]');
slider.value = 3; slider.dispatchEvent(new Event('input'));
const held = `${{state.request.within}} ${{state.request.unit}} of ${{slider.max}}`;
slider.value = slider.max; slider.dispatchEvent(new Event('input'));
document.querySelector('.run').click();
state.answer = {{ ...{json.dumps(answer)}, number: 9 }};
told['change:answer']();
const taken = document.querySelectorAll('.event.taken').length;
document.title = `${{held}} ${{state.request.within}} ${{state.request.steps.length}} ${{taken}}`;
</script>"""
    seen = screenshot(page, artefacts / f"explorer-{'dark' if night else 'light'}.png", night=night)
    assert "<title>3 days of 6 null 1 " in seen  # at its end the slider bounds nothing
    assert seen.count('class="event taken"') == sum(bool(e["taken"]) for c in answer["shown"] for e in c["events"]) > 0
