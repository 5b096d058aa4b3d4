"""Metrics of z-scored values, as published tables of long horizons have them: an extra beside those in plain units."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged
from forecast.evaluation.ledger import Run
from forecast.evaluation.ledger.check import spelled
from forecast.evaluation.losses import Loss, absolute_error, squared_error


@dataclass(frozen=True, eq=False)
class _Divided:
    """A loss divided by a power of each series' deviation."""

    loss: Loss
    deviations: pd.Series
    power: int

    def __call__(self, run: Run) -> np.ndarray:
        points = run.points
        found = self.deviations.reindex(points.ids).to_numpy("float64")[points.series]  # (M,)
        if (wrong := ~((found > 0) & np.isfinite(found))).any():
            cell = int(wrong.argmax())
            raise ValueError(
                f"`deviations` has {found[cell]} for {spelled(points, cell)}; allowed: a number above 0 for every "
                "series of the ledger, as plan.folds(panel).train_deviations() gives them: leave the series out"
            )
        return self.loss(run) / found[:, None] ** self.power


def standardised(metric: Literal["mae", "mse"], deviations: pd.Series) -> Averaged:
    """Give the MAE or MSE that z-scored values would have, each series divided by a deviation of its own.

    The mean that z-scoring takes off falls out of an error. Published tables of long horizons take the standard
    deviation of the train rows (Zhou et al. 2021, https://doi.org/10.1609/aaai.v35i12.17325):
    `score(ledger, {"mse of z-scores": standardised("mse", plan.folds(panel).train_deviations())})`.

    Parameters
    ----------
    metric: which.
    deviations: of each series, by id.

    Raises
    ------
    TypeError: `deviations` is no Series of numbers.
    ValueError: another `metric`; two deviations of one series; when scored, a series without a deviation above 0.

    """
    losses = {"mae": (absolute_error, 1), "mse": (squared_error, 2)}
    if metric not in losses:
        raise ValueError(f"`metric` is {metric!r}; allowed: 'mae', 'mse'")
    if not isinstance(deviations, pd.Series):
        raise TypeError(f"`deviations` is a {type(deviations).__name__}; give a Series of numbers by id")
    if not pd.api.types.is_numeric_dtype(deviations):
        raise TypeError(f"`deviations` holds {deviations.dtype}; give a Series of numbers by id")
    if not deviations.index.is_unique:
        twice = deviations.index[deviations.index.duplicated()][0]
        raise ValueError(f"`deviations` has more than one number for series {twice!r}; give one for each")
    loss, power = losses[metric]
    return Averaged(_Divided(loss, deviations, power), unit=False)
