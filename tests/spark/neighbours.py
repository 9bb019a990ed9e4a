"""One condition on two neighbours, ``a`` and ``b``: as a clause, as a block, and by Spark's own `lag`.

Each is a query over a relation with the partition key ``k``; its column ``b`` has the sort key of the second of them.
"""

from __future__ import annotations

import re


def clause(condition: str, relation: str, order: str) -> str:
    """In MATCH_RECOGNIZE."""
    return f"""SELECT b FROM {relation} MATCH_RECOGNIZE (PARTITION BY k ORDER BY {order} MEASURES b.{order} AS b
        AFTER MATCH SKIP TO NEXT ROW PATTERN (a b) DEFINE b AS {condition})"""


def block(condition: str, relation: str, order: str) -> str:
    """In a pattern block."""
    return f"""SELECT b FROM (FROM {relation} PARTITION BY k ORDER BY {order} EVENT TYPE NONE PATTERN SEQ(ANY a, ANY b)
        WHERE {condition} EVENT SELECTION STRICT CONTIGUITY MATCHES ALL RETURN b.{order} AS b)"""


def by_lag(condition: str, relation: str, order: str) -> str:
    """In plain Spark SQL."""
    plain = re.sub(r"\ba\.(\w+)", r"(lag(\1) OVER before)", condition, flags=re.IGNORECASE)
    plain = re.sub(r"\bb\.", "", plain, flags=re.IGNORECASE)
    return f"""SELECT {order} AS b FROM (SELECT {order}, lag({order}) OVER before AS earlier, {plain} AS holds
        FROM {relation} WINDOW before AS (PARTITION BY k ORDER BY {order})) WHERE earlier IS NOT NULL AND holds"""
