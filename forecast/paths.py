"""Sample paths: whole trajectories drawn from the forecasts of M origins. H steps, Q quantile levels, n paths, R past
origins.

A forecast says how likely the values of each step are, not how its steps hang together. That is taken from what the
forecaster has missed: at past origins of the same series, each actual has a place in the distribution that was forecast
for its step, and the sequence of places over the steps is a template. At each step the values of the paths are ordered
as their templates are (the Schaake shuffle: Clark et al. 2004, https://doi.org/10.1175/1525-7541(2004)005<0243:TSSAMF>2.0.CO;2),
so that a path that is high at one step is as likely to be high at the next as the actuals were.
"""

from collections.abc import Callable, Sequence

import numpy as np

from forecast.forecasts import Forecast
from forecast.frame import Panel
from forecast.history import GATHERED, last_rows
from forecast.origins import Origins
from forecast.quantiles import at_levels, scores_of

_LEAST = 100  # paths that are drawn to choose from where fewer are asked for
_ENOUGH = 20  # past origins that tell how steps hang together; with fewer, those of other series are taken too

# The forecast of a panel from some origins.
Forecasting = Callable[[Panel, Origins], Forecast]


def draw_paths(
    forecasting: Forecasting,
    panel: Panel,
    origins: Origins,
    forecast: Forecast,
    levels: Sequence[float],
    *,
    n: int,
    seed: int,
) -> np.ndarray:
    """Give n paths for each origin, (M, H, n) float32.

    Their values at a step are the quantiles at n levels spread evenly. The templates are n past origins, evenly spread
    over the history, of which all H actuals were observed by the cutoff. A series with fewer than 20 of them takes
    those of the longest series; where there are none at all, a path stays at one level, so that sums are as uncertain
    as they can be. Series with the same rows take their templates from the same stamps: their paths of one number
    belong together. What is drawn for an origin depends on the seed and its cutoff, not on which others are asked.
    """
    count = max(n, _LEAST)
    even = ((np.arange(count) + 0.5) / count).tolist()
    paths = np.empty((len(origins), forecast.horizon, n), dtype="float32")
    size = max(1, GATHERED // (count * forecast.horizon * (len(levels) + 1)))
    shared: dict[int, np.ndarray] = {}
    for low in range(0, len(origins), size):
        block = origins.take(slice(low, low + size))
        owner, scores = _templates(forecasting, panel, block, forecast.horizon, count, levels)
        values = at_levels(forecast.quantiles[low : low + size], levels, even)  # (block, H, count)
        bounds = np.searchsorted(owner, np.arange(len(block) + 1))
        for place, cutoff in enumerate(block.cutoffs.tolist()):
            mine = scores[bounds[place] : bounds[place + 1]]
            if len(mine) < _ENOUGH:
                if cutoff not in shared:
                    others = _longest_at(panel, cutoff, count)
                    each = -(-count // len(others))
                    shared[cutoff] = _templates(forecasting, panel, others, forecast.horizon, each, levels)[1]
                mine = shared[cutoff]
            random = np.random.default_rng([seed, cutoff % 2**63])
            paths[low + place] = _arranged(values[place], mine, random)[:, :n]
    return paths


def _templates(
    forecasting: Forecasting, panel: Panel, origins: Origins, horizon: int, most: int, levels: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Give whose templates they are, (R,) rising positions among the origins, and the scores of their steps, (R, H)."""
    there = np.maximum(origins.ends - panel.starts[origins.series] - horizon, 0)  # past origins of each
    taken = np.minimum(there, most)
    owner = np.repeat(np.arange(len(origins)), taken)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(taken) - taken, taken)
    back = horizon + number * there[owner] // np.maximum(taken[owner], 1)  # counted from the newest
    series = origins.series[owner]
    past = Origins(series, origins.ends[owner] - back, origins.cutoffs[owner] - back)
    actuals = panel.at(series[:, None], past.cutoffs[:, None] + np.arange(1, horizon + 1))
    usable = np.flatnonzero(np.isfinite(actuals).all(axis=1))
    if len(usable):
        usable = usable[last_rows(panel, past.take(usable)) >= 0]
    if not len(usable):
        return owner[:0], np.empty((0, horizon))
    quantiles = forecasting(panel, past.take(usable)).quantiles
    return owner[usable], scores_of(actuals[usable], quantiles, levels)


def _longest_at(panel: Panel, cutoff: int, most: int) -> Origins:
    """Give the origins of the longest series up to a cutoff: there, or at their end if that is before it."""
    rows = np.minimum(panel.last, cutoff) + 1 - panel.first
    begun = np.flatnonzero(rows > 0)
    series = begun[np.argsort(-rows[begun], kind="stable")[:most]]
    return Origins(series, panel.starts[series] + rows[series], panel.first[series] + rows[series] - 1)


def _arranged(values: np.ndarray, scores: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Give the rising values of each step (H, n) in the order of templates (R, H), one to a path."""
    count = values.shape[1]
    if len(scores) == 0:
        return values[:, random.permutation(count)]
    # Evenly from all templates: some serve several paths where there are fewer, and ties are broken by chance.
    chosen = scores[random.permutation(count) * len(scores) // count]  # (n, H)
    ranks = np.lexsort((random.random(chosen.shape), chosen), axis=0).argsort(axis=0)
    return np.take_along_axis(values, ranks.T, axis=1)
