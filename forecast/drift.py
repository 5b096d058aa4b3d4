"""The drift of a network: how far its medians lie above or below their anchors on average, wherever they begin.

Whatever way the series went while a network was trained, it learns as a way that is always gone. Where they went up in
one block of time and down in the next, that is nothing to go on with. H horizon.
"""

from collections.abc import Iterable

import numpy as np

from forecast.displacement import Displacements
from forecast.nn import ForecastNetwork
from forecast.time_blocks import blocks_of_own_time, share_beyond_chance
from forecast.windows import Batch


def unfounded_drift(network: ForecastNetwork, batches: Iterable[Batch], series: np.ndarray, horizon: int) -> np.ndarray:
    """Give how far the medians of each step drift without reason, (reach,) in scaled units, from training windows.

    `series` (W,) says of which series each window of the batches is. It is the mean of what the medians are away from
    the anchor, less the share of it that is beyond chance: by the median of what came true, in blocks of each series'
    own time, all steps together. See `share_beyond_chance`. Zeros where no window counts.
    """
    told = Displacements.of(network, batches, horizon)
    if told is None:
        return np.zeros(network.decoder.reach, dtype="float32")
    said, true, counted, cutoffs = (part[told.counting] for part in told)
    # Not by means: those of skewed values, such as counts, lie where no median should be.
    overall = _medians(true, counted, otherwise=0.0)
    blocks = blocks_of_own_time(series[told.counting], cutoffs)
    medians = np.stack([_medians(true[block], counted[block], otherwise=overall) for block in blocks])
    return (1 - share_beyond_chance(medians)) * said.mean(axis=0)


def _medians(true: np.ndarray, counted: np.ndarray, otherwise: np.ndarray | float) -> np.ndarray:
    """Give the median of each step, (reach,), or what it is `otherwise`, where nothing counts."""
    known = np.where(counted > 0, true, np.nan)
    anything = np.isfinite(known).any(axis=0)
    return np.where(anything, np.nanmedian(np.where(anything, known, 0.0), axis=0), otherwise)
