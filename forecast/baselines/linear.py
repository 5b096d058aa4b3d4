"""A linear map in closed form, the bar for every network. M origins, W windows, L context, H horizon, Q levels."""

from collections.abc import Sequence
from numbers import Real

import numpy as np

from forecast.forecaster import Forecast, Forecaster
from forecast.frame import FrameError, Panel
from forecast.history import GATHERED, blocks, carried_forward, history, last_values, mean_steps
from forecast.origins import Origins
from forecast.params import check_positive
from forecast.quantiles import DECILES

_ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # candidates for the strength of the ridge
_BLOCKS = 5  # blocks of time that are left out in turn
_WINDOWS = 40_000  # most windows to fit on
_LONGEST = 1440  # context where none is asked for
_TINY = float(np.finfo("float32").tiny)


class NLinear(Forecaster):
    """A linear map from the last `context_length` values to all steps, in closed form, one for all series.

    Both sides are taken relative to the last value (Zeng et al. 2023, arXiv 2205.13504; the closed form: Toner and
    Darlow 2024, arXiv 2403.14587); ridge regression, series weighted equally. The strength of the ridge is chosen by
    leaving out one of five blocks of time after another; the errors on the blocks left out give the quantiles, in units
    of the context's standard deviation, or of the whole history's mean step where the context is constant. It reads no
    covariates, and forecasts no further than the `horizon` of its fit.

    Parameters
    ----------
    context_length: values that the map reads; None: 14 seasons, at least 32 and at most 1440, and at most half of the
        longest series.
    alpha: strength of the ridge relative to the mean square of the inputs; None: chosen.
    horizon, season_length, quantile_levels: as of `Baseline`.

    Raises
    ------
    FrameError: at `fit`, series too short for a context and a horizon, or without a window of observed labels.
    TypeError, ValueError: at `fit`, an argument that is not allowed.

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
        readable = (int(panel.lengths.max()) - self.horizon) // 2
        if self.context_length is not None:
            check_positive(context_length=self.context_length)
        if self.alpha is not None and not (isinstance(self.alpha, Real) and 0 <= self.alpha < np.inf):
            raise ValueError(f"`alpha` is {self.alpha!r}; allowed: a number of 0 or more, or None")
        self.context_length_ = self.context_length or max(1, min(max(14 * season, 32), _LONGEST, readable))
        inputs, targets, units, cutoffs = self._windows(panel)
        parts = _blocks_of_time(cutoffs)
        moments = [_moments(inputs[part], targets[part]) for part in parts]
        gram, cross = (np.sum(moment, axis=0) for moment in zip(*moments, strict=True))
        alphas = _ALPHAS if self.alpha is None else (float(self.alpha),)
        errors = {}
        for alpha in alphas:
            # Every window is forecast by a map that has not seen its block of time.
            maps = [_ridge(gram - own_gram, cross - own_cross, alpha) for own_gram, own_cross in moments]
            left_out = [targets[part] - inputs[part] @ weights for part, weights in zip(parts, maps, strict=True)]
            errors[alpha] = np.concatenate(left_out)
        self.alpha_ = min(alphas, key=lambda alpha: float(np.abs(errors[alpha]).mean()))
        self.weights_ = _ridge(gram, cross, self.alpha_)  # (L, H)
        self.parameters_ = self.weights_.size
        moving = units > 0
        missed, units = errors[self.alpha_][moving], units[moving, None]
        relative = missed / units if moving.any() else np.zeros((1, self.horizon))
        self.error_quantiles_ = np.quantile(relative, self.quantile_levels, axis=0).T.astype("float32")  # (H, Q)
        # Not the mean of the ratios: one window that hardly moves before a jump would outweigh all others.
        self.error_mean_ = (missed.sum(axis=0) / max(float(units.sum()), _TINY)).astype("float32")

    def _windows(self, panel: Panel) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Give windows with complete labels in order of time, (W, L) and (W, H), units of errors and cutoffs, (W,).

        All but cutoffs are relative to the last value, and divided by the root mean square of their series' inputs.
        """
        length, horizon = self.context_length_, self.horizon
        counts = np.maximum(panel.lengths - length - horizon + 1, 0)
        if counts.sum() == 0:
            which = int(panel.lengths.argmax())
            raise FrameError(
                f"series {panel.id_of(which)!r}, the longest, has {panel.lengths[which]} rows; a context of {length} "
                f"and a horizon of {horizon} need {length + horizon}: give longer series, or a smaller `context_length`"
            )
        series = np.repeat(np.arange(len(panel)), counts)
        offsets = np.arange(len(series)) - np.repeat(np.cumsum(counts) - counts, counts)
        cutoffs = panel.first[series] + offsets + length - 1
        most = max(1, min(_WINDOWS, 8 * GATHERED // (length + horizon)))
        chosen = np.argsort(cutoffs, kind="stable")[:: -(-len(series) // most)]
        series, cutoffs = series[chosen], cutoffs[chosen]
        origins = Origins(series, panel.starts[series] + cutoffs - panel.first[series] + 1, cutoffs)
        windows = history(panel, origins, length)
        labels = panel.at(series[:, None], cutoffs[:, None] + np.arange(1, horizon + 1))
        usable = np.flatnonzero(np.isfinite(labels).all(axis=1) & np.isfinite(windows).any(axis=1))
        if len(usable) == 0:
            raise FrameError(
                f"no window of {length} + {horizon} rows has all its labels observed: give series with fewer missing "
                "values, or a smaller `horizon`"
            )
        origins, series = origins.take(usable), series[usable]
        inputs = carried_forward(windows[usable])
        last = inputs[:, -1:]
        inputs, targets = inputs - last, labels[usable] - last
        powers = np.bincount(series, np.square(inputs, dtype="float64").mean(axis=1), len(panel))
        scales = np.sqrt(powers / np.maximum(np.bincount(series, minlength=len(panel)), 1))
        scale = np.where(scales > 0, scales, 1.0)[series].astype("float32")
        units = _units(panel, origins, inputs) / scale
        return inputs / scale[:, None], targets / scale[:, None], units, origins.cutoffs

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        parts = [self._forecast_block(panel, block) for block in blocks(origins)]
        return Forecast(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _forecast_block(self, panel: Panel, origins: Origins) -> tuple[np.ndarray, np.ndarray]:
        windows = carried_forward(history(panel, origins, self.context_length_))
        if (empty := np.isnan(windows[:, -1])).any():  # a gap as long as the context: the value before it goes on
            windows[empty] = last_values(panel, origins.take(empty))[:, None]
        last = windows[:, -1:]
        inputs = windows - last
        points = last + inputs @ self.weights_
        unit = _units(panel, origins, inputs).astype("float32")[:, None]
        return points[:, :, None] + unit[:, :, None] * self.error_quantiles_, points + unit * self.error_mean_


def _blocks_of_time(cutoffs: np.ndarray) -> list[np.ndarray]:
    """Give the windows of each block, by position; `cutoffs` rise.

    Windows of one cutoff stay together, so that it does not matter in which order the series came.
    """
    places = np.arange(len(cutoffs))
    parts = np.array_split(places, min(_BLOCKS, len(places)))
    bounds = np.unique(np.searchsorted(cutoffs, cutoffs[[part[0] for part in parts]]))
    return np.split(places, bounds[1:]) if len(bounds) > 1 else parts


def _units(panel: Panel, origins: Origins, inputs: np.ndarray) -> np.ndarray:
    """Give the standard deviation of each window, (M,) float64; of a constant one the history's mean step."""
    units = inputs.std(axis=1, dtype="float64")
    if (flat := units == 0).any():
        units[flat] = mean_steps(panel, origins.take(flat))
    return units


def _moments(inputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give X'X (L, L) and X'Y (L, H): all that a ridge regression needs to know of a block of windows."""
    inputs = inputs.astype("float64")
    return inputs.T @ inputs, inputs.T @ targets


def _ridge(gram: np.ndarray, cross: np.ndarray, alpha: float) -> np.ndarray:
    """Give the weights (L, H) of a ridge regression without intercept, relative to the mean square of the inputs."""
    strength = max(alpha * float(np.trace(gram)) / len(gram), 1e-9)
    return np.linalg.solve(gram + strength * np.eye(len(gram)), cross).astype("float32")
