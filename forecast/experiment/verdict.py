"""What the numbers of a comparison allow to say, in sentences.

Who is best and how sure that is, what family and decoder each change, and what was not tested.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from forecast.evaluation.effects import DIRECT, FAMILIES, LATENT, REFERENCE, Effects
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.skill import skill
from forecast.experiment.numerals import percent
from forecast.plots.extent import Extent, count, extent

Row = dict[str, Any]
BASELINE = "SeasonalNaive"
_FEW_SEEDS, _FEW_CUTOFFS = 3, 5


def most_seeds(rows: Sequence[Row]) -> int:
    """Give the most seeds of any forecaster."""
    return max(int(row["seeds"]) for row in rows)


def caveat(size: Extent) -> str:
    """Say what a comparison of averages over so many cutoffs cannot tell."""
    text = "Intervals over series and time are not computed yet, so that this is a comparison of averages: "
    if size.cutoffs < _FEW_CUTOFFS:
        return text + f"{count(size.cutoffs, 'cutoff')} cannot tell how it would come out in another period."
    return text + "even where seeds do not overlap, a difference may belong to this period and these series alone."


def not_tested(rows: Sequence[Row], size: Extent) -> list[str]:
    """Give a sentence for each thing that was not tested, as far as the numbers of seeds and cutoffs tell."""
    facts = ["Uncertainty over series and over time: no intervals are computed for skill or any other score."]
    seeds = most_seeds(rows)
    if seeds < _FEW_SEEDS:
        facts.append(f"The spread over seeds: {count(seeds, 'seed')} per network is below the floor of {_FEW_SEEDS}.")
    if size.cutoffs < _FEW_CUTOFFS:
        facts.append(f"Stability over time: {count(size.cutoffs, 'cutoff')}, fewer than {_FEW_CUTOFFS}.")
    facts.append("Other data, other horizons, other periods and other budgets of training than those of the protocol.")
    return facts


def verdict(ledger: Ledger, rows: Sequence[Row], dataset: str = "this data") -> str:
    """Say in one sentence who is best by skill, and whether latent state or direct prediction is ahead.

    `rows` are those of the summary, one per forecaster: `forecaster, family, skill, seeds` are read. Where the seeds of
    two forecasters overlap, the sentence says that there is no clear difference.
    """
    size = extent(ledger)
    most = most_seeds(rows)
    place = f"On {dataset} ({size.series} series, {count(size.cutoffs, 'cutoff')}, horizon {count(size.steps, 'step')}"
    place += f", {most} seeds per network)" if most > 1 else ", one seed)"
    ranked = sorted((row for row in rows if not pd.isna(row["skill"])), key=lambda row: -row["skill"])
    if BASELINE not in ledger.forecasters or not ranked:
        return f"{place} there is no verdict: skill against {BASELINE} is not defined."
    ranges = _seed_ranges(ledger)

    def told(row: Row) -> str:
        return f"{row['forecaster']} ({percent(row['skill'])})"

    def overlap(one: Row, other: Row) -> bool:
        (low, high), (bottom, top) = ranges[one["forecaster"]], ranges[other["forecaster"]]
        return low <= top and bottom <= high

    champions = [next((row for row in ranked if row["family"] == family), None) for family in FAMILIES]
    best = f"{place} the highest skill is that of {told(ranked[0])}"
    # Where the two at the top are the two champions, the second half of the sentence says it.
    if len(ranked) > 1 and any(row not in champions for row in ranked[:2]) and overlap(ranked[0], ranked[1]):
        best += f", with no clear difference to {told(ranked[1])}"
    latent, direct = champions
    if latent is None or direct is None:
        absent = [family for family, row in ((LATENT, latent), (DIRECT, direct)) if row is None]
        return f"{best}; no {' and no '.join(absent)} network was compared."
    pair = f"the best latent-state network, {told(latent)}, and the best direct-prediction network, {told(direct)}"
    points = f"{100 * abs(latent['skill'] - direct['skill']):.1f} points of skill"
    if overlap(latent, direct):
        return f"{best}; no clear difference between {pair}: {points} apart, and the ranges of their seeds overlap."
    ahead = max(latent, direct, key=lambda row: row["skill"])["forecaster"]
    known = "and the ranges of their seeds do not overlap"
    if min(latent["seeds"], direct["seeds"]) < 2:
        known = "but one seed cannot tell merit from chance"
    return f"{best}; of {pair}, {ahead} is ahead by {points}, {known}."


def effect_rows(found: Effects) -> list[Row]:
    """Say each main effect and interaction in words: `effect, words, change, seeds, cells, over`, all text."""
    everyone = list(dict.fromkeys(found.cells["backbone"]))
    table = [{str(name): value for name, value in row.items()} for row in found.contrasts.to_dict("records")]
    # What a decoder changes in one family alone is told with its main effect and its interaction.
    alone = {(row["decoder"], row["family"]): row["change"] for row in table if row["effect"] == "decoder"}
    return [
        {
            "effect": _effect(row),
            "words": row["reason"] or _in_words(row, alone),
            "change": percent(row["change"]),
            "seeds": f"{percent(row['low'])} to {percent(row['high'])}" if row["seeds"] > 1 else "–",
            "cells": str(row["cells"]),
            "over": f"{_some(row['backbones'], everyone)} under {', '.join(row['decoders'])}" if row["cells"] else "",
        }
        for row in table
        if row["effect"] != "decoder" or not row["family"]
    ]


def _effect(row: Row) -> str:
    if row["effect"] == "family":
        return "family"
    return f"{row['decoder']} against {REFERENCE}" if row["effect"] == "decoder" else f"family × {row['decoder']}"


def _some(backbones: Sequence[str], everyone: Sequence[str]) -> str:
    """Name backbones, or those that are missing where they are fewer."""
    missing = [name for name in everyone if name not in backbones]
    if len(backbones) < 4 or len(missing) >= len(backbones):
        return ", ".join(backbones)
    return f"all {len(everyone)} backbones" + f" but {', '.join(missing)}" * bool(missing)


def _in_words(row: Row, alone: dict[tuple[str, str], float]) -> str:
    decoder, change = row["decoder"], row["change"]
    if row["effect"] == "family":
        return f"{LATENT} networks have {_amount(change)} {DIRECT} networks"
    by_family = [(family, percent(alone[decoder, family])) for family in FAMILIES if (decoder, family) in alone]
    if row["effect"] == "decoder":
        split = ", ".join(f"{family} {text}" if len(by_family) > 1 else f"{family} alone" for family, text in by_family)
        return f"{decoder} has {_amount(change)} {REFERENCE}" + f" ({split})" * bool(split)
    less = "less" if change < 0 else "more"
    apart = "the same" if abs(change) < 0.0005 else f"{percent(abs(change), '')} {less} for {LATENT}"
    parts = " and ".join(f"{text} for {family}" for family, text in by_family)
    return f"{decoder} in place of {REFERENCE} changes the error by {parts}: {apart}"


def _amount(change: float) -> str:
    if abs(change) < 0.0005:
        return "the same error as"
    return f"{percent(abs(change), '')} {'less' if change < 0 else 'more'} error than"


def _seed_ranges(ledger: Ledger) -> dict[str, tuple[float, float]]:
    table = skill(ledger, BASELINE, by=("forecaster", "seed"))
    values: dict[str, list[float]] = {}
    for name, value in zip(table["forecaster"], table["skill"], strict=True):
        values.setdefault(name, []).append(float(value))
    return {name: (min(several), max(several)) for name, several in values.items()}
