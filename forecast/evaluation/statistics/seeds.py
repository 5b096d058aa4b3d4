"""The spread over seeds: what another run of the training would have changed, on the same series and the same time.

It says nothing of other data, and is told apart from the uncertainty of `standings`, which is about them. The
statistics are those of Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical precipice".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics.design import errors_of, name_of, refit
from forecast.evaluation.statistics.errors import skill_of, wins
from forecast.evaluation.statistics.estimand import Estimand, page
from forecast.evaluation.statistics.standings import check_draws

_RATIOS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
_NUMBERS = 1_000_000  # float64 of a chunk of resamples


@dataclass(frozen=True, eq=False)
class SeedSpread:
    """What the seeds of each forecaster say; printed with the estimand first.

    Attributes
    ----------
    estimand
        What the numbers are numbers of.
    spread
        One row per forecaster: `forecaster, seeds, skill` (1 - exp of the inter-quartile mean, over seeds and series,
        of the log of the ratio of errors to the baseline)`, low, high` (NaN for one seed).
    profile
        One row per forecaster and `ratio`: the `share` of seeds and series with a ratio to the baseline below it.
    improvement
        One row per forecaster and `opponent`: the `probability` that a seed of the first has the lower error than a
        seed of the second, on average over series, and its `low, high` (NaN where both have one seed).
    notes
        What has no interval, or why nothing is reported.

    """

    estimand: Estimand
    spread: pd.DataFrame
    profile: pd.DataFrame
    improvement: pd.DataFrame
    notes: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """Give `spread`."""
        return self.spread

    def __str__(self) -> str:
        return page(self.estimand, self.spread, self.notes)


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """Give the mean of the middle half of the last axis, (..., n) -> (...): n // 4 numbers are cut off at each end."""
    number = values.shape[-1]
    return np.sort(values, axis=-1)[..., number // 4 : number - number // 4].mean(axis=-1)


def share_below(ratios: np.ndarray, bounds: Sequence[float] = _RATIOS) -> np.ndarray:
    """Give the share of ratios (R, S) below each of Q bounds: (Q,)."""
    return (ratios[..., None] < np.asarray(bounds)).mean(axis=(0, 1))


def improvement(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Give how probably a seed of the first has the lower error: (..., R1, S) and (..., R2, S) -> (...).

    Over all pairs of seeds within a series, a tie being half; then averaged over series.
    """
    return wins(first[..., :, None, :], second[..., None, :, :]).mean(axis=(-3, -2, -1))


def stratified(
    rng: np.random.Generator, resamples: int, statistic: Callable[..., np.ndarray], *values: np.ndarray
) -> np.ndarray:
    """Give a statistic, (B,), of seeds drawn with replacement within each series: from each of `values`, (R, S)."""
    few = max(1, _NUMBERS // np.prod([len(one) for one in values], dtype=int) // values[0].shape[1])
    found = []
    for first in range(0, resamples, few):
        number = min(few, resamples - first)
        drawn = (rng.integers(len(one), size=(number, *one.shape)) for one in values)
        found.append(
            statistic(*(np.take_along_axis(one[None], seeds, axis=1) for one, seeds in zip(values, drawn, strict=True)))
        )
    return np.concatenate(found)


def seed_spread(
    ledger: Ledger,
    baseline: str = "SeasonalNaive",
    metric: str | Averaged | Pooled = "mae",
    *,
    resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> SeedSpread:
    """Give the skill of each forecaster over its seeds, with intervals that hold for these series and this time alone.

    The baseline counts with the mean over its seeds. Raises what `standings` raises.
    """
    check_draws(resamples, confidence, seed)
    errors = errors_of(ledger, baseline, metric).defined()
    runs, base = errors.of_runs()[0], errors.of_forecasters()[0, errors.baseline]
    _, series, folds = errors.values.shape
    about = Estimand(f"skill of one seed in {name_of(metric)}", series, folds, refit(ledger))
    notes = ["a forecaster of one seed has no interval"] if min(errors.seeds) == 1 else []
    if not series:
        notes = ["not reported: for no series is the ratio to the baseline defined"]
    rng = np.random.default_rng(seed)
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    spread, profile, pairs = [], [], []
    own = dict(zip(errors.names, errors.by_forecaster(runs), strict=True)) if series else {}
    for name, values in own.items():
        logs = errors.logs(values, base)
        middle = skill_of(interquartile_mean(logs.ravel()))
        low, high = np.nan, np.nan
        if len(logs) > 1:
            drawn = stratified(rng, resamples, lambda some: interquartile_mean(some.reshape(len(some), -1)), logs)
            high, low = skill_of(np.quantile(drawn, tails))
        spread.append((name, len(logs), middle, low, high))
        profile += [(name, *at) for at in zip(_RATIOS, share_below(errors.ratios(values, base)), strict=True)]
        for opponent, others in own.items():
            if opponent != name:
                low, high = np.nan, np.nan
                if max(len(values), len(others)) > 1:
                    low, high = np.quantile(stratified(rng, resamples, improvement, values, others), tails)
                pairs.append((name, opponent, float(improvement(values, others)), low, high))
    return SeedSpread(
        estimand=about,
        spread=pd.DataFrame(spread, columns=["forecaster", "seeds", "skill", "low", "high"]),
        profile=pd.DataFrame(profile, columns=["forecaster", "ratio", "share"]),
        improvement=pd.DataFrame(pairs, columns=["forecaster", "opponent", "probability", "low", "high"]),
        notes=tuple(notes),
    )
