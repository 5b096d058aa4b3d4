"""The long table of a ledger as Parquet: by run, cell and step. R runs; M cells, H steps as in `points`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forecast.evaluation.ledger.points import STATUS, Points, Run

_ROWS = 1 << 20  # made at a time


def write_parquet(path: Path, runs: Sequence[Run]) -> None:
    """Write the table of some runs. Raises ImportError without pyarrow."""
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


def read_parquet(path: Path, points: Points, note: dict[str, Any]) -> dict[str, np.ndarray]:
    """Give the numbers of each run by its place in the note of the ledger.

    Raises ImportError without pyarrow, ValueError for a table that is not the one that was written.
    """
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
