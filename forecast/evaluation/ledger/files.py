"""A ledger in a folder.

- ledger.json: the season, what the runs and series are called, of which kind the stamps are
- points.npz: what is forecast and what came true, and which fit forecasts what
- forecasts.parquet: the long table, for whatever reads Parquet; or forecasts.npz, its numbers alone, which are mapped
  into memory and not read
- fits.csv
"""

import json
import os
import struct
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import pandas as pd

from forecast.evaluation.ledger.check import kind_of
from forecast.evaluation.ledger.points import STATUS, Points, Run

_NOTE, _POINTS, _PARQUET, _ARRAYS, _FITS = (
    *("ledger.json", "points.npz", "forecasts.parquet", "forecasts.npz", "fits.csv"),
)
_FORMAT = 2
_ROWS = 1 << 20  # of the long table, made at a time
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
        _write_parquet(folder / _PARQUET, runs)
    else:
        numbers = {f"{place}.{name}": array for place, run in enumerate(runs) for name, array in _of_run(run).items()}
        np.savez(folder / _ARRAYS, **numbers)  # type: ignore[arg-type]
    (folder / _NOTE).write_text(json.dumps(note, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_ledger(folder: Path) -> tuple[tuple[Run, ...], pd.DataFrame, int]:
    """Give the runs, fits and season that were written.

    Raises FileNotFoundError where a file is not there, ImportError for Parquet without pyarrow, ValueError for files
    that are damaged or of another version.
    """
    stored = _PARQUET if (folder / _PARQUET).is_file() else _ARRAYS
    for name in (_NOTE, _POINTS, _FITS, stored):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"`folder` {str(folder)!r} has no {name}: give a folder that write wrote")
    try:
        note = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        if note.get("format") != _FORMAT:
            raise ValueError(f"it is of format {note.get('format', 1)}, and this version reads {_FORMAT}")
        read = _read_arrays(folder / _POINTS)
        dtype = note["time"]
        points = Points(
            ids=_from_json(note["ids"]),
            cutoffs=_stamps(read["cutoffs"], dtype),
            times=_stamps(read["times"], dtype),
            folds=read.get("folds"),
            **{name: read[name] for name in _OF_POINTS},
        )
        numbers = _read_parquet(folder / stored, points, note) if stored == _PARQUET else _map_arrays(folder / stored)
        runs = []
        for place, (forecaster, seed) in enumerate(note["runs"]):
            quantiles = numbers[f"{place}.quantiles"]
            within = note["median is a quantile"][place]
            runs.append(
                Run(
                    forecaster=forecaster,
                    seed=seed,
                    points=points,
                    levels=tuple(note["levels"]),
                    quantiles=quantiles,
                    median=quantiles[..., note["levels"].index(0.5)] if within else numbers[f"{place}.median"],
                    mean=numbers[f"{place}.mean"],
                    fit_cutoffs=_stamps(read[f"{place}.fit_cutoffs"], dtype),
                    fit=read[f"{place}.fit"],
                    staleness=read[f"{place}.staleness"],
                )
            )
        return tuple(runs), _read_fits(folder / _FITS, note), note["season_length"]
    except (BadZipFile, EOFError, KeyError, OSError, TypeError, ValueError) as error:
        raise ValueError(f"the ledger in {str(folder)!r} cannot be read: {error}") from error


def _of_run(run: Run) -> dict[str, np.ndarray]:
    """Give the numbers of a run; the median only where it is not one of the quantiles."""
    numbers = {"quantiles": run.quantiles, "mean": run.mean}
    return numbers if np.shares_memory(run.median, run.quantiles) else numbers | {"median": run.median}


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as file, np.load(file) as arrays:
        return dict(arrays)


def _map_arrays(path: Path) -> dict[str, np.ndarray]:
    """Give the arrays of a file that `np.savez` wrote, mapped: memory holds what is in use, and may drop it again."""
    found: dict[str, np.ndarray] = {}
    with ZipFile(path) as archive, path.open("rb") as file:
        if (damaged := archive.testzip()) is not None:
            raise BadZipFile(f"{damaged} in {path.name} is damaged")
        for member in archive.infolist():
            file.seek(member.header_offset)
            name, extra = struct.unpack("<HH", file.read(30)[26:])  # lengths of what follows the header of a member
            file.seek(name + extra, os.SEEK_CUR)
            header = {(1, 0): np.lib.format.read_array_header_1_0}.get(
                np.lib.format.read_magic(file), np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = header(file)
            order = "F" if fortran else "C"
            # Nothing cannot be mapped.
            held = np.memmap(path, dtype, "r", file.tell(), shape, order) if 0 not in shape else np.empty(shape, dtype)
            found[member.filename.removesuffix(".npy")] = np.asarray(held)
    return found


def _write_parquet(path: Path, runs: Sequence[Run]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    points = runs[0].points
    M, H = points.y.shape
    names = pa.array([run.forecaster for run in runs])
    ids, cutoffs, status = pa.array(points.ids), pa.array(points.cutoffs), pa.array(STATUS)
    writer = None
    for place, run in enumerate(runs):
        fitted = pa.array(run.fit_cutoffs)
        for low in range(0, M, step := max(1, _ROWS // H)):
            part = slice(low, min(M, low + step))
            size = part.stop - part.start

            def taken(values: pa.Array, places: np.ndarray) -> pa.Array:
                return values.take(pa.array(places))

            def each(cells: np.ndarray, part=part) -> np.ndarray:
                return cells[part].repeat(H)

            columns = {
                "forecaster": taken(names, np.full(size * H, place)),
                "seed": pa.array(np.full(size * H, run.seed)),
                "unique_id": taken(ids, each(points.series)),
                "cutoff": taken(cutoffs, each(points.cutoff)),
                "ds": pa.array(points.stamps(part)),
                "step": pa.array(np.tile(points.steps, size)),
                "y": pa.array(points.y[part].ravel()),
                "prediction": pa.array(np.ascontiguousarray(run.median[part]).ravel()),
                "mean": pa.array(run.mean[part].ravel()),
            }
            for q, level in enumerate(run.levels):
                columns[str(level)] = pa.array(np.ascontiguousarray(run.quantiles[part, :, q]).ravel())
            columns["fit_cutoff"] = taken(fitted, each(run.fit))
            columns["staleness"] = pa.array(each(run.staleness))
            columns["status"] = taken(status, points.status[part].ravel())
            table = pa.table(columns)
            if writer is None:
                writer = pq.ParquetWriter(path, table.schema, compression="zstd", write_statistics=False)
            writer.write_table(table)
    if writer is not None:
        writer.close()


def _read_parquet(path: Path, points: Points, note: dict[str, Any]) -> dict[str, np.ndarray]:
    if find_spec("pyarrow") is None:
        raise ImportError(f"{path} is Parquet, which needs pyarrow: pip install 'foretell[parquet]'")
    import pyarrow.parquet as pq

    R, (M, H) = len(note["runs"]), points.y.shape
    names = [str(level) for level in note["levels"]]
    file = pq.ParquetFile(path)
    if file.metadata.num_rows != R * M * H:
        raise ValueError(f"{path.name} has {file.metadata.num_rows:,} rows and should have {R * M * H:,}")

    def column(name: str) -> np.ndarray:
        return file.read([name]).column(0).to_numpy().reshape(R, M, H)

    if not (column("step") == points.steps).all():
        raise ValueError(f"the rows of {path.name} are not in the order in which they were written")
    quantiles = None
    for q, name in enumerate(names):
        values = column(name)
        if quantiles is None:
            quantiles = np.empty((R, M, H, len(names)), dtype=values.dtype)
        quantiles[..., q] = values
    if quantiles is None:
        quantiles = np.empty((R, M, H, 0), dtype="float32")
    mean, median = column("mean"), column("prediction")
    numbers = {}
    for place in range(R):
        numbers |= {f"{place}.quantiles": quantiles[place], f"{place}.mean": mean[place]}
        numbers[f"{place}.median"] = median[place]
    return numbers


def _read_fits(path: Path, note: dict[str, Any]) -> pd.DataFrame:
    kinds = {column: dtype for column, dtype in note["fits"].items() if column != "fit_cutoff"}
    numbers = [column for column, dtype in kinds.items() if dtype.lower().startswith(("int", "uint", "float"))]
    table = pd.read_csv(
        path,
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
