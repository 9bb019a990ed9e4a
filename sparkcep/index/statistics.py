"""ANALYZE PATTERN INDEX: what an index costs, and how many cases it lets a query skip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparkcep.index.files import read
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import Location, call
from sparkcep.index.tables import COUNTS

if TYPE_CHECKING:
    from sparkcep.index.reader import Reader


def cases_per_pair(table: Location, state: TableState) -> list[int]:
    """Cases of each pair that occurs, added up over batches."""
    found: dict[tuple[int, int], int] = {}
    for file in state.files:
        rows = read(table, file, ["a", "b", "cases"])
        for a, b, n in zip(*(rows[c].to_pylist() for c in ("a", "b", "cases")), strict=True):
            found[a, b] = found.get((a, b), 0) + n
    return list(found.values())


def analyze(reader: Reader) -> list[tuple[str, str, str]]:
    """Subject, measure and value, as text."""
    snapshot = reader.snapshot
    totals = snapshot.totals
    out: list[tuple[str, str, str]] = []

    def add(subject: str, measure: str, value: float | str) -> None:
        out.append((subject, measure, f"{value:.2f}" if isinstance(value, float) else str(value)))

    add("log", "cases", totals.cases)
    add("log", "events", totals.events)
    add("log", "event types", len(reader.dictionary()))
    for name, (size, rows, files) in reader.sizes().items():
        add(name, "bytes", size)
        add(name, "rows", rows)
        add(name, "files", files)
    add("cost", "bytes per event", snapshot.size / max(1, totals.events))
    if COUNTS in snapshot.tables:
        pairs = snapshot.tables["pairs"]
        add("cost", "pairs per event", totals.pairs / max(1, totals.events))
        add("cost", "bytes per pair", pairs.size / max(1, totals.pairs))
        index = reader.index.child(snapshot.build, COUNTS)
        found = call(reader.spark, cases_per_pair, index, snapshot.tables[COUNTS])
        if found and totals.cases:
            shares = np.array(found) / totals.cases
            types = len(reader.dictionary())
            add("saving", "pairs that occur, of all pairs of types", len(found) / max(1, types * types))
            for label, q in (("a tenth", 0.1), ("half", 0.5), ("nine tenths", 0.9)):
                add("saving", f"share of cases that {label} of the pairs leave", float(np.quantile(shares, q)))
    add("state", "batches", snapshot.batches)
    add("state", "snapshot", snapshot.number)
    add("state", "source", reader.coverage().state)
    return out
