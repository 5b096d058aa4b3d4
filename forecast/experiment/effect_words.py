"""What family and decoder each change, in words: the rows of a table of effects."""

from collections.abc import Mapping, Sequence
from typing import Any

from forecast.evaluation.effects import DIRECT, FAMILIES, LATENT, REFERENCE, Effects
from forecast.experiment.numerals import percent

Row = dict[str, Any]


def effect_rows(found: Effects) -> list[Row]:
    """Say each main effect and interaction in words: `effect, words, change, seeds, cells, over`, all text."""
    everyone = list(dict.fromkeys(found.cells["backbone"]))
    table = [{str(name): value for name, value in row.items()} for row in found.contrasts.to_dict("records")]
    # What a decoder changes in one family alone is told with its main effect and its interaction.
    alone = {(row["decoder"], row["family"]): row["change"] for row in table if row["effect"] == "decoder"}
    return [
        {
            "effect": named(row),
            "words": row["reason"] or _in_words(row, alone),
            "change": percent(row["change"]),
            "seeds": f"{percent(row['low'])} to {percent(row['high'])}" if row["seeds"] > 1 else "–",
            "cells": str(row["cells"]),
            "over": f"{_some(row['backbones'], everyone)} under {', '.join(row['decoders'])}" if row["cells"] else "",
        }
        for row in table
        if row["effect"] != "decoder" or not row["family"]
    ]


def named(row: Mapping[Any, Any]) -> str:
    """Name an effect, of a row of `Effects.contrasts`."""
    if row["effect"] == "family":
        return f"{LATENT} against {DIRECT}"
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
