"""Models that every network has to beat: last values, seasons, averages, and a linear map in closed form."""

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from forecast.forecaster import DECILES, Forecast, Forecaster, Origins, check_positive, origins_of
from forecast.frame import FrameError, Panel

_RESIDUAL_ROWS = 10_000  # latest rows of a series in which past forecasts lie
_RESIDUAL_ORIGINS = 500  # at least so many of them give the spread, where there are as many
_ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # candidates for the strength of NLinear's ridge
_BLOCKS = 5  # blocks of time that NLinear leaves out in turn
_BLOCK = 4096  # origins forecast together
_GATHERED = 1 << 22  # values gathered by index at a time
_WINDOWS = 40_000  # most windows that NLinear is fitted on
_LONGEST_CONTEXT = 1440  # of NLinear where none is asked for


def history(panel: Panel, origins: Origins, length: int) -> np.ndarray:
    """Give the last `length` values before each origin, (M, length); NaN where missing or before the series began."""
    windows = np.empty((len(origins), length), dtype="float32")
    size = max(1, _GATHERED // length)
    for low in range(0, len(origins), size):
        part = slice(low, low + size)
        rows = origins.ends[part, None] + np.arange(-length, 0)
        inside = rows >= panel.starts[origins.series[part]][:, None]
        windows[part] = np.where(inside, panel.values[np.where(inside, rows, 0)], np.float32(np.nan))
    return windows


def last_values(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the last value before each origin, (M,); NaN where a series has none yet."""
    rows = _last_rows(panel, origins)
    return np.where(rows >= 0, panel.values[rows], np.float32(np.nan))


def _last_rows(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the flat index of the last value before each origin, (M,); -1 where a series has none yet."""
    low, high = int(panel.starts[origins.series].min()), int(origins.ends.max())  # origins often share few series
    source = np.where(np.isfinite(panel.values[low:high]), np.arange(low, high), -1)
    rows = np.maximum.accumulate(source)[origins.ends - 1 - low]
    return np.where(rows >= panel.starts[origins.series], rows, -1)


def _first_rows(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the flat index of the first value of the series of each origin, (M,); that of a later series if it has none."""
    low, high = int(panel.starts[origins.series].min()), int(origins.ends.max())
    source = np.where(np.isfinite(panel.values[low:high]), np.arange(low, high), high)
    return np.minimum.accumulate(source[::-1])[::-1][panel.starts[origins.series] - low]


def mean_steps(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the mean absolute difference of neighbouring values up to each origin, (M,) float64; 0 where there is none."""
    means = np.zeros(len(origins))
    order = np.argsort(origins.series, kind="stable")
    begins = np.flatnonzero(np.diff(origins.series[order], prepend=-1))
    for places in np.split(order, begins[1:]):
        start, ends = panel.starts[origins.series[places[0]]], origins.ends[places]
        steps = np.abs(np.diff(panel.values[start : ends.max()].astype("float64")))
        known = np.isfinite(steps)
        sums, counts = np.cumsum(np.where(known, steps, 0.0)), np.cumsum(known)
        some = ends - start >= 2
        last = ends[some] - start - 2
        means[places[some]] = sums[last] / np.maximum(counts[last], 1)
    return means


def carried_forward(windows: np.ndarray) -> np.ndarray:
    """Give windows (M, T) with each NaN replaced by the value before it, or by the first value at the window's begin."""
    finite = np.isfinite(windows)
    source = np.maximum.accumulate(np.where(finite, np.arange(windows.shape[1]), -1), axis=1)
    source = np.where(source < 0, finite.argmax(axis=1)[:, None], source)
    return np.take_along_axis(windows, source, axis=1)


class Baseline(Forecaster):
    """A rule for the point forecast; its quantiles come from the rule's own past errors.

    The spread at each step is taken per series from up to 1,000 forecasts that the rule would have made in the history of
    `fit`; it is symmetric, so that the median and the mean are the rule's forecast. A series too short for any past error,
    or not there at `fit`, takes the median spread of the others, in units of its own mean absolute step.
    """

    family = "baseline"

    @abstractmethod
    def _point(self, panel: Panel, origins: Origins) -> np.ndarray:
        """Give the point forecasts, (M, H); NaN where the history holds no value."""

    def _fit(self, panel: Panel) -> None:
        widths = self._widths(panel)
        units = mean_steps(panel, origins_of(panel))[:, None, None]
        telling = np.isfinite(widths).all(axis=(1, 2)) & (units[:, 0, 0] > 0)
        relative = widths[telling] / units[telling]
        self.relative_widths_ = np.median(relative, axis=0) if len(relative) else np.zeros(widths.shape[1:])  # (H, Q)
        self.widths_ = np.where(np.isfinite(widths), widths, units * self.relative_widths_).astype(
            "float32"
        )  # (S, H, Q)

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        points = self._points(panel, origins)
        points = np.where(np.isfinite(points), points, self._anything(panel, origins)[:, None])
        known = self._fitted().ids.get_indexer(panel.ids)[origins.series]
        quantiles = points[:, :, None] + self.widths_[known]
        if (new := known < 0).any():
            units = mean_steps(panel, Origins(origins.series[new], origins.ends[new], origins.cutoffs[new]))
            widths = (units[:, None, None] * self.relative_widths_).astype("float32")
            quantiles[new] = points[new, :, None] + widths
        return Forecast(quantiles, points)

    def _points(self, panel: Panel, origins: Origins) -> np.ndarray:
        """Give the point forecasts of many origins, (M, H), some at a time."""
        return np.concatenate([self._point(panel, _slice(origins, low)) for low in range(0, len(origins), _BLOCK)])

    def _widths(self, panel: Panel) -> np.ndarray:
        """Give what to add to the point forecast for each level, (S, H, Q), from past errors; NaN where there is none."""
        levels = np.asarray(self.quantile_levels)
        widths = np.full((len(panel), self.horizon, len(levels)), np.nan)
        counts = np.minimum(panel.lengths - 1, _RESIDUAL_ROWS)  # origins with a row after them, the latest
        strides = np.maximum(1, counts // _RESIDUAL_ORIGINS)
        numbers = -(-counts // strides)
        size = max(1, _GATHERED // (self.horizon * max(1, int(numbers.max()))))
        for low in range(0, len(panel), size):
            series = np.arange(low, min(low + size, len(panel)))
            most = int(numbers[series].max())
            if most == 0:
                continue
            place = np.arange(most) < numbers[series, None]  # (series, origins)
            ends = (panel.stops - counts)[series, None] + np.arange(most) * strides[series, None]
            which = np.broadcast_to(series[:, None], place.shape)[place]
            cutoffs = panel.first[which] + ends[place] - panel.starts[which] - 1
            points = self._points(panel, Origins(which, ends[place], cutoffs))
            actuals = panel.at(which[:, None], cutoffs[:, None] + np.arange(1, self.horizon + 1))
            errors = np.full((*place.shape, self.horizon), np.nan, dtype="float32")
            errors[place] = np.abs(actuals - points)
            half = _quantiles_of_finite(errors, np.abs(2 * levels - 1))
            # Steps beyond any past error take the widest known spread.
            half = np.where(np.isfinite(half), half, np.fmax.reduce(half, axis=1)[:, None])
            widths[series] = np.sort(np.sign(levels - 0.5) * half, axis=2)
        return widths

    def _anything(self, panel: Panel, origins: Origins) -> np.ndarray:
        """Give a value for origins whose rule found none: the last observed value of the series, at worst an error."""
        last = last_values(panel, origins)
        _check_something(panel, origins, last)
        return last


def _check_something(panel: Panel, origins: Origins, last: np.ndarray) -> None:
    """Refuse origins before which nothing was observed."""
    if np.isnan(last).any():
        which = int(np.isnan(last).argmax())
        raise FrameError(
            f"series {panel.ids[origins.series[which]]!r} has no observed value up to "
            f"{panel.calendar.stamp(int(origins.cutoffs[which]))}: give a later cutoff, or leave the series out"
        )


def _quantiles_of_finite(errors: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Give the quantiles of the finite ones of errors (S, R, H) along R, (S, H, Q); NaN where there is none."""
    ordered = np.sort(errors, axis=1)  # NaN last
    counts = np.isfinite(ordered).sum(axis=1)[:, None, :]  # (S, 1, H)
    places = np.maximum(counts - 1, 0) * levels[:, None]  # (S, Q, H)
    below = np.floor(places).astype("int64")
    low = np.take_along_axis(ordered, below, axis=1)
    high = np.take_along_axis(ordered, np.minimum(below + 1, np.maximum(counts - 1, 0)), axis=1)
    return np.moveaxis(low + (places - below) * (high - low), 1, 2)


def _slice(origins: Origins, low: int) -> Origins:
    part = slice(low, low + _BLOCK)
    return Origins(origins.series[part], origins.ends[part], origins.cutoffs[part])


class Naive(Baseline):
    """The last observed value, at every step."""

    def __init__(self, horizon: int, *, season_length: int | None = None, quantile_levels: Sequence[float] = DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _point(self, panel: Panel, origins: Origins) -> np.ndarray:
        return np.repeat(last_values(panel, origins)[:, None], self.horizon, axis=1)


class SeasonalNaive(Baseline):
    """The last observed value at the same place of the season.

    Where it is missing the season before is asked, up to four seasons back; then the last observed value is taken.
    """

    def __init__(self, horizon: int, *, season_length: int | None = None, quantile_levels: Sequence[float] = DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _point(self, panel: Panel, origins: Origins) -> np.ndarray:
        season = self.season_length or panel.calendar.season_length
        seasons = history(panel, origins, 4 * season).reshape(len(origins), 4, season)
        pattern = seasons[:, 0]
        for later in range(1, 4):
            pattern = np.where(np.isfinite(seasons[:, later]), seasons[:, later], pattern)
        return pattern[:, np.arange(self.horizon) % season]


class Drift(Baseline):
    """The straight line through the first and the last observed value of the history."""

    def __init__(self, horizon: int, *, season_length: int | None = None, quantile_levels: Sequence[float] = DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _point(self, panel: Panel, origins: Origins) -> np.ndarray:
        last = _last_rows(panel, origins)
        known = last >= 0
        last = np.where(known, last, origins.ends - 1)
        first = np.minimum(_first_rows(panel, origins), last)
        begin, end = panel.values[first].astype("float64"), panel.values[last].astype("float64")
        slope = (end - begin) / np.maximum(last - first, 1)
        # The last row before the origin may be missing: the line goes on from the last observed one.
        steps = np.arange(1, self.horizon + 1) + (origins.ends - 1 - last)[:, None]
        return np.where(known[:, None], end[:, None] + slope[:, None] * steps, np.nan).astype("float32")


class WindowAverage(Baseline):
    """The mean of the last `window` observed values (None: one season), at every step."""

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

    def _point(self, panel: Panel, origins: Origins) -> np.ndarray:
        windows = history(panel, origins, self.window or self.season_length or panel.calendar.season_length)
        finite = np.isfinite(windows)
        counts = finite.sum(axis=1)
        sums = np.where(finite, windows, 0).sum(axis=1, dtype="float64")
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).astype("float32")
        return np.repeat(means[:, None], self.horizon, axis=1)


class NLinear(Forecaster):
    """A linear map from the last `context_length` values to all steps, in closed form, one for all series.

    Both sides are taken relative to the last value (Zeng et al. 2023, arXiv 2205.13504; the closed form: Toner and Darlow
    2024, arXiv 2403.14587); ridge regression, series weighted equally. The strength of the ridge is chosen by leaving out
    one of five blocks of time after another; the errors on the blocks left out give the quantiles, in units of the
    context's mean absolute step.

    Parameters
    ----------
    context_length: values that the map reads; None: 14 seasons, at least 32 and at most 1440, and at most half of the
        longest series.
    alpha: strength of the ridge relative to the mean square of the inputs; None: chosen.

    """

    family = "linear"

    def __init__(
        self,
        horizon: int,
        *,
        context_length: int | None = None,
        alpha: float | None = None,
        season_length: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
    ):
        self.horizon = horizon
        self.context_length = context_length
        self.alpha = alpha
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel: Panel) -> None:
        season = self.season_length or panel.calendar.season_length
        longest = int(panel.lengths.max()) - self.horizon
        if self.context_length is not None:
            check_positive(context_length=self.context_length)
        self.context_length_ = self.context_length or max(1, min(max(14 * season, 32), _LONGEST_CONTEXT, longest // 2))
        inputs, targets = self._windows(panel)
        blocks = np.array_split(np.arange(len(inputs)), min(_BLOCKS, len(inputs)))
        moments = [_moments(inputs[block], targets[block]) for block in blocks]
        total = (sum(gram for gram, _ in moments), sum(cross for _, cross in moments))
        alphas = _ALPHAS if self.alpha is None else (self.alpha,)
        errors = {}
        for alpha in alphas:
            # Every window is forecast by a map that has not seen its block of time.
            errors[alpha] = np.concatenate(
                [
                    targets[block] - inputs[block] @ _ridge(total[0] - gram, total[1] - cross, alpha)
                    for block, (gram, cross) in zip(blocks, moments, strict=True)
                ]
            )
        self.alpha_ = min(alphas, key=lambda alpha: float(np.abs(errors[alpha]).mean()))
        self.weights_ = _ridge(*total, self.alpha_)
        self.parameters_ = self.weights_.size
        relative = errors[self.alpha_] / _mean_step(inputs)
        self.error_quantiles_ = np.quantile(relative, self.quantile_levels, axis=0).T.astype("float32")  # (H, Q)
        self.error_mean_ = relative.mean(axis=0).astype("float32")

    def _windows(self, panel: Panel) -> tuple[np.ndarray, np.ndarray]:
        """Give windows with complete labels in order of time, (W, L) and (W, H), relative to the last value."""
        length, horizon = self.context_length_, self.horizon
        counts = np.maximum(panel.lengths - length - horizon + 1, 0)
        if counts.sum() == 0:
            which = int(panel.lengths.argmax())
            raise FrameError(
                f"series {panel.ids[which]!r}, the longest, has {panel.lengths[which]} rows; a context of {length} and a "
                f"horizon of {horizon} need {length + horizon}: give longer series, or a smaller `context_length`"
            )
        series = np.repeat(np.arange(len(panel)), counts)
        offsets = np.arange(len(series)) - np.repeat(np.cumsum(counts) - counts, counts)
        cutoffs = panel.first[series] + offsets + length - 1
        most = max(1, min(_WINDOWS, 8 * _GATHERED // (length + horizon)))
        chosen = np.argsort(cutoffs, kind="stable")[:: -(-len(series) // most)]
        series, cutoffs = series[chosen], cutoffs[chosen]
        origins = Origins(series, panel.starts[series] + cutoffs - panel.first[series] + 1, cutoffs)
        windows = history(panel, origins, length)
        labels = panel.at(series[:, None], cutoffs[:, None] + np.arange(1, horizon + 1))
        usable = np.isfinite(labels).all(axis=1) & np.isfinite(windows).any(axis=1)
        if not usable.any():
            raise FrameError(
                f"no window of {length} + {horizon} rows has all its labels observed: NLinear cannot be fitted"
            )
        inputs = carried_forward(windows[usable])
        last = inputs[:, -1:]
        inputs, targets = inputs - last, labels[usable] - last
        spread = np.zeros(len(panel))
        powers = np.square(inputs, dtype="float64").mean(axis=1)
        totals = np.bincount(series[usable], weights=powers, minlength=len(panel))
        sizes = np.bincount(series[usable], minlength=len(panel))
        np.sqrt(np.divide(totals, sizes, out=spread, where=sizes > 0), out=spread)
        scale = np.where(spread > 0, spread, 1.0)[series[usable], None].astype("float32")
        return inputs / scale, targets / scale

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        parts = [self._forecast_block(panel, _slice(origins, low)) for low in range(0, len(origins), _BLOCK)]
        return Forecast(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _forecast_block(self, panel: Panel, origins: Origins) -> tuple[np.ndarray, np.ndarray]:
        windows = carried_forward(history(panel, origins, self.context_length_))
        last = windows[:, -1:]
        if (empty := np.isnan(last[:, 0])).any():  # a gap as long as the context: the value before it goes on
            before = Origins(origins.series[empty], origins.ends[empty], origins.cutoffs[empty])
            values = last_values(panel, before)
            _check_something(panel, before, values)
            windows[empty] = values[:, None]
        inputs = windows - last
        points = last + inputs @ self.weights_
        step = _mean_step(inputs)
        return points[:, :, None] + step[:, :, None] * self.error_quantiles_, points + step * self.error_mean_


def _mean_step(inputs: np.ndarray) -> np.ndarray:
    """Give the mean absolute step of each window, (M, 1); 1 for a constant one, whose errors have no natural unit."""
    if inputs.shape[1] < 2:
        return np.ones((len(inputs), 1), dtype="float32")
    steps = np.abs(np.diff(inputs, axis=1)).mean(axis=1, keepdims=True)
    return np.where(steps > 0, steps, np.float32(1))


def _moments(inputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give X'X (L, L) and X'Y (L, H): all that a ridge regression needs to know of a block of windows."""
    inputs = inputs.astype("float64")
    return inputs.T @ inputs, inputs.T @ targets


def _ridge(gram: np.ndarray, cross: np.ndarray, alpha: float) -> np.ndarray:
    """Give the weights (L, H) of a ridge regression without intercept, its strength relative to the mean square input."""
    strength = max(alpha * float(np.trace(gram)) / len(gram), 1e-9)
    return np.linalg.solve(gram + strength * np.eye(len(gram)), cross).astype("float32")
