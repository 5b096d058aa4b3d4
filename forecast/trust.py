"""How far a network is to be heard: by how surely it is better than its own anchor, on the validation windows.

Where there is nothing to learn, as in exchange rates, a network still learns what its training windows happened to do.
It may even do a little better than the anchor on validation, by the same luck; but not from one block of time to the
next. H horizon.
"""

from collections.abc import Iterable

import numpy as np

from forecast.displacement import Displacements
from forecast.nn import ForecastNetwork
from forecast.time_blocks import share_beyond_chance
from forecast.windows import Batch


def trust_in(network: ForecastNetwork, batches: Iterable[Batch], horizon: int) -> float:
    """Give the share, 0 to 1, of what a network says beyond its anchor.

    It is how far the gain in mean absolute error is beyond chance, over blocks of `horizon` steps, and 0 where there is
    none; series count together, since one day may surprise all. See `share_beyond_chance`.
    """
    told = Displacements.of(network, batches, horizon)
    if told is None:
        return 1.0
    said, true, counted, cutoffs = (part[told.counting] for part in told)
    gains = ((np.abs(true) - np.abs(true - said)) * counted).sum(axis=1) / counted.sum(axis=1)
    _, block = np.unique((cutoffs - cutoffs.min()) // horizon, return_inverse=True)
    means = np.bincount(block, gains) / np.bincount(block)
    if len(means) > 1 and means.mean() <= 0:
        return 0.0
    return share_beyond_chance(means)
