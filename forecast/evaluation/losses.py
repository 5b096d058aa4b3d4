"""Losses of single forecasts: each takes the table `Ledger.forecasts` and gives a number per row.

The MAE family reads the column `prediction` (the median), the squared family and the bias read `mean`: each has its own
best forecast (Gneiting 2011, "Making and evaluating point forecasts"). Where `y` was not observed a loss is NaN.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from forecast.evaluation.ledger.columns import floats, level_columns

Loss = Callable[[pd.DataFrame], np.ndarray]
"""The table `Ledger.forecasts` -> one float64 per row, NaN where `y` is NaN."""


def observed(forecasts: pd.DataFrame) -> np.ndarray:
    """1 where `y` was observed."""
    return np.where(np.isnan(floats(forecasts, "y")), np.nan, 1.0)


def absolute_error(forecasts: pd.DataFrame) -> np.ndarray:
    """|y - median|."""
    return np.abs(floats(forecasts, "y") - floats(forecasts, "prediction"))


def squared_error(forecasts: pd.DataFrame) -> np.ndarray:
    """(y - mean)^2."""
    return (floats(forecasts, "y") - floats(forecasts, "mean")) ** 2


def error(forecasts: pd.DataFrame) -> np.ndarray:
    """The error y - mean: positive where the forecast was too low."""
    return floats(forecasts, "y") - floats(forecasts, "mean")


def quantile_error(forecasts: pd.DataFrame) -> np.ndarray:
    """Twice the pinball loss, (q - 1{y < f}) (y - f), averaged over all levels q of the ledger."""
    levels = level_columns(forecasts)
    if not levels:
        raise ValueError("`forecasts` has no quantile columns: choose `metrics` without `wql`.")
    y, total = floats(forecasts, "y"), np.zeros(len(forecasts))
    for level, column in levels.items():
        miss = y - floats(forecasts, column)
        total += np.maximum(level * miss, (level - 1) * miss)
    return 2 * total / len(levels)


def interval_error(forecasts: pd.DataFrame, lower: float, upper: float) -> np.ndarray:
    """Width, plus what `y` lies outside on either side divided by the probability left out on that side.

    For a central interval, lower = a/2 = 1 - upper, this is the interval score of Gneiting and Raftery (2007).
    """
    y, low, high = floats(forecasts, "y"), _level(forecasts, lower), _level(forecasts, upper)
    return (high - low) + np.maximum(low - y, 0) / lower + np.maximum(y - high, 0) / (1 - upper)


def inside(forecasts: pd.DataFrame, lower: float, upper: float) -> np.ndarray:
    """1 where `y` lies in the closed interval between two levels, else 0."""
    y, low, high = floats(forecasts, "y"), _level(forecasts, lower), _level(forecasts, upper)
    return np.where(np.isnan(y), np.nan, (low <= y) & (y <= high))


def _level(forecasts: pd.DataFrame, level: float) -> np.ndarray:
    levels = level_columns(forecasts)
    if level not in levels:
        raise ValueError(
            f"this metric reads quantile level {level}, but the ledger has the levels {list(levels)}: choose other "
            "`metrics`, or give `coverage` and `interval_score` two levels that are there."
        )
    return floats(forecasts, levels[level])
