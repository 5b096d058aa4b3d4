"""Ablations: one part of a forecaster exchanged at a time, and how much the exchange changes its error.

An ablation stands beside the comparison: it is scored as all forecasters are, and compared with the one that it is of.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import standings
from forecast.experiment.numerals import percent

ABLATIONS = ["dataset", "ablation", "forecaster", "family", "change", "low", "high", "separated", "seeds"]


def ablation_of(label: str, ablation: str) -> str:
    """Give the label of a forecaster with a part exchanged."""
    return f"{label}, {ablation}"


def replaced(arguments: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Give arguments with some changed; of a config inside, those of its arguments alone that are given."""
    found = dict(arguments)
    for name, value in changes.items():
        before = found.get(name)
        if isinstance(value, Mapping):
            inside = {"type": before} if isinstance(before, str) else before if isinstance(before, Mapping) else {}
            value = replaced(inside, value)
        found[name] = value
    return found


def ablated(names: Collection[str], ablations: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Give by label those of some forecasters that are ablations: which one, and of which forecaster."""
    pairs = [(ablation, label) for ablation in ablations for label in names]
    return {name: pair for pair in pairs if (name := ablation_of(pair[1], pair[0])) in names}


def ablation_table(ledger: Ledger, ablations: Sequence[str], left_out: Collection[str], dataset: str) -> pd.DataFrame:
    """Give a row for each ablation of each forecaster: the share by which it changes the error, with its interval.

    `change` is 0.05 where the mean absolute error is 5 % more, as a geometric mean over series. Seeds are compared in
    pairs: what is alike but for a part begins alike. `separated` holds among all ablations of a forecaster at once.
    Nothing is told of those in `left_out`.
    """
    found = ablated(ledger.forecasters, ablations)
    families = dict(zip(ledger.fits["forecaster"], ledger.fits["family"], strict=True))
    told: dict[str, dict[str, Any]] = {}
    for label in dict.fromkeys(label for _, label in found.values()):
        own = [name for name, pair in found.items() if pair[1] == label and not {name, label} & set(left_out)]
        found_here = standings(ledger.take([label, *own]), label, paired_seeds=True).skill if own else pd.DataFrame()
        for row in found_here.to_dict("records"):
            told[row["forecaster"]] = {
                "change": -row["skill"],
                "low": -row["high"],
                "high": -row["low"],
                "separated": row["separated"],
                "seeds": row["seeds"],
            }
    unknown = {"separated": False, "seeds": 0}
    rows = [
        {"dataset": dataset, "ablation": ablation, "forecaster": label, "family": families[label]}
        | told.get(name, unknown)
        for name, (ablation, label) in found.items()
    ]
    return pd.DataFrame(rows, columns=ABLATIONS)


def labels_in(table: pd.DataFrame | None) -> list[str]:
    """Give the labels of all ablations of such a table."""
    if table is None:
        return []
    return [ablation_of(*pair) for pair in zip(table["forecaster"], table["ablation"], strict=True)]


def ablation_rows(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Give what a page shows of such a table, as text: `forecasters`, and `rows` with a cell for each; None for no row.

    A cell is `change`, `interval`, and `separated`; one that is not there is a dash.
    """
    if table is None or table.empty:
        return None
    forecasters = list(dict.fromkeys(table["forecaster"]))
    cells = {(row["ablation"], row["forecaster"]): _cell(row) for row in table.to_dict("records")}
    none = {"change": "–", "interval": "", "separated": False}
    ablations = dict.fromkeys(table["ablation"])
    rows = [{"name": one, "cells": [cells.get((one, label), none) for label in forecasters]} for one in ablations]
    return {"forecasters": forecasters, "rows": rows}


def _cell(row: Mapping[Any, Any]) -> dict[str, Any]:
    known = pd.notna(row["low"]) and row["low"] != row["high"]
    interval = f"{percent(row['low'])} to {percent(row['high'])}" if known else ""
    return {"change": percent(row["change"]), "interval": interval, "separated": bool(row["separated"])}
