"""Which of many forecasters a plot singles out, so that its lines can still be followed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forecast.evaluation.metrics import score
from forecast.plots.style import families, family_order

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

_MOST = 12  # lines that an eye can follow, and that hues, dashes and names can tell apart


def best_of_each(ledger: Ledger, *, decoder: bool = False) -> list[str]:
    """Give the forecaster with the lowest MAE of each family, or of each family under each decoder, by family."""
    error = score(ledger, ["mae"]).set_index("forecaster")["mae"].fillna(np.inf)
    family_of = families(ledger.forecasters, ledger.fits)
    decoder_of = dict(zip(ledger.fits["forecaster"], ledger.fits["decoder"], strict=True)) if decoder else {}
    members: dict[tuple[str, str], list[str]] = {}
    for name, family in family_of.items():
        members.setdefault((family, decoder_of.get(name, "")), []).append(name)
    best = {group: min(names, key=lambda name: error[name]) for group, names in members.items()}
    families_told = family_order(list(family_of.values()))
    return [best[group] for family in families_told for group in best if group[0] == family]


def singled_out(ledger: Ledger) -> list[str]:
    """Give the forecasters whose lines are named: all if they are few, else the best of each family and decoder."""
    if len(ledger.forecasters) <= _MOST:
        return list(ledger.forecasters)
    return best_of_each(ledger, decoder=True)


def told(ledger: Ledger, named: list[str], beyond: int = 0) -> str:
    """Say below a plot what its faint lines are, and how many of them leave the picture; "" where there are none."""
    faint = len(ledger.forecasters) - len(named)
    if not faint:
        return ""
    leaving = f", {beyond} of them beyond the edge" if beyond else ""
    return f"\nnamed: the best of each family and decoder\nfaint: the other {faint}{leaving}"
