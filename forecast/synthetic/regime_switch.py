"""Two regimes that nobody sees, and the filter that tells as well as can be told which of them holds (Hamilton 1989).

S series, M origins, H horizon; two regimes.
"""

from dataclasses import dataclass

import numpy as np

from forecast.synthetic.mixture import Mixture
from forecast.synthetic.process import Belief, Process, check_number


@dataclass(frozen=True, kw_only=True)
class RegimeSwitch(Process):
    """Values around the mean of a regime, which stays from step to step with a probability of its own.

    In regime i a value is N(mean_i, noise_i^2), and the next one is in the same regime with probability stay_i. The
    chain is stationary. A value that both may give says little: evidence has to be gathered, and no linear rule does it
    as well as a state can.
    """

    stay_1: float = 0.99
    stay_2: float = 0.98
    mean_1: float = 0.0
    mean_2: float = 3.0
    noise_1: float = 0.5
    noise_2: float = 2.0

    def __post_init__(self) -> None:
        for regime in (1, 2):
            check_number(self, f"stay_{regime}", 0, 1, "a number above 0 and below 1")
            check_number(self, f"mean_{regime}", -float("inf"), float("inf"), "a finite number")
            check_number(self, f"noise_{regime}", 0, float("inf"), "a finite number above 0")

    def draw(self, rng: np.random.Generator, series: int, length: int) -> np.ndarray:
        """Draw series, (S, T)."""
        first, moves = self._chain()
        draws = rng.random((length, series))
        regimes = np.empty((length, series), dtype="int64")
        in_second = first[1]
        for t in range(length):
            regimes[t] = draws[t] < in_second
            in_second = moves[regimes[t], 1]
        means, noises = self._regimes()
        return means[regimes.T] + noises[regimes.T] * rng.normal(size=(series, length))

    def begin(self, series: int) -> Belief:
        """Give how probable each regime is at the first time, (S, 2)."""
        return (np.broadcast_to(self._chain()[0], (series, 2)),)

    def update(self, belief: Belief, times: np.ndarray, values: np.ndarray) -> Belief:
        """Give how probable each regime is at the next time."""
        del times
        means, noises = self._regimes()
        distances = -0.5 * ((values[:, None] - means) / noises) ** 2 - np.log(noises)
        distances = np.where(np.isfinite(distances), distances, 0.0)
        # From the likelier regime on, or both would be 0 far out.
        weighed = belief[0] * np.exp(distances - distances.max(axis=1, keepdims=True))
        return (weighed / weighed.sum(axis=1, keepdims=True) @ self._chain()[1],)

    def foretold(self, belief: Belief, times: np.ndarray, horizon: int) -> Mixture:
        """Give a mixture of both regimes for each step."""
        del times
        moves, weights = self._chain()[1], [belief[0]]
        for _ in range(horizon - 1):
            weights.append(weights[-1] @ moves)
        stacked = np.stack(weights, axis=1)  # (M, H, 2)
        means, noises = (np.broadcast_to(one, stacked.shape) for one in self._regimes())
        return Mixture(stacked, means, noises)

    def _regimes(self) -> tuple[np.ndarray, np.ndarray]:
        """Give means and deviations, (2,) each."""
        return np.array([self.mean_1, self.mean_2]), np.array([self.noise_1, self.noise_2])

    def _chain(self) -> tuple[np.ndarray, np.ndarray]:
        """Give how probable each regime is in the long run (2,), and after each regime (2, 2)."""
        leave_1, leave_2 = 1 - self.stay_1, 1 - self.stay_2
        first = np.array([leave_2, leave_1]) / (leave_1 + leave_2)
        return first, np.array([[self.stay_1, leave_1], [leave_2, self.stay_2]])
