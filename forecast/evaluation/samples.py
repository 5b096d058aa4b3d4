"""The continuous ranked probability score of forecasts that are samples, not quantiles."""

import numpy as np


def crps_of_samples(y: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Give the CRPS, in the units of `y`: mean |X - y| - mean |X - X'| / 2, X and X' being two different samples.

    The fair version: the mean of the second term is over pairs of different samples, so that the score does not favour
    few of them (Ferro 2014, "Fair scores for ensemble forecasts", https://doi.org/10.1002/qj.2270).

    Parameters
    ----------
    y: (...) what came true, NaN where nothing was observed: the score is NaN there.
    samples: (..., n), n >= 2.

    Raises
    ------
    ValueError: shapes that do not belong together, fewer than two samples, a sample that is no finite number.

    """
    y, samples = np.asarray(y, "float64"), np.asarray(samples, "float64")
    if samples.shape[:-1] != y.shape or samples.ndim == 0:
        raise ValueError(
            f"`samples` has the shape {samples.shape} and `y` {y.shape}; allowed: those of `y`, and one axis of samples"
        )
    number = samples.shape[-1]
    if number < 2:
        raise ValueError(f"`samples` holds {number} for each point; 2 or more are needed to know their spread")
    if not (finite := np.isfinite(samples)).all():
        place = tuple(np.argwhere(~finite)[0].tolist())
        raise ValueError(f"`samples` is {samples[place]} at {place}; every sample must be a finite number")
    # In rising order, sample i is the larger one of i - 1 pairs and the smaller one of n - i.
    ranks = 2 * np.arange(1, number + 1) - number - 1
    spread = (np.sort(samples, axis=-1) * ranks).sum(axis=-1) / (number * (number - 1))
    return np.abs(samples - y[..., None]).mean(axis=-1) - spread
