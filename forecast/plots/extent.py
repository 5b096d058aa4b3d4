"""How much a ledger holds: the numbers that every title and report gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger


class Extent(NamedTuple):
    """Numbers of series, of cutoffs and of steps ahead (the horizon)."""

    series: int
    cutoffs: int
    steps: int

    def __str__(self) -> str:
        """Spell them out: "3 series, 20 cutoffs, 24 steps"."""
        return f"{self.series} series, {count(self.cutoffs, 'cutoff')}, {count(self.steps, 'step')}"


def extent(ledger: Ledger) -> Extent:
    """Count the series, cutoffs and steps of a ledger."""
    points = ledger.points
    return Extent(len(np.unique(points.series)), len(np.unique(points.fold)), ledger.horizon)


def count(number: int, noun: str) -> str:
    """Give back a number with its noun: "1 fold", "2 folds"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
