"""A linear map in closed form, the bar for every network. M origins, W windows, L context, H horizon, Q levels."""

from collections.abc import Sequence
from numbers import Real

import numpy as np

from forecast.forecaster import Forecast, Forecaster
from forecast.frame import FrameError, Panel
from forecast.history import GATHERED, blocks, carried_forward, history, last_values, mean_steps
from forecast.origins import Origins, scattered
from forecast.params import check_positive
from forecast.quantiles import DECILES
from forecast.ridge import ALPHAS, Pairs, Ridge, pairs_of, window_ends
from forecast.time_blocks import blocks_of_own_time, share_beyond_chance

_WINDOWS = 40_000  # most windows to fit on
_LONGEST = 1440  # context where none is asked for
_TINY = float(np.finfo("float32").tiny)


class NLinear(Forecaster):
    """A linear map from the last `context_length` values to all steps, in closed form, one for all series.

    Both sides are taken relative to the last value (Zeng et al. 2023, arXiv 2205.13504; the closed form: Toner and
    Darlow 2024, arXiv 2403.14587); ridge regression, series weighted equally. The strength of the ridge is chosen by
    leaving out one of five blocks of time after another; the errors on the blocks left out give the quantiles, in units
    of the context's standard deviation, or of the whole history's mean step where the context is constant. Their mean
    is a drift, which goes on as far as it is beyond chance by these blocks. It reads no covariates, and forecasts no
    further than the `horizon` of its fit.

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
        pairs = self._pairs(panel)
        ridge, units = Ridge(pairs), _units(panel, pairs.origins, pairs.inputs) / pairs.scale
        alphas = ALPHAS if self.alpha is None else (float(self.alpha),)
        errors = {alpha: ridge.left_out(alpha) for alpha in alphas}
        self.alpha_ = min(alphas, key=lambda alpha: float(np.abs(errors[alpha]).mean()))
        self.weights_ = ridge.weights(self.alpha_)  # (L, H)
        self.parameters_ = self.weights_.size
        missed, moving = errors[self.alpha_], units > 0

        def drift(which: np.ndarray) -> np.ndarray:
            # Not the mean of the ratios: one window that hardly moves before a jump would outweigh all others.
            return missed[which].sum(axis=0) / max(float(units[which].sum()), _TINY)

        relative = missed[moving] / units[moving, None] if moving.any() else np.zeros((1, self.horizon))
        blocks = blocks_of_own_time(pairs.origins.series, pairs.origins.cutoffs)
        founded = share_beyond_chance(np.stack([drift(block[moving[block]]) for block in blocks])) * drift(moving)
        quantiles = np.quantile(relative, self.quantile_levels, axis=0) - drift(moving) + founded
        self.error_quantiles_ = quantiles.T.astype("float32")  # (H, Q)
        self.error_mean_ = founded.astype("float32")

    def _pairs(self, panel: Panel) -> Pairs:
        """Give all windows of which something may be learned, or some where they are very many."""
        length, horizon = self.context_length_, self.horizon
        ends = window_ends(panel, length, horizon)
        if len(ends) == 0:
            which = int(panel.lengths.argmax())
            raise FrameError(
                f"series {panel.id_of(which)!r}, the longest, has {panel.lengths[which]} rows; a context of {length} "
                f"and a horizon of {horizon} need {length + horizon}: give longer series, or a smaller `context_length`"
            )
        most = max(1, min(_WINDOWS, 8 * GATHERED // (length + horizon)))
        pairs = pairs_of(panel, ends.take(scattered(len(ends), most)), length, horizon)
        if len(pairs) == 0:
            raise FrameError(
                f"no window of {length} + {horizon} rows has all its labels observed: give series with fewer missing "
                "values, or a smaller `horizon`"
            )
        return pairs

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


def _units(panel: Panel, origins: Origins, inputs: np.ndarray) -> np.ndarray:
    """Give the standard deviation of each window, (M,) float64; of a constant one the history's mean step."""
    units = inputs.std(axis=1, dtype="float64")
    if (flat := units == 0).any():
        units[flat] = mean_steps(panel, origins.take(flat))
    return units
