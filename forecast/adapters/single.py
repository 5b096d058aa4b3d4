"""Models that take one series at a time, fitted anew on the history of each origin. M origins, H horizon, Q level."""

from abc import abstractmethod

import numpy as np

from forecast.forecaster import Forecast, Forecaster
from forecast.frame import FrameError, Panel
from forecast.origins import Origins


class SingleSeries(Forecaster):
    """A model of another library for one series. Nothing is learned at `fit`: all is in the history of an origin.

    Where the model fails, ValueError says for which series, cutoff and how many values.
    """

    family = "baseline"
    across_series = False

    @abstractmethod
    def _one(self, history: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give quantiles (H, Q) and mean (H,) after a history (T,) float64 without a missing value."""

    def _fit(self, panel: Panel) -> None:
        del panel

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        quantiles = np.empty((len(origins), self.horizon, len(self.quantile_levels)))
        mean = np.empty((len(origins), self.horizon))
        for m in range(len(origins)):
            history = self._history(panel, origins, m)
            try:
                quantiles[m], mean[m] = self._one(history)
                if not (np.isfinite(quantiles[m]).all() and np.isfinite(mean[m]).all()):
                    raise ValueError("it says what is no finite number")
            except Exception as error:  # whatever another library raises
                name, cutoff = panel.id_of(int(origins.series[m])), panel.calendar.stamp(int(origins.cutoffs[m]))
                raise ValueError(
                    f"{self!r} gave no forecast of series {name!r} from {cutoff}, after {len(history)} values "
                    f"({type(error).__name__}: {error}): give a longer history, or another model"
                ) from error
        return Forecast(np.sort(quantiles, axis=2), mean)

    def _history(self, panel: Panel, origins: Origins, m: int) -> np.ndarray:
        """Give the values up to an origin, from the first that is there."""
        series = origins.series[m]
        history = panel.values[panel.starts[series] : origins.ends[m]].astype("float64")
        known = np.flatnonzero(np.isfinite(history))
        if not len(known):
            raise FrameError(
                f"series {panel.id_of(int(series))!r} has no value up to "
                f"{panel.calendar.stamp(int(origins.cutoffs[m]))}: give a later cutoff, or leave the series out"
            )
        history = history[known[0] :]
        if (missing := ~np.isfinite(history)).any():
            back = len(history) - 1 - int(missing.argmax())
            raise FrameError(
                f"series {panel.id_of(int(series))!r} has no value at "
                f"{panel.calendar.stamp(int(origins.cutoffs[m]) - back)}, and {self!r} takes series without a gap: fit "
                'it with gaps="fill", or on series without'
            )
        return history
