"""What it takes to read the folder of a large experiment: 10,000 small cells, by how much each step takes.

    python experiments/benchmarks/store_reading.py [CELLS]

Cells of 8 data sets, 10 forecasters, 5 seeds and 25 folds are written to a temporary folder: ten series, 12 steps and 9
quantile levels each. Then, in a process that has not read any of them, `list` tells how many are done by their markers,
`status` reads every file and compares its checksum, as a run that goes on and a report do first, and `read` gives the
ledger of each data set, joined and checked. Seconds of the processor, which an idle machine's clock agrees with, count.
"""

import sys
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from subprocess import run
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd

DATASETS, FORECASTERS, SEEDS, FOLDS = 8, 10, 5, 25
SERIES, STEPS = 10, 12
LEVELS = tuple(tenth / 10 for tenth in range(1, 10))
STAMPS = pd.date_range("2020-01-01", periods=24 + (FOLDS + 1) * STEPS, freq="h")
FEW_SECONDS = 5.0  # in which all cells are to be read


def cell(dataset: int, forecaster: str, seed: int, fold: int) -> Any:
    """Give the ledger of one cell, of random numbers."""
    from forecast.evaluation.ledger import Ledger, Points, Run
    from forecast.evaluation.ledger.columns import FITS

    at = 24 + fold * STEPS
    y = np.random.default_rng([dataset, fold]).normal(size=(SERIES, STEPS)).astype("float32")
    points = Points(
        ids=pd.Index([f"series {number}" for number in range(SERIES)]),
        cutoffs=STAMPS[[at]],
        steps=np.arange(1, STEPS + 1),
        times=STAMPS[at + 1 : at + 1 + STEPS],
        series=np.arange(SERIES),
        cutoff=np.zeros(SERIES, "int64"),
        y=y,
        status=np.zeros(y.shape, "uint8"),
        absolute=np.ones(SERIES),
        squared=np.ones(SERIES),
    )
    middle = y[..., None] + np.random.default_rng([dataset, fold, seed, len(forecaster)]).normal()
    quantiles = (middle + np.linspace(-1, 1, len(LEVELS))).astype("float32")
    median = quantiles[..., len(LEVELS) // 2]
    none = np.zeros(SERIES)
    made = Run(
        forecaster, seed, points, LEVELS, quantiles, median, median, STAMPS[[at]], none.astype(int), none.astype("f4")
    )
    fits = pd.DataFrame([(forecaster, seed, STAMPS[at], "", "", "", 0, 0.1, 0.1, SERIES)], columns=FITS)
    return Ledger((made,), fits, 24)


def write(folder: Path, number: int) -> None:
    """Write an experiment of so many cells."""
    from forecast.experiment.store import Forecasts, Store, key_of

    names = [f"forecaster {place}" for place in range(FORECASTERS)]
    of = [*product(range(DATASETS), names, range(SEEDS), range(FOLDS))][:number]
    facts = [
        {"dataset": f"data {data}", "forecaster": name, "family": "", "seed": seed, "folds": [fold], "key": key_of(one)}
        for one in of
        for data, name, seed, fold in [one]
    ]
    config = {"name": "large", "datasets": [{"name": f"data {data}"} for data in range(DATASETS)], "horizon": STEPS}
    with Store(folder).opened(config, facts) as store:
        for one, fact in zip(of, facts, strict=True):
            store.write(fact["key"], {"label": one[1], "seed": one[2]}, Forecasts(cell(*one)))


def read(folder: Path) -> None:
    """Read it, and say how long each step takes."""
    from forecast.experiment.cells import cell_rows, joined_ledger
    from forecast.experiment.store import Store
    from forecast.experiment.stored import list_results

    store = Store(folder)
    listed, _ = timed("list", lambda: list_results(folder))
    note = store.experiment()
    rows, seconds = timed("status", lambda: cell_rows(store, note))
    assert {row["status"] for row in rows} == {"done"}
    assert int(listed["done"].iloc[0]) == len(rows)
    by_dataset = {name: [row for row in rows if row["dataset"] == name] for name in {row["dataset"] for row in rows}}
    ledgers, more = timed("read", lambda: [joined_ledger(store, cells) for cells in by_dataset.values()])
    forecasts = sum(len(ledger.runs) * ledger.points.y.size for ledger in ledgers if ledger is not None)
    enough = "less" if seconds + more < FEW_SECONDS else "MORE"
    print(f"{len(rows):,} cells, {forecasts:,} forecasts: {enough} than {FEW_SECONDS:g} s to check and read")


def timed(name: str, work: Callable[[], Any]) -> tuple[Any, float]:
    """Do it, and print how long it took; give what came of it, and the seconds of the processor."""
    processor, clock = process_time(), perf_counter()
    found = work()
    processor, clock = process_time() - processor, perf_counter() - clock
    print(f"{name:8} {processor:6.2f} s of the processor, {clock:6.2f} s of the clock", flush=True)
    return found, processor


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        read(Path(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory(prefix="forecast-") as place:
            timed("write", lambda: write(Path(place), int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
            run([sys.executable, __file__, "--read", place], check=True)
