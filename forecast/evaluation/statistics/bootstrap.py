"""The paired two-way bootstrap: how a comparison would have come out for other series, another time and other seeds.

Series, blocks of consecutive folds and the seeds of each forecaster are drawn with replacement, the same series and
folds for all forecasters, and the whole comparison is made again. To draw single points instead, as if each were
independent, gives intervals far too narrow wherever something happens to all series at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from forecast.evaluation.statistics.errors import EQUAL, Errors, mean_over_series, win_rates
from forecast.evaluation.statistics.resampling import fold_counts, group_counts, seed_weights

_PAGE = 100  # resamples drawn at once, of whatever size the data: the draws depend on no more than the seed
_NUMBERS = 2_000_000  # float64 in the largest array that is made at once


@dataclass(frozen=True, eq=False)
class Resampled:
    """A statistic of any shape (...), on the data and in B resamples.

    Attributes
    ----------
    estimate: (...) on the data.
    drawn: (B, ...) where everything that varies is drawn.
    alone: (B, ...) for each of the things that vary, where that alone is drawn.
    numbers: how many of each of these there are: series, blocks of folds, seeds.

    """

    estimate: np.ndarray
    drawn: np.ndarray
    alone: tuple[np.ndarray, ...]
    numbers: tuple[float, ...]

    def apply(self, function: Callable[[np.ndarray], np.ndarray]) -> Self:
        """Give what a function makes of the statistic: of arrays (B, ...)."""
        return replace(
            self,
            estimate=function(self.estimate[None])[0],
            drawn=function(self.drawn),
            alone=tuple(map(function, self.alone)),
        )

    def interval(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Give low and high (...): percentiles of the resamples, stretched about the estimate; NaN without any."""
        if not len(self.drawn):
            return np.full((2, *self.estimate.shape), np.nan)  # type: ignore[return-value]
        tail = (1 - confidence) / 2
        low, high = np.nanquantile(self.drawn, [tail, 1 - tail], axis=0)
        factor = self.stretch(confidence)
        return self.estimate + factor * (low - self.estimate), self.estimate + factor * (high - self.estimate)

    def stretch(self, confidence: float = 0.95) -> np.ndarray:
        """Give by how much percentiles of resamples lie too close to the estimate: (...), near 1 for many of all.

        The variance over n draws is too small by (n - 1) / n, and is itself estimated from n: the normal quantile makes
        way for that of Student's t, with the degrees of freedom that Satterthwaite (1946) gives to a sum of variances,
        here those of series, time and seeds. Under a shock common to 100 series the plain percentiles of 95 % cover
        88, 91 and 94 % at 5, 10 and 20 folds; stretched, they cover 94 to 95 %.
        """
        from scipy import stats

        plain = [np.nanvar(sample, axis=0) for sample in self.alone]
        mended = [variance * n / (n - 1) for variance, n in zip(plain, self.numbers, strict=True)]
        total = sum(mended, np.zeros(self.estimate.shape))
        varies = total > EQUAL**2
        squares = sum((v**2 / (n - 1) for v, n in zip(mended, self.numbers, strict=True)), np.zeros(total.shape))
        freedom = np.divide(total**2, squares, out=np.full(total.shape, np.inf), where=varies)
        wider = np.divide(total, sum(plain), out=np.ones(total.shape), where=varies)
        tail = (1 + confidence) / 2
        return np.sqrt(wider) * stats.t.ppf(tail, freedom) / stats.norm.ppf(tail)

    def apart(self, confidence: float = 0.95) -> np.ndarray:
        """Tell which statistics differ from zero, with at most 1 - `confidence` of any false one among them all: (...).

        The largest of all distances in a resample, in standard deviations, bounds each (Romano and Wolf 2005).
        """
        if not len(self.drawn):
            return np.zeros(self.estimate.shape, bool)
        spread = np.nanstd(self.drawn, axis=0)
        distance = np.abs(self.drawn - self.estimate) / np.where(spread > EQUAL, spread, np.inf)
        bound = np.nanquantile(np.fmax.reduce(distance.reshape(len(distance), -1), axis=1), confidence)
        return np.abs(self.estimate) > np.maximum(bound * self.stretch(confidence) * spread, EQUAL)


def two_way(
    errors: Errors,
    *,
    group: np.ndarray | None,
    block: int | None,
    resamples: int = 2000,
    seed: int = 0,
    paired_seeds: bool = False,
) -> tuple[Resampled, Resampled]:
    """Resample a comparison: over series, over blocks of consecutive folds, and over the seeds of each forecaster.

    The order of averages is that of `skill`: over folds within series and seed, over seeds within series, over series
    the log of the ratio to the baseline. A resample is a count of each series and fold, so that its averages are
    products of matrices; memory does not grow with the number of resamples.

    Parameters
    ----------
    group
        (S,) number, from 0, of the group that each series is drawn with; None where series are not drawn.
    block
        Consecutive folds that are drawn together; None where time is not drawn.
    resamples, seed
        How many resamples, and which. What is drawn for a forecaster does not depend on the others.
    paired_seeds
        Whether seeds are drawn for all forecasters together, those that have as many of them; else for each.

    Returns
    -------
    The mean over series of log(error / error of the baseline), (M,), and the `win_rates` (M, M).

    """
    numbers = {
        "series": 0 if group is None else int(group.max()) + 1,
        "folds": 0 if block is None else errors.values.shape[2] / block,
        "seeds": min((number for number in errors.seeds if number > 1), default=0),
    }
    ways = [way for way, number in numbers.items() if number]
    estimates = _statistics(errors)
    none = tuple(estimate[:0] for estimate in estimates)
    found = {way: [none] for way in ("all", *ways)}
    for drawn in _draws(errors, group, block, resamples, seed, paired_seeds):
        found["all"].append(_statistics(errors, **{way: drawn[way] for way in ways}))
        for way in ways:
            found[way].append(_statistics(errors, **{way: drawn[way]}))
    logs, rates = (
        Resampled(
            estimate=estimates[which][0],
            drawn=np.concatenate([part[which] for part in found["all"]]),
            alone=tuple(np.concatenate([part[which] for part in found[way]]) for way in ways),
            numbers=tuple(numbers[way] for way in ways),
        )
        for which in range(2)
    )
    return logs, rates


def _draws(
    errors: Errors, group: np.ndarray | None, block: int | None, resamples: int, seed: int, paired_seeds: bool
) -> Iterator[dict[str, np.ndarray]]:
    """Give the counts of series (b, S) and folds (b, F) and the weights of seeds (b, R), few resamples at a time."""
    runs, series, folds = errors.values.shape
    of_series, of_folds = (np.random.default_rng([seed, way]) for way in range(2))
    of_seeds = seed_weights(seed, resamples, [""] * len(errors.names) if paired_seeds else errors.names, errors.seeds)
    few = max(1, _NUMBERS // max(1, runs * series))
    for page in range(0, resamples, _PAGE):
        number = min(_PAGE, resamples - page)
        drawn = {"seeds": of_seeds[page : page + number]}
        if group is not None:
            drawn["series"] = group_counts(of_series, number, group)
        if block is not None:
            drawn["folds"] = fold_counts(of_folds, number, folds, block)
        for first in range(0, number, few):
            yield {way: weights[first : first + few] for way, weights in drawn.items()}


def _statistics(
    errors: Errors,
    series: np.ndarray | None = None,
    folds: np.ndarray | None = None,
    seeds: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Give mean logs (b, M) and win rates (b, M, M) for counts of series and folds and weights of seeds."""
    averaged = errors.of_forecasters(folds, seeds)
    counts = np.ones((1, averaged.shape[2])) if series is None else series
    logs = errors.logs(averaged, averaged[:, errors.baseline])
    return mean_over_series(logs, counts), win_rates(averaged, counts)
