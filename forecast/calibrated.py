"""Calibrated: a forecaster whose quantiles are widened, or drawn in, to hold what they promise.

What they held is seen out of sample, in the last rows of the data, which the forecaster inside is not shown.
M origins, K windows, H horizon, Q quantile levels, I intervals, S series.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from forecast.evaluation.conformal import (
    Interval,
    conformal_quantile,
    conformity,
    moved,
    one_sided,
    scores_needed,
    two_sided,
)
from forecast.forecaster import Forecast, Forecaster
from forecast.frame import FrameError, Panel
from forecast.history import last_rows, mean_steps
from forecast.origins import Origins
from forecast.params import check_positive

_WINDOWS = 25  # where the data have room for them: enough for levels from 0.05 to 0.95, some missing, and recent
_PREFIX = "forecaster."

Method = Literal["cqr", "residual"]
Few = Literal["error", "widest"]
Align = Literal["calendar", "ends"]


class Calibrated(Forecaster):
    """Another forecaster, its quantiles adjusted by split conformal prediction.

    `fit` holds back the last rows of all series and fits the forecaster on what lies before.
    It forecasts from `windows` origins in the rows held back, and by what its quantiles missed there, step by step,
    they are moved in every forecast. An early stopping that it does by itself holds back rows of its own before these.

    The errors of all series are pooled: each is divided by the mean absolute step from a value to the next one in its
    own series up to its origin, and the correction multiplied by that of the origin forecast from. So large series do
    not decide for small ones. Those of one window count as one together, however many series there are: a day that
    surprises one may surprise all (Lee, Barber and Willett 2023, arXiv 2306.06342). Where the unit is zero or unknown,
    as in a constant series, the quantiles stay as they are. Median and mean stay as the forecaster gives them, always.
    Where it goes on beyond the `horizon` of its fit, its quantiles move there as at the last step of it.

    The promise: of the actuals of a step, a share of q or less lies under a level q below the median, and of q or more
    under one above it, on average over all samples of windows there might have been. It holds as far as the time
    forecast might as well have been one of the windows: a season or a drift that is not in them breaks it. Backtest it.

    Parameters
    ----------
    forecaster: the forecaster inside, as a pattern that stays unfitted; its horizon, quantile levels and seed are those
        of the whole, and are set here too: `set_params(horizon=12)`. The fitted one is `forecaster_`.
    windows: origins at which its errors are seen; None: 25, or as many as the last third of the longest series holds.
        A level q below the median needs errors in (1 - q) / q windows at every step, 9 for 0.1; one above it as many as
        1 - q. Few are noisy, many are old.
    stride: rows from one of these origins to the next; None: the horizon, or less to stay in the last third.
    method: `"cqr"` to move each quantile by what it missed itself, up or down (the asymmetric form of Romano, Patterson
        and Candès 2019, arXiv 1905.03222): every level, not only every interval, then holds its own promise.
        `"residual"` to lay all quantiles around the median by the absolute errors of the median alone, as wide at all
        times: for a forecaster whose own quantiles tell nothing.
    few: where fewer windows are seen than a level needs, an `"error"`, or `"widest"`: it is moved by the largest error
        of n windows, which promises no more than the level n / (n + 1) does.
    align: `"calendar"` to hold rows back from the same stamp on in all series; `"ends"` for the last of each, where
        series end at different times and know nothing of each other's dates, as in competitions (see `Plan`). They
        share no shock then, and every error counts as one.
    refit: whether the forecaster is fitted again, on all rows, once its errors are known. It is then newer, on the
        assumption that the new fit errs as the one that was seen; a split conformal promise holds for the latter alone.

    Raises
    ------
    FrameError: at `fit`, series too short for a fit before the rows held back, or without any error to learn from;
        what the forecaster raises.
    TypeError, ValueError: at `fit`, an argument that is not allowed; too few errors for a level.

    """

    wraps = "forecaster"

    def __init__(
        self,
        forecaster: Forecaster,
        *,
        windows: int | None = None,
        stride: int | None = None,
        method: Method = "cqr",
        few: Few = "error",
        align: Align = "calendar",
        refit: bool = False,
    ):
        self.forecaster = forecaster
        self.windows = windows
        self.stride = stride
        self.method = method
        self.few = few
        self.align = align
        self.refit = refit

    # -- what it has in common with the forecaster inside --------------------------------------------------------------

    @property
    def horizon(self) -> int:  # type: ignore[override]
        """Steps to forecast."""
        return self._inside().horizon

    @property
    def quantile_levels(self) -> Sequence[float]:  # type: ignore[override]
        """Levels of the quantiles."""
        return self._inside().quantile_levels

    @quantile_levels.setter
    def quantile_levels(self, levels: Sequence[float]) -> None:
        self.set_params(quantile_levels=levels)

    @property
    def season_length(self) -> int | None:  # type: ignore[override]
        """Steps of a season; None for that of the calendar."""
        return self._inside().season_length

    @property
    def seed(self) -> int:
        """Of the forecaster inside, where it has one."""
        return self._inside().seed  # type: ignore[attr-defined]

    @property
    def family(self) -> str:  # type: ignore[override]
        """Of the forecaster inside."""
        return self._inside().family

    @property
    def backbone(self) -> Any:
        """Of the forecaster inside, where it has one."""
        return self._inside().backbone  # type: ignore[attr-defined]

    @property
    def decoder(self) -> Any:
        """Of the forecaster inside, where it has one."""
        return self._inside().decoder  # type: ignore[attr-defined]

    @property
    def reads_covariates(self) -> bool:  # type: ignore[override]
        """Whether the forecaster inside reads those of a panel."""
        return self._inside().reads_covariates

    def _inside(self) -> Forecaster:
        if not isinstance(self.forecaster, Forecaster):
            raise TypeError(f"`forecaster` is {self.forecaster!r}; allowed: a Forecaster, such as NLinear(24)")
        return self.forecaster

    # -- fit -----------------------------------------------------------------------------------------------------------

    def _fit(self, panel: Panel) -> None:
        kinds = {"method": get_args(Method), "few": get_args(Few), "align": get_args(Align), "refit": (True, False)}
        for name, allowed in kinds.items():
            if (value := getattr(self, name)) not in allowed:
                raise ValueError(f"`{name}` is {value!r}; allowed: {', '.join(map(repr, allowed))}")
        cutoffs = self._cutoffs(panel)
        learning = _fresh(self._inside())
        try:
            learning.fit(panel.until(cutoffs[:, 0]).detached())
        except ValueError as error:
            held = int(panel.last.max() - cutoffs[:, 0].max())
            error.add_note(f"(the forecaster inside, fitted without the last {held} rows, held back by Calibrated)")
            raise
        self.method_ = self.method
        self.corrections_, self.errors_ = self._learned(panel, learning, cutoffs)
        self.fitted_until_ = panel.last if self.refit else cutoffs[:, 0]
        self.forecaster_ = _fresh(self._inside()).fit(panel) if self.refit else learning
        for name in ("parameters_", "context_length_"):  # told in a ledger
            if hasattr(self.forecaster_, name):
                setattr(self, name, getattr(self.forecaster_, name))

    def _cutoffs(self, panel: Panel) -> np.ndarray:
        """Give the ordinals of the K origins at which errors are seen, (S, K), rising; the first ends the fit."""
        given = {"windows": self.windows, "stride": self.stride}
        check_positive(**{name: value for name, value in given.items() if value is not None})
        longest = int(panel.lengths.max())
        room = longest // 3 - self.horizon
        windows = self.windows or max(1, min(_WINDOWS, room + 1))
        stride = self.stride or max(1, min(self.horizon, room // max(1, windows - 1)))
        held = self.horizon + (windows - 1) * stride
        if held >= longest:
            which = int(panel.lengths.argmax())
            raise FrameError(
                f"series {panel.id_of(which)!r}, the longest, has {longest} rows up to "
                f"{panel.calendar.stamp(int(panel.last[which]))}; {windows} windows of {self.horizon} steps, {stride} "
                f"apart, hold back {held} of them: give longer series, fewer `windows` or a smaller `stride`"
            )
        last = panel.last if self.align == "ends" else np.full(len(panel), panel.last.max())
        return last[:, None] - held + stride * np.arange(windows)

    def _learned(self, panel: Panel, learning: Forecaster, cutoffs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the correction of every interval, (H, I), in units of the series; and how much tells it, (H,)."""
        origins, windows = _seen(panel, cutoffs)
        actuals = panel.at(origins.series[:, None], origins.cutoffs[:, None] + np.arange(1, self.horizon + 1))  # (M, H)
        units = mean_steps(panel, origins) if len(origins) else np.empty(0)
        telling = np.flatnonzero((units > 0) & np.isfinite(actuals).any(axis=1))
        if not len(telling):
            begin, end = (panel.calendar.stamp(int(time)) for time in (cutoffs.min() + 1, panel.last.max()))
            raise FrameError(
                f"the rows held back, {begin} to {end}, show no error to calibrate by: no series that goes on into "
                "them, and moves before them, has an observed value there. Give series that do, or fewer `windows`"
            )
        origins, windows, actuals, units = origins.take(telling), windows[telling], actuals[telling], units[telling]
        forecast = learning.forecast(panel, origins)
        learning.check_finite(panel, origins, forecast)
        quantiles, intervals = self._unmoved(forecast.quantiles), self._intervals()
        counts = np.zeros((cutoffs.shape[1], self.horizon))  # errors of each window and step
        np.add.at(counts, windows, np.isfinite(actuals))
        told, weights = counts.sum(axis=0), None
        if self.align == "calendar":
            told, weights = (counts > 0).sum(axis=0), 1 / np.maximum(counts, 1)[windows]
        corrections = np.empty((self.horizon, len(intervals)))
        for place, interval in enumerate(intervals):  # one at a time: together they are the largest array there is
            scores = conformity(actuals, quantiles, [interval])[..., 0] / units[:, None]
            correction = conformal_quantile(scores, interval.miss, weights)
            if (few := np.isinf(correction)).any():
                correction = np.where(few, self._widest(scores, interval, told), correction)
            corrections[:, place] = correction
        return corrections, told

    def _widest(self, scores: np.ndarray, interval: Interval, told: np.ndarray) -> np.ndarray:
        """Give the largest of the scores (M, H) of each step, (H,), where that may stand for what too few tell."""
        step = int(told.argmin())
        if self.few == "error" or told[step] == 0:
            levels = [float(level) for level in self.quantile_levels]
            way_out = ", or few='widest', which moves it by the largest error" if told[step] else ""
            what = "windows" if self.align == "calendar" else "windows of any series"
            raise ValueError(
                f"`quantile_levels`: {interval.named(levels)} needs errors seen out of sample in "
                f"{scores_needed(interval.miss)} {what} at every step; step {step + 1} has some in {told[step]:g}. "
                f"Give more `windows` (with a smaller `stride`), or levels nearer to the median{way_out}"
            )
        return np.nanmax(scores, axis=0)

    # -- forecasts -----------------------------------------------------------------------------------------------------

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        return self._moved(panel, origins, self.forecaster_.forecast(panel, origins))

    def _forecast_further(self, panel: Panel, origins: Origins, horizon: int) -> Forecast:
        return self._moved(panel, origins, self.forecaster_.forecast(panel, origins, horizon))

    def _moved(self, panel: Panel, origins: Origins, forecast: Forecast) -> Forecast:
        units = mean_steps(panel, origins)[:, None, None] if len(origins) else np.empty((0, 1, 1))
        steps = np.minimum(np.arange(forecast.horizon), len(self.corrections_) - 1)
        quantiles = self._unmoved(forecast.quantiles)
        quantiles = moved(quantiles, units * self.corrections_[steps], self._intervals(), self.quantile_levels)
        return Forecast(np.where(units > 0, quantiles, forecast.quantiles).astype("float32"), forecast.mean)

    def _unmoved(self, quantiles: np.ndarray) -> np.ndarray:
        """Give the quantiles (M, H, Q) that corrections are for: those forecast, or the median in place of each."""
        if getattr(self, "method_", self.method) == "cqr":
            return quantiles
        middle = list(self.quantile_levels).index(0.5)
        return np.broadcast_to(quantiles[..., middle : middle + 1], quantiles.shape)

    def _intervals(self) -> list[Interval]:
        """Give the intervals that are moved."""
        return (one_sided if self.method_ == "cqr" else two_sided)(self.quantile_levels)

    # -- saving --------------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        inner = state.pop("forecaster_")._state()
        return state | {f"{_PREFIX}{name}": value for name, value in inner.items()}

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore({name: value for name, value in state.items() if not name.startswith(_PREFIX)})
        inner = _fresh(self._inside())
        inner.panel_ = self._fitted().until(self.fitted_until_).detached()
        inner.door_, inner.shape_ = {}, inner._shape()
        inner._restore({n.removeprefix(_PREFIX): value for n, value in state.items() if n.startswith(_PREFIX)})
        self.forecaster_ = inner


def _fresh(pattern: Forecaster) -> Forecaster:
    """Give a new forecaster with the arguments of a pattern."""
    return type(pattern)(**pattern.get_params(deep=False))


def _seen(panel: Panel, cutoffs: np.ndarray) -> tuple[Origins, np.ndarray]:
    """Give the origins at cutoffs (S, K) of the series that a fit up to the first of them has seen a value of.

    And at which of the K each is.
    """
    under_way = (panel.first[:, None] <= cutoffs[:, :1]) & (cutoffs <= panel.last[:, None])
    series, windows = np.nonzero(under_way)
    times = cutoffs[series, windows]
    origins = Origins(series, panel.starts[series] + times - panel.first[series] + 1, times)
    begun = last_rows(panel, origins) >= 0 if len(origins) else np.zeros(0, dtype=bool)
    return origins.take(begun), windows[begun]
