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

_FARTHEST = 50.0  # scaled values beyond it would decide for all others


def unfounded_drift(network: ForecastNetwork, batches: Iterable[Batch], series: np.ndarray, horizon: int) -> np.ndarray:
    """Give how far the medians of each step drift without reason, (reach,) in scaled units, from training windows.

    `series` (W,) says of which series each window of the batches is. It is their own mean displacement from the anchor,
    less the share of it that is beyond chance: by the displacements of what came true, in blocks of each series' own
    time, all steps together. See `share_beyond_chance`. Zeros where no window counts.
    """
    told = Displacements.of(network, batches, horizon)
    if told is None:
        return np.zeros(network.decoder.reach, dtype="float32")
    said, true, counted, cutoffs = (part[told.counting] for part in told)
    true = true.clip(-_FARTHEST, _FARTHEST)
    overall = _means(true, counted, otherwise=0.0)
    blocks = blocks_of_own_time(series[told.counting], cutoffs)
    means = np.stack([_means(true[block], counted[block], otherwise=overall) for block in blocks])
    return (1 - share_beyond_chance(means)) * said.mean(axis=0)


def _means(true: np.ndarray, counted: np.ndarray, otherwise: np.ndarray | float) -> np.ndarray:
    """Give the mean of each step, (reach,), or what it is `otherwise`, where nothing counts."""
    counts = counted.sum(axis=0)
    return np.where(counts > 0, (true * counted).sum(axis=0) / np.where(counts > 0, counts, 1.0), otherwise)
