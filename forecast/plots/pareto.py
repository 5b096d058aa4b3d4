"""What accuracy costs: the error of every forecaster against its cost, and who has less of neither."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from forecast.plots.frames import check_columns
from forecast.plots.style import (
    FAINT,
    MUTED,
    family_colours,
    label_lines,
    legend_below,
    look,
    panel,
    percent,
    say_empty,
)

_NEEDED = ("forecaster", "family", "cost", "error")


def plot_pareto(table: pd.DataFrame, *, cost: str = "seconds of a fit", ax: Axes | None = None) -> Figure:
    """Draw the error of forecasters, relative to a baseline, against what each costs, on a log scale.

    A step joins those that no other beats in both. `table` has a row for each forecaster: `forecaster, family, cost`
    (above zero)`, error` (1 is that of the baseline); rows without one of the two are left out. `cost` says what a cost
    is. Raises ValueError where a column is missing.
    """
    check_columns(table, "table", _NEEDED)
    known = np.isfinite(table["cost"].to_numpy(float)) & np.isfinite(table["error"].to_numpy(float))
    rows = pd.DataFrame(table[known & (table["cost"] > 0)]).sort_values(["cost", "error"], ignore_index=True)
    with look():
        figure, ax = panel(ax, (7.4, max(3.6, 1.4 + 0.2 * len(rows))))
        ax.set_title("Error against cost: further down and left is better")
        if rows.empty:
            say_empty(ax, "no forecaster has both an error and a cost")
            return figure
        colours = family_colours(rows["family"].tolist())
        best = rows["error"].cummin()
        front = pd.DataFrame(rows[rows["error"] <= best]).drop_duplicates(subset=["error"])
        ax.set_xscale("log")
        right = rows["cost"].max() * (rows["cost"].max() / rows["cost"].min() or 1.0) ** 0.04
        ax.step([*front["cost"], right], [*front["error"], front["error"].iloc[-1]], where="post", color=MUTED, lw=1.0)
        for family, colour in colours.items():
            own = rows[rows["family"] == family]
            ax.plot(own["cost"], own["error"], "o", color=colour, markersize=6, label=family)
        ax.axhline(1.0, color=FAINT, linewidth=1.0, zorder=0, label="_baseline")
        ax.yaxis.set_major_formatter(percent())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_ylabel("error, of that of the baseline")
        ax.set_xlabel(f"{cost} (log scale)")
        ax.margins(x=0.04, y=0.08)
        keys = [Line2D([], [], marker="o", linestyle="", color=colour, label=name) for name, colour in colours.items()]
        edge = ax.get_xlim()[1]
        for row in rows.to_dict("records"):
            ax.plot([row["cost"], edge], [row["error"]] * 2, ":", color=colours[row["family"]], lw=0.6, label="_leader")
        ax.set_xlim(right=edge)
        legend_below(ax, [*keys, Line2D([], [], color=MUTED, linewidth=1.0, label="no other has less of both")])
        figure.draw_without_rendering()  # names are spread over the height that the panel really gets
        styles = {row["forecaster"]: {"color": colours[row["family"]]} for row in rows.to_dict("records")}
        label_lines(ax, dict(zip(rows["forecaster"], rows["error"], strict=True)), styles)
    return figure
