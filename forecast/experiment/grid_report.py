"""What several data sets say together, in words, tables and pictures: the first section of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from forecast import plots
from forecast.experiment.grid import Grid
from forecast.experiment.numerals import number, percent, short
from forecast.experiment.pictures import Picture, embedded, write_pictures
from forecast.experiment.setting import write_table
from forecast.experiment.store import Store
from forecast.experiment.summary import BASELINE

_TABLES = ("leaders.csv", "data_set_pairs.csv", "contrasts.csv")
_TOGETHER = "data_sets_together"  # in place of a data set


def write_grid(store: Store, grid: Grid | None, *, page: bool = True) -> dict[str, Any] | None:
    """Write the tables of a grid and, for a page, its pictures, and give its section of the page.

    What is not there is removed; None where there is no grid, or no page.
    """
    tables = (None,) * 3 if grid is None else (grid.leaders, grid.found.pairs, grid.contrasts)
    for name, table in zip(_TABLES, tables, strict=True):
        if table is None or table.empty:
            store.remove(name)
        else:
            write_table(store, name, table)
    if grid is None or not page:
        store.remove(f"plots/{_TOGETHER}")
        return None
    drawn = grid_pictures(grid)
    write_pictures(store, f"plots/{_TOGETHER}", drawn)
    return grid_section(grid, drawn)


def grid_section(grid: Grid, drawn: Sequence[Picture]) -> dict[str, Any]:
    """Give what the page tells of a grid."""
    sets = int(grid.leaders["data_sets"].iloc[0])
    absent = f"Not in all data sets, and left out here: {', '.join(grid.absent)}."
    return {
        "heading": f"{sets} data sets together",
        "verdict": grid_verdict(grid),
        "estimand": f"What is told: {grid.found.estimand}; of several horizons on one, the mean.",
        "rows": [_row(row) for row in grid.leaders.to_dict("records")],
        "notes": [
            "Scores are means over data sets, seconds geometric ones. Rank: by the absolute error, 1 is the lowest.",
            *(f"{note[0].upper()}{note[1:]}." for note in grid.found.notes),
            *([absent] if grid.absent else []),
        ],
        "figures": [embedded(one, "grid") for one in drawn],
    }


def grid_verdict(grid: Grid) -> str:
    """Say in a sentence who leads over the data sets, how far, and whether the next one is behind it beyond chance."""
    sets, rows = int(grid.leaders["data_sets"].iloc[0]), grid.leaders.to_dict("records")
    first, second = rows[0]["forecaster"], rows[1]["forecaster"]
    pair = grid.found.pairs.set_index(["forecaster", "opponent"]).loc[(first, second)]
    told = f"Over {sets} data sets {first} has the lowest error"
    if first != BASELINE:
        told += f", {percent(rows[0]['skill'], '')} less than {BASELINE}{_interval(rows[0])}"
    apart = f"{percent(-pair['change'], '')} less error than {second}"
    if not np.isfinite(pair["high"]):
        return f"{told}; {apart}, the next. Too few data sets to say whether that would hold on others."
    ends = f"95\N{NO-BREAK SPACE}% interval {percent(-pair['high'])} to {percent(-pair['low'])}"
    if pair["high"] < 0:
        return f"{told}, and {apart}, the next ({ends})."
    return f"{told}; no detectable difference to {second}, the next: {apart} ({ends})."


def grid_pictures(grid: Grid) -> list[Picture]:
    """Draw the pairs, the effects, ranks and costs, those that there are."""
    sets = int(grid.leaders["data_sets"].iloc[0])
    few = "" if sets >= 5 else " No intervals: the data sets are too few."
    drawn = [Picture("pairs", "Who has less error than whom, and in how many data sets.", plots.plot_pairs(grid.found))]
    if len(grid.contrasts):
        told = f"What family and decoder change, on each data set and on average.{few}"
        drawn.append(Picture("contrasts", told, plots.plot_contrasts(grid.contrasts)))
    costs = pd.DataFrame(
        {
            "forecaster": grid.leaders["forecaster"],
            "family": grid.leaders["family"],
            "cost": grid.leaders["fit_seconds"],
            "error": 1 - grid.leaders["skill"],
        }
    )
    told = "What accuracy costs: mean error, of that of seasonal naive, against the seconds of all fits of a seed."
    drawn.append(Picture("pareto", told, plots.plot_pareto(costs, cost="seconds of the fits of a seed")))
    if grid.ranks is not None:
        told = "Mean ranks over data sets; bars join who is alike."
        drawn.append(Picture("ranks", told, plots.plot_ranks(grid.ranks)))
    return drawn


def _row(row: dict[Any, Any]) -> dict[str, str]:
    return {
        "name": row["forecaster"],
        "skill": percent(row["skill"]),
        "interval": f"{percent(row['low'])} to {percent(row['high'])}" if np.isfinite(row["low"]) else "",
        "mase": number(row["mase"], 3),
        "wql": number(row["wql"], 4),
        "coverage": percent(row["coverage"], ""),
        "rank": number(row["mean_rank"], 1),
        "first": str(row["first"]),
        "parameters": number(row["parameters"], 0),
        "seconds": short(row["fit_seconds"]),
    }


def _interval(row: dict[Any, Any]) -> str:
    if not np.isfinite(row["low"]):
        return ""
    return f" (95\N{NO-BREAK SPACE}% interval {percent(row['low'])} to {percent(row['high'])})"
