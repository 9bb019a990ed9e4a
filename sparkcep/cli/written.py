"""`-o FILE`: a result as one file, with Spark's types in Parquet and Spark's texts in CSV and JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sparkcep.errors import SparkCepError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ENDINGS = (".parquet", ".csv", ".json", ".jsonl", ".ndjson")


def check_output(path: str) -> None:
    """Say what is wrong with a file's name before anything is run.

    Raises:
        SparkCepError: CEP_ARGUMENTS for another ending, CEP_FILE where its folder is missing.
    """
    if Path(path).suffix.lower() not in ENDINGS:
        raise SparkCepError("CEP_ARGUMENTS", f"-o {path}: results are written as {', '.join(ENDINGS)}.")
    if not Path(path).absolute().parent.is_dir():
        raise SparkCepError("CEP_FILE", f"{path} cannot be written: its folder is not there.")


def write(frame: DataFrame, path: str) -> int:
    """Write a result; returns its rows. Parquet is collected as a whole, the others come partition by partition.

    Raises:
        SparkCepError: CEP_FILE where the file cannot be written.
    """
    try:
        if Path(path).suffix.lower() == ".parquet":
            return _parquet(frame, path)
        return _csv(frame, path) if Path(path).suffix.lower() == ".csv" else _json(frame, path)
    except OSError as error:
        raise SparkCepError("CEP_FILE", f"{path} cannot be written: {error.strerror or error}.") from None


def _parquet(frame: DataFrame, path: str) -> int:
    import pyarrow.parquet as pq

    table = frame.toArrow()
    pq.write_table(table, path, compression="zstd")
    return int(table.num_rows)


def _csv(frame: DataFrame, path: str) -> int:
    import csv

    from sparkcep.cli.printing import as_texts

    count = 0
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(frame.columns)
        for row in as_texts(frame).toLocalIterator():
            writer.writerow(["" if v is None else v for v in row])
            count += 1
    return count


def _json(frame: DataFrame, path: str) -> int:
    from sparkcep.cli.printing import as_json

    count = 0
    with open(path, "w", encoding="utf-8") as file:
        for (line,) in as_json(frame).toLocalIterator():
            file.write(line + "\n")
            count += 1
    return count
