"""Pictures tell what the plan and the result say, and are Vega-Lite."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sparkcep.pictures.page
from sparkcep import pictures
from sparkcep.cli.main import main
from sparkcep.cli.notebook import Plan, run_cell
from sparkcep.errors import SparkCepError
from sparkcep.pictures import Picture, colors

from .browser import needs_browser, screenshot

HEAD = "FROM pictured PARTITION BY id ORDER BY at EVENT TYPE event "


@pytest.fixture(scope="module")
def log(spark: SparkSession) -> Iterator[str]:
    """100 cases: all are placed and shipped, 10 are returned, 5 of them before they are shipped."""
    spark.sql("""CREATE TABLE pictured USING parquet AS
        SELECT id, step AS event, TIMESTAMP'2026-01-05 08:00:00' + make_dt_interval(id, pos) AS at
        FROM range(100) LATERAL VIEW posexplode(split(CASE WHEN id < 5 THEN 'placed,returned,shipped'
          WHEN id < 10 THEN 'placed,shipped,returned' ELSE 'placed,shipped' END, ',')) e AS pos, step""")
    spark.sql("CREATE PATTERN INDEX pictured_ix ON pictured (CASE id, TIME at, EVENT event)")
    yield "pictured"
    spark.sql("DROP PATTERN INDEX pictured_ix")
    spark.sql("DROP TABLE pictured")


def texts(picture: Picture) -> list[str]:
    """All texts that are drawn."""
    layers = picture.spec["layer"]
    rows = [v for layer in layers for v in layer.get("data", picture.spec.get("data", {"values": []}))["values"]]
    return [str(r[k]) for r in rows for k in ("t", "text") if k in r]


def valid(picture: Picture) -> None:
    """Checked against Vega-Lite's schema, where Altair is there to bring it."""
    altair = pytest.importorskip("altair")
    altair.Chart.from_dict(picture.spec).to_dict()


def test_pattern(spark: SparkSession, log: str) -> None:
    picture = pictures.pattern(
        spark, HEAD + "PATTERN SEQ(placed p, !returned x, ANY y, shipped+ s[]) WHERE s[i].at > p.at WITHIN 3 days"
    )
    assert picture.spec["title"]["text"] == "Pattern: MATCHES ALL"
    said = picture.spec["title"]["subtitle"]
    assert said[0] == "PARTITION BY id, ORDER BY at, WITHIN INTERVAL 3 DAY"
    assert "s[i].at > p.at" in said
    assert {"p", "x", "y", "ANY", "s", "placed", "returned", "shipped", "none", "+ one or more"} == set(texts(picture))
    valid(picture)


def test_clause(spark: SparkSession, log: str) -> None:
    picture = pictures.pattern(
        spark,
        """SELECT * FROM pictured MATCH_RECOGNIZE (PARTITION BY id ORDER BY at MEASURES a.at AS t
           AFTER MATCH SKIP TO LAST b PATTERN (a (b | c)*) DEFINE b AS b.event > a.event)""",
    )
    assert picture.spec["title"]["text"] == "Pattern: ONE ROW PER MATCH, AFTER MATCH SKIP TO LAST B"
    assert "B AS b.event > a.event" in picture.spec["title"]["subtitle"]
    valid(picture)


def test_two_patterns(spark: SparkSession, log: str) -> None:
    one = HEAD + "PATTERN SEQ(placed p, shipped s)"
    picture = pictures.pattern(spark, f"SELECT * FROM ({one}) JOIN ({one} MATCHES FIRST) USING (id)")
    assert len(picture.spec["vconcat"]) == 2
    valid(picture)


@pytest.mark.parametrize("way", ["lists", "scan"])
def test_pruning(spark: SparkSession, log: str, way: str) -> None:
    spark.conf.set("spark.sparkcep.planner.index.cases", way)
    try:
        picture = pictures.pruning(spark, HEAD + "PATTERN SEQ(placed p, returned r, shipped s)")
    finally:
        spark.conf.unset("spark.sparkcep.planner.index.cases")
    values = {v["step"].split(". ")[1]: v["text"] for v in picture.spec["data"]["values"]}
    assert values["the log"] == "100 cases (100%) · 210 events"
    assert values["reach the matcher"].startswith("5 cases (5%) · ")
    assert values["in the result"] == "5 cases (5%)"
    assert any(k.startswith("index: ") for k in values) == (way == "lists")
    valid(picture)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM (SELECT * FROM pictured) MATCH_RECOGNIZE (PARTITION BY id ORDER BY at "
        "PATTERN (a b) DEFINE b AS b.event = 'returned' AND a.event = 'placed')",
        "SELECT * FROM (SELECT * FROM pictured) MATCH_RECOGNIZE (PARTITION BY id ORDER BY at DESC "
        "PATTERN (b a) DEFINE b AS event = 'returned', a AS event = 'placed')",
        "FROM (SELECT * FROM pictured) PARTITION BY id ORDER BY at EVENT TYPE event "
        "PATTERN SEQ(returned r, shipped s) MATCHES FIRST",
    ],
    ids=["lists", "rows", "fold"],
)
def test_pruning_of_each_layout(spark: SparkSession, log: str, query: str) -> None:
    values = pictures.pruning(spark, query).spec["data"]["values"]
    assert (values[0]["cases"], values[-1]["cases"]) == (100, 5)
    (reached,) = [v["cases"] for v in values if "reach the matcher" in v["step"]]
    assert 5 <= reached <= values[-3]["cases"]


STEPS = "SELECT * FROM funnel_steps(TABLE(pictured) PARTITION BY id ORDER BY at EVENT TYPE event, {})"
RETURNED = HEAD + "PATTERN SEQ(placed p, returned r)"


def test_funnel(spark: SparkSession, log: str) -> None:
    picture = pictures.funnel(spark, STEPS.format("ARRAY('placed', 'returned', 'shipped')"))
    assert picture.spec["title"]["text"] == "Funnel: 5.0% of 100 cases reach the last step"
    said = [(v["label"], v["text"], v["lost"]) for v in picture.spec["data"]["values"]]
    assert said == [
        ("1. placed", "100 cases (100.0%)", ""),
        ("2. returned", "10 cases (10.0%)", "90 lost (90.0%); half within 1 h 30 min, 90% within 2 h"),
        ("3. shipped", "5 cases (5.0%)", "5 lost (50.0%); half within 1 h, 90% within 1 h"),
    ]
    valid(picture)
    none = pictures.funnel(spark, STEPS.format("ARRAY('paid', 'lost')"))
    assert none.spec["title"]["text"] == "Funnel: no case reaches the first step"


def test_waits(spark: SparkSession, log: str) -> None:
    picture = pictures.waits(spark, RETURNED)
    (wait,) = picture.spec["data"]["values"]
    assert wait["step"] == "placed (p) → returned (r)"
    assert wait["text"] == "half within 1 h 30 min, 90% within 2 h (10)"
    assert [wait[f"q{n}"] for n in range(5)] == [60, 60, 90, 120, 120]  # minutes
    valid(picture)
    numbers = "FROM VALUES (1, 'a'), (3, 'b'), (9, 'c') t(n, e) ORDER BY n EVENT TYPE e PATTERN SEQ(a x, b y, c z)"
    waits = pictures.waits(spark, numbers).spec["data"]["values"]
    assert [(v["step"], v["q2"]) for v in waits] == [("a (x) → b (y)", 2), ("b (y) → c (z)", 6)]


def test_cases(spark: SparkSession, log: str) -> None:
    picture = pictures.cases(spark, RETURNED, cases=6)
    assert picture.spec["title"]["text"] == "Cases with matches: the first 6"
    marks = picture.spec["data"]["values"]
    assert [(m["event"], m["variable"]) for m in marks if m["case"] == "5"] == [
        ("placed", "placed (p)"), ("shipped", ""), ("returned", "returned (r)")
    ]  # fmt: skip
    assert {m["case"] for m in marks} == {str(n) for n in range(6)}
    valid(picture)
    # Of a long case those are drawn that lie around its first match.
    long = (
        "FROM (SELECT id AS n, IF(id > 8000, 'b', 'a') AS e FROM range(9000)) ORDER BY n EVENT TYPE e "
        "PATTERN SEQ(b{80} x[], b y) MATCHES FIRST"
    )
    marks = pictures.cases(spark, long).spec["data"]["values"]
    assert ([m["n"] for m in marks], [m["taken"] for m in marks[:5]]) == (list(range(40)), [False] * 3 + [True] * 2)
    # Ties stand in the order of ORDER BY.
    tied = (
        "FROM VALUES (1, 1, 'b', 2), (1, 1, 'a', 1), (1, 1, 'b', 0) t(c, n, e, tie) PARTITION BY c ORDER BY n, tie "
        "EVENT TYPE e PATTERN SEQ(a x, b y)"
    )
    marks = pictures.cases(spark, tied).spec["data"]["values"]
    assert [(m["n"], m["event"], m["taken"]) for m in sorted(marks, key=lambda m: m["n"])] == [
        (0, "b", False), (1, "a", True), (2, "b", True)
    ]  # fmt: skip


def test_directly_follows(spark: SparkSession, log: str) -> None:
    picture = pictures.directly_follows(spark, "SELECT * FROM pictured", case="id", time="at", event="event")
    edges = {
        (v["from"], v["to"]): (v["times"], v["median"])
        for v in picture.spec["layer"][1]["data"]["values"]
    }  # fmt: skip
    assert edges == {
        ("(start)", "placed"): (100, ""), ("placed", "shipped"): (95, "1 h"), ("placed", "returned"): (5, "1 h"),
        ("returned", "shipped"): (5, "1 h"), ("shipped", "returned"): (5, "1 h"), ("shipped", "(end)"): (95, ""),
        ("returned", "(end)"): (5, ""),
    }  # fmt: skip
    valid(picture)
    blank = "SELECT * FROM VALUES (1, 1, ''), (1, 2, 'b') AS t(id, at, event)"
    heads = pictures.directly_follows(spark, blank, case="id", time="at", event="event").spec["layer"][1]
    assert {(v["from"], v["to"]) for v in heads["data"]["values"]} == {("(start)", ""), ("", "b"), ("b", "(end)")}
    of_matches = pictures.directly_follows(spark, RETURNED).spec
    assert of_matches["title"]["text"] == "What follows what: 10 cases"
    two = pictures.directly_follows(spark, "SELECT * FROM pictured", case="id", time="at", event="event", types=2).spec
    boxes = two["layer"][2]["data"]["values"]
    assert {b["type"]: b["events"] for b in boxes} == {"placed": 100, "shipped": 100}


def test_timeline(spark: SparkSession, log: str) -> None:
    picture = pictures.timeline(spark, HEAD + "PATTERN SEQ(placed p, returned r)", matches=3, since_start=False)
    lines, grey, bars, taken, names = (layer["data"]["values"] for layer in picture.spec["layer"])
    bar = {k: bars[2][k] for k in ("case", "match", "from", "to", "lasts")}
    assert bar == {"case": "2", "match": 1, "from": "2026-01-07T08:00:00.000", "to": "2026-01-07T09:00:00.000",
                   "lasts": "1 h"}  # fmt: skip
    assert [(p["case"], p["variable"]) for p in taken] == [
        (str(n), v) for n in range(3) for v in ("placed (p)", "returned (r)")
    ]
    assert [n["shown"] for n in names] == ["0", "1", "2"]
    assert len(lines) == 2
    assert {g["case"] for g in grey} == {"0", "1", "2"}
    assert picture.spec["title"]["text"] == "Matches over time: the first 3 matches in 3 cases"
    valid(picture)


def test_timeline_of_named_columns(spark: SparkSession, log: str) -> None:
    picture = pictures.timeline(
        spark,
        """SELECT * FROM pictured MATCH_RECOGNIZE (PARTITION BY id ORDER BY at
           MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS v ALL ROWS PER MATCH
           PATTERN (a b) DEFINE a AS event = 'shipped', b AS event = 'returned')""",
        case="id", match="m", time="at", variable="v", since_start=True,
    )  # fmt: skip
    _, bars, taken, _ = (layer["data"]["values"] for layer in picture.spec["layer"])
    assert [(b["case"], b["match"]) for b in bars] == [(str(n), 1) for n in range(5, 10)]
    assert {p["time"] for p in taken} == {0, 60}
    assert picture.spec["layer"][1]["encoding"]["x"]["title"] == "minutes since the first event"
    valid(picture)


def test_continuations(spark: SparkSession, log: str) -> None:
    picture = pictures.continuations(spark, "pictured_ix", "placed")
    bars = {v["next"]: v["text"] for v in picture.spec["data"]["values"]}
    assert bars == {
        "shipped": "100 in 100 cases, 1 h 3 min on average",
        "returned": "10 in 10 cases, 1 h 30 min on average",
    }
    valid(picture)


def test_rules(spark: SparkSession, log: str) -> None:
    call = """SELECT * FROM pattern_rules(TABLE(pictured) PARTITION BY id ORDER BY at, event_type => event,
      rules => TABLE(SELECT * FROM VALUES ('sent', 'PATTERN SEQ(placed p, shipped s)'),
        ('back', 'PATTERN SEQ(shipped s, returned r)') AS r(name, rule)))"""
    picture = pictures.rules(spark, call, cells=10)
    values = picture.spec["data"]["values"]
    assert {v["label"] for v in values} == {"sent (100)", "back (5)"}
    assert picture.spec["encoding"]["y"]["sort"] == ["sent (100)", "back (5)"]
    assert sum(v["matches"] for v in values) == 105
    assert all(v["from"] < v["to"] and v["from"].endswith("Z") for v in values)
    valid(picture)
    numbers = pictures.rules(spark, "SELECT 'r' AS rule, id AS start_time FROM range(100)", cells=4)
    assert [v["matches"] for v in numbers.spec["data"]["values"]] == [25, 25, 25, 25]
    valid(numbers)


def test_refusals(spark: SparkSession, log: str, tmp_path: Path) -> None:
    def refused(action: Any) -> None:
        with pytest.raises(SparkCepError, match=r"needs|no pattern|at least|saved") as raised:
            action()
        assert raised.value.error_class == "CEP_PICTURE"

    refused(lambda: pictures.pattern(spark, "SELECT 1"))
    refused(lambda: pictures.timeline(spark, HEAD + "PATTERN SEQ(placed p) RETURN id"))
    refused(lambda: pictures.timeline(spark, HEAD + "PATTERN SEQ(placed p)", matches=0))
    for draw in (pictures.funnel, pictures.waits, pictures.cases, pictures.directly_follows):
        refused(lambda draw=draw: draw(spark, "SELECT id, at FROM pictured"))
    refused(lambda: pictures.cases(spark, RETURNED, cases=0))
    refused(lambda: pictures.directly_follows(spark, "SELECT id FROM pictured", case="id", time="at", event="event"))
    refused(lambda: pictures.timeline(spark, "SELECT id, at FROM pictured", match="m", time="at", variable="v"))
    refused(lambda: pictures.rules(spark, HEAD + "PATTERN SEQ(placed p)"))
    refused(lambda: Picture({}).save(tmp_path / "a.pdf"))


def test_pages(spark: SparkSession, log: str, tmp_path: Path) -> None:
    query = HEAD + "PATTERN SEQ('</script>' p, shipped s)"
    picture = pictures.pattern(spark, query)
    picture.save(tmp_path / "a.html")
    picture.save(tmp_path / "a.json")
    text = (tmp_path / "a.html").read_text()
    assert "</script>' p" not in text  # the user's text ends no script
    assert json.loads((tmp_path / "a.json").read_text()) == picture.spec
    shown = picture._repr_mimebundle_()
    assert shown["application/vnd.vegalite.v5+json"] == picture.spec
    assert "srcdoc" in shown["text/html"]


def page_of(kind: str, picture: Picture) -> str:
    """A saved page, or the page within a notebook's output."""
    if kind == "saved":
        return picture.to_html()
    found = re.search(r'srcdoc="([^"]*)"', picture._repr_mimebundle_()["text/html"])
    assert found
    return html.unescape(found[1])


@pytest.mark.parametrize("kind", ["saved", "notebook"])
def test_pages_need_no_network(kind: str) -> None:
    pytest.importorskip("vl_convert")
    picture = Picture({"data": {"values": [{"a": "</script>"}]}, "mark": "bar", "encoding": {"x": {"field": "a"}}})
    text = page_of(kind, picture)
    assert 'src="http' not in text
    (image,) = re.findall(r'<img alt="[^"]*" src="data:image/svg\+xml;base64,([^"]*)"', text)
    assert b"&lt;/script" in base64.b64decode(image)
    (night,) = re.findall(r'prefers-color-scheme: dark\)" srcset="data:image/svg\+xml;base64,([^"]*)"', text)
    assert colors.DARK[colors.PAPER].encode() in base64.b64decode(night)
    (packed,) = re.findall(r'<script id="vega" type="text/plain">([^<]*)<', text)
    assert b"window.vegaEmbed=" in gzip.decompress(base64.b64decode(packed))


@pytest.mark.parametrize("kind", ["saved", "notebook"])
def test_without_scripts_a_page_says_so(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    sparkcep.pictures.page._scripts.cache_clear()
    text = page_of(kind, Picture({"mark": "bar"}))
    sparkcep.pictures.page._scripts.cache_clear()
    assert "could not be loaded" in text
    assert text.count('<script src="https://cdn.') == 3


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
@pytest.mark.parametrize("kind", ["saved", "notebook", "without vl_convert"])
def test_in_a_browser_without_network(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reader sees: the living picture in the place of its image, else the sentence."""
    if kind.startswith("without"):
        monkeypatch.setitem(sys.modules, "vl_convert", None)
        sparkcep.pictures.page._scripts.cache_clear()
    picture = Picture({"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"x": {"field": "a"}}})
    (tmp_path / "a.html").write_text(page_of(kind, picture), encoding="utf-8")
    sparkcep.pictures.page._scripts.cache_clear()
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--proxy-server=127.0.0.1:9",
         f"--user-data-dir={tmp_path}/profile", "--virtual-time-budget=10000", "--dump-dom", f"file://{tmp_path}/a.html"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    if kind.startswith("without"):
        assert "could not be loaded" in done.stdout
        assert "vega-embed" not in done.stdout.partition("<body>")[2].partition("<script")[0]
    else:
        assert 'class="vega-embed' in done.stdout
        assert "<img alt" not in done.stdout


def test_explain_draws(spark: SparkSession, log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = HEAD + "PATTERN SEQ(placed p, shipped s)"
    plan = run_cell("--explain", query, {"spark": spark})
    assert isinstance(plan, Plan)
    assert plan.picture is not None
    assert plan.picture.spec == pictures.pattern(spark, query).spec
    plain = run_cell("--explain", "SELECT 1", {"spark": spark})
    assert isinstance(plain, Plan)
    assert plain.picture is None
    monkeypatch.setattr("sparkcep.session.machine.local.local_session", lambda *_: spark)
    page = tmp_path / "plan.html"
    assert main(["explain", "--html", str(page), "--analyze", "-e", query]) == 0
    assert "Cases left after each step" in page.read_text()
    assert "== Pattern Plan ==" in page.read_text()
    assert main(["explain", "--html", str(tmp_path / "no" / "such.html"), "-e", query]) == 1


def test_images(spark: SparkSession, log: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    picture = pictures.pattern(spark, HEAD + "PATTERN SEQ(placed p, shipped s)")
    picture.save(tmp_path / "a.png")
    picture.save(tmp_path / "a.svg")
    picture.save(tmp_path / "a.html")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert ">placed<" in (tmp_path / "a.svg").read_text()
    assert "https://cdn" not in (tmp_path / "a.html").read_text()


@pytest.mark.long
@needs_browser
@pytest.mark.parametrize("theme", ["true", "false"])
def test_a_notebooks_theme_counts(spark: SparkSession, log: str, theme: str, artefacts: Path) -> None:
    """JupyterLab tells its theme on the page's body; the system's is the other one here."""
    picture = pictures.timeline(spark, HEAD + "PATTERN SEQ(placed p, returned r)")
    shown = picture._repr_mimebundle_()["text/html"]
    page = f"""<body data-jp-theme-light="{theme}">{shown}<script>
    setTimeout(() => {{
      const inner = document.querySelector('iframe').contentDocument, night = inner.documentElement.dataset.night;
      document.title = `night ${{night}} ${{getComputedStyle(inner.body).backgroundColor}}`;
    }}, 6000);</script></body>"""
    seen = screenshot(page, artefacts / f"theme-{theme}.png", night=theme == "true")
    wanted = "night no rgb(255, 255, 255)" if theme == "true" else "night yes rgb(28, 30, 33)"
    assert f"<title>{wanted}</title>" in seen


@pytest.mark.long
@needs_browser
@pytest.mark.parametrize("night", [False, True], ids=["light", "dark"])
def test_every_kind_in_a_browser(spark: SparkSession, log: str, night: bool, artefacts: Path) -> None:
    """As a page and in a notebook's frame: drawn in place of the image, no error in the console, nothing loaded."""
    pytest.importorskip("vl_convert")
    steps = ", ".join(f"'a rather long name of type {n}' v{n}" for n in range(9))
    made = {
        "pattern": pictures.pattern(spark, HEAD + "PATTERN SEQ(placed p, !returned x, shipped+ s[]) WITHIN 3 days"),
        "wide pattern": pictures.pattern(spark, HEAD + f"PATTERN SEQ({steps})"),
        "pruning": pictures.pruning(spark, HEAD + "PATTERN SEQ(placed p, returned r, shipped s)"),
        "timeline": pictures.timeline(spark, HEAD + "PATTERN SEQ(placed p, returned r)"),
        "continuations": pictures.continuations(spark, "pictured_ix", "placed"),
        "funnel": pictures.funnel(spark, STEPS.format("ARRAY('placed', 'returned', 'shipped')")),
        "waits": pictures.waits(spark, RETURNED),
        "cases": pictures.cases(spark, RETURNED),
        "follows": pictures.directly_follows(spark, "SELECT * FROM pictured", case="id", time="at", event="event"),
    }
    for name, picture in made.items():
        for kind in ("saved", "notebook"):
            path = artefacts / f"{name.replace(' ', '-')}-{kind}-{'dark' if night else 'light'}.png"
            seen = screenshot(page_of(kind, picture), path, night=night)
            body = seen.partition("<body>")[2]
            assert 'class="vega-embed' in body
            assert "<svg" in body
            assert "<picture>" not in body
            width = float(re.findall(r'<svg[^>]* width="([\d.]+)"', body)[0])
            assert width <= 1000, name
            assert (colors.DARK[colors.TEXT] in body) == night
