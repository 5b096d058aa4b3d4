"""Losses of single forecasts: each takes a run of a ledger and gives a number for each of its points.

The MAE family reads the median, the squared family and the bias the mean: each has its own best forecast (Gneiting
2011, "Making and evaluating point forecasts"). Where `y` was not observed a loss is NaN.

M cells (a series at a cutoff), H steps.
"""

from collections.abc import Callable

import numpy as np

from forecast.evaluation.ledger import Run

Loss = Callable[[Run], np.ndarray]
"""A run -> (M, H) float64, NaN where `y` is NaN, and where the loss is undefined."""


def absolute_error(run: Run) -> np.ndarray:
    """|y - median|."""
    return np.abs(_y(run) - run.median)


def squared_error(run: Run) -> np.ndarray:
    """(y - mean)^2."""
    return (_y(run) - run.mean) ** 2


def error(run: Run) -> np.ndarray:
    """The error y - mean: positive where the forecast was too low."""
    return _y(run) - run.mean


def percentage_error(run: Run) -> np.ndarray:
    """|y - median| / |y|; NaN where y is 0."""
    size = np.abs(_y(run))
    return absolute_error(run) / np.where(size > 0, size, np.nan)


def symmetric_percentage_error(run: Run) -> np.ndarray:
    """2 |y - median| / (|y| + |median|), between 0 and 2; 0 where both are 0."""
    miss, size = absolute_error(run), np.abs(_y(run)) + np.abs(run.median)
    return np.where(size == 0, 0.0, 2 * miss / np.where(size == 0, 1.0, size))


def pinball_loss(run: Run, level: float) -> np.ndarray:
    """(q - 1{y < f}) (y - f) of the quantile f of one level q."""
    return _pinball(_y(run), run.quantile(level), level)


def quantile_error(run: Run) -> np.ndarray:
    """Twice the pinball loss, averaged over all levels of the ledger."""
    if not run.levels:
        raise ValueError("the ledger has no quantiles: choose `metrics` that read none, so without `wql`.")
    y = _y(run)
    total = np.zeros(y.shape)
    for q, level in enumerate(run.levels):
        total += _pinball(y, run.quantiles[..., q], level)
    return 2 * total / len(run.levels)


def ranked_probability_score(run: Run) -> np.ndarray:
    """Twice the pinball loss, averaged over equally spaced levels: what quantiles tell of the CRPS.

    The continuous ranked probability score is the same with all levels in (0, 1) (Gneiting and Ranjan 2011, "Comparing
    density forecasts using threshold- and quantile-weighted scoring rules"). Raises ValueError for levels that are not
    equally spaced about 0.5, over which the plain mean is no integral.
    """
    levels = np.array(run.levels)
    if len(levels) and not (np.allclose(np.diff(levels, n=2), 0) and np.isclose(levels[0] + levels[-1], 1)):
        raise ValueError(
            f"`quantile_crps` takes equally spaced quantile levels about 0.5; the ledger has {list(run.levels)}: "
            "choose `wql`."
        )
    return quantile_error(run)


def interval_error(run: Run, lower: float, upper: float) -> np.ndarray:
    """Width, plus what `y` lies outside on either side divided by the probability left out on that side.

    For a central interval, lower = a/2 = 1 - upper, this is the interval score of Gneiting and Raftery (2007).
    """
    y, low, high = _y(run), _exact(run.quantile(lower)), _exact(run.quantile(upper))
    return (high - low) + np.maximum(low - y, 0) / lower + np.maximum(y - high, 0) / (1 - upper)


def inside(run: Run, lower: float, upper: float) -> np.ndarray:
    """1 where `y` lies in the closed interval between two levels, else 0."""
    y, low, high = run.y, run.quantile(lower), run.quantile(upper)
    return np.where(np.isnan(y), np.nan, (low <= y) & (y <= high))


def interval_width(run: Run, lower: float, upper: float) -> np.ndarray:
    """The distance of the quantiles of two levels."""
    width = _exact(run.quantile(upper)) - run.quantile(lower)
    return np.where(np.isnan(run.y), np.nan, width)


def _pinball(y: np.ndarray, forecast: np.ndarray, level: float) -> np.ndarray:
    miss = y - forecast
    return np.maximum(level * miss, (level - 1) * miss)


def _y(run: Run) -> np.ndarray:
    return _exact(run.y)


def _exact(numbers: np.ndarray) -> np.ndarray:
    # Differences of single precision would lose what the stored numbers still tell apart.
    return numbers.astype("float64")
