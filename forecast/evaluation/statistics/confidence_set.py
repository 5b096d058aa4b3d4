"""The model confidence set of Hansen, Lunde and Nason (2011): the forecasters among which the best one is."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics.design import fold_losses, overlap, refit
from forecast.evaluation.statistics.estimand import Estimand, from_extra, page
from forecast.evaluation.statistics.resampling import checked_block
from forecast.params import check_positive, check_seed, is_probability

_LEAST = 50  # cutoffs


@dataclass(frozen=True, eq=False)
class ConfidenceSet:
    """`members`: one row per forecaster, lowest loss first: `forecaster, loss, p_value, member`.

    `loss` is the mean over cutoffs of the mean loss over series; a p-value is the smallest size at which a forecaster
    is left out. Where `reason` says why it is not reported both are empty.
    """

    estimand: Estimand
    members: pd.DataFrame
    size: float
    block: int
    reason: str = ""
    notes: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """Give `members`."""
        return self.members

    def __str__(self) -> str:
        inside = self.members.loc[self.members["member"].fillna(False), "forecaster"].tolist()
        told = self.reason or f"with {1 - self.size:.0%} confidence the best is among: {', '.join(inside)}"
        return page(self.estimand, self.members, [told, *self.notes])


def members_of(
    losses: np.ndarray, *, block: int = 1, size: float = 0.1, resamples: int = 2000, seed: int = 0
) -> np.ndarray:
    """Give the p-value with which each forecaster belongs to the confidence set: losses (T, M) -> (M,).

    Folds are resampled as in `two_way`, in blocks of `block`. Raises ValueError for fewer than two forecasters, fewer
    than 50 folds, losses that are not finite, and two forecasters of the same losses; ImportError without arch.
    """
    losses = np.asarray(losses, "float64")
    if (reason := _reason(losses)) is not None:
        raise ValueError(f"`losses` of the shape {losses.shape}: {reason}")
    bootstrap = from_extra("arch.bootstrap")
    kind = "stationary"  # as for all statistics from 50 folds on
    mcs = bootstrap.MCS(losses, size=size, reps=resamples, block_size=block, bootstrap=kind, seed=seed)
    mcs.compute()
    return mcs.pvalues["Pvalue"].sort_index().to_numpy(dtype="float64")


def confidence_set(
    ledger: Ledger,
    metric: str | Averaged | Pooled = "mase",
    *,
    size: float = 0.1,
    block: int | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> ConfidenceSet:
    """Give the forecasters of a ledger that may be the best, at a stated probability `size` of leaving it out.

    The loss at a fold is the mean over series of scaled losses. Not reported below 50 folds. None for `block` takes the
    length that `standings` takes. Raises what `standings` raises of these, and ValueError for a `size` outside (0, 1).
    """
    check_positive(resamples=resamples)
    check_seed(seed)
    if not is_probability(size):
        raise ValueError(f"`size` is {size!r}; allowed: a probability inside (0, 1), such as 0.1")
    losses = fold_losses(ledger, metric)
    folds = losses.values.shape[1]
    block = checked_block(folds, overlap(ledger.points), block)
    matrix = losses.values.T  # (T, M)
    members = pd.DataFrame({"forecaster": ledger.forecasters, "loss": matrix.mean(axis=0) if folds else np.nan})
    reason = _reason(matrix)
    p_values = (
        np.full(matrix.shape[1], np.nan)
        if reason
        else members_of(matrix, block=block, size=size, resamples=resamples, seed=seed)
    )
    belongs = pd.Series(p_values > size, dtype="boolean").mask(np.isnan(p_values))
    members = members.assign(p_value=p_values, member=belongs).sort_values("loss", kind="stable")
    about = Estimand(f"mean {losses.quantity}", losses.series, folds, refit(ledger))
    told = f"not reported: {reason}" if reason else ""
    return ConfidenceSet(about, members.reset_index(drop=True), size, block, told, losses.notes)


def _reason(losses: np.ndarray) -> str | None:
    """Say why there is no confidence set of losses (T, M); None where there is one."""
    T, M = losses.shape
    if M < 2:
        return "one forecaster alone"
    if T < _LEAST:
        return f"too few cutoffs: {T}, and {_LEAST} are needed"
    if not np.isfinite(losses).all():
        return "a loss is not defined at every cutoff"
    if len(np.unique(losses, axis=1).T) < M:
        return "two forecasters have the same losses"
    return None
