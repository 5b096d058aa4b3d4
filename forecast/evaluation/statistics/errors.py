"""The errors of a comparison as one array, and what is said of them: ratios to a baseline, and who wins how often."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from forecast.evaluation.skill import ratios_of

EQUAL = 1e-12  # errors, or logs of their ratio, that differ by less are the same but for rounding


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of R runs for S series at F folds; what is NaN for one run is left out for all.

    Attributes
    ----------
    values: (R, S, F) mean loss, NaN where there is none; runs stand by forecaster, then by seed.
    names, seeds: of each of the M forecasters, its name and the number of its runs.
    ids: the S series.
    baseline: position in `names` of the one that all are measured by.
    root: whether an error is the root of the mean over folds.
    floor: a ratio to the baseline below it counts as `floor`.
    present: (S, F) where all runs have a value.

    """

    values: np.ndarray
    names: tuple[str, ...]
    seeds: tuple[int, ...]
    ids: tuple[Hashable, ...]
    baseline: int = 0
    root: bool = False
    floor: float = 0.01
    present: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        shape = np.shape(self.values)
        if len(shape) != 3 or (sum(self.seeds), len(self.ids)) != shape[:2]:
            raise ValueError(
                f"`values` has the shape {shape}; it takes (runs, series, folds): {sum(self.seeds)} runs, one "
                f"for each of the seeds {self.seeds} of the forecasters {self.names}, and {len(self.ids)} series"
            )
        object.__setattr__(self, "present", np.isfinite(self.values).all(axis=0))

    def take(self, series: np.ndarray, folds: np.ndarray) -> Self:
        """Give the errors of the series and folds at these positions."""
        ids = tuple(self.ids[place] for place in series)
        return replace(self, values=self.values[:, series][:, :, folds], ids=ids)

    def by_forecaster(self, runs: np.ndarray) -> list[np.ndarray]:
        """Split what is by run, (R, ...), into the seeds of each forecaster."""
        return np.split(runs, np.cumsum(self.seeds)[:-1])

    def defined(self) -> Self:
        """Give the errors of series for which all ratios to the baseline are defined, at the folds that have any."""
        errors = self.of_forecasters()[0]
        logs = self.logs(errors, errors[self.baseline])
        return self.take(np.flatnonzero(np.isfinite(logs).all(axis=0)), np.flatnonzero(self.present.any(axis=0)))

    def of_runs(self, folds: np.ndarray | None = None) -> np.ndarray:
        """Average over folds with counts (B, F), None for each once: (B, R, S), NaN for a series with no fold."""
        runs, series, number = self.values.shape
        folds = np.ones((1, number)) if folds is None else folds
        values = np.where(self.present, self.values, 0.0).reshape(runs * series, number)
        with np.errstate(invalid="ignore"):
            means = (folds @ values.T).reshape(len(folds), runs, series) / (folds @ self.present.T)[:, None]
        return np.sqrt(means) if self.root else means

    def of_forecasters(self, folds: np.ndarray | None = None, seeds: np.ndarray | None = None) -> np.ndarray:
        """Average over folds, then over seeds: (B, M, S).

        With weights (B, R) of seeds, of sum 1 for each forecaster; None for each alike.
        """
        weights = np.repeat(1 / np.array(self.seeds), self.seeds)[None] if seeds is None else seeds
        return np.add.reduceat(self.of_runs(folds) * weights[:, :, None], np.cumsum((0, *self.seeds[:-1])), axis=1)

    def ratios(self, errors: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Give the ratios of errors (..., n, S) to those of the baseline (..., S): NaN where it is for any of n."""
        ratios = ratios_of(errors, base[..., None, :])
        return np.where(np.isfinite(ratios).all(axis=-2, keepdims=True), ratios, np.nan)

    def logs(self, errors: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Give the logs of `ratios`, none below that of `floor`."""
        return np.log(np.maximum(self.ratios(errors, base), self.floor))


def skill_of(logs: np.ndarray) -> np.ndarray:
    """Give the skill of mean logs of ratios: 1 - exp(log)."""
    return 0.0 - np.expm1(logs)  # of no log 0, not -0


def mean_over_series(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Average values (B, M, S) with counts (B, S) of the series, those that are NaN, for all M at once, left out."""
    known = np.isfinite(values[:, 0])
    weights = np.where(known, counts, 0.0)
    sums = np.matmul(np.where(known[:, None], values, 0.0), weights[:, :, None])[..., 0]
    with np.errstate(invalid="ignore"):
        return sums / weights.sum(axis=1, keepdims=True)


def win_rates(errors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Give how often each forecaster has the lower error, over series with counts (B, S): (B, M, M), a tie being half.

    `errors` (B, M, S). The forecaster of the row wins against that of the column; against itself every series is a tie.
    """
    known = np.isfinite(errors[:, :1])
    number = errors.shape[1]
    rates = np.full((max(len(errors), len(counts)), number, number), 0.5)
    for one in range(number - 1):
        won = np.where(known, wins(errors[:, [one]], errors[:, one + 1 :]), np.nan)
        rates[:, one, one + 1 :] = mean_over_series(won, counts)
        rates[:, one + 1 :, one] = 1 - rates[:, one, one + 1 :]
    return rates


def wins(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Give 1 where the first error is the lower one, 0 where the second is, half for a tie."""
    lower, higher = second > first * (1 + EQUAL), second < first * (1 - EQUAL)
    return 0.5 + 0.5 * (lower.view("int8") - higher.view("int8"))
