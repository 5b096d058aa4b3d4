"""What the past of a position says of the steps after it, without a network. B batch, N token."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from forecast.nn.seasons import Seasons
from forecast.nn.smoothing import Smoothed


@dataclass(frozen=True)
class Past:
    """What is told at some positions; None for what nobody asks.

    Attributes
    ----------
    seasons: what the seasons up to each position say.
    weeks: what the weeks say, where a season is a day.
    smoothed: what exponential smoothing says.

    """

    seasons: Seasons | None = None
    weeks: Seasons | None = None
    smoothed: Smoothed | None = None

    def at(self, positions) -> "Past":
        """Give what is told at some of the positions (slice or index along N)."""
        return self._each(lambda told: told.at(positions))

    def detach(self) -> "Past":
        """Give that through which no gradient flows."""
        return self._each(lambda told: told.detach())

    def _each(self, what: Callable[[Any], Any]) -> "Past":
        return Past(*(told and what(told) for told in vars(self).values()))
