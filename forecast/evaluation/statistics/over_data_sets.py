"""How forecasters stand over several data sets, each counting once, however many series or horizons it has."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from forecast.evaluation.statistics.estimand import page
from forecast.evaluation.statistics.ranks import check_errors
from forecast.evaluation.statistics.standings import LEAST_SERIES
from forecast.params import is_probability

LEAST_DATA_SETS = LEAST_SERIES  # to say anything of others


@dataclass(frozen=True, eq=False)
class OverDataSets:
    """How forecasters stand over data sets; printed with the estimand first.

    Attributes
    ----------
    estimand
        What the numbers are numbers of.
    leaders
        One row per forecaster, best first: `forecaster, skill, low, high` (1 - the geometric mean of its errors over
        those of the baseline)`, mean_rank, first` (in how many data sets it has the lowest error)`, data_sets`.
        The baseline, against which all are held, has no interval.
    pairs
        One row per forecaster and `opponent`: `change, low, high` (the geometric mean of the ratio of errors, less 1:
        -0.1 is 10 % less error)`, wins` (in how many data sets its error is lower, a tie being half)`, data_sets`.
    notes
        What is not reported, and why.

    """

    estimand: str
    leaders: pd.DataFrame
    pairs: pd.DataFrame
    notes: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Give `leaders`."""
        return self.leaders

    def __str__(self) -> str:
        return page(self.estimand, self.leaders, list(self.notes))


def over_data_sets(errors: pd.DataFrame, baseline: str = "SeasonalNaive", confidence: float = 0.95) -> OverDataSets:
    """Compare forecasters over data sets.

    `errors` has a row for each data set and a column for each forecaster, all above zero and without a unit, or in one
    that all forecasters of a row share. Intervals are those of Student's t for the mean over data sets of the log of a
    ratio: what other data sets of this kind would give. Below five data sets none are given.

    Raises
    ------
    TypeError: `errors` is no DataFrame.
    ValueError: fewer than two forecasters or no data set; an error that is not finite and above zero; `baseline` is
        none of the forecasters; a `confidence` outside (0, 1).

    """
    check_errors(errors)
    if not is_probability(confidence):
        raise ValueError(f"`confidence` is {confidence!r}; allowed: a probability inside (0, 1), such as 0.95")
    names = list(errors.columns)
    if baseline not in names:
        raise ValueError(f"`baseline` {baseline!r} is none of the forecasters; there are {names}")
    from scipy import stats

    logs = np.log(errors.to_numpy("float64"))  # (data sets, M)
    against = logs - logs[:, [names.index(baseline)]]
    means, low, high = mean_and_interval(against, confidence)
    low[names.index(baseline)] = high[names.index(baseline)] = np.nan
    leaders = pd.DataFrame(
        {
            "forecaster": names,
            "skill": 0.0 - np.expm1(means),
            "low": 0.0 - np.expm1(high),
            "high": 0.0 - np.expm1(low),
            "mean_rank": stats.rankdata(logs, axis=1).mean(axis=0),
            "first": (logs == logs.min(axis=1, keepdims=True)).sum(axis=0),
            "data_sets": len(logs),
        }
    ).sort_values("skill", ascending=False, kind="stable", ignore_index=True)
    pairs = pd.concat([_against(names, logs, other, confidence) for other in range(len(names))], ignore_index=True)
    few = f"intervals not reported: {len(logs)} data sets; {LEAST_DATA_SETS} are needed"
    return OverDataSets(
        estimand=f"geometric mean of ratios of errors over these {len(logs)} data sets, each counting once",
        leaders=leaders,
        pairs=pairs,
        notes=(few,) if len(logs) < LEAST_DATA_SETS else (),
    )


def mean_and_interval(values: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give means over the first axis, and the ends of their intervals by Student's t; NaN below five values."""
    number, means = len(values), values.mean(axis=0)
    if number < LEAST_DATA_SETS:
        return means, np.full_like(means, np.nan), np.full_like(means, np.nan)
    from scipy import stats

    error = values.std(axis=0, ddof=1) / np.sqrt(number)
    reach = stats.t.ppf((1 + confidence) / 2, number - 1) * error
    return means, means - reach, means + reach


def _against(names: Sequence[str], logs: np.ndarray, other: int, confidence: float) -> pd.DataFrame:
    """Give the rows of `pairs` in which one forecaster is the opponent."""
    ratios = np.delete(logs - logs[:, [other]], other, axis=1)
    means, low, high = mean_and_interval(ratios, confidence)
    return pd.DataFrame(
        {
            "forecaster": np.delete(np.array(names, dtype=object), other),
            "opponent": names[other],
            "change": np.expm1(means),
            "low": np.expm1(low),
            "high": np.expm1(high),
            "wins": (ratios < 0).sum(axis=0) + 0.5 * (ratios == 0).sum(axis=0),
            "data_sets": len(logs),
        }
    )
