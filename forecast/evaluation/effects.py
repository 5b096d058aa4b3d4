"""What the family of the backbone and the decoder each change, and whether one depends on the other.

Backbones and decoders are crossed: a cell is one backbone under one decoder. Effects are computed on the mean over
series of log(MAE / MAE of a baseline), on which they add, and told as the share by which the error changes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.skill import skill

LATENT, DIRECT = "latent-state", "direct-prediction"
FAMILIES = (LATENT, DIRECT)
_AGAINST = {LATENT: 1.0, DIRECT: -1.0}
REFERENCE = "direct"  # the decoder that all others are compared with
_CELLS = ["backbone", "family", "decoder", "forecasters", "seeds", "log", "skill", "skill_low", "skill_high"]
_CONTRASTS = ["effect", "family", "decoder", "log", "change", "low", "high", "seeds"]
_CONTRASTS += ["backbones", "decoders", "cells", "reason"]


@dataclass(frozen=True, eq=False)
class Effects:
    """The cells of a crossed comparison, and the contrasts between them.

    Attributes
    ----------
    cells
        One row per cell: `backbone, family, decoder, forecasters` (how many share the cell)`, seeds, log, skill,
        skill_low, skill_high`. `log` is the mean log ratio of errors, `skill` is 1 - exp(log), the last two its range
        over seeds.
    contrasts
        One row per `effect`:

        - `"family"`: latent-state minus direct-prediction, over the decoders that both have;
        - `"decoder"`: `decoder` minus `direct`, over the backbones that have both, each of the two families counting
          once; where `family` is not "", in that family alone;
        - `"interaction"`: what `decoder` instead of `direct` changes in latent-state minus what it changes in
          direct-prediction networks.

        `log` is the contrast, `change` is exp(log) - 1: 0.05 is 5 % more error. `low` and `high` are the range of
        `change` over `seeds` seeds, each taken alone. `backbones` and `decoders` are tuples of names: the cells behind
        it are all pairs of the two, in number `cells`. Where an effect is not defined its numbers are NaN and `reason`
        says why.
    """

    cells: pd.DataFrame
    contrasts: pd.DataFrame


def effects(ledger: Ledger, baseline: str = "SeasonalNaive") -> Effects:
    """Give main effects and interactions of the networks of a ledger: forecasters with a backbone and a decoder.

    Every contrast is taken where the design is balanced: each backbone in it stands under each decoder in it; for the
    family effect that is the largest such block which has both families. Within a family every backbone counts once.
    A backbone is called as in the labels of its forecasters, without the decoder, where these agree. Where some cell
    holds several of its forecasters it becomes several, one for each such name; what still shares a cell is averaged.

    No uncertainty is claimed: the ranges are those over seeds only, and say nothing of other series or other times.

    Raises
    ------
    TypeError, ValueError: what `skill` raises; the ledger has no network.

    """
    networks = networks_of(ledger)
    if networks.empty:
        raise ValueError(
            "`ledger` holds no forecaster with a backbone and a decoder, whose effects could be told apart; "
            f"it has {list(ledger.forecasters)}"
        )
    table = _logs(skill(ledger, baseline), networks, [])
    by_seed = _logs(skill(ledger, baseline, by=("forecaster", "seed")), networks, ["seed"])
    seeds = by_seed.groupby(["backbone", "decoder"], sort=False).agg(
        seeds=("seed", "nunique"), low=("log", "min"), high=("log", "max")
    )
    cells = table.assign(
        seeds=seeds["seeds"].to_numpy(),
        skill=-np.expm1(table["log"]),
        skill_low=-np.expm1(seeds["high"].to_numpy()),
        skill_high=-np.expm1(seeds["low"].to_numpy()),
    ).reindex(columns=_CELLS)
    grids = [_grid(cells), *(_grid(part) for _, part in by_seed.groupby("seed"))]
    contrasts = pd.DataFrame([_told(contrast, grids) for contrast in _contrasts(cells)], columns=_CONTRASTS)
    if cells["log"].isna().to_numpy().all():
        contrasts["reason"] = f"skill against {baseline} is not defined: no series is left"
    return Effects(cells, contrasts)


def networks_of(ledger: Ledger) -> pd.DataFrame:
    """Give `forecaster, family, backbone, decoder` of each forecaster that has a backbone and a decoder.

    A name of this table stands for one backbone alone: see `effects`.
    """
    columns = ["forecaster", "family", "backbone", "decoder"]
    fits = ledger.fits.drop_duplicates("forecaster")
    networks = fits.loc[(fits["backbone"] != "") & (fits["decoder"] != ""), columns].reset_index(drop=True)
    networks["label"] = [_without(*pair) for pair in zip(networks["forecaster"], networks["decoder"], strict=True)]
    shared = set(networks.loc[networks.duplicated(["backbone", "decoder"]), "backbone"])
    labels = networks.groupby("backbone")["label"].nunique()
    names: dict[str, str] = {}  # name -> backbone
    own = []
    for backbone, label in zip(networks["backbone"], networks["label"], strict=True):
        name = label if backbone in shared or labels[backbone] == 1 else backbone
        if names.setdefault(name, backbone) != backbone:
            name = f"{name} ({backbone})"
        own.append(name)
    return networks.assign(backbone=own)[columns]


def is_crossed(ledger: Ledger) -> bool:
    """Tell whether there is anything to compare: two decoders, or two backbones of one family."""
    networks = networks_of(ledger)
    families = networks.drop_duplicates("backbone")["family"]
    return len(set(networks["decoder"])) > 1 or len(families) > len(set(families))


def balanced(cells: pd.DataFrame, families: Sequence[str] = FAMILIES) -> tuple[list[str], list[str]]:
    """Give the backbones and decoders of the largest block without a hole, in which each of `families` has a backbone.

    Of blocks of one size that with more decoders is taken. Two empty lists where there is none.
    """
    grid, family_of = _grid(cells), _family_of(cells)
    best: tuple[list[str], list[str]] = ([], [])
    for size in range(grid.shape[1], 0, -1):
        for chosen in combinations(grid.columns, size):
            members = _complete(grid, chosen)
            has_all = set(families) <= {family_of[backbone] for backbone in members}
            if has_all and size * len(members) > len(best[0]) * len(best[1]):
                best = members, list(chosen)
    return best


@dataclass(frozen=True)
class _Contrast:
    """A weight for each backbone times a weight for each decoder; or the reason why there is none."""

    effect: str
    family: str
    decoder: str
    backbones: Mapping[str, float]
    decoders: Mapping[str, float]
    reason: str = ""


def _contrasts(cells: pd.DataFrame) -> list[_Contrast]:
    grid, family_of = _grid(cells), _family_of(cells)
    members, shared = balanced(pd.DataFrame(cells[cells["family"].isin(FAMILIES)]))
    weights = _weights(members, family_of, _AGAINST)
    why = "" if members else "no decoder has backbones of both families"
    family = _Contrast("family", LATENT, "", weights, dict.fromkeys(shared, 1 / max(len(shared), 1)), why)
    others = [name for name in grid.columns if name != REFERENCE]
    return [family, *(contrast for decoder in others for contrast in _of_decoder(grid, family_of, decoder))]


def _of_decoder(grid: pd.DataFrame, family_of: Mapping[str, str], decoder: str) -> list[_Contrast]:
    """Give the main effect of a decoder, its effect in each family alone, and its interaction with the families."""
    backbones = _complete(grid, [decoder, REFERENCE])
    change = {REFERENCE: -1.0, decoder: 1.0}
    having = list(dict.fromkeys(family_of[backbone] for backbone in backbones))
    both = [family for family in FAMILIES if family in having]
    lacking = [family for family in FAMILIES if family not in having]
    pair = f"{decoder} and {REFERENCE}"
    main = "" if both else f"no backbone of the two families has both {pair}"
    once = _weights(backbones, family_of, {family: 1 / len(both) for family in both})
    interaction = f"no {' and no '.join(lacking)} backbone has both {pair}" if lacking else ""
    against = {} if lacking else _weights(backbones, family_of, _AGAINST)
    return [
        _Contrast("decoder", "", decoder, once, change, main),
        *(_Contrast("decoder", one, decoder, _weights(backbones, family_of, {one: 1.0}), change) for one in having),
        _Contrast("interaction", LATENT, decoder, against, change, interaction),
    ]


def _told(contrast: _Contrast, grids: Sequence[pd.DataFrame]) -> dict:
    """Give the row of a contrast: its value in the first grid, and its range over the others, one for each seed."""
    backbones, decoders = list(contrast.backbones), list(contrast.decoders) if contrast.backbones else []
    row = {name: getattr(contrast, name) for name in ("effect", "family", "decoder", "reason")}
    row |= {"backbones": tuple(backbones), "decoders": tuple(decoders), "cells": len(backbones) * len(decoders)}
    if not backbones:
        return row | dict.fromkeys(["log", "change", "low", "high"], np.nan) | {"seeds": 0}
    along, across = (np.array(list(weights.values())) for weights in (contrast.backbones, contrast.decoders))
    log, *seeds = [along @ grid.reindex(index=backbones, columns=decoders).to_numpy() @ across for grid in grids]
    known = np.expm1([seed for seed in seeds if np.isfinite(seed)])
    low, high = (known.min(), known.max()) if len(known) else (np.nan, np.nan)
    return row | {"log": log, "change": np.expm1(log), "low": low, "high": high, "seeds": len(known)}


def _logs(table: pd.DataFrame, networks: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Give the mean log ratio of each cell, and of each of `by` within it."""
    # A left merge keeps the order of the networks, hence that of the cells.
    table = networks.merge(table, how="left", on="forecaster").assign(log=lambda rows: np.log1p(-rows["skill"]))
    groups = table.groupby(["backbone", "family", "decoder", *by], sort=False)
    return groups.agg(forecasters=("forecaster", "nunique"), log=("log", "mean")).reset_index()


def _grid(cells: pd.DataFrame) -> pd.DataFrame:
    """Give the logs as backbones x decoders, NaN where there is no cell; `direct` is the first decoder."""
    decoders = sorted(cells["decoder"].unique(), key=lambda name: name != REFERENCE)
    grid = cells.pivot(index="backbone", columns="decoder", values="log")
    return grid.reindex(index=cells["backbone"].unique(), columns=decoders)


def _family_of(cells: pd.DataFrame) -> dict[str, str]:
    return dict(zip(cells["backbone"], cells["family"], strict=True))


def _complete(grid: pd.DataFrame, decoders: Sequence[str]) -> list[str]:
    """Give the backbones that stand under all of these decoders."""
    return list(grid.index[grid.reindex(columns=decoders).notna().all(axis=1)])


def _weights(backbones: Sequence[str], family_of: Mapping[str, str], families: Mapping[str, float]) -> dict[str, float]:
    """Share the weight of each family among its backbones; the others are left out."""
    own = [family_of[backbone] for backbone in backbones]
    pairs = zip(backbones, own, strict=True)
    return {backbone: families[family] / own.count(family) for backbone, family in pairs if family in families}


def _without(label: str, decoder: str) -> str:
    """Take the name of a decoder out of a label, where it stands last and however its words are joined."""
    words = r"[\s_-]?".join(map(re.escape, decoder.split("_")))
    rest = re.sub(rf"(.*)(?<!\w){words}(?!\w)", r"\1 ", label, count=1, flags=re.IGNORECASE | re.DOTALL)
    return " ".join(rest.split()).strip(" ,;:+/-()[]") or label
