"""Split conformal calibration on arrays: how far quantiles move to hold what they promise, by errors out of sample.

A score tells by how much an actual missed an interval, below 0 where it lay inside. The k-th smallest of n scores, with
k = ceil((n + 1) (1 - a)), is what to widen the interval by, so that one more actual is outside with a probability of at
most a, whatever the forecaster, if its score might as well have come in any other place among them (Vovk, Gammerman and
Shafer 2005; of quantiles: Romano, Patterson and Candès 2019, arXiv 1905.03222).

Scores that belong together, such as those of several series at one time, are weighted so that they count as one: they
may all have met the same shock (Lee, Barber and Willett 2023, arXiv 2306.06342).

n scores, M origins, H steps, Q quantile levels, I intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

_ROUNDING = 1e-9  # (9 + 1) * (1 - 0.1) is to be 9, whatever the last bit says


@dataclass(frozen=True)
class Interval:
    """What lies between two quantile levels, or on one side of a single one.

    Attributes
    ----------
    low, high: positions of the levels; None where it is open.
    miss: probability that an actual lies outside.

    """

    low: int | None
    high: int | None
    miss: float

    def named(self, levels: Sequence[float]) -> str:
        """Name it by its levels: "level 0.1", "levels 0.1 and 0.9"."""
        ends = [levels[end] for end in (self.low, self.high) if end is not None]
        return f"level{'s' if len(ends) > 1 else ''} {' and '.join(f'{end:g}' for end in ends)}"


def one_sided(levels: Sequence[float]) -> list[Interval]:
    """Give for every level but the median the interval that it bounds alone."""
    below = [Interval(q, None, float(level)) for q, level in enumerate(levels) if level < 0.5]
    return below + [Interval(None, q, 1 - float(level)) for q, level in enumerate(levels) if level > 0.5]


def two_sided(levels: Sequence[float]) -> list[Interval]:
    """Give the intervals between levels q and 1 - q; a level without such a partner bounds one alone."""
    partners = {
        low: high
        for low, below in enumerate(levels)
        for high, above in enumerate(levels)
        if below < 0.5 and abs(below + above - 1) < _ROUNDING
    }
    pairs = [Interval(low, high, float(levels[low]) + 1 - float(levels[high])) for low, high in partners.items()]
    paired = {*partners.keys(), *partners.values()}
    return pairs + [one for one in one_sided(levels) if not paired & {one.low, one.high}]


def conformity(actuals: np.ndarray, quantiles: np.ndarray, intervals: Sequence[Interval]) -> np.ndarray:
    """Give the scores of actuals (...) in forecasts (..., Q), (..., I) float64; NaN where there is no actual.

    max(l - y, y - u) of an interval from l to u, and one of the two of an open one.
    """
    y = actuals.astype("float64")
    scores = np.full((*y.shape, len(intervals)), -np.inf)
    for place, interval in enumerate(intervals):
        score = scores[..., place]
        if interval.low is not None:
            np.maximum(score, quantiles[..., interval.low] - y, out=score)
        if interval.high is not None:
            np.maximum(score, y - quantiles[..., interval.high], out=score)
    return scores


def scores_needed(miss: float) -> int:
    """Give how many scores it takes for a finite interval that misses with this probability."""
    return max(1, ceil(1 / miss - 1 - _ROUNDING))


def conformal_quantile(scores: np.ndarray, miss: np.ndarray | float, weights: np.ndarray | None = None) -> np.ndarray:
    """Give the k-th smallest of the scores along the first axis, k = ceil((n + 1) (1 - miss)), (n, ...) to (...).

    Scores that are NaN do not count. Infinite where k > n: so few scores bound nothing. Minus infinite where k < 1.

    Parameters
    ----------
    scores: (n, ...).
    miss: the probability to be outside; one number, or (...) of them.
    weights: (n, ...), what each score counts as; None for 1. Their sum stands for n.

    """
    if not len(scores):
        return np.broadcast_to(np.where(np.asarray(miss) < 1, np.inf, -np.inf), scores.shape[1:]).copy()
    order = np.argsort(scores, axis=0)  # NaN last
    ordered = np.take_along_axis(scores, order, axis=0)
    counted = np.isfinite(ordered) * (1.0 if weights is None else np.take_along_axis(weights, order, axis=0))
    reached = np.cumsum(counted, axis=0)  # how many scores are no larger
    n = reached[-1]
    rank = (n + 1) * (1 - miss) - _ROUNDING
    place = np.minimum((reached < rank).sum(axis=0), len(scores) - 1)
    found = np.take_along_axis(ordered, place[None], axis=0)[0]
    return np.where(rank > n, np.inf, np.where(rank <= 0, -np.inf, found))


def moved(
    quantiles: np.ndarray, corrections: np.ndarray, intervals: Sequence[Interval], levels: Sequence[float]
) -> np.ndarray:
    """Give quantiles (..., Q) with every interval widened on its sides by its correction (..., I), float64.

    The median stays. Where levels would cross, the outer one moves outwards to the inner one, never the other way: an
    interval only gets wider by it, and what it promises holds. So intervals stay nested.
    """
    found = quantiles.astype("float64")
    for place, interval in enumerate(intervals):
        if interval.low is not None:
            found[..., interval.low] -= corrections[..., place]
        if interval.high is not None:
            found[..., interval.high] += corrections[..., place]
    middle = list(levels).index(0.5)
    below, above = found[..., middle::-1], found[..., middle:]  # from the median outwards
    np.minimum.accumulate(below, axis=-1, out=below)
    np.maximum.accumulate(above, axis=-1, out=above)
    return found
