"""The page of an experiment on costs: what one new prediction costs, a table with powers, plots, what was left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from forecast.experiment.cells import Row
from forecast.experiment.curve_results import unfinished
from forecast.experiment.numerals import number
from forecast.experiment.pages import page
from forecast.experiment.pictures import Picture, embedded
from forecast.plots import plot_cost
from forecast.plots.style import family_colours, family_order

_CURVE = ["backbone", "patch_length"]
_PREFIXES = {1e-9: "n", 1e-6: "µ", 1e-3: "m", 1.0: "", 1e3: "k", 1e6: "M", 1e9: "G", 1e12: "T"}


def figures(costs: pd.DataFrame) -> list[Picture]:
    """Draw all backbones for each patch length, and what patches change for the first backbone of each kind."""
    drawn = []
    patches = sorted(set(costs["patch_length"].tolist()))
    for patch in patches:
        of = "1 value" if patch == 1 else f"{patch} values"
        caption = f"All backbones, patches of {of}. “all T”: what is streamed remembers the whole history."
        own = pd.DataFrame(costs[costs["patch_length"] == patch])
        drawn.append(Picture(f"patches_of_{patch}", caption, plot_cost(own)))
    if len(patches) > 1:
        caption = "What patches change: the first backbone of each family, with and without attention."
        some = costs["backbone"].isin(_representatives(costs))
        drawn.append(Picture("patches", caption, plot_cost(pd.DataFrame(costs[some]))))
    return drawn


def cost_page(
    config: Mapping[str, Any],
    costs: pd.DataFrame,
    powers: pd.DataFrame,
    drawn: Sequence[Picture],
    protocol: Mapping[str, Any],
    cells: pd.DataFrame,
) -> str:
    """Give the report of an experiment on costs, one HTML page."""
    return page(
        "costs.html.j2",
        title=f"Experiment {config['name']}",
        told=told(costs),
        table=_table(costs, powers),
        figures=[embedded(picture, config["kind"]) for picture in drawn],
        config=config,
        most_bytes=scaled(config["most_bytes"], "B"),
        left_out=_left_out(costs),
        unfinished=unfinished(
            cells,
            lambda row: f"{row['backbone']}, patches of {row['patch_length']}, {row['length']:,} values",
            otherwise="not measured yet",
        ),
        protocol=protocol,
    )


def told(costs: pd.DataFrame) -> list[str]:
    """Say what one new prediction costs after the longest history, recomputed and streamed, in a sentence each."""
    measured = pd.DataFrame(costs[costs["left_out"] == ""]).sort_values(by=["length"])
    longest = measured.drop_duplicates([*_CURVE, "mode"], keep="last").to_dict("records")
    points = {(row["backbone"], row["patch_length"], row["mode"]): row for row in longest}
    sentences = []
    for backbone in _representatives(costs):
        parts = []
        for patch in sorted(set(costs["patch_length"].tolist())):
            one, other = (points.get((backbone, patch, mode)) for mode in ("recompute", "stream"))
            if one and other:
                times = f"{scaled(one['seconds'], 's')} recomputed from {one['length']:,} values, "
                times += f"{scaled(other['seconds'], 's')} streamed"
                parts.append(f"{times} with patches of {patch} ({one['seconds'] / other['seconds']:.3g} to 1)")
        if parts:
            sentences.append(f"One new prediction of {backbone} takes {'; '.join(parts)}.")
    return sentences


def scaled(value: float, unit: str) -> str:
    """Give a quantity with three digits and a prefix: 1.23 ms, 45.6 MB; a dash where there is none."""
    if math.isnan(value):
        return "–"
    value = float(f"{value:.3g}")
    size = max((size for size in _PREFIXES if size <= value), default=1.0)
    return f"{value / size:.3g}\N{NO-BREAK SPACE}{_PREFIXES[size]}{unit}"


def _representatives(costs: pd.DataFrame) -> list[str]:
    """Give the first backbone of each family and of each power with which recomputing should grow."""
    recomputed = costs[costs["mode"] == "recompute"]
    firsts = pd.DataFrame(recomputed).drop_duplicates(["family", "seconds_expected"])
    return list(firsts["backbone"])


def _table(costs: pd.DataFrame, powers: pd.DataFrame) -> list[Row]:
    fitted = {(row["backbone"], row["patch_length"], row["mode"]): row for row in powers.to_dict("records")}
    families, longest = list(costs["family"]), max(costs["length"].tolist())
    colours, order = family_colours(families), family_order(families)
    table = []
    for _, rows in costs.groupby(_CURVE, sort=False):
        backbone, patch = rows[_CURVE].iloc[0]
        last = (
            pd.DataFrame(rows[rows["left_out"] == ""]).sort_values(by=["length"]).drop_duplicates("mode", keep="last")
        )
        family = rows["family"].iloc[0]
        cells = []
        for mode in ("train", "recompute", "stream", "stream_all"):
            own = last[last["mode"] == mode]
            if own.empty:
                cells.append(None)
                continue
            one, power = own.iloc[0], fitted[backbone, patch, mode]
            cells.append(
                {
                    "seconds": scaled(one["seconds"], "s"),
                    "bytes": scaled(one["bytes"], "B"),
                    "seconds_power": _power(power, "seconds"),
                    "bytes_power": _power(power, "bytes"),
                    "at": "" if one["length"] == longest else f"at {one['length']:,}",
                }
            )
        table.append(
            {
                "name": backbone,
                "patch": f"P = {patch}",
                "family": family,
                "place": order.index(family),
                "colour": colours[family],
                "cells": cells,
            }
        )
    return table


def _power(row: Row, cost: str) -> str:
    """Say with which power a cost grows, and with which it should."""
    return f"{number(row[f'{cost}_power'], 2)} ({row[f'{cost}_expected']})"


def _left_out(costs: pd.DataFrame) -> list[str]:
    missing = pd.DataFrame(costs[costs["left_out"] != ""]).sort_values(by=["length"], kind="stable")
    return [
        f"{row['backbone']}, patches of {row['patch_length']}, {row['mode']}, {row['length']:,} values and more: "
        f"{row['left_out']}"
        for row in missing.drop_duplicates([*_CURVE, "mode"]).to_dict("records")
    ]
