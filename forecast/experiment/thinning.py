"""A large ledger thinned for pictures, which show no more of millions of points than of some thousands.

S series, F cutoffs, M cells, H steps, as in `forecast.evaluation.ledger`.
"""

from dataclasses import replace

import numpy as np

from forecast.evaluation.ledger import Ledger, Points, Run

MOST = 2_000_000  # points of all runs together


def thinned(ledger: Ledger, most: int = MOST) -> tuple[Ledger, int]:
    """Give the ledger of one of every so many cutoffs, the last among them, and how many these are.

    As many as it takes for at most `most` points of all runs together; 1 and the ledger itself where it has no more.
    """
    points = ledger.points
    folds = np.unique(points.fold)
    every = min(-(-len(ledger.runs) * points.y.size // most), len(folds))
    if every == 1:
        return ledger, 1
    cells = np.flatnonzero(np.isin(points.fold, folds[::-1][::every]))
    few = _points(points, cells)
    return replace(ledger, runs=tuple(_run(run, few, cells) for run in ledger.runs)), every


def _points(points: Points, cells: np.ndarray) -> Points:
    """Give the points of some cells, with the cutoffs that they have."""
    H = len(points.steps)
    kept, cutoff = np.unique(points.cutoff[cells], return_inverse=True)
    folds = None if points.folds is None else np.unique(points.folds[cells], return_inverse=True)[1]
    return replace(
        points,
        cutoffs=points.cutoffs[kept],
        times=points.times[(kept[:, None] * H + np.arange(H)).ravel()],
        cutoff=cutoff,
        folds=folds,
        **{name: getattr(points, name)[cells] for name in ("series", "y", "status", "absolute", "squared")},
    )


def _run(run: Run, points: Points, cells: np.ndarray) -> Run:
    quantiles = run.quantiles[cells]
    within = np.shares_memory(run.median, run.quantiles)
    return replace(
        run,
        points=points,
        quantiles=quantiles,
        median=quantiles[..., run.levels.index(0.5)] if within else run.median[cells],
        **{name: getattr(run, name)[cells] for name in ("mean", "fit", "staleness")},
    )
