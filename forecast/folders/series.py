"""The series of a file as long tables of Arrow, some whole series at a time, so that what is in memory is bounded."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.folders.source import UNREADABLE, Source, parquet, unreadable, values_in
from forecast.folders.unrolled import unrolled
from forecast.frame import ID, TARGET, FrameError

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 19  # of a long table: what a panel and its forecasts take beside it is about 100 MB
_SERIES = 1 << 12  # of a table: short series have long forecasts


def tables_of(source: Source, file: Path, freq: str | int | None = None) -> Iterator[tuple["pa.Table", np.ndarray]]:
    """Give a file as long tables, each of some whole series in their order, and the rows at which these begin.

    Id, stamp and target come first, then further columns, under the names of the files.

    Parameters
    ----------
    source: the folder, in whose layout the file is.
    file: one of its files.
    freq: the frequency of files by series, as of `check_frame`.

    Raises
    ------
    FrameError: a file that cannot be read.
    FrameError, ValueError: as `unrolled`.

    """
    if not source.by_series:
        yield from _whole_series(source, file)
        return
    import pyarrow as pa

    with parquet().ParquetFile(file) as opened:
        mean = values_in(opened.metadata, source.names[TARGET]) // max(1, opened.metadata.num_rows)
    size, waiting = max(1, min(_SERIES, _ROWS // max(1, mean))), []
    for batch in _batches(source, file, source.columns, size):
        waiting.append(batch)
        if sum(map(len, waiting)) >= size:
            yield unrolled(pa.Table.from_batches(waiting), source.names, freq)
            waiting = []
    if waiting:
        yield unrolled(pa.Table.from_batches(waiting), source.names, freq)


def ids_of(source: Source, file: Path) -> Iterator[list]:
    """Give the ids of the series of a file, some at a time; one whose rows do not lie together comes several times."""
    name, last = source.names[ID], []
    for batch in _batches(source, file, [name], _ROWS):
        ids = batch.column(name)
        if not source.by_series:
            ids = ids.take(_changes(ids))
        listed = ids.to_pylist()
        yield listed[1:] if not source.by_series and listed[:1] == last else listed
        last = listed[-1:]


def _whole_series(source: Source, file: Path) -> Iterator[tuple["pa.Table", np.ndarray]]:
    """Cut a long file between series."""
    import pyarrow as pa

    name = source.names[ID]
    tables, begins, rows, last = [], [np.zeros(1, "int64")], 0, None
    for batch in _batches(source, file, source.columns, _ROWS):
        ids = batch.column(name)
        table = pa.Table.from_batches([batch])
        if isinstance(ids, pa.DictionaryArray):
            table = table.set_column(0, name, ids.dictionary_decode())
        changes = _changes(ids)
        begins.append(rows + (changes[1:] if rows == 0 or ids[0].as_py() == last else changes))
        tables.append(table)
        rows, last = rows + len(table), ids[-1].as_py()
        if rows >= _ROWS and (bounds := np.concatenate(begins))[-1]:
            together = pa.concat_tables(tables)
            yield from _parts(together, bounds)
            tables = [together.slice(bounds[-1])]
            begins, rows = [np.zeros(1, "int64")], len(tables[0])
    if tables:
        yield from _parts(pa.concat_tables(tables), np.append(np.concatenate(begins), rows))


def _parts(table: "pa.Table", bounds: np.ndarray) -> Iterator[tuple["pa.Table", np.ndarray]]:
    """Give the series between `bounds`, the last of which is the row after them, so many at a time."""
    for at in range(0, len(bounds) - 1, _SERIES):
        begins, end = bounds[:-1][at : at + _SERIES], bounds[min(at + _SERIES, len(bounds) - 1)]
        yield table.slice(begins[0], end - begins[0]), begins - begins[0]


def _changes(ids: Any) -> np.ndarray:
    """Give the rows of an array of Arrow at which another id begins, the first row among them."""
    import pyarrow as pa

    encoded = ids if isinstance(ids, pa.DictionaryArray) else ids.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.append(0, np.flatnonzero(np.diff(codes)) + 1)


def _plain(batch: "pa.RecordBatch", but: list[str]) -> "pa.RecordBatch":
    """Give categories as their values, `but` of some columns: each batch has a dictionary of its own."""
    import pyarrow as pa

    for at, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        if isinstance(column, pa.DictionaryArray) and name not in but:
            batch = batch.set_column(at, name, column.dictionary_decode())
    return batch


def _batches(source: Source, file: Path, columns: list[str], rows: int) -> Iterator["pa.RecordBatch"]:
    """Read a file some rows at a time, in one thread; of long files the text of an id is read once for many rows."""
    as_dictionary = [] if source.by_series else [source.names[ID]]
    try:
        with parquet().ParquetFile(file, read_dictionary=as_dictionary, pre_buffer=False) as opened:
            for batch in opened.iter_batches(rows, columns=columns, use_threads=False):
                if len(batch):
                    yield _plain(batch.select(columns), as_dictionary)
    except UNREADABLE as error:
        raise FrameError(unreadable(error)) from error
