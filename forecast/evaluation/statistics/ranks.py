"""Ranks over many data sets: whether forecasters differ at all, which pairs do, and what a diagram of them shows.

Blocks are data sets, or other clusters that have nothing to do with each other: never folds, seeds, or series that move
together, which would count one finding many times.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics.design import errors_of
from forecast.evaluation.statistics.errors import mean_over_series
from forecast.evaluation.statistics.estimand import from_extra, page
from forecast.evaluation.statistics.multiple import holm
from forecast.params import is_probability

LEAST_BLOCKS = 10


@dataclass(frozen=True, eq=False)
class Ranks:
    """How forecasters rank over blocks; printed with the estimand first.

    Attributes
    ----------
    estimand
        What is ranked over how many blocks.
    mean_ranks
        Forecaster -> mean rank, best first; 1 is the lowest error.
    friedman
        p-value of the test of Friedman (1937) that all have the same mean rank; NaN where not reported.
    wilcoxon
        (M, M) p-values of the signed-rank tests of pairs, by Holm's rule for all pairs: they do not depend on who else
        is compared, so prefer them.
    nemenyi
        (M, M) p-values of the test of Nemenyi (1963), which rests on mean ranks.
    effects
        (M, M) median over blocks of log(error of the row / error of the column).
    critical_difference
        How far mean ranks have to lie apart for Nemenyi's test.
    groups
        Sets of forecasters, next to each other by mean rank, of which no pair is separated by `wilcoxon`: the bars of a
        critical-difference diagram.
    notes
        What is not reported, and why.

    """

    estimand: str
    mean_ranks: pd.Series
    friedman: float
    wilcoxon: pd.DataFrame
    nemenyi: pd.DataFrame
    effects: pd.DataFrame
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Give one row per pair: `forecaster, opponent, effect, wilcoxon, nemenyi`, the better by mean rank first."""
        pairs = list(combinations(self.mean_ranks.index, 2))
        columns = {"effect": self.effects, "wilcoxon": self.wilcoxon, "nemenyi": self.nemenyi}
        return pd.DataFrame(
            [(*pair, *(cells.loc[pair] for cells in columns.values())) for pair in pairs],
            columns=["forecaster", "opponent", *columns],
        )

    def __str__(self) -> str:
        told = ["mean ranks: " + ", ".join(f"{name} {rank:.2f}" for name, rank in self.mean_ranks.items())]
        if np.isfinite(self.friedman):
            told.append(f"Friedman: p = {self.friedman:.3g}; critical difference {self.critical_difference:.2f}")
        return page(self.estimand, self.table(), [*told, *self.notes])


def ranks(errors: pd.DataFrame, *, size: float = 0.05) -> Ranks:
    """Rank forecasters over blocks: `errors` has a row for each block, a column for each forecaster, all above zero.

    Equal errors share the mean of their ranks. Wilcoxon's test reads the log of the ratio of two errors, so that blocks
    of large errors do not decide. Below ten blocks no test is reported, and effects alone are given.

    Raises
    ------
    TypeError: `errors` is no DataFrame.
    ValueError: fewer than two forecasters or no block, an error that is not finite and above zero, a `size` outside
        (0, 1).
    ImportError: the extra `stats` is not installed.

    """
    check_errors(errors)
    if not is_probability(size):
        raise ValueError(f"`size` is {size!r}; allowed: a probability inside (0, 1), such as 0.05")
    from scipy import stats

    names = list(errors.columns)
    logs = np.log(errors.to_numpy("float64"))  # (blocks, M)
    blocks, number = logs.shape
    mean_ranks = pd.Series(stats.rankdata(logs, axis=1).mean(axis=0), index=names).sort_values(kind="stable")
    effects = np.median(logs[:, :, None] - logs[:, None, :], axis=0)
    counted = "this one block" if blocks == 1 else f"these {blocks} blocks"
    friedman, difference = np.nan, np.nan
    wilcoxon = nemenyi = np.full((number, number), np.nan)
    groups: tuple[tuple[str, ...], ...] = ()
    notes = []
    if blocks < LEAST_BLOCKS:
        notes.append(f"not reported: too few blocks for tests and diagram: {blocks}, and {LEAST_BLOCKS} are needed")
    else:
        wilcoxon = _wilcoxon(logs)
        groups = _groups(mean_ranks, pd.DataFrame(wilcoxon, names, names), size)
        if number < 3:
            notes.append("Friedman and Nemenyi not reported: two forecasters are compared by Wilcoxon's test alone")
        else:
            friedman = 1.0 if np.ptp(logs, axis=1).max() == 0 else float(stats.friedmanchisquare(*logs.T).pvalue)
            nemenyi = from_extra("scikit_posthocs").posthoc_nemenyi_friedman(logs).to_numpy()
            critical = stats.studentized_range.ppf(1 - size, number, np.inf) / np.sqrt(2)
            difference = float(critical * np.sqrt(number * (number + 1) / (6 * blocks)))
    return Ranks(
        estimand=f"rank of the error among {number} forecasters, averaged over {counted}",
        mean_ranks=mean_ranks,
        friedman=friedman,
        wilcoxon=pd.DataFrame(wilcoxon, names, names),
        nemenyi=pd.DataFrame(nemenyi, names, names),
        effects=pd.DataFrame(effects, names, names),
        critical_difference=difference,
        groups=groups,
        notes=tuple(notes),
    )


def block_errors(
    ledgers: Mapping[str, Ledger], baseline: str = "SeasonalNaive", metric: str | Averaged | Pooled = "mae"
) -> pd.DataFrame:
    """Give what `ranks` takes from a ledger for each data set: the geometric mean over series of ratios to a baseline.

    Raises what `standings` raises, TypeError for no mapping of ledgers, and ValueError for ledgers of other forecasters
    than the first, naming the data set.
    """
    if not isinstance(ledgers, Mapping) or not ledgers:
        raise TypeError(f"`ledgers` is {reprlib.repr(ledgers)}; give a mapping from data sets to their ledgers")
    rows = {}
    for dataset, ledger in ledgers.items():
        errors = errors_of(ledger, baseline, metric)
        average = errors.of_forecasters()
        logs = mean_over_series(errors.logs(average, average[:, errors.baseline]), np.ones((1, average.shape[2])))[0]
        rows[dataset] = dict(zip(errors.names, np.exp(logs), strict=True))
        first = next(iter(rows.values()))
        if set(rows[dataset]) != set(first):
            raise ValueError(
                f"`ledgers`: {dataset!r} has the forecasters {list(rows[dataset])}, but the first has {list(first)}; "
                "compare the same forecasters on every data set"
            )
    return pd.DataFrame.from_dict(rows, orient="index")


def check_errors(errors: pd.DataFrame) -> None:
    """Refuse what are no errors by block (rows) and forecaster (columns), above zero. Raises TypeError, ValueError."""
    if not isinstance(errors, pd.DataFrame):
        raise TypeError(f"`errors` is a {type(errors).__name__}; give a DataFrame, a column for each forecaster")
    if errors.shape[1] < 2 or errors.empty:
        raise ValueError(
            f"`errors` has the shape {errors.shape}; it takes one block or more, of two forecasters or more"
        )
    if not errors.columns.is_unique:
        raise ValueError(f"`errors` has the forecaster {errors.columns[errors.columns.duplicated()][0]!r} twice")
    try:
        values = errors.to_numpy("float64")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`errors` holds what is no number ({error}); give a column of errors per forecaster"
        ) from error
    if (wrong := ~(np.isfinite(values) & (values > 0))).any():
        block, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"`errors` is {values[block, column]} for block {errors.index[block]!r}, forecaster "
            f"{errors.columns[column]!r}; allowed: finite numbers above zero. Leave the block out for all."
        )


def _wilcoxon(logs: np.ndarray) -> np.ndarray:
    from scipy import stats

    pairs = list(combinations(range(logs.shape[1]), 2))
    differences = [logs[:, one] - logs[:, other] for one, other in pairs]
    p_values = holm(np.array([stats.wilcoxon(d)[1] if d.any() else 1.0 for d in differences]))
    table = np.ones((logs.shape[1], logs.shape[1]))
    for (one, other), p_value in zip(pairs, p_values, strict=True):
        table[one, other] = table[other, one] = p_value
    return table


def _groups(mean_ranks: pd.Series, p_values: pd.DataFrame, size: float) -> tuple[tuple[str, ...], ...]:
    """Give the longest stretches of neighbours by mean rank of which no pair is separated, of two or more each."""
    names = list(mean_ranks.index)
    tied = p_values.loc[names, names].to_numpy() > size
    groups: list[tuple[int, int]] = []
    for first in range(len(names)):
        end = first + 1
        while end < len(names) and tied[first : end + 1, first : end + 1].all():
            end += 1
        if end - first > 1 and not (groups and groups[-1][1] >= end):
            groups.append((first, end))
    return tuple(tuple(names[first:end]) for first, end in groups)
