"""A model of statsforecast as a Forecaster."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from forecast.adapters.single import SingleSeries
from forecast.forecaster import DECILES
from forecast.frame import Panel


class StatsForecastAdapter(SingleSeries):
    """Any model with the method `forecast(y, h, level=...)` of statsforecast, such as `AutoETS(season_length=24)`.

    It is fitted on the history of each origin that is asked, so a backtest of many cutoffs takes as many fits. What it
    calls the mean is the median and the mean here; the other quantiles are the ends of its intervals.

    Parameters
    ----------
    model: the model; each forecast is made by a copy.
    horizon, quantile_levels: as of any Forecaster; with (0.5,) alone no intervals are asked for.
    season_length: for the record; the model has its own.

    """

    def __init__(
        self,
        model: Any,
        horizon: int,
        *,
        season_length: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
    ):
        self.model = model
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel: Panel) -> None:
        if isinstance(self.model, type) or not callable(getattr(self.model, "forecast", None)):
            raise TypeError(
                f"`model` is {self.model!r}; allowed: a model with forecast(y, h, level), such as AutoETS()"
            )
        super()._fit(panel)

    def _one(self, history: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        names = [_name(level) for level in self.quantile_levels]
        levels = sorted({level for _, level in names if level})
        asked = {"level": levels} if levels else {}
        said = deepcopy(self.model).forecast(y=history, h=self.horizon, **asked)
        keys = ["mean" if not level else f"{side}-{level}" for side, level in names]
        if lacking := [key for key in ["mean", *keys] if key not in said]:
            raise ValueError(
                f"`model` {self.model!r} gave no {lacking[0]!r}: give it intervals, as with prediction_intervals="
                "ConformalIntervals(...), or ask for quantile_levels=(0.5,) alone"
            )
        return np.stack([said[key] for key in keys], axis=1), np.asarray(said["mean"])


def _name(quantile: float) -> tuple[str, float]:
    """Give the end of which central interval, in percent, a quantile is; 0 for the median."""
    level = round(abs(200 * quantile - 100), 6)
    return ("lo" if quantile < 0.5 else "hi"), int(level) if level == int(level) else level
