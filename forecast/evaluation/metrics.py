"""Metrics: pure functions of a ledger, in the units of the series unless they are scaled.

Holds two ways to make one number of many losses (`Averaged`, `Pooled`), the nine `METRICS`, and the tables `score` and
`skill`. Where `y` was not observed nobody is scored; what is undefined is NaN and counted, without epsilons, for all
alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger, check
from forecast.evaluation.ledger.columns import CELL, floats
from forecast.evaluation.losses import (
    Loss,
    absolute_error,
    error,
    inside,
    interval_error,
    observed,
    quantile_error,
    squared_error,
)

GROUPS = ("forecaster", "seed", "unique_id", "cutoff", "ds", "step")


@dataclass(frozen=True)
class Averaged:
    """A loss averaged in this order, every series with equal weight.

    Mean over steps and observed times within (series, cutoff, seed), the cell; over cutoffs within (series, seed), and
    only there the root; over seeds within series; across series.

    `scale` names the column of `Ledger.scales` that divides the losses: the scale of that series at that cutoff, so it
    acts before cutoffs are averaged and before the root. A cell whose scale is zero or undefined is NaN for every
    forecaster, as is a cell with no observed `y`; such cells are left out of the averages.
    """

    loss: Loss
    scale: Literal["absolute", "squared"] | None = None
    root: bool = False


@dataclass(frozen=True)
class Pooled:
    """Sum of the loss over sum of |y| of all points of a group, so large series weigh more; NaN if all y are zero."""

    loss: Loss


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
    return Averaged(partial(inside, lower=lower, upper=upper))


def _check_interval(lower: float, upper: float) -> None:
    if not 0 < lower < upper < 1:
        raise ValueError(f"`lower` and `upper` are {lower} and {upper}; allowed: rising quantile levels inside (0, 1)")


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
}


def score(
    ledger: Ledger,
    metrics: Sequence[str] | Mapping[str, Averaged | Pooled] | None = None,
    by: Sequence[str] = ("forecaster",),
) -> pd.DataFrame:
    """One row per group, in order of appearance, with a column for each metric.

    Parameters
    ----------
    ledger
        Checked before it is scored.
    metrics
        Names from `METRICS`, or a mapping of your own such as `{"coverage_60": coverage(0.2, 0.8)}`. None: all nine.
    by
        Columns that make a group: `forecaster` and any of `seed, unique_id, cutoff, ds, step`. Within a group losses
        are averaged as `Averaged` tells, or pooled.

    Returns
    -------
    The columns of `by`, a column per metric, then
    `points`: the observed (unique_id, cutoff, step) scored, and
    `undefined`: the (unique_id, cutoff) cells with no observed `y`, or where any averaged one of `metrics` is NaN.
    Both count once however many seeds there are, so that they are the same for all forecasters.

    Raises
    ------
    TypeError
        `ledger` is no Ledger; one of `metrics` is neither Averaged nor Pooled.
    ValueError
        What `check` raises; a metric, a column in `by` or a quantile level that does not exist.
    """
    check(ledger)
    chosen, groups, forecasts = _chosen(metrics), _groups(by), ledger.forecasts
    averaged = {name: metric for name, metric in chosen.items() if isinstance(metric, Averaged)}
    pooled = {name: metric for name, metric in chosen.items() if isinstance(metric, Pooled)}

    cells = _cells(ledger, {**averaged, "points": Averaged(observed)}, groups)
    table = _mean(_per_series(cells, averaged, groups), groups)

    sums = _total({name: metric.loss(forecasts) for name, metric in pooled.items()}, forecasts, groups)
    totals = _total({"volume": np.abs(floats(forecasts, "y")), "points": observed(forecasts)}, forecasts, groups)
    for name in pooled:
        table[name] = sums[name] / totals["volume"].where(totals["volume"] > 0)

    seeds = forecasts.groupby(groups, sort=False, observed=True)["seed"].nunique()
    undefined = cells.isna().any(axis=1).groupby(level=groups, sort=False).sum()
    table = table[list(chosen)].assign(points=totals["points"] // seeds, undefined=undefined // seeds)
    return table.astype({"points": "int64", "undefined": "int64"}).reset_index()


def skill(
    ledger: Ledger, baseline: str = "SeasonalNaive", by: Sequence[str] = ("forecaster",), floor: float = 0.01
) -> pd.DataFrame:
    """Skill against a baseline: 1 - exp(mean over series of log(MAE / MAE of the baseline)).

    One minus a geometric mean, which orders two forecasters the same whichever is the denominator. The MAE of a series
    is averaged over cutoffs, then seeds; the baseline's over all of its seeds, also when `by` has `seed`.

    Where the baseline's MAE is zero the ratio is 1 for a forecaster whose MAE is zero too and undefined for any other;
    a series undefined for one forecaster is left out for all. A ratio below `floor`, as without any error, counts as
    `floor`, so that no single series decides.

    Returns one row per group: the columns of `by`, `skill` (NaN if no series is left), then the numbers of series
    averaged, `series`, left out, `undefined`, and put at the floor, `clipped`.

    Raises what `score` raises, and ValueError when `baseline` is not in the ledger or `floor` is not in (0, 1).
    """
    check(ledger)
    groups = _groups(by)
    if baseline not in ledger.forecasters:
        raise ValueError(
            f"`baseline` {baseline!r} is not in the ledger; it has {list(ledger.forecasters)}. Name one of these, or "
            "backtest the baseline too."
        )
    if not 0 < floor < 1:
        raise ValueError(f"`floor` must lie between 0 and 1; got {floor}.")
    alike = _distinct(*(column for column in groups if column not in ("forecaster", "seed")), "unique_id")

    errors = _series_mae(ledger, groups)
    reference = _series_mae(ledger, _distinct("forecaster", *alike))
    reference = reference.loc[reference["forecaster"] == baseline, [*alike, "mae"]]
    errors = errors.merge(reference, on=alike, suffixes=("", "_baseline"))

    mae, base = errors["mae"], errors["mae_baseline"]
    ratio = (mae / base.where(base > 0)).mask((mae == 0) & (base == 0), 1.0)
    undefined = ratio.isna().groupby([errors[column] for column in alike], sort=False).transform("any")
    ratio = ratio.mask(undefined)
    errors = errors.assign(log=np.log(ratio.clip(lower=floor)), undefined=undefined, clipped=ratio < floor)

    grouped = errors.groupby(groups, sort=False)
    table = grouped["log"].agg(skill="mean", series="count")
    table["skill"] = 1 - np.exp(table["skill"])
    table[["undefined", "clipped"]] = grouped[["undefined", "clipped"]].sum()
    return table.reset_index()


def _cells(ledger: Ledger, metrics: Mapping[str, Averaged], groups: list[str]) -> pd.DataFrame:
    """Mean loss, scaled if the metric is, within each (series, cutoff, seed) of each group: (cells, metrics)."""
    forecasts = ledger.forecasts
    scales = forecasts[CELL].merge(ledger.scales, how="left", on=CELL)
    losses = {}
    for name, metric in metrics.items():
        losses[name] = metric.loss(forecasts)
        if metric.scale is not None:
            scale = floats(scales, metric.scale)
            losses[name] = losses[name] / np.where(scale > 0, scale, np.nan)
    keys = _distinct(*groups, *CELL, "seed")
    table = pd.DataFrame(losses, index=pd.MultiIndex.from_arrays([forecasts[key] for key in keys]))
    return _mean(table, keys)


def _per_series(cells: pd.DataFrame, metrics: Mapping[str, Averaged], groups: list[str]) -> pd.DataFrame:
    runs = _mean(cells, _distinct(*groups, "unique_id", "seed"))
    roots = [name for name, metric in metrics.items() if metric.root]
    runs[roots] = np.sqrt(runs[roots])
    return _mean(runs, _distinct(*groups, "unique_id"))


def _series_mae(ledger: Ledger, groups: list[str]) -> pd.DataFrame:
    metrics = {"mae": Averaged(absolute_error)}
    return _per_series(_cells(ledger, metrics, groups), metrics, groups).reset_index()


def _mean(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return table.groupby(level=keys, sort=False).agg("mean")


def _total(columns: Mapping[str, np.ndarray], forecasts: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    table = pd.DataFrame(columns, index=forecasts.index)
    return table.groupby([forecasts[group] for group in groups], sort=False).agg("sum")


def _distinct(*columns: str) -> list[str]:
    return list(dict.fromkeys(columns))


def _groups(by: Sequence[str]) -> list[str]:
    groups = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else [by]
    unknown = [column for column in groups if column not in GROUPS]
    if unknown or "forecaster" not in groups or len(set(groups)) < len(groups):
        raise ValueError(f"`by` must have `forecaster` and may have others of {GROUPS}, each once; got {groups}.")
    return groups


def _chosen(metrics: Sequence[str] | Mapping[str, Averaged | Pooled] | None) -> dict[str, Averaged | Pooled]:
    if metrics is None:
        return dict(METRICS)
    if isinstance(metrics, Mapping):
        taken = [name for name in metrics if name in (*GROUPS, "points", "undefined")]
        if taken:
            raise ValueError(f"`metrics` may not be named {taken}: the table has columns of these names.")
        for name, metric in metrics.items():
            if not isinstance(metric, Averaged | Pooled):
                raise TypeError(f"`metrics`: {name!r} is {metric!r}; allowed: an Averaged or a Pooled, of a loss")
        return dict(metrics)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise ValueError(f"`metrics` has unknown names {unknown}; there are {list(METRICS)}.")
    return {name: METRICS[name] for name in names}
