"""Logs in XES as tables, and what is said of files that are none."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.data import xes_table
from sparkcep.data.xes_table import write_xes
from sparkcep.errors import PatternWarning, SparkCepError


def table(folder: Path, xml: str | bytes) -> pa.Table:
    """A log's table."""
    path = folder / "log.xes"
    path.write_bytes(xml if isinstance(xml, bytes) else xml.encode())
    write_xes(str(path), folder / "table")
    return pq.read_table(folder / "table")


LOG = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment -->
<log xes.version="1849.2016" xmlns="http://www.xes-standard.org/">
  <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
  <global scope="event"><string key="concept:name" value="of no event"/></global>
  <classifier name="Activity" keys="concept:name"/>
  <string key="concept:name" value="of the log"/>
  <trace>
    <string key="concept:name" value="one"/>
    <float key="amount" value="12.5"/>
    <event>
      <string key="concept:name" value="pay &amp; go"/>
      <string key="lifecycle:transition" value="complete"/>
      <date key="time:timestamp" value="2024-05-01T10:00:00.123+02:00"/>
      <int key="count" value="3"><string key="of an attribute" value="left out"/></int>
      <boolean key="done" value="true"/>
      <id key="who" value="7d5c"/>
    </event>
    <event>
      <string key="concept:name" value="ship"/>
      <date key="time:timestamp" value="2024-05-01T08:00:00"/>
      <int key="count" value=""/>
      <boolean key="done" value="0"/>
    </event>
  </trace>
  <trace>
    <event><date key="time:timestamp" value="2024-05-02"/></event>
    <string key="concept:name" value="behind"/>
  </trace>
  <trace><event/></trace>
</log>"""
ROWS = [
    {"case:concept:name": "one", "concept:name": "pay & go", "event:position": 0,
     "time:timestamp": datetime(2024, 5, 1, 8, 0, 0, 123000, UTC), "lifecycle:transition": "complete", "count": 3,
     "done": True, "who": "7d5c", "case:amount": 12.5},
    {"case:concept:name": "one", "concept:name": "ship", "time:timestamp": datetime(2024, 5, 1, 8, tzinfo=UTC),
     "event:position": 1, "lifecycle:transition": None, "count": None, "done": False, "who": None, "case:amount": 12.5},
    {"case:concept:name": "behind", "concept:name": None, "time:timestamp": datetime(2024, 5, 2, tzinfo=UTC),
     "event:position": 0, "lifecycle:transition": None, "count": None, "done": None, "who": None, "case:amount": None},
    {"case:concept:name": "#3", "concept:name": None, "time:timestamp": None, "event:position": 0,
     "lifecycle:transition": None, "count": None, "done": None, "who": None, "case:amount": None},
]  # fmt: skip


@pytest.mark.parametrize("form", ["plain", "gz", "prefixed", "UTF-16"])
@pytest.mark.parametrize("events", [1, 100_000])
def test_a_log(form: str, events: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where each trace is a part of its own."""
    monkeypatch.setattr(xes_table, "_EVENTS", events)
    xml: str | bytes = LOG
    if form == "gz":
        xml = gzip.compress(LOG.encode())
    elif form == "prefixed":
        tags = "log extension global classifier trace event string date int float boolean id".split()
        for tag in tags:
            xml = str(xml).replace(f"<{tag} ", f"<x:{tag} ").replace(f"<{tag}>", f"<x:{tag}>")
            xml = xml.replace(f"</{tag}>", f"</x:{tag}>").replace(f"<{tag}/>", f"<x:{tag}/>")
        xml = xml.replace("xmlns=", "xmlns:x=")
    elif form == "UTF-16":
        xml = LOG.replace("UTF-8", "UTF-16").encode("utf-16")
    found = table(tmp_path, xml)
    assert found.column_names == list(ROWS[1])
    assert found.to_pylist() == ROWS
    types = dict(zip(found.column_names, found.schema.types, strict=True))
    assert types["time:timestamp"] == pa.timestamp("us", "UTC")
    assert (types["count"], types["case:amount"], types["done"]) == (pa.int64(), pa.float64(), pa.bool_())


def test_keys_of_several_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are DOUBLE, all else is text, whichever part of the log has what; names differ in more than capitals."""
    monkeypatch.setattr(xes_table, "_EVENTS", 1)
    traces = [
        "<int key='n' value='1'/><int key='m' value='1'/><int key='case:x' value='1'/>",
        "<float key='n' value='0.5'/><date key='m' value='2024-01-01T00:00:00Z'/><int key='N' value='2'/>",
        "<int key='n' value='3'/><boolean key='m' value='true'/><string key='concept:NAME' value='x'/>",
    ]
    xml = "".join(f"<trace><event>{t}</event><int key='x' value='{k}'/></trace>" for k, t in enumerate(traces))
    found = table(tmp_path, f"<log>{xml}</log>").to_pydict()
    assert found["n"] == [1.0, 0.5, 3.0]
    assert found["m"] == ["1", "2024-01-01T00:00:00+00:00", "true"]
    assert found["N_2"] == [None, 2, None]
    assert found["concept:NAME_2"] == [None, None, "x"]
    assert (found["case:x"], found["case:x_2"]) == ([1, None, None], [0, 1, 2])


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    name = "<string key='concept:name' value='a'/>"
    nested = "<list key='l'><values><int key='i' value='1'/></values></list>"
    xml = f"<log><event/><trace>{name}<event>{nested}</event></trace><trace>{name}</trace></log>"
    with pytest.warns(PatternWarning) as told:
        found = table(tmp_path, xml)
    assert found.num_rows == 1
    assert "l" not in found.column_names
    said = "\n".join(str(w.message) for w in told)
    assert "attributes that hold others are left out (1 of <list>)" in said
    assert "1 events in no trace are left out" in said
    assert "1 trace has the name of an earlier one" in said


@pytest.mark.parametrize(
    ("xml", "said"),
    [
        ("", "CEP_XES] {}, line 1: this is not well-formed XML (no element found)"),
        ("case,event", "line 1: this is not well-formed XML (syntax error)"),
        ("\n<html/>", "line 2: the document is a <html>, not a <log>."),
        ("<log>\n<trace>\n", "line 3: this is not well-formed XML (no element found)"),
        ("<log>\n<trace></log>", "line 2: this is not well-formed XML (mismatched tag)"),
        ("<log><trace><event>\n<int key='n' value='1.5'/>", "line 2: n is '1.5', which is not a valid int."),
        ("<log><trace><event>\n<int key='n' value='9223372036854775808'/>", "which is not a valid int."),
        ("<log><trace>\n<float key='n' value='x'/>", "line 2: n is 'x', which is not a valid float."),
        ("<log><trace>\n<boolean key='n' value='yes'/>", "line 2: n is 'yes', which is not a valid boolean."),
        (
            "<log><trace><event>\n\n<date key='t' value='1.5.2024'/>",
            "line 3: t is '1.5.2024', which is not a valid date.",
        ),
        ("<log><trace><event><string value='1'/>", "line 1: <string> has no key."),
        ("<log><trace><event><string key='1'/>", "line 1: <string> has no value."),
        ("<?xml version='1.0' encoding='none'?><log/>", "line 1: unknown encoding: none."),
        (gzip.compress(b"<log></log>")[:-6], "CEP_FILE] {} cannot be read: Compressed file ended"),
    ],
)
def test_files_that_are_none(xml: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(SparkCepError) as caught:
        table(tmp_path, xml)
    assert said.format(tmp_path / "log.xes") in str(caught.value)


def test_a_folder_that_is_there(tmp_path: Path) -> None:
    table(tmp_path, "<log/>")
    with pytest.raises(SparkCepError, match=r"CEP_FILE.*it is there already"):
        table(tmp_path, "<log/>")


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.integers(-12 * 60, 14 * 60))
def test_times(at: datetime, minutes: int) -> None:
    from sparkcep.data.xes import KINDS

    read = KINDS["date"][0]
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    assert read(f"{at.isoformat()}{sign}{hours:02}:{rest:02}") == at.replace(tzinfo=UTC) - timedelta(minutes=minutes)
    assert read(at.isoformat()) == read(f"{at.isoformat()}Z") == at.replace(tzinfo=UTC)
