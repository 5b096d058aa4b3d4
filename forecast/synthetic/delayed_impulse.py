"""Impulses that come back after a long delay: only who reads so far back sees what is on its way.

S series, M origins, H horizon, D steps of the delay.
"""

from dataclasses import dataclass

import numpy as np

from forecast.params import check_positive
from forecast.synthetic.mixture import Mixture
from forecast.synthetic.process import Belief, Process, check_number


@dataclass(frozen=True, kw_only=True)
class DelayedImpulse(Process):
    """Noise, impulses at random times, and after exactly `delay` steps a response to each.

    y = size e + response e[-delay] + N(0, noise^2), where e is 1 with a `probability` at each step, else 0. An impulse
    shows in the series itself, behind the noise, so that from the values `delay` steps before, and what these answered
    to, follows how probable a response is. Impulses that are still to come nobody knows.
    """

    delay: int = 48
    probability: float = 0.1
    size: float = 2.5
    response: float = 5.0
    noise: float = 0.5

    def __post_init__(self) -> None:
        check_positive(delay=self.delay)
        check_number(self, "probability", 0, 1, "a number above 0 and below 1")
        for name in ("size", "response"):
            check_number(self, name, -float("inf"), float("inf"), "a finite number")
        check_number(self, "noise", 0, float("inf"), "a finite number above 0")

    def draw(self, rng: np.random.Generator, series: int, length: int) -> np.ndarray:
        """Draw series, (S, T); what happened before the first value is answered, too."""
        impulses = rng.random((series, self.delay + length)) < self.probability
        noise = self.noise * rng.normal(size=(series, length))
        return self.size * impulses[:, self.delay :] + self.response * impulses[:, :length] + noise

    def begin(self, series: int) -> Belief:
        """Give how probable an impulse was at each of the last D times, (S, D), each at its time modulo D."""
        return (np.full((series, self.delay), self.probability),)

    def update(self, belief: Belief, times: np.ndarray, values: np.ndarray) -> Belief:
        """Weigh what explains a value: an impulse now, one `delay` steps ago, both, neither."""
        (before,) = belief
        places = times % self.delay
        rows = np.arange(len(values))
        weights, means = self._explained(before[rows, places])  # (S, 4)
        fits = -0.5 * ((values[:, None] - means) / self.noise) ** 2
        weighed = weights * np.exp(fits - fits.max(axis=1, keepdims=True))
        now = weighed[:, 2:].sum(axis=1) / weighed.sum(axis=1)
        before[rows, places] = np.where(np.isfinite(values), now, self.probability)
        return (before,)

    def foretold(self, belief: Belief, times: np.ndarray, horizon: int) -> Mixture:
        """Give a mixture of the four cases for each step."""
        steps = np.arange(1, horizon + 1)
        places = (times[:, None] + steps) % self.delay  # (M, H)
        answered = np.where(steps <= self.delay, np.take_along_axis(belief[0], places, axis=1), self.probability)
        weights, means = self._explained(answered)
        return Mixture(weights, np.broadcast_to(means, weights.shape), np.full(weights.shape, self.noise))

    def _explained(self, answered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the four cases: neither, a response, an impulse, both; how probable (..., 4), and their means (4,).

        `answered` (...) says how probable an impulse was `delay` steps before.
        """
        now, before = self.probability, answered[..., None]
        pair = np.concatenate([1 - before, before], axis=-1)
        means = np.array([0.0, self.response, self.size, self.size + self.response])
        return np.concatenate([(1 - now) * pair, now * pair], axis=-1), means
