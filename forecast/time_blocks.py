"""Blocks of time, and what is the same in all of them: who is right by chance is so in one, and wrong in the next.

W windows, K blocks.
"""

import numpy as np

BLOCKS = 5


def blocks_of_time(cutoffs: np.ndarray) -> list[np.ndarray]:
    """Give the windows of each block, by position; `cutoffs` (W,) rise.

    Blocks hold about as many windows each. Those of one cutoff stay together, so that it does not matter in which order
    the series came.
    """
    places = np.arange(len(cutoffs))
    parts = np.array_split(places, min(BLOCKS, len(places)))
    bounds = np.unique(np.searchsorted(cutoffs, cutoffs[[part[0] for part in parts]]))
    return np.split(places, bounds[1:]) if len(bounds) > 1 else parts


def blocks_of_own_time(series: np.ndarray, cutoffs: np.ndarray) -> list[np.ndarray]:
    """Give the windows of each block, by position: of every series, (W,), a part of its own time; none is empty.

    So blocks tell times apart, and not the series that happened to be there at a time.
    """
    _, own = np.unique(series, return_inverse=True)
    first = np.full(own.max(initial=0) + 1, np.iinfo("int64").max)
    last = np.full_like(first, np.iinfo("int64").min)
    np.minimum.at(first, own, cutoffs)
    np.maximum.at(last, own, cutoffs)
    block = BLOCKS * (2 * (cutoffs - first[own]) + 1) // (2 * (last - first + 1)[own])
    return [found for one in range(BLOCKS) if len(found := np.flatnonzero(block == one))]


def share_beyond_chance(means: np.ndarray) -> float:
    """Give how far the mean of blocks is to be believed, 0 to 1, from that of each, (K,) or (K, ...).

    It is 1 - error^2 / mean^2, both summed over all that is estimated: how far estimates are best shrunk that are so
    much surer than chance (James and Stein 1961). 1 where there are fewer than two blocks, which tell nothing.
    """
    if len(means) < 2:
        return 1.0
    error = means.var(axis=0, ddof=1).sum() / len(means)
    power = np.square(means.mean(axis=0)).sum()
    return float(max(0.0, 1 - error / power)) if power > 0 else 0.0
