"""The test of Diebold and Mariano (1995) for equal accuracy of two forecasters, and where it is refused.

It reads the difference of their losses at each cutoff. Forecasts that overlap, from cutoffs closer together than the
horizon, have differences that depend on each other; the test is then trustworthy only for very many of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.ledger import Ledger, check
from forecast.evaluation.statistics.design import fold_losses, overlap, refit
from forecast.evaluation.statistics.estimand import Estimand, from_extra, page
from forecast.evaluation.statistics.multiple import holm

_LEAST, _PER_OVERLAP = 20, 15  # cutoffs; and for each that overlaps with the next
_COLUMNS = ["forecaster", "opponent", "step", "difference", "statistic", "p_value", "lags", "cutoffs", "reason"]
_CONSTANT = 1e-6  # of the mean loss: what differs by less only differs by the rounding of float32


@dataclass(frozen=True)
class Outcome:
    """One test. `difference` is the mean of first minus second; statistic and p-value are NaN where `reason` says why.

    `lags` is how many cutoffs apart differences may still depend on each other, `cutoffs` how many there are.
    """

    difference: float
    statistic: float
    p_value: float
    lags: int
    cutoffs: int
    reason: str = ""


@dataclass(frozen=True, eq=False)
class DieboldMariano:
    """Tests of pairs of forecasters: `estimand`, `tests` and `notes`; printed in this order.

    `tests` has one row per pair and step: `forecaster, opponent, step` (0 for the mean of all steps)`, difference`
    (in loss: negative where `forecaster` is better)`, statistic, p_value, p_holm` (for the family of all tests)`, lags,
    cutoffs, reason` (why it is not reported, else "").
    """

    estimand: Estimand
    tests: pd.DataFrame
    notes: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Give `tests`."""
        return self.tests

    def __str__(self) -> str:
        refused = self.tests[self.tests["reason"] != ""]
        told = []
        for reason, tests in refused.groupby("reason", sort=False):
            pairs = zip(tests["forecaster"], tests["opponent"], tests["step"], strict=True)
            names = [f"{one} and {other}{f' at step {step}' if step else ''}" for one, other, step in pairs]
            told.append(reason if len(tests) == len(self.tests) else f"{reason} ({'; '.join(names)})")
        return page(self.estimand, self.tests.drop(columns="reason"), [*self.notes, *told])


def compare_losses(first: np.ndarray, second: np.ndarray, overlap: int = 1) -> Outcome:
    """Test whether two forecasters have equal expected loss, given their losses at T cutoffs, in order of time.

    The statistic is corrected for few cutoffs and compared with Student's t of T - 1 degrees of freedom (Harvey,
    Leybourne and Newbold 1997). Differences up to `overlap` - 1 cutoffs apart may depend on each other; each of these
    lags has the weight 1, for the falling weights of Newey and West reject true equality twice as often as stated.
    Without overlap it is the test of statsmodels.

    Not reported, with the reason: below 20 cutoffs, or with overlap below 15 for each of `overlap`; losses that are
    all the same, or differ by the same amount at every cutoff; a variance that is not positive. Differences have to be
    stationary; forecasters that contain each other, fitted on ever more rows, are beyond its theory.

    Raises ValueError for losses that are not finite or differ in number, and for an `overlap` below 1.
    """
    first, second = np.asarray(first, "float64"), np.asarray(second, "float64")
    if first.ndim != 1 or first.shape != second.shape or not np.isfinite([first, second]).all():
        raise ValueError(
            f"`first` and `second` have the shapes {first.shape} and {second.shape}; they take finite losses, one of "
            "each at the same cutoffs"
        )
    if overlap < 1:
        raise ValueError(f"`overlap` is {overlap}; allowed: 1 for forecasts that do not overlap, or more")
    d, T, lags = first - second, len(first), overlap - 1
    difference = float(d.mean()) if T else np.nan
    needed = max(_LEAST, _PER_OVERLAP * overlap if lags else 0)

    def refused(reason: str) -> Outcome:
        return Outcome(difference, np.nan, np.nan, lags, T, f"not reported: {reason}")

    if T and not d.any():
        return refused("identical forecasts")
    if needed > T:
        why = f" where {overlap} forecasts overlap" if lags else ""
        return refused(f"too few origins: {T}, and {needed} are needed{why}")
    if d.std() <= _CONSTANT * (np.abs(first).mean() + np.abs(second).mean()) / 2:
        return refused("the losses differ by the same amount at every cutoff")
    variance = _variance_of_mean(d, lags)
    if not variance > 0:
        return refused(f"undefined, for the variance estimated with {lags} lags is not positive")
    from scipy import stats

    corrected = np.sqrt((T + 1 - 2 * overlap + overlap * lags / T) / T)
    statistic = float(corrected * difference / np.sqrt(variance))
    return Outcome(difference, statistic, float(2 * stats.t.sf(abs(statistic), T - 1)), lags, T)


def diebold_mariano(
    ledger: Ledger,
    metric: str | Averaged | Pooled = "mase",
    *,
    opponent: str | None = None,
    steps: Sequence[int] | None = None,
) -> DieboldMariano:
    """Test the forecasters of a ledger against each other: all pairs, or each against one `opponent`.

    The loss at a cutoff is the mean over series of scaled losses, a series having the mean over seeds: one test for
    all series, never one vote for each. None for `steps` tests the mean of all steps; else each of `steps` has tests of
    its own. p-values hold one by one, and by Holm's rule for all of them.

    Raises TypeError for no ledger and no list of steps, ValueError for an unknown metric, opponent or step, and
    ImportError where statsmodels is not installed.
    """
    check(ledger)
    if steps is not None and (not isinstance(steps, Sequence | np.ndarray) or isinstance(steps, str) or not len(steps)):
        raise TypeError(f"`steps` is {steps!r}; allowed: a list of one or more steps, or None for the mean of all")
    names = ledger.forecasters
    if opponent is not None and opponent not in names:
        raise ValueError(f"`opponent` {opponent!r} is not in the ledger; it has {list(names)}")
    against = None if opponent is None else [(name, opponent) for name in names if name != opponent]
    by_step = {step: fold_losses(ledger, metric, step) for step in ((0,) if steps is None else steps)}
    rows = [
        {"forecaster": one, "opponent": other, "step": step}
        | vars(compare_losses(losses.of(one), losses.of(other), overlap(ledger.points, step)))
        for step, losses in by_step.items()
        for one, other in against or combinations(names, 2)
    ]
    tests = pd.DataFrame(rows, columns=_COLUMNS)
    tests.insert(6, "p_holm", holm(tests["p_value"].to_numpy()))
    losses, policy = next(iter(by_step.values())), refit(ledger)
    notes = list(losses.notes) if rows else ["not reported: there is one forecaster alone"]
    if "never" in policy:
        notes.append("never refitted: objects fitted once are compared, not the methods that fitted them")
    about = Estimand(f"difference in {losses.quantity}", losses.series, losses.values.shape[1], policy)
    return DieboldMariano(about, tests, tuple(notes))


def _variance_of_mean(differences: np.ndarray, lags: int) -> float:
    linear_model = from_extra("statsmodels.regression.linear_model")
    fit = linear_model.OLS(differences, np.ones_like(differences)).fit(
        cov_type="HAC", cov_kwds={"maxlags": lags, "kernel": "uniform"}
    )
    return float(np.asarray(fit.cov_params()).item())
