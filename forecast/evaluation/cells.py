"""The losses of a ledger within its cells (a series at a cutoff): what tables, statistics and plots are made of.

R runs, M cells, S series, F folds, H steps.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from forecast.evaluation.averaging import Averaged
from forecast.evaluation.ledger import Ledger, Points, Run
from forecast.evaluation.losses import Loss

_AT_ONCE = 1 << 15  # points of which losses are made, so that all that they need stays in the processor's cache


def cell_means(ledger: Ledger, metric: Averaged, step: int = 0) -> np.ndarray:
    """Give the mean loss of each run in each cell, (R, M): divided by the metric's scale, but without its root.

    Over all observed steps, or of one `step`. NaN where nothing was observed, where the scale is zero or undefined, and
    where the loss of an observed `y` is undefined. Raises ValueError for a step that is not forecast.
    """
    points = ledger.points
    steps = slice(None)
    if step:
        if step not in points.steps:
            raise ValueError(f"`step` is {step!r}; the ledger has the steps {points.steps[0]} to {points.steps[-1]}")
        place = int(np.flatnonzero(points.steps == step)[0])
        steps = slice(place, place + 1)
    counts = np.isfinite(points.y[:, steps]).sum(axis=1)
    per = np.where(counts > 0, counts, np.nan)
    if metric.scale is not None:
        per = per * points.scale(metric.scale)[:, 0]
    return cell_sums(ledger, metric.loss, steps) / per


def cell_sums(ledger: Ledger, loss: Loss, steps: slice = slice(None)) -> np.ndarray:
    """Give the sum of a loss of each run in each cell over observed steps, (R, M): 0 where there is none.

    NaN where the loss of an observed `y` is undefined: the cell as a whole is, since to leave out a single point would
    favour who fails on it.
    """
    sums = np.empty((len(ledger.runs), len(ledger.points)))
    for place, run in enumerate(ledger.runs):
        for cells, piece in _pieces(run):
            sums[place, cells] = observed_losses(piece, loss)[:, steps].sum(axis=1)
    return sums


def point_losses(ledger: Ledger, loss: Loss) -> np.ndarray:
    """Give a loss of each run at each step of each cell, (R, M, H): 0 where nothing was observed."""
    losses = np.empty((len(ledger.runs), *ledger.points.y.shape))
    for place, run in enumerate(ledger.runs):
        for cells, piece in _pieces(run):
            losses[place, cells] = observed_losses(piece, loss)
    return losses


def cube(points: Points, values: np.ndarray) -> np.ndarray:
    """Lay out what is by cell, (R, M), by series and fold, (R, S, F): NaN where there is no cell."""
    folds = int(points.fold.max()) + 1
    laid = np.full((len(values), len(points.ids), folds), np.nan)
    laid[:, points.series, points.fold] = values
    return laid


def observed_losses(run: Run, loss: Loss) -> np.ndarray:
    """Give a loss at all points of a run, (M, H), with 0 where nothing was observed.

    Raises ValueError for a loss that gives anything but a number for each point.
    """
    found = loss(run)
    try:
        losses = np.asarray(found, "float64")
    except (TypeError, ValueError) as error:
        raise ValueError(f"`metrics`: a loss gave what is no array of numbers: {error}") from error
    if losses.shape != run.y.shape:
        raise ValueError(
            f"`metrics`: a loss gave the shape {losses.shape}; it gives one number for each point, {run.y.shape}"
        )
    return np.where(np.isnan(run.y), 0.0, losses)


def _pieces(run: Run) -> Iterator[tuple[slice, Run]]:
    """Cut a run into runs over few cells each, without a copy."""
    points = run.points
    size = max(_AT_ONCE // len(points.steps), 1)
    for begin in range(0, len(points), size):
        cells = slice(begin, begin + size)
        some = replace(
            points,
            folds=None if points.folds is None else points.folds[cells],
            **{name: getattr(points, name)[cells] for name in _OF_CELLS},
        )
        yield cells, replace(run, points=some, **{name: getattr(run, name)[cells] for name in _OF_FORECASTS})


_OF_CELLS = ("series", "cutoff", "y", "status", "absolute", "squared")
_OF_FORECASTS = ("quantiles", "median", "mean", "fit", "staleness")
