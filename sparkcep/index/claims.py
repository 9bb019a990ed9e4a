"""One commit at a time on stores that have no locks: who commits first claims the index, in a Delta table of its own.

A refresh commits table by table and then its snapshot. If two did so at once, the loser would undo the winner's files
in a table's log on its way to being told CEP_INDEX_BUSY. A claim is a commit to `claims`, by conditional put; it ends
with the refresh's commits, or where the process dies, after some minutes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sparkcep.errors import PatternIndexError
from sparkcep.index.object_store import LOCK
from sparkcep.index.storage import Location, busy, conflicts_are_busy, delete_directory, is_conflict, opened
from sparkcep.index.tables import CLAIMS

#: How long a claim holds whose process has died.
LEASE_SECONDS = 300
#: Commits at once that tell whether a store lets one overwrite another.
_PROBES = 6
#: How often they are made until one of them is refused by the store itself.
_ROUNDS = 10
_SCHEMA = '{"type":"struct","fields":[{"name":"claim","type":"long","nullable":true,"metadata":{}}]}'


@contextlib.contextmanager
def claimed(index: Location) -> Iterator[Callable[[], None]]:
    """Hold an index for the commits of a refresh. What is yielded raises where the claim has run out meanwhile.

    Raises:
        PatternIndexError: CEP_INDEX_BUSY, somebody else holds it.
    """
    since = time.monotonic()
    token = uuid.uuid4().hex
    _write(index, LEASE_SECONDS, token)

    def check() -> None:
        if time.monotonic() - since > LEASE_SECONDS * 0.9:
            raise busy("this one's claim has run out, its commits took too long")

    try:
        yield check
    finally:
        # One that cannot be ended ends by itself.
        with contextlib.suppress(Exception):
            _write(index, 0, token, ends=True)


def check_conditional_put(root: Location) -> None:
    """See to it that a store refuses to write a commit that is there, before anything relies on it.

    Some commits are made at once, of which one may succeed: the store is asked as deltalake asks it, which has no other
    way to put a file. deltalake looks first whether the table is there, and on a busy machine may see it each time:
    then the store was not asked, and others follow. Costs a second.

    Raises:
        PatternIndexError: CEP_INDEX_STORAGE_OPTION, more than one succeeded.
    """
    from deltalake.exceptions import CommitFailedError

    for _ in range(_ROUNDS):
        errors = _commits_at_once(root)
        if len(errors) == _PROBES:
            raise next((e for e in errors if not is_conflict(e)), errors[0])
        if len(errors) < _PROBES - 1:
            raise PatternIndexError(
                "CEP_INDEX_STORAGE_OPTION",
                f"The store of {root.uri} has no conditional put: of {_PROBES} commits at once "
                f"{_PROBES - len(errors)} have overwritten each other.",
                blame="name",
                hint=f"use a store that has it (S3, Azure, GCS, current MinIO), or {LOCK}",
            )
        if any(isinstance(error, CommitFailedError) for error in errors):
            return


def _commits_at_once(root: Location) -> list[Exception]:
    """The errors of so many commits that each make the same new table."""
    from deltalake import CommitProperties, Schema, Transaction
    from deltalake.transaction import create_table_with_add_actions

    name = f"_probe-{uuid.uuid4().hex[:12]}"
    probe = root.child(name)
    schema = Schema.from_json(_SCHEMA)
    start = threading.Barrier(_PROBES)

    def create(_: int) -> Exception | None:
        start.wait()
        try:
            # Without retries, which would commit behind the one that is there.
            once = CommitProperties(app_transactions=[Transaction("claims", 0)], max_commit_retries=0)
            create_table_with_add_actions(
                probe.delta, schema, [], "error", storage_options=probe.storage_options(), commit_properties=once
            )
        except Exception as error:
            return error
        return None

    try:
        with ThreadPoolExecutor(_PROBES) as threads:
            return [error for error in threads.map(create, range(_PROBES)) if error is not None]
    finally:
        with contextlib.suppress(Exception):
            delete_directory(root, name)


def _write(index: Location, seconds: float, token: str, ends: bool = False) -> None:
    """Claim an index for some seconds from now, or end the claim of a ``token`` where nobody has claimed it since."""
    from deltalake import CommitProperties, Schema, Transaction
    from deltalake.transaction import create_table_with_add_actions

    table = index.child(CLAIMS)
    schema = Schema.from_json(_SCHEMA)
    now = time.time()

    def properties(number: int) -> Any:
        who = f"{socket.gethostname()} {os.getpid()}"
        # Two that claim the same number are in conflict.
        return CommitProperties(
            custom_metadata={"claimed_by": who, "claimed_until": str(now + seconds), "claim": token},
            app_transactions=[Transaction("claims", number)],
            max_commit_retries=0,
        )

    with conflicts_are_busy():
        if (delta := opened(table)) is None:
            options = table.storage_options()
            create_table_with_add_actions(
                table.delta, schema, [], mode="error", storage_options=options, commit_properties=properties(0)
            )
            return
        last = delta.history(1)[0]
        if ends and last.get("claim") != token:
            return  # ours has run out, and somebody else has claimed the index
        if not ends and float(last.get("claimed_until", 0)) > now:
            raise busy(
                f"{last.get('claimed_by')} has claimed it for another {float(last['claimed_until']) - now:.0f} s"
            )
        number = int(delta.transaction_version("claims") or 0) + 1
        delta.create_write_transaction([], "append", schema, commit_properties=properties(number))
