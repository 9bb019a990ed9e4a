"""What is said of an index whose files are gone, cut short or unreadable, or whose storage refuses."""

from __future__ import annotations

import re

import pyarrow as pa
from pyspark.errors import PySparkException

from sparkcep.errors import PatternIndexError
from sparkcep.spark.exceptions import message

#: Files are not as the snapshot says; the storage refuses; the index is of another release.
DAMAGED, STORAGE, FORMAT = "CEP_INDEX_DAMAGED", "CEP_INDEX_STORAGE", "CEP_INDEX_FORMAT"
#: Errors that a query without the index can do without.
UNUSABLE = (DAMAGED, STORAGE, FORMAT)

ANEW = "REFRESH PATTERN INDEX builds it anew from its source; of batches, DROP PATTERN INDEX and create it again"


#: Secrets and signatures in addresses and answers of object stores.
_SECRETS = re.compile(
    r"(?i)((?<![a-z])(?:sig|signature|signatureprovided|x-amz-(?:signature|credential|security-token)|awsaccesskeyid)"
    r"[=>]\s*)[^&\s<]+"
)


def redacted(text: str) -> str:
    """What a storage library says, without the secrets and signatures in it."""
    return _SECRETS.sub(r"\1...", text)


def damaged(reason: str, hint: str = ANEW) -> PatternIndexError:
    """CEP_INDEX_DAMAGED, files that should be there and cannot be read; the caller raises it."""
    return PatternIndexError("CEP_INDEX_DAMAGED", f"The pattern index is damaged: {reason}.", blame="name", hint=hint)


def unreadable(table: str, path: str, reason: str) -> PatternIndexError:
    """CEP_INDEX_DAMAGED, a file of an index whose bytes have changed; the caller raises it.

    Args:
        table: the table's address, ``path`` that of its file below; the address of an index ends in its name.
    """
    name = table.split("/")[-3:][0]
    return PatternIndexError(
        "CEP_INDEX_DAMAGED", f"Pattern index {name} is damaged: {table}/{path} cannot be read ({reason}).",
        blame="name", hint=f"REFRESH PATTERN INDEX {name} FULL builds it anew from its source; of batches, "
        "DROP PATTERN INDEX and create it again",
    )  # fmt: skip


#: How Spark names a file of an index that a task cannot read, up to the index's folder.
_FILE = re.compile(r"\[FAILED_READ_FILE[^\]]*\][^\n]*?(\S*/[^/\s]+/build-[0-9a-f]{12}/[a-z]+)/(data/\S+\.parquet)")


def unread_by_spark(text: str) -> PatternIndexError | None:
    """What an error of Spark's means for the index whose file a task could not read; None: it is of no index's file."""
    found = _FILE.search(text)
    if found is None or "FILE_NOT_EXIST" in found[0]:
        return None
    reasons = re.findall(r"(?m)^Caused by: (?:[\w$]+\.)*\w+: ([^\n]*)", text)
    return unreadable(found[1], found[2], reasons[-1].rstrip(". ") if reasons else "see Spark's error")


def classed(error: Exception) -> PatternIndexError | None:
    """What a storage library's error means for an index; None: it is no error of storage.

    Raised by `pyarrow` and `deltalake`, which tell what is wrong by OSError with a number or by words only.
    """
    from deltalake.exceptions import DeltaError

    if not isinstance(error, (OSError, pa.ArrowException, DeltaError)):
        return None
    text = re.sub("\x1b\\[[0-9;]*m", "", str(error)).replace("\u21b3", ":")
    text = redacted(text)
    reason = " ".join(text.split("stack backtrace", maxsplit=1)[0].split())[:300].rstrip(". ")
    refused = isinstance(error, OSError) and error.errno is not None and not isinstance(error, FileNotFoundError)
    if refused or re.search(r"os error|Generic (?!delta )\w+ error|loading credentials|Unknown scheme", text):
        return refusal(reason)
    return damaged(reason)


def refusal(reason: str) -> PatternIndexError:
    """CEP_INDEX_STORAGE, a write that the storage refuses for a ``reason`` of its own; the caller raises it."""
    return PatternIndexError(
        "CEP_INDEX_STORAGE",
        f"The pattern index's storage refuses: {reason}.",
        blame="name",
        hint="nothing that readers see was changed; check the storage (space, permissions, network) and the setting "
        "spark.sparkcep.index.path, then run this again",
    )


def disk_full(error: Exception) -> PatternIndexError | None:
    """What a Spark job says that could not write its files; None: it died of something else."""
    found = re.search(r"No space left on device|Disk quota exceeded|File too large|Read-only file system", str(error))
    return refusal(found[0]) if found else None


def cause_of(error: Exception) -> str:
    """What Spark says is wrong, in its own words and without the stack: a task's error, where one has failed.

    What has no class of PySpark's own (a format that is not there, a file that is no Parquet) comes as the bridge to
    the JVM found it.
    """
    text = message(error) if isinstance(error, PySparkException) else str(error)
    with_class = re.findall(r"\[[A-Z_]+(?:\.[A-Z_]+)*\] [^\n]*", text)
    if with_class:
        # The file that failed, and what its reader then says.
        line = ": ".join(dict.fromkeys(t.split(" SQLSTATE")[0].rstrip(". ") for t in (with_class[0], with_class[-1])))
    else:
        line = text.split("\n: ")[-1].strip().split("\n")[0].removeprefix("java.lang.RuntimeException: ")
    line = re.sub(r"^(?:[a-z][\w$]*\.)+(\w*(?:Exception|Error): )", r"\1", line)
    return redacted(line)[:400].rstrip(". ")
