"""The page of an experiment on memory: the longest tasks that were solved, every error, the plot, figures of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from forecast.experiment.cells import Row
from forecast.experiment.curve_results import unfinished
from forecast.experiment.numerals import number, percent, short
from forecast.experiment.pages import page
from forecast.experiment.pictures import Picture, embedded
from forecast.plots import plot_recall
from forecast.plots.style import family_colours, family_order

TITLES = {"adding": "adding problem", "copy": "copy memory"}
_CAPTION = (
    "Error by length of the task: the loss as a share of that without any memory. Below the lower grey line a task "
    "counts as solved, and training ends; a cross marks where longer tasks were left out."
)


def figures(recalls: pd.DataFrame, solved: float) -> list[Picture]:
    """Draw the error against the length, a panel for each task."""
    titled = recalls.assign(task=[TITLES[task] for task in recalls["task"]])
    return [Picture("recall", _CAPTION, plot_recall(titled, solved=solved))]


def recall_page(
    config: Mapping[str, Any],
    recalls: pd.DataFrame,
    solved: pd.DataFrame,
    published: pd.DataFrame,
    drawn: Sequence[Picture],
    protocol: Mapping[str, Any],
    cells: pd.DataFrame,
) -> str:
    """Give the report of an experiment on memory, one HTML page."""
    return page(
        "recalls.html.j2",
        title=f"Experiment {config['name']}",
        told=told(solved),
        tasks=[_task(recalls, solved, str(task)) for task in recalls["task"].unique()],
        figures=[embedded(picture, config["kind"]) for picture in drawn],
        published=[_published(row) for row in published.to_dict("records")],
        config=config,
        solved=percent(config["solved"], sign=""),
        left_out=_left_out(recalls),
        unfinished=unfinished(
            cells,
            lambda row: f"{row['backbone']}, {TITLES[row['task']]}, seed {row['seed']}, length {row['length']:,}",
            otherwise="not trained yet",
        ),
        protocol=protocol,
    )


def told(solved: pd.DataFrame) -> list[str]:
    """Say how long the tasks are that each backbone has solved, in a sentence for each task, best first."""
    sentences = []
    for task in solved["task"].unique():
        here = pd.DataFrame(solved[solved["task"] == task])
        parts = []
        for length in sorted(set(here["by_all"].tolist()), reverse=True):
            names = ", ".join(here.loc[here["by_all"] == length, "backbone"])
            parts.append(f"{names} up to {length:,}" if length else f"{names} at no length")
        seeds = "" if max(here["seeds"].tolist()) == 1 else " with every seed"
        title = TITLES[task].capitalize()
        sentences.append(
            f"{title}, asked up to a length of {max(here['longest'].tolist()):,}: solved{seeds} by {'; '.join(parts)}."
        )
    return sentences


def _task(recalls: pd.DataFrame, solved: pd.DataFrame, task: str) -> Row:
    """Give the table of one task."""
    here = pd.DataFrame(recalls[recalls["task"] == task])
    longest = solved[solved["task"] == task].set_index("backbone")
    families, lengths = list(here["family"]), sorted(set(here["length"].tolist()))
    colours, order = family_colours(families), family_order(families)
    rows = []
    for name, curve in here.groupby("backbone", sort=False):
        last = curve.loc[curve["length"].idxmax()]
        family = str(last["family"])
        most = longest.loc[name]
        rows.append(
            {
                "name": str(name),
                "family": family,
                "place": order.index(family),
                "colour": colours[family],
                "parameters": number(last["parameters"], 0),
                "reach": "all" if pd.isna(last["reach"]) else number(last["reach"], 0),
                "solved": f"{most['by_all']:,}" if most["by_all"] else "none",
                "some": f"{most['by_some']:,} by some" if most["by_some"] > most["by_all"] else "",
                "cells": [_cell(pd.DataFrame(curve[curve["length"] == length])) for length in lengths],
            }
        )
    return {"id": f"t-{task}", "title": TITLES[task], "lengths": [f"{length:,}" for length in lengths], "rows": rows}


def _cell(rows: pd.DataFrame) -> Row:
    """Give what a table says of all seeds at one length."""
    trained = pd.DataFrame(rows[rows["left_out"] == ""])
    if trained.empty:
        return {"error": "–", "solved": False, "how": []}
    solved = bool(trained["solved"].astype(bool).all()) and len(trained) == len(rows)
    steps, seconds, error = (median(trained[name].tolist()) for name in ("steps", "seconds", "error"))
    how = [f"{steps:,.0f} steps", f"{short(seconds)}\N{NO-BREAK SPACE}s"]
    return {"error": percent(error, sign=""), "solved": solved, "how": how}


def _published(row: Row) -> Row:
    """Give a row of figures of others."""
    return {
        "task": TITLES[row["task"]],
        "length": f"{row['length']:,}",
        "name": row["name"],
        "parameters": number(row["parameters"], 0),
        "loss": f"{row['loss']:.3g}",
        "error": f"{100 * row['error']:.3g}\N{NO-BREAK SPACE}%",
        "source": row["source"],
    }


def _left_out(recalls: pd.DataFrame) -> list[str]:
    missing = pd.DataFrame(recalls[recalls["left_out"] != ""]).sort_values(by=["length"], kind="stable")
    return [
        f"{row['backbone']}, {TITLES[row['task']]}, seed {row['seed']}, {row['length']:,} and more: {row['left_out']}"
        for row in missing.drop_duplicates(["task", "backbone", "seed"]).to_dict("records")
    ]
