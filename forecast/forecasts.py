"""Forecasts of many origins: as arrays, and as the rows of a table. M origins, H steps, Q quantile levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame import Panel
from forecast.origins import Origins
from forecast.quantiles import at_levels


@dataclass(frozen=True)
class Forecast:
    """What a model says of M origins: quantiles (M, H, Q), at the levels of the forecaster, and means (M, H)."""

    quantiles: np.ndarray
    mean: np.ndarray

    @property
    def horizon(self) -> int:
        """Steps forecast."""
        return self.mean.shape[1]

    def first(self, steps: int) -> "Forecast":
        """Give the first steps."""
        return Forecast(self.quantiles[:, :steps], self.mean[:, :steps])

    def take(self, which: np.ndarray | slice) -> "Forecast":
        """Give the forecasts of some of the origins."""
        return Forecast(self.quantiles[which], self.mean[which])


def check_arrays(forecast: Any, told_by: str) -> None:
    """Raise TypeError unless what a model, called `told_by`, gave is a Forecast of two arrays of real numbers."""
    if not isinstance(forecast, Forecast):
        raise TypeError(
            f"{told_by} gave a {type(forecast).__name__}; expected Forecast(quantiles, mean), of two arrays"
        )
    for name in ("quantiles", "mean"):
        array = getattr(forecast, name)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
            kind = f"an array of {array.dtype}" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"
            raise TypeError(f"{told_by} gave `{name}` as {kind}; expected an array of real numbers")


def in_order(origins: Origins) -> np.ndarray | slice:
    """Give the order of a table: by series, then cutoff, (M,); a slice, which copies nothing, if it is that already."""
    order = np.lexsort((origins.cutoffs, origins.series))
    return slice(None) if (order == np.arange(len(order))).all() else order


def keys(panel: Panel, origins: Origins, horizon: int) -> dict[str, Any]:
    """Give `unique_id, cutoff, ds, step` of a row for each step of each origin, one origin after another."""
    steps = np.arange(horizon + 1)
    # Many origins share few cutoffs, and stamps with a time zone are slow to make.
    cutoffs, cutoff = np.unique(origins.cutoffs, return_inverse=True)
    stamps = panel.calendar.stamps((cutoffs[:, None] + steps).ravel())
    places = cutoff[:, None] * len(steps) + steps  # (M, 1 + H)
    return {
        "unique_id": panel.ids[origins.series.repeat(horizon)],
        "cutoff": stamps[places[:, 0].repeat(horizon)],
        "ds": stamps[places[:, 1:].ravel()],
        "step": np.tile(steps[1:], len(origins)),
    }


def forecast_frame(
    panel: Panel, origins: Origins, forecast: Forecast, known: Sequence[float], levels: Sequence[float]
) -> pd.DataFrame:
    """Give the forecast frame of origins in order: at `levels`, from quantiles at `known` levels."""
    flat = forecast.quantiles.reshape(-1, forecast.quantiles.shape[-1])  # (M H, Q)
    numbers = flat if tuple(levels) == tuple(known) else at_levels(flat, known, levels)
    columns = {"prediction": flat[:, list(known).index(0.5)], "mean": forecast.mean.reshape(-1)}
    named = {str(level): numbers[:, q] for q, level in enumerate(levels)}
    return pd.DataFrame(keys(panel, origins, forecast.horizon) | columns | named)


def paths_frame(panel: Panel, origins: Origins, paths: np.ndarray) -> pd.DataFrame:
    """Give the table of paths (M, H, n) of origins in order: a row for each step, a column for each path."""
    rows = pd.DataFrame(keys(panel, origins, paths.shape[1]))
    names = [f"path_{number}" for number in range(1, paths.shape[2] + 1)]
    return pd.concat([rows, pd.DataFrame(paths.reshape(len(rows), -1), columns=pd.Index(names))], axis=1)
