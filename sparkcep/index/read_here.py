"""What the driver itself reads of an index's events and cases, without a Spark job; not for Spark Connect.

See :mod:`sparkcep.index.reader` for what it reads by Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from sparkcep.index import local_events, lookup
from sparkcep.index.local_events import CaseGroups, Lists
from sparkcep.index.pairs import Longs
from sparkcep.index.reader import EVERYTHING, Reader, Scope
from sparkcep.index.storage import call
from sparkcep.index.tables import ACTIVITIES, REJECTED, SEQUENCES


def keys_of_cases(reader: Reader, ids: Longs, set_aside: bool = False) -> pa.Array:
    """CASE values of some living cases (ascending ids), whole numbers or text.

    Args:
        set_aside: as text, and with those of rows that could not be indexed.
    """
    keys = call(reader.spark, lookup.case_keys, reader.table(SEQUENCES), reader.state(SEQUENCES), ids)
    if not set_aside:
        return keys
    more = call(reader.spark, lookup.rejected_keys, reader.table(REJECTED), reader.state(REJECTED))
    return pa.concat_arrays([keys.cast(pa.string()), more]).unique()


def lists_of_types(reader: Reader, types: Sequence[str], placed: bool = False) -> Lists:
    """Posting lists of some indexed types. ``placed``: with positions in the cases."""
    codes = reader.dictionary()
    wanted = [codes[t] for t in types]
    return call(
        reader.spark, local_events.lists_of_types, reader.table(ACTIVITIES), reader.state(ACTIVITIES), wanted, placed
    )


def listed_events(
    reader: Reader, types: Sequence[str], lists: Lists, ids: Longs, scope: Scope = EVERYTHING
) -> pa.Table:
    """Events of some types, whose ``lists`` these are, in some cases and of the times that matter: case_key, type
    (text), time (units of the index), and position, where the lists have positions.
    """
    cases, places, times, positions = local_events.events_in(lists, ids, scope.least, scope.most)
    keys = pa.array([], pa.string())
    if len(cases):
        keys = keys_of_cases(reader, ids)
    listed = pa.array(types, pa.string()).take(pa.array(places))
    found = pa.table({"case_key": keys.take(pa.array(cases)), "type": listed, "time": pa.array(times)})
    if len(positions) != len(cases):
        return found
    return found.append_column("position", pa.array(positions, pa.int64()).cast(pa.int32()))


def groups_of_cases(reader: Reader, ids: Longs) -> CaseGroups:
    """Where `sequences` can hold some cases, by the footers of its files."""
    return call(reader.spark, local_events.groups_of_cases, reader.table(SEQUENCES), reader.state(SEQUENCES), ids)


def stored_events(
    reader: Reader, where: CaseGroups, ids: Longs, types: Iterable[str] | None, columns: Mapping[str, pa.DataType],
    scope: Scope = EVERYTHING,
) -> pa.Table:  # fmt: skip
    """Events of some living cases (ascending ids) from `sequences`: type (text), time (units of the index), and columns
    that are asked for.

    Args:
        where: of :func:`groups_of_cases`. types: of events that matter, None: all. columns: `case_key`, and lists
            `ties`, `include_0` ...
    """
    codes = reader.dictionary()
    wanted = None if types is None else [codes[t] for t in types if t in codes]
    names = np.full(max(codes.values(), default=-1) + 1, None, object)
    names[list(codes.values())] = list(codes)
    found = call(
        reader.spark, local_events.events_of_cases, reader.table(SEQUENCES), where, ids, len(names), wanted, columns,
        scope.least, scope.most,
    )  # fmt: skip
    listed = pa.array(names, pa.string()).take(found["code"])
    return found.set_column(found.schema.get_field_index("code"), "type", listed)
