"""Metrics: pure functions of a ledger, in the units of the series unless they are scaled.

Holds `METRICS` by name, makers of metrics at levels of one's own, and the table `score`. Where `y` was not observed
nobody is scored; what is undefined is NaN and counted, without epsilons, for all alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.grouping import GROUPS, Across, Grouping, check_across, groups_of
from forecast.evaluation.ledger import Ledger, check
from forecast.evaluation.losses import (
    absolute_error,
    error,
    inside,
    interval_error,
    interval_width,
    percentage_error,
    pinball_loss,
    quantile_error,
    ranked_probability_score,
    squared_error,
    symmetric_percentage_error,
)
from forecast.params import is_probability


def interval_score(lower: float = 0.1, upper: float = 0.9) -> Averaged:
    """The interval score of the interval between two quantile levels.

    Raises ValueError if the levels do not rise inside (0, 1).
    """
    _check_interval(lower, upper)
    return Averaged(partial(interval_error, lower=lower, upper=upper))


def coverage(lower: float = 0.1, upper: float = 0.9) -> Averaged:
    """The share of observed values in the interval between two quantile levels; `upper - lower` if it is honest.

    Raises ValueError if the levels do not rise inside (0, 1).
    """
    _check_interval(lower, upper)
    return Averaged(partial(inside, lower=lower, upper=upper), unit=False)


def width(lower: float = 0.1, upper: float = 0.9) -> Averaged:
    """The mean width of the interval between two quantile levels, without which its coverage says little.

    Raises ValueError if the levels do not rise inside (0, 1).
    """
    _check_interval(lower, upper)
    return Averaged(partial(interval_width, lower=lower, upper=upper))


def pinball(level: float) -> Averaged:
    """The pinball loss of one quantile level. Raises ValueError for a level outside (0, 1)."""
    if not is_probability(level):
        raise ValueError(f"`level` is {level!r}; allowed: a quantile level inside (0, 1)")
    return Averaged(partial(pinball_loss, level=level))


def _check_interval(lower: float, upper: float) -> None:
    if not (is_probability(lower) and is_probability(upper) and lower < upper):
        raise ValueError(
            f"`lower` and `upper` are {lower!r} and {upper!r}; allowed: rising quantile levels inside (0, 1)"
        )


METRICS: Mapping[str, Averaged | Pooled] = {
    "mae": Averaged(absolute_error),
    "rmse": Averaged(squared_error, root=True),
    "bias": Averaged(error),
    "mase": Averaged(absolute_error, scale="absolute"),
    "rmsse": Averaged(squared_error, scale="squared", root=True),
    "wape": Pooled(absolute_error),
    "wql": Pooled(quantile_error),
    "interval_score": interval_score(),
    "coverage": coverage(),
    "width": width(),
    "mse": Averaged(squared_error),
    "sql": Averaged(quantile_error, scale="absolute"),
    "quantile_crps": Averaged(ranked_probability_score),
    "mape": Averaged(percentage_error, unit=False),
    "smape": Averaged(symmetric_percentage_error, unit=False),
}
DEFAULTS = ("mae", "rmse", "bias", "mase", "rmsse", "wape", "wql", "interval_score", "coverage")
ERRORS = tuple(name for name in METRICS if name not in ("bias", "coverage", "width"))  # the less the better


def score(
    ledger: Ledger,
    metrics: Sequence[str] | Mapping[str, Averaged | Pooled] | None = None,
    by: Sequence[str] = ("forecaster",),
    across: Across = "mean",
) -> pd.DataFrame:
    """One row per group, in order of appearance, with a column for each metric.

    Parameters
    ----------
    ledger
        What a backtest gave.
    metrics
        Names from `METRICS`, or a mapping of your own such as `{"coverage_60": coverage(0.2, 0.8)}`. None: `DEFAULTS`.
    by
        Columns that make a group: `forecaster` and any of `seed, unique_id, cutoff, ds, step`. Within a group losses
        are averaged as `Averaged` tells, or pooled.
    across
        How averaged metrics go across series: by their `"mean"`, their `"median"`, or `"iqm"`, the mean without the
        lowest and the highest quarter, which a few series cannot decide.

    Returns
    -------
    The columns of `by`, a column per metric, then
    `points`: the observed (unique_id, cutoff, step) scored, and
    `undefined`: the (unique_id, cutoff) cells with no observed `y`, or where any of `metrics` is NaN.
    Both count once however many seeds there are, so that they are the same for all forecasters.

    Raises
    ------
    TypeError
        `ledger` is no Ledger; one of `metrics` is neither Averaged nor Pooled.
    ValueError
        A metric, a column in `by`, a quantile level or a way to go `across` that does not exist.
    """
    check(ledger)
    check_across(across)
    chosen, grouping = chosen_metrics(metrics), Grouping(ledger, tuple(groups_of(by)))
    columns: dict[str, np.ndarray] = {}
    undefined = grouping.counts == 0
    by_loss: dict[object, list[str]] = {}
    for name, metric in chosen.items():
        by_loss.setdefault(metric.loss, []).append(name)
    for names in by_loss.values():
        sums = grouping.sums(chosen[names[0]].loss)
        for name in names:
            metric = chosen[name]
            if isinstance(metric, Pooled):
                defined = np.isfinite(sums[0])
                columns[name] = _pooled(grouping, sums, defined)
            else:
                means = grouping.means(metric, sums)
                defined = np.isfinite(means[0])
                columns[name] = grouping.across_series(grouping.over_seeds(grouping.by_run(means, metric.root)), across)
            undefined |= ~defined
    table = grouping.keys()
    for name in chosen:
        table[name] = columns[name].ravel()
    counts = {"points": grouping.counts, "undefined": undefined}
    rows = len(grouping.row_names)
    return table.assign(**{name: np.tile(grouping.total(of), rows).astype("int64") for name, of in counts.items()})


def _pooled(grouping: Grouping, sums: np.ndarray, defined: np.ndarray) -> np.ndarray:
    """Give the sum of the loss over that of |y|, of the units where the loss is defined: (N, G)."""
    totals = grouping.over_seeds(np.stack([grouping.total(run) for run in sums]))
    volume = grouping.total(np.where(defined, grouping.volume, 0.0))
    return totals / np.where(volume > 0, volume, np.nan)


def error_of(metric: str | Averaged | Pooled) -> Averaged:
    """Give how a metric that is an error is averaged by series. Raises as `check_error`."""
    chosen = check_error(metric)
    # As a ratio of two forecasters at the same points, what losses are divided by falls out.
    return Averaged(chosen.loss) if isinstance(chosen, Pooled) else chosen


def check_error(metric: str | Averaged | Pooled) -> Averaged | Pooled:
    """Give a metric whose loss is an error, the less the better. Raises ValueError for any other name."""
    if isinstance(metric, Averaged | Pooled):
        return metric
    if metric not in ERRORS:
        raise ValueError(f"`metric` is {metric!r}; allowed: one that is an error, {', '.join(ERRORS)}")
    return METRICS[metric]


def chosen_metrics(metrics: Sequence[str] | Mapping[str, Averaged | Pooled] | None) -> dict[str, Averaged | Pooled]:
    """Give metrics by name, of names or of a mapping. Raises as `score`."""
    if isinstance(metrics, Mapping):
        taken = [name for name in metrics if name in (*GROUPS, "points", "undefined")]
        if taken:
            raise ValueError(f"`metrics` may not be named {taken}: the table has columns of these names.")
        for name, metric in metrics.items():
            if not isinstance(metric, Averaged | Pooled):
                raise TypeError(f"`metrics`: {name!r} is {metric!r}; allowed: an Averaged or a Pooled, of a loss")
        return dict(metrics)
    if metrics is not None and not isinstance(metrics, Iterable):
        raise TypeError(
            f"`metrics` is {metrics!r}; allowed: names of {list(METRICS)}, or a mapping from names to metrics"
        )
    names = [metrics] if isinstance(metrics, str) else list(DEFAULTS if metrics is None else metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ValueError(f"`metrics` has unknown names {unknown}; there are {list(METRICS)}.")
    return {name: METRICS[name] for name in names}
