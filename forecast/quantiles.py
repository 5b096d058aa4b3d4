"""Quantile levels: the usual ones, which may be asked for, what lies between them, and the mean of a distribution.

A distribution is known by its quantiles at Q levels. On the normal scale, that of the standard normal quantiles z of
the levels, they are joined by straight lines, of which the outer ones go on: a normal distribution is one line.
"""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_DIGITS = 12  # levels that agree in so many decimals are the same: 0.1 + 0.2 is 0.3
_FAR_OUT = 1e9  # widths between quantiles that are the same


def check_levels(levels: Sequence[float], *, median: bool = True) -> None:
    """Refuse quantile levels that do not rise strictly inside (0, 1) or leave out the median, where it has to be there.

    Raises
    ------
    ValueError: for any other levels, or what is no sequence of floats.

    """
    found = list(levels) if isinstance(levels, Sequence | np.ndarray) else []
    numbers = all(isinstance(level, float | np.floating) for level in found)
    rising = numbers and bool(found) and 0 < found[0] <= found[-1] < 1 and bool(np.all(np.diff(found) > 0))
    if not rising or (median and 0.5 not in found):
        among = ", 0.5 among them" if median else ""
        raise ValueError(f"`quantile_levels` is {levels!r}; allowed: rising numbers inside (0, 1){among}")


def plain_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Give levels as Python's numbers; one of few bits, such as numpy's float32 0.1, as it prints."""
    return tuple(float(str(level)) for level in levels)


def asked_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Give the levels that a forecast is asked at, as they name its columns; raises as `check_levels`."""
    check_levels(levels, median=False)
    rounded = tuple(round(level, _DIGITS) for level in plain_levels(levels))
    check_levels(rounded, median=False)
    return rounded


def at_levels(quantiles: np.ndarray, known: Sequence[float], levels: Sequence[float]) -> np.ndarray:
    """Give the quantiles at other levels, (..., Q) to (..., len(levels)); those at a known level to the last bit."""
    places, normal = np.asarray(known, dtype="float64"), normal_quantiles(known)
    found = np.empty((*quantiles.shape[:-1], len(levels)), dtype=quantiles.dtype)
    for column, (level, z) in enumerate(zip(levels, normal_quantiles(levels), strict=True)):
        same = int(np.abs(places - level).argmin())
        if len(places) == 1 or abs(places[same] - level) < 10.0**-_DIGITS:
            found[..., column] = quantiles[..., same]
            continue
        right = int(np.clip(np.searchsorted(places, level), 1, len(places) - 1))
        low, high = (quantiles[..., side].astype("float64") for side in (right - 1, right))
        between = low + (high - low) * (z - normal[right - 1]) / (normal[right] - normal[right - 1])
        # Rounding must not carry a level past its neighbours.
        found[..., column] = np.clip(between, low, high) if places[0] < level < places[-1] else between
    return found


def scores_of(values: np.ndarray, quantiles: np.ndarray, known: Sequence[float]) -> np.ndarray:
    """Give where values (...) lie in distributions (..., Q), on the normal scale, (...) float64: `at_levels` inverted.

    Where neighbouring quantiles are the same a value off them lies far out; NaN gives NaN. Only a median: all lie at 0.
    """
    normal = normal_quantiles(known)
    if len(normal) == 1:
        return np.where(np.isnan(values), np.nan, 0.0)
    right = np.clip((quantiles < values[..., None]).sum(axis=-1), 1, len(normal) - 1)
    low, high = (
        np.take_along_axis(quantiles, side[..., None], axis=-1)[..., 0].astype("float64") for side in (right - 1, right)
    )
    above, width = values - low, high - low
    flat = np.where(above == 0, 0.5, np.sign(above) * _FAR_OUT)
    share = np.where(width > 0, above / np.where(width > 0, width, 1.0), flat)
    return normal[right - 1] + share * (normal[right] - normal[right - 1])


def normal_quantiles(levels: Sequence[float]) -> np.ndarray:
    """Give the quantiles of the standard normal distribution, (Q,) float64."""
    normal = NormalDist()
    return np.array([normal.inv_cdf(float(level)) for level in levels])


def mean_of(quantiles: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Give the mean of the distributions whose quantiles are given on the last axis: (..., Q) to (...).

    Each quantile stands for the probabilities nearer to its level than to its neighbours', the outermost for the tails
    too; the mean of a skewed distribution with long tails is drawn a little towards its centre.
    """
    middles = (np.asarray(levels[1:]) + np.asarray(levels[:-1])) / 2
    weights = np.diff(np.concatenate([[0.0], middles, [1.0]]))
    with np.errstate(over="ignore", invalid="ignore"):  # a forecast that is not finite is refused by who asked for it
        return quantiles @ weights.astype(quantiles.dtype)
