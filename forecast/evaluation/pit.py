"""Where actuals fall in their forecasts: the probability integral transform (PIT), and how far chance goes.

A forecast is known at its quantile levels, so that a PIT is known by the two levels between which its actual fell. If
the forecasts are honest, as many fall between two levels as their distance says.
"""

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger, Run, check
from forecast.params import check_positive


def pit(ledger: Ledger, step: int | None = None) -> pd.DataFrame:
    """Give the share of actuals that fell between neighbouring quantiles, for each forecaster; mean over its seeds.

    An actual on a quantile, or on several that are the same, as of counts that are often 0, is spread evenly over their
    levels and half of the way to the next ones: what a draw at random there gives on average (Czado, Gneiting and Held
    2009, https://doi.org/10.1111/j.1541-0420.2009.01191.x).

    Parameters
    ----------
    ledger: the forecasts.
    step: count the forecasts of this step alone; None for all.

    Returns
    -------
    One row per forecaster and bin, from the lowest up: `forecaster, lower, upper` (levels; 0 and 1 at the ends)`,
    expected` (upper - lower), `share` (NaN where nothing was observed), `points` observed, `forecasts` (pairs of series
    and cutoff with a point).

    Raises
    ------
    TypeError, ValueError: no ledger; a step that is not in it; a ledger without quantiles.

    """
    check(ledger)
    if not ledger.quantile_levels:
        raise ValueError("`ledger` has no quantile levels: a PIT is read off quantiles")
    which = slice(None)
    if step is not None:
        check_positive(step=step)
        steps = ledger.points.steps.tolist()
        if step not in steps:
            raise ValueError(f"`step` is {step}; the ledger has the steps {steps[0]} to {steps[-1]}")
        which = slice(steps.index(step), steps.index(step) + 1)
    edges = np.array([0.0, *ledger.quantile_levels, 1.0])
    there = np.isfinite(ledger.points.y[:, which])
    rows = []
    for name in ledger.forecasters:
        counts = np.mean([_counts(run, which, edges) for run in ledger.of_forecaster(name)], axis=0)
        table = {
            "forecaster": name,
            "lower": edges[:-1],
            "upper": edges[1:],
            "expected": np.diff(edges),
            "share": counts / there.sum() if there.any() else np.nan,
            "points": int(there.sum()),
            "forecasts": int(there.any(axis=1).sum()),
        }
        rows.append(pd.DataFrame(table))
    return pd.concat(rows, ignore_index=True)


def chance_band(
    probability: np.ndarray | float, count: np.ndarray | int, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Give between which shares a share of `count` independent draws stays with the probability `level` or more.

    Parameters
    ----------
    probability, count: numbers, or arrays that broadcast.
    level: inside (0, 1).

    Returns
    -------
    Lowest and highest share, from the quantiles of the binomial distribution; NaN where `count` is 0.

    """
    from scipy.stats import binom

    tail, trials = (1 - level) / 2, np.maximum(count, 1)
    low, high = (binom.ppf(q, trials, probability) / trials for q in (tail, 1 - tail))
    known = np.asarray(count) > 0
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _counts(run: Run, which: slice, edges: np.ndarray) -> np.ndarray:
    """Give how many actuals of some steps fell into each bin, (Q + 1,)."""
    there = np.isfinite(run.y[:, which])
    y, quantiles = run.y[:, which][there][:, None], run.quantiles[:, which][there]  # (n, 1), (n, Q)
    middles = (edges[1:] + edges[:-1]) / 2
    first, last = (quantiles < y).sum(axis=1), (quantiles <= y).sum(axis=1)  # the bins that an actual touches
    counts = np.bincount(first[first == last], minlength=len(middles)).astype("float64")
    tied = first < last
    pairs, numbers = np.unique(np.stack([first[tied], last[tied]]), axis=1, return_counts=True)
    for (low, high), number in zip(pairs.T.tolist(), numbers, strict=True):
        within = np.clip(edges, middles[low], middles[high])
        counts += number * np.diff(within) / (within[-1] - within[0])
    return counts
