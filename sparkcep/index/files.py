"""Parquet files of an index as pyarrow writes and reads them: with checksums of every byte that matters.

Parquet has a checksum for each page. What is behind the last page, the column indexes and the footer, has none: a bit
that flips there may rename a column or have rows skipped. Snapshots keep the checksum of that tail.

All functions take plain values, so that they can run in a Spark task where the client cannot see the storage.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from sparkcep.errors import PatternIndexError
from sparkcep.index.storage import DataFile, Location, filesystem
from sparkcep.index.storage_errors import DAMAGED, classed, unreadable

#: How Spark and pyarrow are told to write and to check the checksums of pages.
SPARK_WRITES = {"parquet.page.write-checksum.enabled": "true"}
SPARK_CHECKS = {"parquet.page.verify-checksum.enabled": "true"}
#: Bytes in front of the first page, and behind the footer: its length, and Parquet's mark.
_HEAD, _MARK = 4, 8


def data_files(table: Location, batch: str) -> tuple[DataFile, ...]:
    """Files that Spark wrote for a batch of a table."""
    fs = filesystem(table)
    out = []
    for info in fs.get_file_info(pafs.FileSelector(f"data/{batch}", allow_not_found=True, recursive=True)):
        # What Spark itself does not read: attempts under _temporary, and whatever else is hidden.
        is_hidden = any(part[0] in "._" for part in info.path.split("/"))
        if info.type == pafs.FileType.File and info.base_name.endswith(".parquet") and not is_hidden:
            out.append(_sealed(fs, info))
    return tuple(sorted(out, key=lambda f: f.path))


def _sealed(fs: pafs.FileSystem, info: pafs.FileInfo) -> DataFile:
    """A file that has just been written, with the checksum of its tail."""
    with fs.open_input_file(info.path) as file:
        metadata = pq.read_metadata(file)
        groups = (metadata.row_group(g) for g in range(metadata.num_row_groups))
        chunks = [group.column(c) for group in groups for c in range(group.num_columns)]
        # A dictionary's page is the first of its chunk.
        ends = (min(c.dictionary_page_offset or c.data_page_offset, c.data_page_offset) + c.total_compressed_size
                for c in chunks)  # fmt: skip
        tail = info.size - max(ends, default=_HEAD)
        return DataFile(info.path, info.size, metadata.num_rows, tail, zlib.crc32(file.read_at(tail, info.size - tail)))


def write_small(table: Location, batch: str, rows: pa.Table) -> tuple[DataFile, ...]:
    """Write a few rows without Spark, in Spark's place; no file where there are none."""
    if not rows.num_rows:
        return ()
    with file_of(table, batch) as out:
        pq.write_table(rows, out, compression="zstd", write_page_checksum=True)
    return data_files(table, batch)


def file_of(table: Location, batch: str) -> pa.NativeFile:
    """The file of a batch that is written without Spark, open, where Spark would put it."""
    fs = filesystem(table)
    fs.create_dir(f"data/{batch}", recursive=True)
    return fs.open_output_stream(f"data/{batch}/part-00000.parquet")


@lru_cache(maxsize=64)
def _filesystem(table: Location) -> pafs.FileSystem:
    return filesystem(table)


def metadata_of(table: Location, file: DataFile) -> pq.FileMetaData:
    """A file's footer.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED, CEP_INDEX_STORAGE.
    """
    with _opened(table, file) as opened:
        return _metadata(table, file, opened)


def read(table: Location, file: DataFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Some columns of a file, or all.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED, CEP_INDEX_STORAGE.
    """
    with _opened(table, file) as opened:
        metadata = _metadata(table, file, opened)
        if not metadata.num_row_groups:
            return _no_rows(metadata, columns)
        return _checking(opened, metadata).read(columns=None if columns is None else list(columns))


def read_groups(
    table: Location, file: DataFile, metadata: pq.FileMetaData, groups: Sequence[int], columns: Sequence[str]
) -> pa.Table:
    """Some row groups of a file, whose footer is known.

    Raises:
        PatternIndexError: CEP_INDEX_DAMAGED, CEP_INDEX_STORAGE.
    """
    if not groups:
        return _no_rows(metadata, columns)
    with _opened(table, file) as opened:
        return _checking(opened, metadata).read_row_groups(list(groups), columns=list(columns))


def _no_rows(metadata: pq.FileMetaData, columns: Sequence[str] | None) -> pa.Table:
    """What a file without row groups holds; PyArrow 18 cannot read one."""
    nothing = metadata.schema.to_arrow_schema().empty_table()
    return nothing if columns is None else nothing.select(list(columns))


def _metadata(table: Location, file: DataFile, opened: pa.NativeFile) -> pq.FileMetaData:
    if not file.tail:
        return pq.read_metadata(opened)
    tail = opened.read_at(file.tail, file.size - file.tail)
    if zlib.crc32(tail) != file.crc:
        raise unreadable(table.uri, file.path, "its footer has another checksum than when it was written")
    return pq.read_metadata(pa.BufferReader(tail))


def _checking(opened: pa.NativeFile, metadata: pq.FileMetaData) -> pq.ParquetFile:
    return pq.ParquetFile(opened, metadata=metadata, pre_buffer=True, page_checksum_verification=True)


@contextlib.contextmanager
def _opened(table: Location, file: DataFile) -> Iterator[pa.NativeFile]:
    """A file, open; errors in the block that tell of damage name it."""
    try:
        with _filesystem(table).open_input_file(file.path) as opened:
            yield opened
    except PatternIndexError:
        raise
    except Exception as error:
        found = classed(error)
        if found is None or found.error_class != DAMAGED:
            raise
        reason = found.sentence.partition(": ")[2].rstrip(".")
        raise unreadable(table.uri, file.path, reason) from None  # its text may hold secrets
