"""What every process keeps: it draws series, and says what comes next in them as well as can be said.

S series, T time step, M origins, H horizon.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame import ID, TARGET, TIME
from forecast.params import check_positive, check_seed
from forecast.synthetic.mixture import Mixture

# What is known of each series, (S, ...) each: all that the values read so far say of those to come.
Belief = tuple[np.ndarray, ...]


class Process(ABC):
    """The law of a series: a frozen keyword-only dataclass of its numbers, each default stated once, in it.

    All series of a frame have the same law and nothing else in common. What is known of one is carried from value to
    value as a belief, from which follows the distribution of every later value: Bayes' rule, and nothing estimated.
    """

    def frame(self, *, series: int = 20, length: int = 2000, seed: int = 0) -> pd.DataFrame:
        """Draw a long frame, `unique_id, ds, y`: so many series with the stamps 0, 1, ... `length` - 1.

        Raises
        ------
        TypeError, ValueError: `series` or `length` is no whole number of 1 or more, `seed` none of 0 or more.

        """
        check_positive(series=series, length=length)
        check_seed(seed)
        values = self.draw(np.random.default_rng(seed), series, length)
        digits = len(str(series - 1))
        names = [f"{number:0{digits}d}" for number in range(series)]
        return pd.DataFrame(
            {ID: np.repeat(names, length), TIME: np.tile(np.arange(length), series), TARGET: values.ravel()}
        )

    def ahead(
        self, values: np.ndarray, first: np.ndarray, series: np.ndarray, read: np.ndarray, horizon: int
    ) -> Mixture:
        """Give the distribution of the `horizon` values after each of M origins, knowing those up to it and the law.

        Parameters
        ----------
        values: (S, T) float64, NaN where missing.
        first: (S,), the time of each series' first value, as its stamps count it.
        series, read: (M,), of each origin its row in `values`, and how many values of it have been read, 1 or more.
        horizon: H.

        """
        order = np.argsort(read, kind="stable")
        ends = np.searchsorted(read[order], np.arange(values.shape[1] + 1), side="right")
        belief, kept = self.begin(len(values)), []
        for t in range(int(read.max())):
            belief = self.update(belief, first + t, values[:, t])
            if len(here := order[ends[t] : ends[t + 1]]):
                kept.append([part[series[here]] for part in belief])
        known = tuple(np.concatenate(part)[np.argsort(order)] for part in zip(*kept, strict=True))
        return self.foretold(known, first[series] + read - 1, horizon)

    @abstractmethod
    def draw(self, rng: np.random.Generator, series: int, length: int) -> np.ndarray:
        """Draw series, (S, T) float64."""

    @abstractmethod
    def begin(self, series: int) -> Belief:
        """Give the belief before the first value of so many series."""

    @abstractmethod
    def update(self, belief: Belief, times: np.ndarray, values: np.ndarray) -> Belief:
        """Give the belief once the values (S,) of the next times (S,) are read; NaN tells nothing."""

    @abstractmethod
    def foretold(self, belief: Belief, times: np.ndarray, horizon: int) -> Mixture:
        """Give the distribution of the values after times (M,), from beliefs (M, ...)."""


def check_number(process: Process, name: str, low: float, high: float, allowed: str) -> None:
    """Refuse an argument that is no number above `low` and below `high`, which `allowed` says in words.

    Raises
    ------
    ValueError: it is not.

    """
    value: Any = getattr(process, name)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low < value < high:
        raise ValueError(f"`{name}` of {type(process).__name__} is {value!r}; allowed: {allowed}")
