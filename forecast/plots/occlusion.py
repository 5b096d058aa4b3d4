"""Is an explanation faithful? The change of forecasts without the values that it names, beside random ones."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from forecast.plots.frames import check_columns
from forecast.plots.style import FAINT, MUTED, legend_below, look, panel

_NAMED = {
    "receptive_field": ("those of the largest gradient", "#0072b2", "-"),
    "attention": ("those of the most attention", "#d55e00", (0, (5, 1.6))),
}


def plot_occlusion(occluded: pd.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Draw how much forecasts change without the values that an explanation names, beside as many random ones.

    The shade is the range over random choices. A faithful explanation lies clearly above it. `occluded` is a frame of
    `occlude`, or several of them one below the other. Raises ValueError where a column is missing or there is no row.
    """
    check_columns(occluded, "occluded", ("chosen", "lags", "change"))
    lags = sorted(set(occluded["lags"]))
    change = {}
    for chosen in occluded["chosen"].unique():
        own = occluded.loc[occluded["chosen"] == chosen]
        change[chosen] = [own.loc[own["lags"] == lag, "change"] for lag in lags]
    random = change.pop("random", [])
    with look():
        figure, ax = panel(ax, (7.0, 3.9))
        keys: list[Line2D] = []
        for chosen, changes in change.items():
            text, colour, dash = _NAMED.get(chosen, (chosen, "#009e73", (0, (1.2, 1.2))))
            means = [own.mean() for own in changes]
            keys += ax.plot(lags, means, color=colour, linestyle=dash, marker="o", markersize=4, label=text)
        if random:
            low, high, means = ([getattr(own, edge)() for own in random] for edge in ("min", "max", "mean"))
            ax.fill_between(lags, low, high, color=MUTED, alpha=0.18, linewidth=0)
            keys += ax.plot(lags, means, color=MUTED, marker="o", markersize=3, label="random (mean, range)")
        ax.set_ylim(bottom=0)
        ax.margins(x=0.03)
        ax.set_xticks(lags)
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        ax.set_xlabel("values of the past that are taken away")
        ax.set_ylabel("mean change of the median (scales)")
        ax.set_title("Change of the forecast without parts of the past")
        legend_below(ax, keys)
    return figure
