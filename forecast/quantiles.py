"""Quantile levels: the usual ones, which may be asked for, and the mean of a distribution known by its quantiles."""

from collections.abc import Sequence

import numpy as np

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def check_levels(levels: Sequence[float]) -> None:
    """Refuse quantile levels that do not rise strictly inside (0, 1) or leave out the median.

    Raises
    ------
    ValueError: for any other levels, or what is no sequence of floats.

    """
    found = list(levels) if isinstance(levels, Sequence | np.ndarray) else []
    numbers = all(isinstance(level, float | np.floating) for level in found)
    if not found or not numbers or 0.5 not in found or not 0 < found[0] <= found[-1] < 1 or np.any(np.diff(found) <= 0):
        raise ValueError(f"`quantile_levels` is {levels!r}; allowed: rising numbers inside (0, 1), 0.5 among them")


def mean_of(quantiles: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Give the mean of the distributions whose quantiles are given on the last axis: (..., Q) to (...).

    Each quantile stands for the probabilities nearer to its level than to its neighbours', the outermost for the tails
    too; the mean of a skewed distribution with long tails is drawn a little towards its centre.
    """
    middles = (np.asarray(levels[1:]) + np.asarray(levels[:-1])) / 2
    weights = np.diff(np.concatenate([[0.0], middles, [1.0]]))
    return quantiles @ weights.astype(quantiles.dtype)
