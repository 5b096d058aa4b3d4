"""A ledger in a folder.

- ledger.json: the season, what the runs and series are called, of which kind the stamps are
- points.npz: what is forecast and what came true, and which fit forecasts what
- forecasts.parquet: the long table, for whatever reads Parquet; or forecasts.npz, its numbers alone, which are mapped
  into memory and not read where they are many
- fits.csv
"""

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from forecast.evaluation.ledger.arrays import arrays_in, read_arrays
from forecast.evaluation.ledger.check import kind_of
from forecast.evaluation.ledger.parquet import read_parquet, write_parquet
from forecast.evaluation.ledger.points import Points, Run

_NOTE, _POINTS, _PARQUET, _ARRAYS, _FITS = (
    *("ledger.json", "points.npz", "forecasts.parquet", "forecasts.npz", "fits.csv"),
)
_FORMAT = 2
_OF_POINTS = ("steps", "series", "cutoff", "y", "status", "absolute", "squared")
# From 3.1 on pandas reads every float to its last bit, and warns who asks for it.
_EXACT: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)


def write_ledger(
    folder: Path, runs: Sequence[Run], fits: pd.DataFrame, season_length: int, *, table: bool = True
) -> None:
    """Write what a ledger holds. Raises ValueError for ids that are not text, integers or timestamps."""
    points = runs[0].points
    if not (held := kind_of(points.ids)).startswith(("text", "integers", "timestamps")):
        raise ValueError(
            f"column `unique_id` holds {held}, which cannot be written: allowed are text, integers and timestamps. "
            "Backtest with frame.assign(unique_id=frame['unique_id'].astype(str)) to keep its ledger"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name in (_NOTE, _PARQUET, _ARRAYS):  # of an earlier ledger; without the note, written last, there is none
        (folder / name).unlink(missing_ok=True)
    arrays: dict[str, np.ndarray] = {name: getattr(points, name) for name in _OF_POINTS}
    arrays |= {"cutoffs": _numbers(points.cutoffs), "times": _numbers(points.times)}
    if points.folds is not None:
        arrays["folds"] = points.folds
    for place, run in enumerate(runs):
        arrays |= {f"{place}.fit": run.fit, f"{place}.staleness": run.staleness}
        arrays[f"{place}.fit_cutoffs"] = _numbers(run.fit_cutoffs)
    np.savez(folder / _POINTS, **arrays)  # type: ignore[arg-type]
    fitted = fits.assign(fit_cutoff=_numbers(pd.Index(fits["fit_cutoff"])))
    fitted.to_csv(folder / _FITS, index=False, lineterminator="\n")
    note = {
        "format": _FORMAT,
        "season_length": int(season_length),
        "levels": list(runs[0].levels),
        "runs": [[run.forecaster, run.seed] for run in runs],
        "median is a quantile": [bool(np.shares_memory(run.median, run.quantiles)) for run in runs],
        "ids": _to_json(points.ids),
        "time": str(points.cutoffs.dtype),
        "fits": {column: str(dtype) for column, dtype in fits.dtypes.items()},
    }
    if table and find_spec("pyarrow") is not None:
        write_parquet(folder / _PARQUET, runs)
    else:
        numbers = {f"{place}.{name}": array for place, run in enumerate(runs) for name, array in _of_run(run).items()}
        np.savez(folder / _ARRAYS, **numbers)  # type: ignore[arg-type]
    (folder / _NOTE).write_text(json.dumps(note, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@dataclass(frozen=True, eq=False)
class _Said:
    """What points.npz says: of the points, and for each run of its fits `fit_cutoffs, fit, staleness`."""

    ids: dict[str, Any]
    time: str
    points: Points
    fits: Sequence[dict[str, Any]]


@dataclass(frozen=True, eq=False)
class _Stored:
    """What a folder holds; `fits` as its CSV has them, the names of the columns apart from the rows."""

    folder: Path
    note: dict[str, Any]
    runs: Sequence[Run]
    columns: bytes
    fits: bytes

    @property
    def kinds(self) -> tuple[Any, ...]:
        """Tables of fits that agree in this can be read as one."""
        return self.columns, self.note["time"], tuple(self.note["fits"].items())


def read_ledgers(folders: Sequence[Path]) -> tuple[tuple[Run, ...], pd.DataFrame, list[int]]:
    """Give what was written into some folders, in their order: all runs, all rows of fits, each distinct season once.

    Raises FileNotFoundError where a file is not there, ImportError for Parquet without pyarrow, ValueError for files
    that are damaged or of another version.
    """
    said: dict[bytes, _Said] = {}
    stored = [_read(folder, said) for folder in folders]
    fits = [_fits_of(list(alike)) for _, alike in groupby(stored, key=lambda one: one.kinds)]
    runs = tuple(run for one in stored for run in one.runs)
    return runs, pd.concat(fits, ignore_index=True), list(dict.fromkeys(one.note["season_length"] for one in stored))


@contextmanager
def _telling(folder: Path) -> Iterator[None]:
    """Tell which folder cannot be read."""
    try:
        yield
    except FileNotFoundError as error:
        name = Path(error.filename).name
        raise FileNotFoundError(f"`folder` {str(folder)!r} has no {name}: give a folder that write wrote") from error
    except (BadZipFile, EOFError, KeyError, OSError, TypeError, ValueError) as error:
        raise ValueError(f"the ledger in {str(folder)!r} cannot be read: {error}") from error


def _read(folder: Path, said: dict[bytes, _Said]) -> _Stored:
    with _telling(folder):
        note = json.loads((folder / _NOTE).read_bytes())
        if note.get("format") != _FORMAT:
            raise ValueError(f"it is of format {note.get('format', 1)}, and this version reads {_FORMAT}")
        of = _said(folder, note, said)
        columns, _, fits = (folder / _FITS).read_bytes().partition(b"\n")
        if not fits.endswith(b"\n"):
            raise ValueError(f"{_FITS} ends within a row")
        if (path := folder / _PARQUET).is_file():
            if find_spec("pyarrow") is None:
                raise ImportError(f"{path} is Parquet, which needs pyarrow: pip install 'foretell[parquet]'")
            numbers = read_parquet(path, of.points, note)
        else:
            numbers = read_arrays(folder / _ARRAYS)
        levels, runs = tuple(note["levels"]), []
        for place, (forecaster, seed) in enumerate(note["runs"]):
            quantiles = numbers[f"{place}.quantiles"]
            within = note["median is a quantile"][place]
            median = quantiles[..., levels.index(0.5)] if within else numbers[f"{place}.median"]
            mean = numbers[f"{place}.mean"]
            runs.append(Run(forecaster, seed, of.points, levels, quantiles, median, mean, **of.fits[place]))
        return _Stored(folder, note, runs, columns, fits)


def _said(folder: Path, note: dict[str, Any], said: dict[bytes, _Said]) -> _Said:
    """Read the points: once for all folders that have the same, which most cells of a fold have, byte for byte."""
    content, ids, time = (folder / _POINTS).read_bytes(), note["ids"], note["time"]
    key = hashlib.sha256(content).digest()
    if key in said and (said[key].ids, said[key].time) == (ids, time):
        return said[key]
    # Copied, since what lies in a file need not lie where a processor likes it.
    read = {name: array.copy() for name, array in arrays_in(content, _POINTS).items()}
    points = Points(
        ids=_from_json(ids),
        cutoffs=_stamps(read["cutoffs"], time),
        times=_stamps(read["times"], time),
        folds=read.get("folds"),
        **{name: read[name] for name in _OF_POINTS},
    )
    fits = [
        {
            "fit_cutoffs": _stamps(read[f"{place}.fit_cutoffs"], time),
            "fit": read[f"{place}.fit"],
            "staleness": read[f"{place}.staleness"],
        }
        for place in range(len(note["runs"]))
    ]
    said[key] = _Said(ids, time, points, fits)
    return said[key]


def _fits_of(stored: Sequence[_Stored]) -> pd.DataFrame:
    """Read the fits of folders that write them alike: many small tables as one, which takes as long as one."""
    first = stored[0]
    try:
        return _read_fits(b"".join([first.columns, b"\n", *(one.fits for one in stored)]), first.note)
    except (KeyError, TypeError, ValueError):
        for one in stored:
            with _telling(one.folder):
                _read_fits(b"".join([one.columns, b"\n", one.fits]), one.note)
        raise


def _of_run(run: Run) -> dict[str, np.ndarray]:
    """Give the numbers of a run; the median only where it is not one of the quantiles."""
    numbers = {"quantiles": run.quantiles, "mean": run.mean}
    return numbers if np.shares_memory(run.median, run.quantiles) else numbers | {"median": run.median}


def _read_fits(text: bytes, note: dict[str, Any]) -> pd.DataFrame:
    kinds = {column: dtype for column, dtype in note["fits"].items() if column != "fit_cutoff"}
    numbers = [column for column, dtype in kinds.items() if dtype.lower().startswith(("int", "uint", "float"))]
    table = pd.read_csv(
        io.BytesIO(text),
        dtype={column: kinds[column] if column in numbers else "str" for column in kinds},
        # Only in a column of numbers does nothing mean NaN: a forecaster may be called "NA", and no decoder is "".
        keep_default_na=False,
        na_values={column: [""] for column in numbers},
        **_EXACT,
    )
    table["fit_cutoff"] = _stamps(table["fit_cutoff"].to_numpy("int64"), note["time"])
    return table.astype(kinds)


def _numbers(stamps: pd.Index) -> np.ndarray:
    """Give stamps as whole numbers, which say the same with their dtype."""
    return stamps.asi8 if isinstance(stamps, pd.DatetimeIndex) else stamps.to_numpy()


def _stamps(numbers: np.ndarray, dtype: str) -> pd.Index:
    kind: Any = pd.api.types.pandas_dtype(dtype)
    if kind.kind != "M":
        return pd.Index(numbers.astype(kind))
    zone = getattr(kind, "tz", None)
    unit = np.datetime_data(kind)[0] if zone is None else kind.unit
    utc = pd.DatetimeIndex(numbers.astype("int64").view(f"M8[{unit}]"))
    return utc if zone is None else utc.tz_localize("UTC").tz_convert(zone)


def _to_json(ids: pd.Index) -> dict[str, Any]:
    values = ids.asi8.tolist() if isinstance(ids, pd.DatetimeIndex) else ids.tolist()
    return {"dtype": str(ids.dtype), "values": values}


def _from_json(note: dict[str, Any]) -> pd.Index:
    if note["dtype"].startswith("datetime64"):
        return _stamps(np.array(note["values"]), note["dtype"])
    return pd.Index(note["values"], dtype=note["dtype"])
