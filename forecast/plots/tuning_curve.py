"""The tuning curve: the error of the best of so many trials, for each forecaster that was searched."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from forecast.plots.bands import finite
from forecast.plots.frames import as_pandas, check_columns
from forecast.plots.style import FAINT, label_lines, line_height, line_styles, look, panel, say_empty


def plot_tuning_curve(curves: pd.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Draw the error of the best of n trials against n, a line for each forecaster.

    `curves` has the columns `forecaster, trials, error`, and may have `family` for colours and `metric` for the name of
    the error: what `tuning.csv` of an experiment holds for one data set. Where lines still fall at the right, more
    trials would have bought more; where they cross, the verdict depends on the budget.

    Raises TypeError for what is no frame, ValueError where a column is missing, there is no row, or a forecaster has
    two numbers for as many trials.
    """
    table = as_pandas(curves, "curves")
    check_columns(table, "curves", ["forecaster", "trials", "error"])
    if (twice := table.duplicated(["forecaster", "trials"])).any():
        first = table.loc[twice, "forecaster"].iloc[0]
        raise ValueError(f"`curves` has two rows of {first!r} for as many trials; give those of one data set")
    names = table["forecaster"].unique().tolist()
    family = dict(zip(table["forecaster"], table["family"], strict=True)) if "family" in table.columns else {}
    styles = line_styles({name: family.get(name) or "other" for name in names})
    metrics = table["metric"].unique().tolist() if "metric" in table.columns else []
    with look():
        figure, ax = panel(ax, (7.0, line_height(len(names))))
        ax.set_title("What trials have bought")
        ax.set_xlabel("trials")
        ax.set_ylabel(
            f"validation {str(metrics[0]).upper()} of the best" if len(metrics) == 1 else "validation error of the best"
        )
        ends = {}
        for name in names:
            rows = pd.DataFrame(table[table["forecaster"] == name]).sort_values(by=["trials"], kind="stable")
            trials, error = finite(rows["trials"]), finite(rows["error"])
            lone = "o" if np.isfinite(error).sum() == 1 else None
            ax.plot(trials, error, **styles[name], marker=lone, markersize=4)
            ends[name] = float(error[-1])
        if not np.isfinite(list(ends.values())).any():
            say_empty(ax, "no trial has an error")
            return figure
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        ax.margins(x=0.0, y=0.08)
        label_lines(ax, ends, styles)
    return figure
