"""What a fitted model can be asked: forecasts, the rows to fill in, fitted values, sample paths.

All of it is made of one question on arrays, `forecast`: what comes after these origins of a panel? M origins, H steps.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from forecast import ahead
from forecast.forecasts import Forecast, check_arrays, forecast_frame, in_order, paths_frame
from forecast.frame import FrameError, Panel
from forecast.history import last_rows
from forecast.origins import Origins, ordinals_of, origins_of, origins_within, places_of
from forecast.params import check_positive, check_seed
from forecast.paths import draw_paths
from forecast.quantiles import asked_levels


class Predictor(ABC):
    """A model that can be asked; `forecast.forecaster.Forecaster` is one that can be fitted."""

    reads_covariates: ClassVar[bool] = False  # whether `_forecast` reads those of a panel; else they are ignored
    horizon: int
    quantile_levels: Sequence[float]
    door_: Mapping[str, Any]

    def predict(
        self,
        frame: Any = None,
        *,
        future: Any = None,
        ids: Iterable | None = None,
        cutoffs: Sequence | None = None,
        horizon: int | None = None,
        quantile_levels: Sequence[float] | None = None,
    ) -> Any:
        """Forecast the steps after each cutoff.

        Parameters
        ----------
        frame: the history to forecast from, in any kind of frame that `fit` takes, or a panel; None for that of `fit`.
        future: rows with the known covariates of the steps ahead: those of `future_frame`, filled in. Rows of the past
            may be among them and are not read. None: `frame` itself has to know them, where they are read at all.
        ids: the series to forecast, in this order; None for all. What the others show may still be read.
        cutoffs: last stamps that may be used, for all series alike; None for each series' own end. A series that has
            not begun at a cutoff, or has ended before it, is not forecast from there.
        horizon: how many steps; None for those of the fit. Fewer are the first of these; more are possible where a
            forecaster can go on from its own forecasts.
        quantile_levels: rising numbers inside (0, 1); None for those of the fit. Others lie on straight lines between
            and beyond those of the fit, on the normal scale.

        Returns
        -------
        One row per series, cutoff and step, in this order, with the columns `unique_id, cutoff, ds, step, prediction`
        (the median), `mean` and one per quantile level (`0.1` ... `0.9`), which never cross; frame, ids and stamps are
        of the kind that came in.

        Raises
        ------
        NotFittedError: `fit` was not called.
        FrameError: the frame may not enter, a series has no value to forecast from, or a step no known covariates.
        TypeError: `ids` or `cutoffs` is no list, or holds what is no stamp.
        ValueError: an unknown id; a cutoff at which no series can be forecast, or given twice; a frame with another
            frequency than that of `fit`; more steps than this forecaster can go; `horizon` or `quantile_levels` set
            after `fit`; a forecast that is not finite.

        """
        other = {} if quantile_levels is None else {"levels": asked_levels(quantile_levels)}
        panel, places, origins, forecast = self._asked(frame, future, ids, cutoffs, horizon)
        return panel.form.give(self.tidy(panel.take(places), origins, forecast, **other))

    def future_frame(self, frame: Any = None, *, horizon: int | None = None, cutoffs: Sequence | None = None) -> Any:
        """Give the rows of the steps ahead, their known covariates left to fill in: what `predict` takes as `future`.

        Parameters
        ----------
        frame, horizon, cutoffs: as for `predict`.

        Returns
        -------
        `unique_id, ds` and a column, still empty, for each known covariate.

        Raises
        ------
        NotFittedError, FrameError, TypeError, ValueError: as `predict`.

        """
        panel = self.panel_of(frame)
        return panel.form.give(ahead.future_rows(panel, self._steps(horizon), cutoffs))

    def fitted_values(self, frame: Any = None, *, stride: int = 1, horizon: int | None = None) -> Any:
        """Forecast from within the history, beside what came: how well a model fits what it was fitted on.

        That says little of how well it forecasts what it has not seen; `forecast.backtest` does.

        Parameters
        ----------
        frame, horizon: as for `predict`.
        stride: forecasts begin `stride`, twice `stride`, ... steps before each series' end, wherever there is a value
            to read. With a stride as long as the horizon every step is forecast once.

        Returns
        -------
        The forecast frame with the actual `y` after `step`; a row for every step of which it was observed.

        Raises
        ------
        FrameError: no series has such a step.
        NotFittedError, TypeError, ValueError: as `predict`.

        """
        check_positive(stride=stride)
        panel, steps = self.panel_of(frame), self._steps(horizon)
        origins = origins_within(panel, stride)
        if len(origins):
            origins = origins.take(last_rows(panel, origins) >= 0)
        actuals = panel.at(origins.series[:, None], origins.cutoffs[:, None] + np.arange(1, steps + 1))  # (M, H)
        there = np.isfinite(actuals)
        if not there.any():
            raise FrameError(
                f"no series has a value to read {stride} rows or more before its end, and an observed one within "
                f"{steps} steps after it: give longer series, or a smaller `stride`"
            )
        some = np.flatnonzero(there.any(axis=1))
        origins = origins.take(some)
        forecast = self.forecast(panel, origins, steps)
        self.check_finite(panel, origins, forecast)
        table = self.tidy(panel, origins, forecast)  # the origins are in order
        table.insert(4, "y", actuals[some].ravel())
        return panel.form.give(table.take(np.flatnonzero(there[some])).reset_index(drop=True))

    def sample_paths(
        self,
        n: int,
        frame: Any = None,
        *,
        future: Any = None,
        ids: Iterable | None = None,
        cutoffs: Sequence | None = None,
        horizon: int | None = None,
        seed: int = 0,
    ) -> Any:
        """Draw whole trajectories, for what depends on several steps at once, such as the sum over the horizon.

        At each step they are spread as the quantiles say; from step to step they hang together as the forecaster's own
        errors did in the history (see `forecast.paths.draw_paths`).

        Parameters
        ----------
        n: how many paths.
        frame, future, ids, cutoffs, horizon: as for `predict`.
        seed: of the draw; the global random state is left as it is.

        Returns
        -------
        The rows of `predict`, `unique_id, cutoff, ds, step`, and a column for each path, `path_1` ... `path_n`: a path
        is then a column within a series and cutoff, and rows join those of a forecast one to one.

        Raises
        ------
        NotFittedError, FrameError, TypeError, ValueError: as `predict`.

        """
        check_positive(n=n)
        check_seed(seed)
        panel, places, own, forecast = self._asked(frame, future, ids, cutoffs, horizon)
        paths = draw_paths(
            lambda panel, past: self.forecast(panel, past, forecast.horizon),
            panel,
            replace(own, series=places[own.series]),
            forecast,
            self.quantile_levels,
            n=int(n),
            seed=int(seed),
        )
        order = in_order(own)
        return panel.form.give(paths_frame(panel.take(places), own.take(order), paths[order]))

    def forecast(self, panel: Panel, origins: Origins, horizon: int | None = None) -> Forecast:
        """Forecast from many origins at once, as arrays; what a backtest calls. Values after an origin are not read.

        Parameters
        ----------
        horizon: steps, as for `predict`.

        Raises
        ------
        NotFittedError: `fit` was not called.
        TypeError: what a model of one's own gave is no Forecast of two arrays of real numbers.
        ValueError: more steps than this forecaster can go; arrays of another shape than M origins, steps and quantile
            levels ask for.

        """
        self._fitted()
        asked, method = self._steps(horizon), "_forecast"
        steps = max(asked, self.horizon)
        if asked > self.horizon:
            method = "_forecast_further"
            forecast = self._forecast_further(panel, origins, asked)
        else:
            forecast = self._forecast(panel, origins)
        shape = (len(origins), steps, len(self.quantile_levels))
        check_arrays(forecast, f"{type(self).__name__}.{method}")
        if forecast.quantiles.shape != shape or forecast.mean.shape != shape[:2]:
            raise ValueError(
                f"{type(self).__name__}.{method} gave quantiles {forecast.quantiles.shape} and mean "
                f"{forecast.mean.shape}; expected {shape} and {shape[:2]}: origins, steps, quantile levels"
            )
        return forecast.first(asked)

    @abstractmethod
    def panel_of(self, frame: Any) -> Panel:
        """Give the panel to forecast from: a frame passes the door with the options of `fit`. Raises as `predict`."""

    @abstractmethod
    def _fitted(self) -> Panel:
        """Give the panel of `fit`; raise NotFittedError where there was none."""

    @abstractmethod
    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        """Forecast the `horizon` steps from each origin, reading only its history."""

    def _forecast_further(self, panel: Panel, origins: Origins, horizon: int) -> Forecast:
        """Forecast more steps than the `horizon` of the fit; the first of them as `_forecast` does."""
        raise ValueError(
            f"`horizon` is {horizon}; this {type(self).__name__} was fitted for {self.horizon} steps and cannot go "
            "further. Fit one for more, or take one that goes on from its own forecasts: Naive, SeasonalNaive, Drift, "
            "WindowAverage, Theta, or a network under the decoder 'recursive'"
        )

    def check_finite(self, panel: Panel, origins: Origins, forecast: Forecast) -> None:
        """Raise ValueError, naming the first of them, if a forecast holds what is no finite number."""
        wrong = ~(np.isfinite(forecast.quantiles).all(axis=2) & np.isfinite(forecast.mean))
        if wrong.any():
            origin, step = np.argwhere(wrong)[0]
            series = panel.id_of(int(origins.series[origin]))
            raise ValueError(
                f"{type(self).__name__} forecast no finite number for series {series!r}, cutoff "
                f"{panel.calendar.stamp(int(origins.cutoffs[origin]))}, step {step + 1}: mend its _forecast"
            )

    def tidy(
        self, panel: Panel, origins: Origins, forecast: Forecast, levels: Sequence[float] | None = None
    ) -> pd.DataFrame:
        """Give the forecast frame, at the levels of the fit or at others; by series of the panel, cutoff, then step."""
        order, known = in_order(origins), self.quantile_levels
        return forecast_frame(
            panel, origins.take(order), forecast.take(order), known, known if levels is None else levels
        )

    def _asked(
        self,
        frame: Any,
        future: Any,
        ids: Iterable | None,
        cutoffs: Sequence | None,
        horizon: int | None,
    ) -> tuple[Panel, np.ndarray, Origins, Forecast]:
        """Give the panel, the places in it of the series asked for, origins within these, and their forecasts."""
        panel, steps = self.panel_of(frame), self._steps(horizon)
        if future is not None:
            panel = ahead.with_future(panel, future, self.door_)
        places = np.arange(len(panel)) if ids is None else places_of(panel, ids)
        own = origins_of(panel.take(places), None if cutoffs is None else ordinals_of(panel.calendar, cutoffs))
        origins = replace(own, series=places[own.series])
        if self.reads_covariates and panel.covariates is not None:
            ahead.check_known(panel, origins, steps)
        forecast = self.forecast(panel, origins, steps)
        self.check_finite(panel, origins, forecast)
        return panel, places, own, forecast

    def _steps(self, horizon: int | None) -> int:
        if horizon is None:
            return self.horizon
        check_positive(horizon=horizon)
        return int(horizon)
