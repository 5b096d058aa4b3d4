"""The Theta method. M origins, T rows of a history, P steps of a season, A strengths of smoothing, H horizon."""

from collections.abc import Sequence

import numpy as np

from forecast.baselines.rules import Baseline
from forecast.frame import Panel
from forecast.history import history
from forecast.origins import Origins
from forecast.params import check_positive
from forecast.quantiles import DECILES

_SEASONS, _HORIZONS, _LEAST = 10, 4, 48  # rows of a history where none are asked for
_SMOOTHING = np.linspace(1.0, 0.05, 20)[:, None]  # (A, 1); among equals the first, which forgets the past
_SIGNIFICANT = 1.645  # of a normal distribution, 90 % lie within
_LEAST_FACTOR = 0.1  # division by less would blow up a single value to a level of its own
_GATHERED = 1 << 16  # values smoothed together: few enough to stay near the processor


class Theta(Baseline):
    """The Theta method: a smoothed level that goes on with half the slope of the history's trend, season by season.

    Simple exponential smoothing with half the trend as drift (Hyndman and Billah 2003), which is the method of
    Assimakopoulos and Nikolopoulos (2000). The strength of smoothing is the one of twenty whose one-step errors in the
    history at hand are the least squares; no series learns from another. Values are seasonally adjusted by the
    classical decomposition first, where the history spans two seasons and its autocorrelation at the season is
    significant (90 %): by factors where all values are positive and no factor is below a tenth, else by what is added.
    Where nothing was observed the level stays and the trend goes on.

    Quantiles and how far it goes: see `Baseline`; but past errors, of up to 50 forecasts, count in the mean absolute
    step up to their origin, and the spread in that up to the cutoff: series that grow err by more at their end.

    Parameters
    ----------
    history: rows before the cutoff that are read; None: ten seasons, at least four horizons and 48.
    horizon, season_length, quantile_levels: as of `Baseline`.

    Raises
    ------
    TypeError, ValueError: at `fit`, an argument that is not allowed.

    """

    error_origins = 25  # each of them is a history to smooth
    errors_in_steps = True

    def __init__(
        self,
        horizon: int,
        *,
        season_length: int | None = None,
        history: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
    ):
        self.horizon = horizon
        self.season_length = season_length
        self.history = history
        self.quantile_levels = quantile_levels

    def _fit(self, panel: Panel) -> None:
        if self.history is not None:
            check_positive(history=self.history)
        super()._fit(panel)

    def _point(self, panel: Panel, origins: Origins, horizon: int) -> np.ndarray:
        season = self.season_length or panel.calendar.season_length
        longest = int((origins.ends - panel.starts[origins.series]).max())
        rows = min(self.history or max(_SEASONS * season, _HORIZONS * self.horizon, _LEAST), longest)
        points = np.empty((len(origins), horizon), dtype="float32")
        size = max(1, _GATHERED // rows)
        for low in range(0, len(origins), size):
            part = slice(low, low + size)
            points[part] = _theta(history(panel, origins.take(part), rows).astype("float64"), season, horizon)
        return points


def _theta(windows: np.ndarray, season: int, horizon: int) -> np.ndarray:
    """Give what the Theta method says after windows (M, T), (M, H); NaN after one without any value."""
    steps = np.arange(1, horizon + 1)
    factors, terms = _seasons(windows, season)  # (M, P)
    phases = np.arange(-windows.shape[1], 0) % season
    first, moves, observed = _from_first((windows - terms[:, phases]) / factors[:, phases])
    level, lag = _smoothed(moves, observed)
    trend = _slopes(moves, observed)[:, None] / 2 * (steps + lag[:, None])
    ahead = (steps - 1) % season
    points = (first[:, None] + level[:, None] + trend) * factors[:, ahead] + terms[:, ahead]
    return np.where(observed.any(axis=1, keepdims=True), points, np.nan)


def _from_first(windows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the first value of each window (M,), all values relative to it with 0 for none, and which there are."""
    observed = np.isfinite(windows)
    first = np.take_along_axis(windows, observed.argmax(axis=1)[:, None], axis=1)
    return first[:, 0], np.where(observed, windows - first, 0.0), observed


def _slopes(moves: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Give the slope of the least-squares line through the observed ones of moves (M, T), (M,); 0 for one value."""
    counts = np.maximum(observed.sum(axis=1, keepdims=True), 1)
    times = np.arange(moves.shape[1]) * observed
    times = np.where(observed, times - times.sum(axis=1, keepdims=True) / counts, 0.0)
    power = np.einsum("mt,mt->m", times, times)
    return np.einsum("mt,mt->m", times, moves) / np.where(power > 0, power, 1.0)


def _smoothed(moves: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the last level of moves (M, T) under the best smoothing, and how many steps of a trend it lags, (M,) each.

    The level begins at the first value. It stays where nothing is observed, and its lag then grows by one; each update
    takes its share of the lag away. Without gaps the lag is Hyndman and Billah's 1 / alpha - 1 - (1 - alpha)^T / alpha.
    """
    rows, there = np.ascontiguousarray(moves.T), np.ascontiguousarray(observed.T)
    gaps = len(moves) - there.sum(axis=1)
    levels, squares, errors, scratch = np.zeros((4, len(_SMOOTHING), len(moves)))  # (A, M) each
    for time in range(len(rows)):
        np.subtract(rows[time], levels, out=errors)
        if gaps[time]:
            errors *= there[time]
        squares += np.multiply(errors, errors, out=scratch)
        levels += np.multiply(errors, _SMOOTHING, out=scratch)
    best = squares.argmin(axis=0)
    kept, lag, begun = 1 - _SMOOTHING[best, 0], np.zeros(len(moves)), observed.argmax(axis=1)
    for time in range(1, len(rows)):
        lag = (lag + (time > begun)) * np.where(there[time], kept, 1.0)
    return levels[best, np.arange(len(moves))], lag


def _seasons(windows: np.ndarray, season: int) -> tuple[np.ndarray, np.ndarray]:
    """Give what values at each place of the season are multiplied by, and what is added then, (M, P) each.

    Place 0 is that of the first step ahead. All of it is 1 and 0 where no season is significant.
    """
    factors, terms = np.ones((len(windows), season)), np.zeros((len(windows), season))
    if season == 1 or windows.shape[1] < 2 * season:
        return factors, terms
    first, moves, observed = _from_first(windows)
    some = np.flatnonzero(_significant(moves, observed, season))
    first, moves, observed = first[some, None], moves[some], observed[some]
    trend = _centred_average(moves, observed, season)
    added, known = _by_place(np.where(observed, moves, np.nan) - trend, season)
    terms[some[known]] = (added - added.mean(axis=1, keepdims=True))[known]
    ratios = np.full(trend.shape, np.nan)
    np.divide(first + moves, first + trend, out=ratios, where=observed & (first + trend > 0))
    times, told = _by_place(ratios, season)
    told &= ((first + moves > 0) | ~observed).all(axis=1)
    times[told] /= times[told].mean(axis=1, keepdims=True)
    told &= (times >= _LEAST_FACTOR).all(axis=1)
    factors[some[told]], terms[some[told]] = times[told], 0.0
    return factors, terms


def _significant(moves: np.ndarray, observed: np.ndarray, season: int) -> np.ndarray:
    """Whether the autocorrelation of windows (M, T) at the season is beyond what those at shorter lags explain, (M,).

    The test of the M competitions: Bartlett's standard error, at 90 %.
    """
    counts = np.maximum(observed.sum(axis=1), 1)
    away = np.where(observed, moves - (moves.sum(axis=1) / counts)[:, None], 0.0)
    largest = np.abs(away).max(axis=1, keepdims=True)
    away /= np.where(largest > 0, largest, 1.0)
    size = 1 << (moves.shape[1] + season - 1).bit_length()  # the season's lag does not reach round to the other end
    spectrum = np.fft.rfft(away, size)
    products = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[:, : season + 1]  # (M, P + 1)
    lags = products[:, 1:] / np.where(products[:, :1] > 0, products[:, :1], 1.0)
    bound = _SIGNIFICANT * np.sqrt((1 + 2 * (lags[:, :-1] ** 2).sum(axis=1)) / counts)
    return np.abs(lags[:, -1]) > bound


def _centred_average(moves: np.ndarray, observed: np.ndarray, season: int) -> np.ndarray:
    """Give the average over the season around each of moves (M, T); NaN where one of its values is missing."""
    trend, half = np.full(moves.shape, np.nan), season // 2
    sums, counts = (np.pad(np.cumsum(x, axis=1), ((0, 0), (1, 0))) for x in (moves, observed))
    whole = counts[:, season:] - counts[:, :-season] == season
    means = np.where(whole, (sums[:, season:] - sums[:, :-season]) / season, np.nan)
    if season % 2 == 0:  # the two windows that lie half a step before and after
        means = (means[:, 1:] + means[:, :-1]) / 2
    trend[:, half : half + means.shape[1]] = means
    return trend


def _by_place(windows: np.ndarray, season: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the mean of the finite ones of windows (M, T) at each place of the season, (M, P), and whether all have any.

    Place 0 is that of the first step after the windows.
    """
    begun = -(-windows.shape[1] // season)
    seasons = np.full((len(windows), begun * season), np.nan)
    seasons[:, -windows.shape[1] :] = windows
    seasons = seasons.reshape(len(windows), begun, season)
    finite = np.isfinite(seasons)
    counts = finite.sum(axis=1)
    return np.where(finite, seasons, 0.0).sum(axis=1) / np.maximum(counts, 1), (counts > 0).all(axis=1)
