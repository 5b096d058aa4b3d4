"""A forecaster of sktime as a Forecaster."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd

from forecast.adapters.single import SingleSeries
from forecast.forecaster import DECILES
from forecast.frame import Panel


class SktimeAdapter(SingleSeries):
    """Any forecaster with the methods `fit(y, fh=...)`, `predict` and `predict_quantiles(alpha=...)` of sktime.

    It is fitted on the history of each origin that is asked, so a backtest of many cutoffs takes as many fits. Series
    come to it counted from 0, without dates: a season has to be given in steps, as in `ThetaForecaster(sp=24)`.

    Parameters
    ----------
    forecaster: the forecaster; each forecast is made by a clone.
    horizon, quantile_levels: as of any Forecaster; with (0.5,) alone no quantiles are asked for.
    season_length: for the record; the forecaster has its own.

    """

    def __init__(
        self,
        forecaster: Any,
        horizon: int,
        *,
        season_length: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
    ):
        self.forecaster = forecaster
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel: Panel) -> None:
        if isinstance(self.forecaster, type) or not all(
            callable(getattr(self.forecaster, name, None)) for name in ("fit", "predict")
        ):
            raise TypeError(f"`forecaster` is {self.forecaster!r}; allowed: one with fit(y, fh=...) and predict()")
        super()._fit(panel)

    def _one(self, history: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        clone = getattr(self.forecaster, "clone", None) or (lambda: deepcopy(self.forecaster))
        fitted = clone().fit(pd.Series(history, name="y"), fh=list(range(1, self.horizon + 1)))
        mean = np.asarray(fitted.predict(), dtype="float64").reshape(self.horizon)
        levels = list(self.quantile_levels)
        if levels == [0.5]:
            return mean[:, None], mean
        try:
            quantiles = fitted.predict_quantiles(alpha=levels)
        except (AttributeError, NotImplementedError) as error:
            raise ValueError(
                f"`forecaster` {self.forecaster!r} gives no quantiles: wrap it, as in sktime's NaiveVariance or "
                "ConformalIntervals, or ask for quantile_levels=(0.5,) alone"
            ) from error
        return np.asarray(quantiles, dtype="float64").reshape(self.horizon, len(levels)), mean
