"""Logs as German offices export them, and what is in them as pandas counts it: nothing here asks sparkcep.

Semicolons, a byte order mark, dd.MM.yyyy HH:mm, decimal commas, blanks and umlauts in names, types in several cases,
rows that come twice, rows that come late, and many events of one time, whose order is that of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from ..spark.real_logs import DATA

CASE, TIME, EVENT, AMOUNT, NOTE = "Fall-Nr.", "Zeitpunkt der Änderung", "Tätigkeit", "Betrag in €", "Straße; Ort"


@dataclass(frozen=True)
class Export:
    """``file``: its name. ``types``: a, b, c of the patterns, as most rows have them. ``days``: times have no clock."""

    file: str
    types: tuple[str, str, str]
    days: bool = False


EXPORTS = {
    "road_traffic_fines": Export("Bußgelder Export.csv", ("Create Fine", "Send Fine", "Payment"), days=True),
    "sepsis": Export("Sepsis-Fälle (2014).csv", ("CRP", "LacticAcid", "Leucocytes")),
    "bpi_2020_permit_log": Export(
        "Reise Anträge.csv", ("Permit SUBMITTED by EMPLOYEE", "Start trip", "Permit FINAL_APPROVED by SUPERVISOR")
    ),
    "made": Export("Übung 'eins' & $zwei.csv", ("Antrag prüfen", "Bescheid für Bürger", "Zahlung")),
}


def made_log() -> pd.DataFrame:
    """A log of 300 cases whose events often have one time."""
    random = np.random.default_rng(1)
    types = [*EXPORTS["made"].types, "Ändern", "Schließen"]
    rows = []
    for case in range(300):
        at = pd.Timestamp("2006-12-20") + pd.Timedelta(minutes=int(random.integers(60 * 24 * 30)))
        for _ in range(int(random.integers(1, 9))):
            at += pd.Timedelta(minutes=int(random.choice([0, 0, 1, 60, 60 * 24 * 9])))
            rows.append((f"F{case}", at, str(random.choice(types))))
    return pd.DataFrame(rows, columns=["case_id", "ts", "activity"])


def events_of(name: str, cases: int | None) -> pd.DataFrame:
    """The first cases of a log in the order of its events, with local times."""
    if name == "made":
        return made_log()
    log = pd.read_parquet(DATA / f"{name}.parquet", columns=["case_id", "pos", "activity", "ts"])
    if cases is not None:
        log = log[log.case_id.isin(log.case_id.unique()[:cases])]
    log["ts"] = log.ts.dt.tz_convert("Europe/Berlin").dt.tz_localize(None)
    return log.sort_values(["case_id", "pos"], kind="stable")[["case_id", "ts", "activity"]]


def write_export(log: pd.DataFrame, export: Export, folder: Path) -> pd.DataFrame:
    """Write the file, and give its rows with what their texts mean."""
    random = np.random.default_rng(7)
    out = pd.DataFrame(
        {"case": log.case_id, "at": log.ts.dt.floor("D" if export.days else "min"), "type": log.activity}
    )
    # Most types in one spelling, a tenth in capitals: as a second system would write them.
    out["type"] = np.where(random.random(len(out)) < 0.1, out.type.str.upper(), out.type)
    out["amount"] = np.where(random.random(len(out)) < 0.2, np.nan, random.integers(100, 9_999_999, len(out)) / 100)
    # Cases in any order; a row in fifty once more, a row in thirty at the end of the file.
    order = out.case.drop_duplicates().sample(frac=1, random_state=3).reset_index(drop=True)
    out = out.assign(place=out.case.map(dict(zip(order, order.index, strict=True)))).sort_values("place", kind="stable")
    out = out.iloc[np.repeat(np.arange(len(out)), np.where(random.random(len(out)) < 0.02, 2, 1))]
    late = random.random(len(out)) < 0.03
    out = pd.concat([out[~late], out[late]]).drop(columns="place").reset_index(drop=True)
    texts = pd.DataFrame({
        EVENT: out.type,
        NOTE: np.where(random.random(len(out)) < 0.1, 'Am "Kai"; 1. Stock', " Köln "),
        TIME: out["at"].dt.strftime("%d.%m.%Y" if export.days else "%d.%m.%Y %H:%M"),
        AMOUNT: out.amount,
        CASE: out.case,
    })  # fmt: skip
    texts.loc[out.duplicated(keep="last"), NOTE] = " Köln "  # so that rows that come twice are the same
    texts.loc[out.duplicated(), NOTE] = " Köln "
    texts.to_csv(folder / export.file, sep=";", decimal=",", encoding="utf-8-sig", index=False)
    return out


def counts(rows: pd.DataFrame, export: Export) -> dict[str, int]:
    """What is in the file, by name: rows and the like, and matches of patterns."""
    a, b, c = export.types
    found = Counter[str]()
    for of_case in cases_of(rows):
        found += Counter(matches(of_case, a, b, c))
    folded = Counter[str]()
    for of_case in cases_of(rows.assign(type=rows.type.str.upper())):
        folded += Counter(matches(of_case, a.upper(), b.upper(), c.upper()))
    once = Counter[str]()
    for of_case in cases_of(rows.drop_duplicates()):
        once += Counter(matches(of_case, a, b, c))
    return {
        "rows": len(rows),
        "cases": rows.case.nunique(),
        "types": rows.type.nunique(),
        "different rows": len(rows.drop_duplicates()),
        "amounts": round(100 * rows.amount.sum()),
        **{name: found[name] for name in MATCHES},
        "strict, folded": folded["strict"],
        "next, folded": folded["next"],
        "strict, once": once["strict"],
    }


def cases_of(rows: pd.DataFrame) -> Iterator[list[tuple[str, pd.Timestamp, float]]]:
    """Events of each case by time, those of one time as the file has them."""
    ordered = rows.sort_values(["case", "at"], kind="stable")
    events = list(zip(ordered.type, ordered["at"], ordered.amount, strict=True))
    borders = [*np.flatnonzero(ordered.case.ne(ordered.case.shift())), len(events)]
    return (events[low:high] for low, high in pairwise(borders))


MATCHES = ("strict", "next", "within", "none between", "more", "first")


def matches(events: Sequence[tuple[str, pd.Timestamp, float]], a: str, b: str, c: str) -> dict[str, int]:
    """Matches in a case by what each pattern means, word by word."""
    out = dict.fromkeys(MATCHES, 0)
    for n, (type_, at, amount) in enumerate(events):
        if type_ != a:
            continue
        later = events[n + 1 :]
        out["strict"] += bool(later) and later[0][0] == b
        second = next((k for k, e in enumerate(later) if e[0] == b), None)
        out["more"] += any(e[0] == b and e[2] > amount for e in later)
        if second is None:
            continue
        out["next"] += 1
        out["first"] = 1
        out["within"] += later[second][1] <= at + pd.Timedelta(days=10)
        out["none between"] += all(e[0] != c for e in later[:second])
    return out


def statement(view: str, export: Export) -> str:
    """One statement that gives the same counts."""
    a, b, c = (f"'{t}'" for t in export.types)
    number = "CAST(replace({}.`Betrag in €`, ',', '.') AS DOUBLE)"
    folded = f"EVENT TYPE upper(`{EVENT}`) PATTERN SEQ({a.upper()} a, {b.upper()} b)"
    once = f"(SELECT * EXCEPT (row_in_file), min(row_in_file) AS row_in_file FROM {view} GROUP BY ALL)"
    parts = {
        "rows": f"SELECT count(*) AS n FROM {view}",
        "cases": f"SELECT count(DISTINCT `{CASE}`) AS n FROM {view}",
        "types": f"SELECT count(DISTINCT `{EVENT}`) AS n FROM {view}",
        "different rows": f"SELECT count(*) AS n FROM (SELECT DISTINCT * EXCEPT (row_in_file) FROM {view})",
        "amounts": f"SELECT CAST(round(100 * sum({number.format('l')})) AS BIGINT) AS n FROM {view} l",
        "strict": f"FROM {view} PATTERN SEQ({a} a, {b} b) WHERE strict_contiguity",
        "next": f"FROM {view} PATTERN SEQ({a} a, {b} b)",
        "within": f"FROM {view} PATTERN SEQ({a} a, {b} b) WITHIN 10 days",
        "none between": f"FROM {view} PATTERN SEQ({a} a, NOT {c} c, {b} b)",
        "more": f"FROM {view} PATTERN SEQ({a} a, {b} b) WHERE {number.format('b')} > {number.format('a')}",
        "first": f"FROM {view} PATTERN SEQ({a} a, {b} b) MATCHES FIRST",
        "strict, folded": f"FROM {view} {folded} WHERE strict_contiguity",
        "next, folded": f"FROM {view} {folded}",
        "strict, once": f"FROM {once} PATTERN SEQ({a} a, {b} b) WHERE strict_contiguity",
    }  # fmt: skip
    return "\nUNION ALL ".join(
        f"SELECT '{name}' AS what, {'n' if text.startswith('SELECT') else 'count(*) AS n'} FROM ({text})"
        for name, text in parts.items()
    )


def glance(rows: pd.DataFrame) -> Mapping[str, object]:
    """What `discover` counts: types with events and cases, what directly follows what, variants, ties."""
    types = rows.groupby("type").case.agg(["size", "nunique"])
    follows, variants = Counter[tuple[str, str]](), set()
    for events in cases_of(rows):
        names = [e[0] for e in events]
        variants.add(tuple(names))
        follows.update(pairwise(names))
    return {
        "types": {name: (int(n), int(cases)) for name, n, cases in types.itertuples()},
        "follows": dict(follows),
        "variants": len(variants),
        "tied": int(rows.duplicated(["case", "at"], keep=False).sum()),
    }
