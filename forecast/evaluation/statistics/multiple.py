"""Many tests at once: p-values that hold for the whole family of them."""

import numpy as np

from forecast.evaluation.statistics.estimand import from_extra


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values by the step-down rule of Holm (1979), those that are NaN left out of the family."""
    p_values = np.asarray(p_values, "float64")
    adjusted = np.full(p_values.shape, np.nan)
    known = np.isfinite(p_values)
    if known.any():
        multitest = from_extra("statsmodels.stats.multitest")
        adjusted[known] = multitest.multipletests(p_values[known], method="holm")[1]
    return adjusted
