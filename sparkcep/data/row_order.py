"""In which order rows stand in the files they are read from: what orders events of one time where nothing else does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The column of rows' places, unless the file has one of that name.
ROW_IN_FILE = "row_in_file"
#: Where Spark puts a row's number within its task, in the low bits of ``monotonically_increasing_id``.
_WITHIN_TASK = (1 << 33) - 1
_FILE, _PLACE = "__cep_file", "__cep_place"


@dataclass(frozen=True, slots=True)
class RowOrder:
    """``file``: the name of a row's file. ``place``: grows from row to row of a file, and from file to file by name."""

    file: Column
    place: Column
    several: bool


def row_order(frame: DataFrame, kind: str, *, is_one_file: bool) -> RowOrder | None:
    """The order of rows in the files of a DataFrame that nothing was done to yet; None where they have none.

    Parquet tells each row's number. CSV and JSON are read in splits. One task reads a split from its beginning to its
    end, so that what ``monotonically_increasing_id`` counts within the task grows from row to row of the split, and a
    file's splits are in the order of their offsets. So (file, offset of the split, number within the task) is the order
    of the rows of several files, whose splits Spark packs into tasks by size. All splits of one file have the same size
    but the last, which is shorter, so that packing keeps their order, and the id itself is the order of the rows.

    Args:
        kind: the format. is_one_file: that is known.
    """
    if kind not in ("csv", "json", "parquet"):
        return None  # the files of a Delta table have no order
    metadata = frame.metadataColumn("_metadata")
    files = [] if is_one_file else frame.inputFiles()
    names = {PurePosixPath(f).name for f in files}
    file = metadata["file_name" if len(names) == len(files) else "file_path"]
    numbers = [metadata["row_index"]] if kind == "parquet" else [F.monotonically_increasing_id()]
    if len(files) < 2:
        return RowOrder(file, numbers[0], False)
    if kind != "parquet":
        numbers = [metadata["file_block_start"], numbers[0].bitwiseAND(F.lit(_WITHIN_TASK))]
    return RowOrder(file, F.concat_ws(":", file, *(F.lpad(n.cast("string"), 19, "0") for n in numbers)), True)


def first_row(frame: DataFrame, condition: str, value: str, order: RowOrder | None) -> tuple[Any, str]:
    """What a value is in the first row that meets a condition, and which row that is, in words.

    Args:
        frame: as it was read; some row meets the condition. condition, value: SQL.
    """
    if order is None:
        return frame.where(condition).selectExpr(value).limit(1).collect()[0][0], "some row"
    frame = frame.select("*", order.file.alias(_FILE), order.place.alias(_PLACE))
    found, file, place = frame.where(condition).orderBy(_PLACE).selectExpr(value, _FILE, _PLACE).limit(1).collect()[0]
    before = frame.where((frame[_FILE] == file) & (frame[_PLACE] < place)).count()
    return found, f"row {before + 1:,}" + (f" of {file}" if order.several else "")
