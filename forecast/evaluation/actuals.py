"""The points of a backtest: what came true after each cutoff of a panel, and by what its errors are scaled."""

from collections.abc import Sequence

import numpy as np

from forecast.evaluation.folds import Fold
from forecast.evaluation.ledger.points import ENDED, FILLED, MISSING, OBSERVED, Points
from forecast.frame import Panel


def points_of(panel: Panel, folds: Sequence[Fold], horizon: int, season_length: int) -> Points:
    """Give the points that folds forecast: for each series that takes part, every step after the cutoff and its gap."""
    series = np.concatenate([fold.series for fold in folds])
    ordinals, cutoff = np.unique(np.concatenate([fold.cutoffs for fold in folds]), return_inverse=True)
    order = np.lexsort((cutoff, series))
    series, cutoff = series[order], cutoff[order]
    numbers = np.repeat([fold.number for fold in folds], [len(fold.series) for fold in folds])[order]
    steps, gap = np.arange(1, horizon + 1), folds[0].test_start - folds[0].cutoff - 1
    times = ordinals[cutoff][:, None] + gap + steps  # (M, H)
    absolute, squared = seasonal_changes(panel, series, ordinals[cutoff], season_length)
    y = panel.at(series[:, None], times)
    return Points(
        ids=panel.ids,
        cutoffs=panel.calendar.stamps(ordinals),
        steps=steps,
        times=panel.calendar.stamps((ordinals[:, None] + gap + steps).ravel()),
        series=series,
        cutoff=cutoff,
        y=y,
        status=_status(panel, series, times, y),
        absolute=absolute,
        squared=squared,
        folds=numbers if folds[0].lag.any() else None,
    )


def seasonal_changes(
    panel: Panel, series: np.ndarray, cutoffs: np.ndarray, season_length: int, scale_from: str = "first"
) -> tuple[np.ndarray, np.ndarray]:
    """Give for cells, by series, how large a seasonal change was in the history up to the cutoff, (M,) each.

    The mean of |y_t - y_{t-m}| and of its square over all pairs of which both are observed; NaN where there is none.
    `series` are positions that do not fall, `cutoffs` ordinals. With `scale_from="first_nonzero"` a history begins at
    its first value that is not 0.
    """
    means = np.full((2, len(series)), np.nan)
    starts = np.flatnonzero(np.diff(series, prepend=-1))
    for begin, end in zip(starts, [*starts[1:], len(series)], strict=True):
        which = series[begin]
        rows = slice(panel.starts[which], panel.stops[which])
        values = np.where(panel.observed[rows], panel.values[rows], np.nan).astype("float64")
        change = np.abs(values[season_length:] - values[:-season_length])
        if scale_from == "first_nonzero":
            begun = np.isfinite(values) & (values != 0)
            change[: int(begun.argmax()) if begun.any() else len(values)] = np.nan
        known = np.isfinite(change)
        change[~known] = 0
        # The sums over the first 0, 1, 2, ... pairs of the series: nothing is subtracted, so nothing cancels.
        sums = np.cumsum(np.concatenate([[[0.0, 0.0, 0.0]], np.stack([known, change, change**2], axis=1)]), axis=0)
        pairs = np.clip(cutoffs[begin:end] - panel.first[which] + 1 - season_length, 0, len(change))
        count, absolute, squared = sums[pairs].T
        count = np.where(count > 0, count, np.nan)
        means[:, begin:end] = absolute / count, squared / count
    return means[0], means[1]


def _status(panel: Panel, series: np.ndarray, times: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Say of each step of cells whether it was observed, and if not, why, (M, H)."""
    status = np.where(np.isnan(y), MISSING, OBSERVED).astype("uint8")
    status[times > panel.last[series][:, None]] = ENDED
    cells, steps = np.nonzero(status == MISSING)
    rows = panel.starts[series[cells]] + times[cells, steps] - panel.first[series[cells]]
    filled = np.isfinite(panel.values[rows]) & ~panel.observed[rows]
    status[cells[filled], steps[filled]] = FILLED
    return status
