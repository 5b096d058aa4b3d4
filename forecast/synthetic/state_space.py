"""Linear Gaussian state spaces, whose best forecast is that of Kalman's filter (Kalman 1960).

S series, M origins, H horizon, D components of the state.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from forecast.synthetic.mixture import Mixture
from forecast.synthetic.process import Belief, Process, check_number

_ANY, _ABOVE = "a finite number", "a finite number above 0"
_INFINITE = float("inf")


class Law(NamedTuple):
    """State x' = F x + w, value y = z x + v, with normal w and v; before the first value x has mean 0.

    Where the first component is `anywhere`, nothing is known of it before the first value: its prior is flat.
    """

    move: np.ndarray  # F (D, D)
    shocks: np.ndarray  # covariance of w (D, D)
    reading: np.ndarray  # z (D,)
    noise: float  # variance of v
    start: np.ndarray  # covariance of the first x (D, D)
    anywhere: bool


class StateSpace(Process):
    """A process with a law of this kind, and values that lie around `center`."""

    center: float

    @abstractmethod
    def law(self) -> Law:
        """Give the law of the distances from the center."""

    def draw(self, rng: np.random.Generator, series: int, length: int) -> np.ndarray:
        """Draw series, (S, T)."""
        law = self.law()
        dimension = len(law.reading)
        state = rng.multivariate_normal(np.zeros(dimension), law.start, size=series)  # (S, D)
        shocks = rng.multivariate_normal(np.zeros(dimension), law.shocks, size=(length, series))
        values = np.empty((series, length))
        for t in range(length):
            values[:, t] = state @ law.reading
            state = state @ law.move.T + shocks[t]
        return self.center + values + np.sqrt(law.noise) * rng.normal(size=values.shape)

    def begin(self, series: int) -> Belief:
        """Give mean (S, D) and covariance (S, D, D) of the first state, and whether a value was seen (S,)."""
        law = self.law()
        covariance = np.broadcast_to(law.start, (series, *law.start.shape)).copy()
        return np.zeros((series, len(law.reading))), covariance, np.full(series, not law.anywhere)

    def update(self, belief: Belief, times: np.ndarray, values: np.ndarray) -> Belief:
        """Give mean and covariance of the state at the next time, before it moves on."""
        del times
        law, (mean, covariance, seen) = self.law(), belief
        there = np.isfinite(values)
        errors = np.where(there, values - self.center - mean @ law.reading, 0.0)
        with_value = covariance @ law.reading  # (S, D), covariance of state and value
        gain = with_value / (with_value @ law.reading + law.noise)[:, None] * there[:, None]
        after = mean + gain * errors[:, None]
        left = covariance - gain[:, :, None] * with_value[:, None, :]
        if len(new := np.flatnonzero(there & ~seen)):  # a flat prior: the value tells the first component, and no other
            after[new] = mean[new]
            after[new, 0] = (values[new] - self.center) / law.reading[0]
            left[new] = covariance[new]
            left[new, 0, :] = left[new, :, 0] = 0.0
            left[new, 0, 0] = law.noise / law.reading[0] ** 2
        return after @ law.move.T, law.move @ left @ law.move.T + law.shocks, seen | there

    def foretold(self, belief: Belief, times: np.ndarray, horizon: int) -> Mixture:
        """Give one normal distribution for each step."""
        del times
        law, (mean, covariance, _) = self.law(), belief
        reading, grown = law.reading, 0.0  # z F^h, and what the shocks of h steps add to the variance
        means, variances = [], []
        for _ in range(horizon):
            means.append(mean @ reading)
            variances.append(np.einsum("d,mde,e->m", reading, covariance, reading) + grown + law.noise)
            grown = grown + reading @ law.shocks @ reading
            reading = reading @ law.move
        found = self.center + np.stack(means, axis=1)[:, :, None]  # (M, H, 1)
        return Mixture(np.ones_like(found), found, np.sqrt(np.stack(variances, axis=1))[:, :, None])


@dataclass(frozen=True, kw_only=True)
class DampedTrend(StateSpace):
    """A level that wanders, with a slope that fades and is renewed, behind noise (Gardner and McKenzie 1985).

    level' = level + slope + N(0, level_shock^2), slope' = damping slope + N(0, slope_shock^2), y = level +
    N(0, noise^2). The slope begins as it goes on; the level begins anywhere, so that to whoever forecasts nothing is
    known of it before the first value, and is drawn from N(center, start^2).
    """

    damping: float = 0.95
    level_shock: float = 0.3
    slope_shock: float = 0.05
    noise: float = 1.0
    center: float = 0.0
    start: float = 10.0

    def __post_init__(self) -> None:
        check_number(self, "damping", 0, 1, "a number above 0 and below 1")
        for name in ("level_shock", "slope_shock", "noise", "start"):
            check_number(self, name, 0, _INFINITE, _ABOVE)
        check_number(self, "center", -_INFINITE, _INFINITE, _ANY)

    def law(self) -> Law:
        """Give the law of level and slope."""
        slope = self.slope_shock**2
        return Law(
            move=np.array([[1.0, 1.0], [0.0, self.damping]]),
            shocks=np.diag([self.level_shock**2, slope]),
            reading=np.array([1.0, 0.0]),
            noise=self.noise**2,
            start=np.diag([self.start**2, slope / (1 - self.damping**2)]),
            anywhere=True,
        )


@dataclass(frozen=True, kw_only=True)
class AR2(StateSpace):
    """The autoregression of second order, y = phi_1 y[-1] + phi_2 y[-2] + N(0, noise^2), around `center`, stationary.

    By default a cycle of some 20 steps that loses its phase. The last two values say all that can be said.
    """

    phi_1: float = 1.8
    phi_2: float = -0.9
    noise: float = 1.0
    center: float = 0.0

    def __post_init__(self) -> None:
        check_number(self, "noise", 0, _INFINITE, _ABOVE)
        check_number(self, "center", -_INFINITE, _INFINITE, _ANY)
        check_number(self, "phi_2", -1, 1, "a number above -1 and below 1, or the series does not stay")
        room = (
            f"a number between {self.phi_2 - 1:g} and {1 - self.phi_2:g}, or with this `phi_2` the series does not stay"
        )
        check_number(self, "phi_1", self.phi_2 - 1, 1 - self.phi_2, room)

    def law(self) -> Law:
        """Give the law of the last two values."""
        near, far, shock = self.phi_1, self.phi_2, self.noise**2
        variance = shock * (1 - far) / ((1 + far) * ((1 - far) ** 2 - near**2))
        together = variance * near / (1 - far)
        return Law(
            move=np.array([[near, far], [1.0, 0.0]]),
            shocks=np.diag([shock, 0.0]),
            reading=np.array([1.0, 0.0]),
            noise=0.0,
            start=np.array([[variance, together], [together, variance]]),
            anywhere=False,
        )
