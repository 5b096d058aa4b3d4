"""What large ledgers cost to score: seconds, and the most memory that the process had.

    python experiments/benchmarks/ledger_size.py [split | grid | rows]

- split: the published split of ETTh1, one run: 7 series, 2,785 cutoffs, 96 steps, 9 quantile levels
- grid: 100 series, 20 cutoffs, 24 steps of 10 forecasters with 5 seeds
- rows: ten million rows and 9 quantile levels, of 2 forecasters

Each is scored in a process of its own, with one thread, so that its memory is its own.
"""

import os
import subprocess
import sys
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np
import pandas as pd

SIZES = {  # series, cutoffs, steps, forecasters, seeds
    "split": (7, 2785, 96, 1, 1),
    "grid": (100, 20, 24, 10, 5),
    "rows": (70, 744, 96, 2, 1),
}
LEVELS = tuple(tenth / 10 for tenth in range(1, 10))


def ledger_of(series, cutoffs, steps, forecasters, seeds):
    """Give a ledger of random numbers, of this size."""
    from forecast.evaluation import Ledger
    from forecast.evaluation.ledger import Points, Run
    from forecast.evaluation.ledger.columns import FITS

    rng = np.random.default_rng(0)
    stamps = pd.date_range("2020-01-01", periods=cutoffs + steps, freq="h")
    cells = series * cutoffs
    y = rng.normal(size=(cells, steps)).astype("float32")
    points = Points(
        ids=pd.Index([f"series {i}" for i in range(series)]),
        cutoffs=stamps[:cutoffs],
        steps=np.arange(1, steps + 1),
        times=stamps[(np.arange(cutoffs)[:, None] + np.arange(1, steps + 1)).ravel()],
        series=np.repeat(np.arange(series), cutoffs),
        cutoff=np.tile(np.arange(cutoffs), series),
        y=y,
        status=np.zeros(y.shape, "uint8"),
        absolute=rng.uniform(0.5, 2, cells),
        squared=rng.uniform(0.5, 2, cells),
    )
    names = ["SeasonalNaive", *(f"network {i}" for i in range(1, forecasters))]
    runs, fits = [], []
    for name in names:
        for seed in range(seeds):
            quantiles = rng.normal(size=(*y.shape, 1)).astype("float32") + np.linspace(-1, 1, 9, dtype="float32")
            median = quantiles[..., 4]
            run = Run(
                forecaster=name,
                seed=seed,
                points=points,
                levels=LEVELS,
                quantiles=quantiles,
                median=median,
                mean=median + np.float32(0.1),
                fit_cutoffs=stamps[:1],
                fit=np.zeros(cells, "int64"),
                staleness=np.zeros(cells, "float32"),
            )
            runs.append(run)
            fits.append((name, seed, stamps[0], "", "", "", 0, 0.0, 0.0, cells))
    return Ledger(tuple(runs), pd.DataFrame(fits, columns=FITS), 24)


def megabytes() -> float:
    """Give the most memory that this process has had so far."""
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def measure(name):
    """Print what scoring a ledger of this size takes."""
    from forecast.evaluation import DEFAULTS, score, skill

    began = perf_counter()
    ledger = ledger_of(*SIZES[name])
    rows = len(ledger.runs) * ledger.points.y.size
    print(f"{name}: {rows:,} rows; made and checked in {perf_counter() - began:.2f} s, {megabytes():,.0f} MB")
    for what, ask in {
        f"score, {len(DEFAULTS)} metrics": lambda: score(ledger),
        "score by step": lambda: score(ledger, by=("forecaster", "step")),
        "score by cutoff": lambda: score(ledger, by=("forecaster", "cutoff")),
        "skill": lambda: skill(ledger),
    }.items():
        began = perf_counter()
        ask()
        print(f"  {what:20} {perf_counter() - began:6.2f} s, {megabytes():6,.0f} MB")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        for size in SIZES:
            subprocess.run([sys.executable, __file__, size], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
