"""What has to be said beside a table of scores: what was left out and why, and which number stands for which."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.grouping import Grouping
from forecast.evaluation.ledger import Ledger, check
from forecast.evaluation.losses import (
    error,
    percentage_error,
    ranked_probability_score,
    squared_error,
    symmetric_percentage_error,
)
from forecast.evaluation.metrics import chosen_metrics

_READ_MEAN = (squared_error, error)


def undefined(ledger: Ledger, metrics: Sequence[str] | Mapping[str, Averaged | Pooled] | None = None) -> pd.DataFrame:
    """Count the cells, each a series at a cutoff, that are left out of each metric, for all forecasters, and say why.

    Returns one row per metric and reason, where there are any: `metric, reason, cells`. A cell has the first reason
    that holds. Takes and raises what `score` does.
    """
    check(ledger)
    grouping = Grouping(ledger, ("forecaster",))
    rows = []
    for name, metric in chosen_metrics(metrics).items():
        left = np.ones(len(ledger.points), dtype=bool)
        for reason, holds in _reasons(grouping, metric).items():
            if cells := int((holds & left).sum()):
                rows.append((name, reason, cells))
            left &= ~holds
    return pd.DataFrame(rows, columns=["metric", "reason", "cells"])


def remarks(ledger: Ledger, metrics: Sequence[str] | Mapping[str, Averaged | Pooled] | None = None) -> tuple[str, ...]:
    """Give the sentences that belong below a table of `score`. Takes and raises what `score` does."""
    check(ledger)
    chosen, cells = chosen_metrics(metrics), len(ledger.points)
    told = [
        f"{name}: {left} of {cells} cells (a series at a cutoff) left out for all, {reason}"
        for name, reason, left in undefined(ledger, chosen).itertuples(index=False, name=None)
    ]
    same = [
        name
        for name in ledger.forecasters
        if all(np.array_equal(run.mean, run.median) for run in ledger.of_forecaster(name))
    ]
    of_mean = [name for name, metric in chosen.items() if metric.loss in _READ_MEAN]
    if same and of_mean:
        told.append(
            f"median scored as mean in {', '.join(of_mean)}, there being one number for both: {', '.join(same)}"
        )
    for name, metric in chosen.items():
        if metric.loss is ranked_probability_score:
            told.append(f"{name}: quantile CRPS, {len(ledger.quantile_levels)} levels")
        if metric.loss is symmetric_percentage_error:
            told.append(f"{name}: between 0 and 2")
        if metric.loss is percentage_error:
            told.append(f"{name}: lowest for forecasts below the median")
    return tuple(told)


def _reasons(grouping: Grouping, metric: Averaged | Pooled) -> dict[str, np.ndarray]:
    """Give where each reason to leave out a cell holds, (M,)."""
    reasons = {"nothing was observed": grouping.counts == 0}
    if isinstance(metric, Averaged) and metric.scale is not None:
        scale = getattr(grouping.ledger.points, metric.scale)
        reasons |= {
            "the scale is undefined, for no seasonal change was observed": np.isnan(scale),
            "the scale is zero": scale == 0,
        }
    why = "an actual is zero" if metric.loss is percentage_error else "the loss is undefined"
    return reasons | {why: np.isnan(grouping.sums(metric.loss)[0])}
