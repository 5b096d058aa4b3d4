"""The tuning curve: how good the best of n trials is, so that it shows what a larger budget would have bought.

For trials drawn at random it is an expectation over all ways to take n of those that were made (Dodge et al. 2019,
"Show your work: improved reporting of experimental results"), without replacement, which is unbiased (Tang et al. 2020,
"Showing your work doesn't always work"). Trials that learn from each other have one order only: the best so far.
"""

from collections.abc import Sequence

import numpy as np


def expected_best(errors: Sequence[float] | np.ndarray) -> np.ndarray:
    """Give the expected lowest error of 1, 2, ..., n of n trials, (n,); NaN stands for a trial that failed.

    A failed trial is spent like any other: it can be taken, and is never the lowest. Where a draw could hold failed
    trials only, the expectation is over those that do not.
    """
    given = np.asarray(errors, dtype="float64")
    lowest, n = np.sort(given[np.isfinite(given)]), len(given)
    best = np.full(n, np.nan)
    if not len(lowest):
        return best
    for taken in range(1, n + 1):
        # The i-th lowest is the lowest of those taken, if the others come from the n - i above it.
        above = range(n - 1, n - 1 - len(lowest), -1)
        chances = np.exp(np.array([_log_binomial(one, taken - 1) for one in above]) - _log_binomial(n, taken))
        best[taken - 1] = (chances * lowest).sum() / chances.sum()
    return best


def best_so_far(errors: Sequence[float] | np.ndarray) -> np.ndarray:
    """Give the lowest error of the first 1, 2, ..., n trials, (n,); NaN stands for a trial that failed."""
    return np.fmin.accumulate(np.asarray(errors, dtype="float64"))


def _log_binomial(n: int, k: int) -> float:
    """Give the logarithm of the ways to take k of n; minus infinity where there are none."""
    if k > n:
        return -np.inf
    return float(np.log(np.arange(n - k + 1, n + 1)).sum() - np.log(np.arange(1, k + 1)).sum())
