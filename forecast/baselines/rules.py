"""Forecasts by rule: last values, seasons, lines, averages. M origins, S series, H horizon, Q quantile levels."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from forecast.forecaster import Forecast, Forecaster
from forecast.frame import Panel
from forecast.history import GATHERED, blocks, first_rows, history, last_rows, last_values, mean_steps
from forecast.origins import Origins, origins_of
from forecast.params import check_positive
from forecast.quantiles import DECILES

_ERROR_ROWS = 10_000  # latest rows of a series in which past forecasts lie


class Baseline(Forecaster):
    """A rule for the point forecast; its quantiles come from the rule's own past errors.

    The spread at each step is taken per series from up to 1,000 forecasts that the rule would have made in the history
    of `fit`. It is symmetric, so that the median and the mean are the rule's forecast. A series too short for any past
    error, or not there at `fit`, takes the median spread of the others, in units of its own mean absolute step.

    A rule goes on as far as it is asked. Beyond the `horizon` of `fit` the spread is that of its last step, grown with
    the square root of the steps, as that of a random walk does; for a seasonal rule, of the seasons begun.

    Parameters
    ----------
    horizon: steps to forecast.
    season_length: steps of a season; None for that of the calendar.
    quantile_levels: rising numbers inside (0, 1), 0.5 among them.

    """

    family = "baseline"
    across_series = False  # but for the spread of a series that is too short for any of its own
    error_origins: ClassVar[int] = 500  # the spread is taken from so many, evenly spaced, to twice as many
    # Whether errors count in the mean absolute step up to their origin, and the next one is thought of among them.
    errors_in_steps: ClassVar[bool] = False

    @abstractmethod
    def _point(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        """Give the point forecasts, (M, H); NaN where the rule finds no value."""

    def _period(self, panel: Panel) -> int:
        """Give after how many steps the rule knows less than at the steps before."""
        return 1

    def _fit(self, panel: Panel) -> None:
        steps = mean_steps(panel, origins_of(panel))
        widths = self._widths(panel, steps)
        units = (np.ones_like(steps) if self.errors_in_steps else steps)[:, None, None]
        telling = np.isfinite(widths).all(axis=(1, 2)) & (steps > 0)
        relative = widths[telling] / units[telling]
        self.relative_widths_ = np.median(relative, axis=0) if len(relative) else np.zeros(widths.shape[1:])  # (H, Q)
        widths = np.where(np.isfinite(widths), widths, units * self.relative_widths_)
        self.widths_ = widths.astype("float32")  # (S, H, Q)

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        points = self._points(panel, origins, self.horizon)
        quantiles = self._spread(panel, origins)
        quantiles += points[:, :, None]  # in place: of many origins this is the largest array there is
        return Forecast(quantiles, points)

    def _forecast_further(self, panel: Panel, origins: Origins, horizon: int) -> Forecast:
        points = self._points(panel, origins, horizon)
        spread = self._spread(panel, origins)
        period = self._period(panel)
        begun = (np.arange(self.horizon, horizon + 1) - 1) // period + 1
        growth = np.sqrt(begun[1:] / begun[0]).astype("float32")
        further = spread[:, -1:] * growth[:, None]
        return Forecast(points[:, :, None] + np.concatenate([spread, further], axis=1), points)

    def _points(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        """Give the point forecasts, (M, H); the last value where the rule finds none."""
        points = self._by_rule(panel, origins, horizon)
        if (lost := ~np.isfinite(points)).any():
            points = np.where(lost, last_values(panel, origins)[:, None], points)
        return points

    def _by_rule(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        """Give the point forecasts, (M, H), of many origins; NaN where the rule finds none."""
        return np.concatenate([self._point(panel, block, horizon) for block in blocks(origins)])

    def _spread(self, panel: Panel, origins: Origins) -> np.ndarray:
        """Give what to add to the point forecasts of the fitted steps, (M, H, Q)."""
        known = self._fitted().ids.get_indexer(panel.ids)[origins.series]
        spread = self.widths_[known]
        new = known < 0
        if self.errors_in_steps:
            spread[new] = self.relative_widths_
            spread *= mean_steps(panel, origins).astype("float32")[:, None, None]
        elif new.any():
            spread[new] = mean_steps(panel, origins.take(new))[:, None, None] * self.relative_widths_
        return spread

    def _widths(self, panel: Panel, steps: np.ndarray) -> np.ndarray:
        """Give what to add to the point forecast, (S, H, Q), from past errors; NaN for a series without any.

        `steps` are the mean ones of each series, (S,).
        """
        levels = np.asarray(self.quantile_levels)
        widths = np.full((len(panel), self.horizon, len(levels)), np.nan)
        rows = np.minimum(panel.lengths - 1, _ERROR_ROWS)  # the last row has nothing after it
        strides = np.maximum(1, rows // self.error_origins)
        counts = -(-rows // strides)
        size = max(1, GATHERED // (self.horizon * max(1, int(counts.max()))))
        for low in range(0, len(panel), size):
            series = np.arange(low, min(low + size, len(panel)))
            places = np.arange(max(1, int(counts[series].max())))
            taken = places < counts[series, None]  # (series, origins of each)
            if not taken.any():
                continue
            ends = ((panel.stops - rows)[series, None] + places * strides[series, None])[taken]
            which = np.broadcast_to(series[:, None], taken.shape)[taken]
            origins = Origins(which, ends, panel.first[which] + ends - panel.starts[which] - 1)
            actuals = panel.at(which[:, None], origins.cutoffs[:, None] + np.arange(1, self.horizon + 1))
            errors = np.full((*taken.shape, self.horizon), np.nan, dtype="float32")
            errors[taken] = np.abs(actuals - self._by_rule(panel, origins, self.horizon))
            if self.errors_in_steps:
                errors[taken] /= _steps_of_then(panel, origins, steps[which])[:, None]
            half = _quantiles_of_finite(errors, np.abs(2 * levels - 1), with_next=self.errors_in_steps)
            # Steps further ahead than any past error take the widest known spread.
            half = np.where(np.isfinite(half), half, np.fmax.reduce(half, axis=1)[:, None])
            widths[series] = np.sort(np.sign(levels - 0.5) * half, axis=2)
        return widths


def _steps_of_then(panel: Panel, origins: Origins, own: np.ndarray) -> np.ndarray:
    """Give the mean steps up to origins, (M,), to which the whole series' own mean step adds one; NaN where it is 0."""
    counts = origins.ends - panel.starts[origins.series]
    steps = (mean_steps(panel, origins) * (counts - 1) + own) / counts
    return np.where(own > 0, steps, np.nan)


def _quantiles_of_finite(errors: np.ndarray, levels: np.ndarray, *, with_next: bool = False) -> np.ndarray:
    """Give the quantiles along R of the finite ones of errors (S, R, H), (S, H, Q); NaN where there is none.

    `with_next`: as many of the errors *and the next one* lie below as the level says, which matters where they are few.
    """
    ordered = np.sort(errors, axis=1)  # NaN last
    last = np.maximum(np.isfinite(ordered).sum(axis=1) - 1, 0)[:, None, :]  # (S, 1, H)
    places = last * levels[:, None]  # (S, Q, H)
    if with_next:
        places = np.clip((last + 2) * levels[:, None] - 1, 0, last)
    below = np.floor(places).astype("int64")
    low = np.take_along_axis(ordered, below, axis=1)
    high = np.take_along_axis(ordered, np.minimum(below + 1, last), axis=1)
    return np.moveaxis(low + (places - below) * (high - low), 1, 2)


class Naive(Baseline):
    """The last observed value, at every step. Arguments, quantiles and how far it goes: see `Baseline`."""

    def __init__(self, horizon: int, *, season_length: int | None = None, quantile_levels: Sequence[float] = DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _point(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        rows = last_rows(panel, origins)
        values = np.where(rows >= 0, panel.values[rows], np.float32(np.nan))
        return np.repeat(values[:, None], horizon, axis=1)


class SeasonalNaive(Baseline):
    """The last observed value at the same place of the season.

    Where it is missing the season before is asked, up to four seasons back; then the last observed value is taken.
    Arguments, quantiles and how far it goes: see `Baseline`.
    """

    def __init__(self, horizon: int, *, season_length: int | None = None, quantile_levels: Sequence[float] = DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _point(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        season = self._period(panel)
        seasons = history(panel, origins, 4 * season).reshape(len(origins), 4, season)
        pattern = seasons[:, 0]
        for later in range(1, 4):
            pattern = np.where(np.isfinite(seasons[:, later]), seasons[:, later], pattern)
        return pattern[:, np.arange(horizon) % season]

    def _period(self, panel: Panel) -> int:
        return self.season_length or panel.calendar.season_length


class Drift(Baseline):
    """The straight line through the first and the last observed value of the history.

    Arguments, quantiles and how far it goes: see `Baseline`.
    """

    def __init__(self, horizon: int, *, season_length: int | None = None, quantile_levels: Sequence[float] = DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _point(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        last = last_rows(panel, origins)
        known = last >= 0
        last = np.where(known, last, origins.ends - 1)
        first = np.minimum(first_rows(panel, origins), last)
        begin, end = panel.values[first].astype("float64"), panel.values[last].astype("float64")
        slope = (end - begin) / np.maximum(last - first, 1)
        # The last row before the origin may be missing: the line goes on from the last observed one.
        steps = np.arange(1, horizon + 1) + (origins.ends - 1 - last)[:, None]
        return np.where(known[:, None], end[:, None] + slope[:, None] * steps, np.nan).astype("float32")


class WindowAverage(Baseline):
    """The mean of the observed ones of the last `window` values (None: one season), at every step.

    Where none of them is observed the last observed value is taken. Other arguments, quantiles and how far it goes: see
    `Baseline`.
    """

    def __init__(
        self,
        horizon: int,
        *,
        window: int | None = None,
        season_length: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
    ):
        self.horizon = horizon
        self.window = window
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel: Panel) -> None:
        if self.window is not None:
            check_positive(window=self.window)
        super()._fit(panel)

    def _point(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        windows = history(panel, origins, self.window or self.season_length or panel.calendar.season_length)
        finite = np.isfinite(windows)
        counts = finite.sum(axis=1)
        sums = np.where(finite, windows, 0).sum(axis=1, dtype="float64")
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).astype("float32")
        return np.repeat(means[:, None], horizon, axis=1)
