"""A season that is longer than most contexts: who does not look back a whole one knows nothing of what comes.

S series, M origins, H horizon, L levels of a season.
"""

from dataclasses import dataclass

import numpy as np

from forecast.params import check_positive
from forecast.synthetic.mixture import Mixture
from forecast.synthetic.process import Belief, Process, check_number

_ABOVE = "a finite number above 0"


@dataclass(frozen=True, kw_only=True)
class LongSeason(Process):
    """A pattern of independent levels, each held for `hold` steps, that comes again every `period` steps, behind noise.

    Each series has levels of its own, drawn once from N(center, spread^2): nothing nearby, and no other series, tells
    the next one. The best forecast is that of a normal mean with a normal prior, from all values at its places so far.
    When a level changes is known: seasons are counted from stamp 0.
    """

    period: int = 240
    hold: int = 12
    spread: float = 1.0
    noise: float = 0.3
    center: float = 0.0

    def __post_init__(self) -> None:
        check_positive(period=self.period, hold=self.hold)
        if self.period % self.hold:
            raise ValueError(
                f"`hold` of LongSeason is {self.hold}; allowed: a whole number that divides `period`, {self.period}"
            )
        check_number(self, "spread", 0, float("inf"), _ABOVE)
        check_number(self, "noise", 0, float("inf"), _ABOVE)
        check_number(self, "center", -float("inf"), float("inf"), "a finite number")

    def draw(self, rng: np.random.Generator, series: int, length: int) -> np.ndarray:
        """Draw series, (S, T)."""
        levels = self.center + self.spread * rng.normal(size=(series, self.period // self.hold))
        return levels[:, self._places(np.arange(length))] + self.noise * rng.normal(size=(series, length))

    def begin(self, series: int) -> Belief:
        """Give for each level how many values of it were read, and their sum, (S, L)."""
        empty = np.zeros((series, self.period // self.hold))
        return empty, empty.copy()

    def update(self, belief: Belief, times: np.ndarray, values: np.ndarray) -> Belief:
        """Count the values in."""
        counts, sums = belief
        there = np.flatnonzero(np.isfinite(values))
        places = self._places(times[there])
        counts[there, places] += 1
        sums[there, places] += values[there] - self.center
        return belief

    def foretold(self, belief: Belief, times: np.ndarray, horizon: int) -> Mixture:
        """Give one normal distribution for each step."""
        places = self._places(times[:, None] + np.arange(1, horizon + 1))  # (M, H)
        counts, sums = (np.take_along_axis(part, places, axis=1) for part in belief)
        known = 1 / (1 / self.spread**2 + counts / self.noise**2)  # variance of a level
        means = self.center + known * sums / self.noise**2
        deviations = np.sqrt(known + self.noise**2)
        return Mixture(np.ones((*means.shape, 1)), means[..., None], deviations[..., None])

    def _places(self, times: np.ndarray) -> np.ndarray:
        """Give which level holds at times."""
        return times % self.period // self.hold
