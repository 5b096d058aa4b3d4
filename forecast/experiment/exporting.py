"""All forecasts of many experiments as one long table: Parquet or CSV, written part by part, whatever memory holds.

What experiments call by different kinds of names or times stands as text; a quantile level that one of them does not
have is empty there.
"""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Run
from forecast.evaluation.ledger.columns import AFTER_LEVELS, BEFORE_LEVELS
from forecast.evaluation.ledger.tables import forecasts_of
from forecast.experiment.cells import cell_rows
from forecast.experiment.faults import ConfigError
from forecast.experiment.own_data import TABLE_ENDINGS, check_output
from forecast.experiment.store import Store, StoreError
from forecast.experiment.stored import datasets_of, experiments_below, place_of, subject_of

FIRST = ["experiment", "dataset", "context_length"]  # before the columns of a ledger
_TIMES = ("cutoff", "ds", "fit_cutoff")
_WHOLE = ("seed", "step")
_UNITS = ("s", "ms", "us", "ns")  # of stamps, ever finer
_ROWS = 1 << 18  # of the table that are made at a time


@dataclass(frozen=True)
class Exported:
    """What was written: the file, its rows, and what a person should know of it."""

    path: Path
    rows: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Part:
    """The finished cells of one forecaster with one seed on a data set of an experiment, at one context length."""

    first: tuple[str, str, int | None]
    store: Store
    keys: list[str]


@dataclass(frozen=True)
class _Kinds:
    """What the columns of the table hold: dtypes of names and times, None for text, and all quantile levels."""

    ids: Any
    time: Any
    levels: list[float]

    @property
    def columns(self) -> list[str]:
        return [*FIRST, *BEFORE_LEVELS, *map(str, self.levels), *AFTER_LEVELS]


def export_forecasts(folder: str | Path, out: str | Path) -> Exported:
    """Write all forecasts of finished cells of all experiments in a folder into one table.

    Columns: `experiment` (where it is in the folder), `dataset`, `context_length` (of a sweep; else empty), and those
    of a ledger: `forecaster, seed, unique_id, cutoff, ds, step, y, prediction, mean`, a column for each quantile level,
    `fit_cutoff, staleness, status`. In Parquet numbers have double precision, so that all have one kind.

    Parameters
    ----------
    folder: of one or more experiments, however deep.
    out: the file: `.parquet`, `.pq`, `.csv` or `.csv.gz`. It is replaced once the new one is whole.

    Raises
    ------
    ConfigError: the file cannot be written: its ending, its folder, or Parquet without pyarrow.
    StoreError: there is no experiment, none with a finished forecast, or one that cannot be read.
    OSError: the disk is full, or something of that kind.

    """
    path = Path(out)
    check_output(path, TABLE_ENDINGS, "out")
    parts, notes = _parts(folder)
    if not parts:
        raise StoreError(f"{folder}: no cell of its experiments is finished; `forecast run` goes on with them")
    kinds, rows = _kinds(parts, notes), 0
    if _is_text(path):
        kinds = replace(kinds, time=None)
    with _written(path, kinds) as write:
        for part in parts:
            for table in _tables(part, kinds):
                write(table)
                rows += len(table)
    return Exported(path, rows, tuple(notes))


def _parts(folder: str | Path) -> tuple[list[_Part], list[str]]:
    """Give what is exported, in the order of folders, data sets, forecasters and seeds; and what is left out."""
    parts: dict[tuple[Any, ...], _Part] = {}
    notes = []
    for experiment in experiments_below(folder):
        store, place = Store(experiment), place_of(experiment, folder)
        note = store.experiment()
        if subject := subject_of(note):
            notes.append(f"{place} is on {subject}, and has no forecasts")
            continue
        cells = cell_rows(store, note)
        for cell in cells:
            if cell["status"] == "done":
                first = (place, cell["dataset"], cell["context_length"])
                key = (*first, cell["forecaster"], cell["seed"])
                parts.setdefault(key, _Part(first, store, [])).keys.append(cell["key"])
        if left := sum(cell["status"] != "done" for cell in cells):
            notes.append(f"{place}: {left} of {len(cells)} cells of {', '.join(datasets_of(note))} are not finished")
    return list(parts.values()), notes


def _kinds(parts: Sequence[_Part], notes: list[str]) -> _Kinds:
    """Find out what the columns have to hold, from one cell of each data set."""
    seen = {part.first[:2]: part.store.folder_of(part.keys[0]) / "ledger.json" for part in parts}
    told = [json.loads(path.read_bytes()) for path in seen.values()]
    ids, times = {_plain(one["ids"]["dtype"]) for one in told}, {_plain(one["time"]) for one in told}
    found = _Kinds(_one_of(ids), _one_of(times), sorted({level for one in told for level in one["levels"]}))
    if len(ids) > 1 and found.ids is None:
        notes.append("series are called by names of several kinds, which stand as text")
    if found.time is None:
        notes.append("times are of several kinds, and stand as text")
    if any(len(one["levels"]) < len(found.levels) for one in told):
        notes.append("not all have the same quantile levels: one that is not there is empty")
    return found


def _plain(dtype: str) -> Any:
    """Give a dtype of names or times, whatever the version of pandas calls it; None for text."""
    kind: Any = pd.api.types.pandas_dtype(dtype)
    return kind if kind.kind in "iuM" else None


def _one_of(kinds: set[Any]) -> Any:
    """Give the dtype that holds all of these to the last bit; None where none does, and for text."""
    if len(kinds) == 1:
        return kinds.pop()
    if None in kinds or len({(one.kind, str(getattr(one, "tz", None))) for one in kinds}) > 1:
        return None
    return max(kinds, key=_fineness)


def _fineness(kind: Any) -> int:
    return _UNITS.index(pd.Series(dtype=kind).dt.unit) if kind.kind == "M" else kind.itemsize


def _tables(part: _Part, kinds: _Kinds) -> Iterator[pd.DataFrame]:
    """Give the rows of a part, so many at a time, with all columns in order."""
    (run,) = part.store.read(*part.keys).runs
    cells, H = run.y.shape
    for begin in range(0, cells, step := max(1, _ROWS // H)):
        table = forecasts_of([_rows_of(run, slice(begin, begin + step))])
        typed = {}
        for name, kind in {**dict.fromkeys(_TIMES, kinds.time), "unique_id": kinds.ids}.items():
            column = pd.Series(table[name])
            typed[name] = _text(column) if kind is None else column.astype(kind)
        first = dict(zip(FIRST, part.first, strict=True))
        table = table.assign(**first, **typed, status=table["status"].astype("str"))
        yield table.reindex(columns=kinds.columns).astype({"context_length": "Int64"})


def _text(column: pd.Series) -> pd.Series:
    """Spell names or times, each distinct one once; a time always with its hours, so that all look alike."""
    places, distinct = pd.factorize(column)
    return pd.Series(np.array([str(one) for one in distinct], dtype=object)[places], column.index, dtype="str")


def _rows_of(run: Run, part: slice) -> Run:
    """Give a run on some of its cells."""
    points = run.points
    of_points = {name: getattr(points, name)[part] for name in ("series", "cutoff", "y", "status")}
    of_run = {name: getattr(run, name)[part] for name in ("quantiles", "median", "mean", "fit", "staleness")}
    return replace(run, points=replace(points, **of_points), **of_run)


@contextmanager
def _written(path: Path, kinds: _Kinds) -> Iterator[Callable[[pd.DataFrame], object]]:
    """Give what takes tables, one after the other, into a file that takes its place when the block ends well."""
    beside = path.with_name(f".writing-{path.name}")
    try:
        with ExitStack() as stack:
            yield (_in_text if _is_text(path) else _in_parquet)(stack, beside, kinds)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _is_text(path: Path) -> bool:
    return path.name.lower().endswith((".csv", ".csv.gz"))


def _in_text(stack: ExitStack, path: Path, kinds: _Kinds) -> Callable[[pd.DataFrame], object]:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    file = stack.enter_context(opened(path, "wt", encoding="utf-8", newline=""))
    pd.DataFrame(columns=kinds.columns).to_csv(file, index=False, lineterminator="\n")
    return lambda table: table.to_csv(file, index=False, header=False, lineterminator="\n")


def _in_parquet(stack: ExitStack, path: Path, kinds: _Kinds) -> Callable[[pd.DataFrame], object]:
    if find_spec("pyarrow") is None:
        raise ConfigError("error: Parquet needs pyarrow: pip install 'foretell[parquet]', or use CSV")
    import pyarrow as pa
    import pyarrow.parquet as pq

    def arrow(dtype: Any) -> pa.DataType:
        return pa.string() if dtype is None else pa.array(pd.Series([], dtype=dtype)).type

    text = dict.fromkeys(("experiment", "dataset", "forecaster", "status"), pa.string())
    whole = dict.fromkeys((*_WHOLE, "context_length"), pa.int64())
    known = {**text, **whole, "unique_id": arrow(kinds.ids), **dict.fromkeys(_TIMES, arrow(kinds.time))}
    schema = pa.schema([(name, known.get(name, pa.float64())) for name in kinds.columns])
    writer = stack.enter_context(pq.ParquetWriter(path, schema, compression="zstd"))
    return lambda table: writer.write_table(pa.Table.from_pandas(table, schema, preserve_index=False))
