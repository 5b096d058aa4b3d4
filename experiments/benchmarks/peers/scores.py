"""The errors by which all are measured: numpy alone, so that no library is judged by its own.

W windows, H horizon.
"""

import numpy as np


def mse(forecast: np.ndarray, actual: np.ndarray) -> float:
    """Give the mean squared error over windows and steps, both (W, H)."""
    return float(np.square(forecast - actual).mean())


def mae(forecast: np.ndarray, actual: np.ndarray) -> float:
    """Give the mean absolute error over windows and steps, both (W, H)."""
    return float(np.abs(forecast - actual).mean())


def seasonal_step(history: np.ndarray, season: int) -> float:
    """Give the mean absolute step from season to season of a history (T,): the unit of the MASE."""
    return float(np.abs(history[season:] - history[:-season]).mean())


def mase(forecast: np.ndarray, actual: np.ndarray, units: np.ndarray) -> float:
    """Give the mean over windows of the absolute error (W, H) in the units (W,) of their series."""
    return float((np.abs(forecast - actual).mean(axis=1) / units).mean())


def smape(forecast: np.ndarray, actual: np.ndarray) -> float:
    """Give the symmetric mean absolute percentage error of both (W, H), from 0 to 200; 0 / 0 counts as 0."""
    size = np.abs(forecast) + np.abs(actual)
    return float(200 * (np.abs(forecast - actual) / np.where(size > 0, size, 1)).mean())
