"""The forecaster that knows the law of the series: the floor under the error of all others. M origins, S series."""

from collections.abc import Sequence

import numpy as np

from forecast.forecaster import Forecast, Forecaster
from forecast.frame import Panel
from forecast.history import GATHERED, last_values
from forecast.origins import Origins
from forecast.quantiles import DECILES
from forecast.synthetic.process import Process
from forecast.synthetic.processes import PROCESSES

_WIDEST = 64  # numbers that are kept for a value read, about
_TOGETHER = 1024  # origins whose quantiles are found at a time


class Oracle(Forecaster):
    """The exact distribution of what comes next, given the values so far and the process that they come from.

    Nothing is learned: `fit` takes the panel alone. On series of the process its quantiles are those of the truth, and
    no forecaster has a smaller expected loss, whether pinball, absolute or squared; on any other series it is wrong.
    Missing values are reckoned with. It goes on as far as it is asked.

    Parameters
    ----------
    process: one of `forecast.synthetic`, or its name: `"ar2"` for `AR2()`, with the numbers that it has by default.
    horizon: steps to forecast.
    season_length: not read; for a plan that counts on it.
    quantile_levels: rising numbers inside (0, 1), 0.5 among them.

    """

    family = "oracle"
    across_series = False
    configs = {"process": PROCESSES}  # noqa: RUF012 (declared by the contract)

    def __init__(
        self,
        process: Process | str,
        horizon: int,
        *,
        season_length: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
    ):
        self.process = process
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel: Panel) -> None:
        self._process()

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        return self._forecast_further(panel, origins, self.horizon)

    def _forecast_further(self, panel: Panel, origins: Origins, horizon: int) -> Forecast:
        last_values(panel, origins)  # refuses a series without any
        process, levels = self._process(), list(self.quantile_levels)
        quantiles = np.empty((len(origins), horizon, len(levels)), dtype="float32")
        mean = np.empty((len(origins), horizon), dtype="float32")
        read = origins.ends - panel.starts[origins.series]
        size = max(1, GATHERED // (_WIDEST * max(int(read.max()), horizon)))
        some = np.unique(origins.series)
        for low in range(0, len(some), size):
            series = some[low : low + size]
            here = np.flatnonzero(np.isin(origins.series, series))
            places = np.searchsorted(series, origins.series[here])
            values = _values(panel, series, places, read[here])
            found = process.ahead(values, panel.first[series], places, read[here], horizon)
            mean[here] = found.mean()
            for part in (slice(begin, begin + _TOGETHER) for begin in range(0, len(here), _TOGETHER)):
                quantiles[here[part]] = found.take(part).quantiles(levels)
        return Forecast(quantiles, mean)

    def _process(self) -> Process:
        """Give the process that the argument stands for."""
        if isinstance(self.process, Process):
            return self.process
        if not isinstance(self.process, str) or self.process not in PROCESSES:
            raise ValueError(
                f"`process` is {self.process!r}; allowed: {', '.join(map(repr, PROCESSES))}, or a Process such as AR2()"
            )
        return PROCESSES[self.process]()


def _values(panel: Panel, series: np.ndarray, places: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Give the values of series that are read from any of their origins, (S, T) float64; NaN after them."""
    most = np.zeros(len(series), dtype="int64")
    np.maximum.at(most, places, read)
    values = np.full((len(series), int(most.max())), np.nan)
    for row, (start, length) in enumerate(zip(panel.starts[series], most, strict=True)):
        values[row, :length] = panel.values[start : start + length]
    return values
