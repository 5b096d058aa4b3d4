"""Mixtures of normal distributions, which all forecasts of the processes here are. M origins, H steps, K components."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forecast.quantiles import normal_quantiles

_HALVINGS = 48  # of the span in which a quantile lies: to far below the resolution of float32


@dataclass(frozen=True)
class Mixture:
    """With a probability of `weights`, a normal distribution of `means` and `deviations`; each (M, H, K)."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    def mean(self) -> np.ndarray:
        """Give the means, (M, H)."""
        return (self.weights * self.means).sum(axis=-1)

    def quantiles(self, levels: Sequence[float]) -> np.ndarray:
        """Give the quantiles at rising levels, (M, H, Q): by halving, where there is more than one component."""
        z = normal_quantiles(levels)
        own = self.means[..., None] + self.deviations[..., None] * z  # (M, H, K, Q)
        low, high = own.min(axis=-2), own.max(axis=-2)  # between those of the components
        if own.shape[-2] == 1:
            return low
        from scipy.special import ndtr  # here, since it is slow to load

        parts = (self.weights, self.means, self.deviations)
        weights, means, deviations = (part[..., None, :] for part in parts)  # (M, H, 1, K)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = (weights * ndtr((middle[..., None] - means) / deviations)).sum(axis=-1) < levels
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.maximum.accumulate((low + high) / 2, axis=-1)

    def take(self, which: slice) -> "Mixture":
        """Give those of some of the origins."""
        return Mixture(self.weights[which], self.means[which], self.deviations[which])
