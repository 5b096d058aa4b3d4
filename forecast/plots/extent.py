"""How much a ledger holds: the numbers that every title and report gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
    table = ledger.forecasts
    return Extent(len(table["unique_id"].unique()), len(table["cutoff"].unique()), int(table["step"].to_numpy().max()))


def count(number: int, noun: str) -> str:
    """Give back a number with its noun: "1 fold", "2 folds"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
