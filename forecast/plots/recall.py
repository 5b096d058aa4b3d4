"""How far back backbones have learned to remember: the error of tasks of pure memory against their length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from forecast.plots.frames import as_pandas, check_columns
from forecast.plots.style import FAINT, MUTED, label_lines, line_height, line_styles, look, panels

_NEEDED = ("task", "backbone", "family", "length", "seed", "error", "left_out")
_LEAST, _MOST = 1e-3, 3.0  # shares of the memoryless loss beyond which all are drawn alike


def plot_recall(recalls: Any, *, solved: float = 0.05, ax: Axes | Iterable[Axes] | None = None) -> Figure:
    """Draw the error against the length, a panel for each task and a line for each backbone.

    The error is the loss as a share of that without any memory, which the upper grey line marks; below the lower one,
    at `solved`, a task counts as solved. A line goes through the medians of seeds, whose own errors are small marks;
    one that ends early in a cross was not solved, and longer tasks were left out. `recalls` is a frame of
    `recall_curves`; `ax` holds an axes for each task. Raises TypeError for what is no frame, ValueError where a column
    is missing or there is no row.
    """
    table = as_pandas(recalls, "recalls")
    check_columns(table, "recalls", _NEEDED)
    tasks = table["task"].unique().tolist()
    lengths = sorted(set(table["length"].tolist()))
    table = table.assign(shown=table["error"].astype(float).clip(_LEAST, _MOST))
    shown = table["shown"].dropna().tolist()
    heights = 0.7 * min(solved, *shown), 1.4 * max(1.0, *shown)
    styles = line_styles(dict(zip(table["backbone"], table["family"], strict=True)))
    with look():
        size = (5.2 * len(tasks), max(3.6, line_height(len(styles))))
        figure, axes = panels(ax, len(tasks), size, columns=len(tasks), sharey=True)
        named = []
        for panel, task in zip(axes, tasks, strict=True):
            rows = pd.DataFrame(table[table["task"] == task])
            panel.set_title(task)
            panel.set_xlabel("length (tokens)")
            named.append((panel, _lines(panel, rows, styles)))
            _scales(panel, lengths, solved, heights)
        axes[0].set_ylabel("error, as a share of that without memory")
        if ax is None:
            figure.draw_without_rendering()  # names are spread over the heights that the panels really get
        for panel, ends in named:
            label_lines(panel, ends, styles)
    return figure


def _lines(ax: Axes, rows: pd.DataFrame, styles: dict[str, dict]) -> dict[str, float]:
    """Draw the lines of a task; give where each ends."""
    ends: dict[str, float] = {}
    last = max(rows["length"].tolist())
    for name, curve in rows.groupby("backbone", sort=False):
        trained = pd.DataFrame(curve[curve["left_out"] == ""]).sort_values(by=["length"], kind="stable")
        if trained.empty:
            continue
        middle = trained.groupby("length")["shown"].median()
        x, y = middle.index.to_numpy(dtype=float), middle.to_numpy(dtype=float)
        style = styles[str(name)]
        ax.plot(x, y, **style, marker="o", markersize=4, label=str(name))
        if len(set(trained["seed"])) > 1:
            look_of = {"color": style["color"], "alpha": 0.5, "markersize": 2.5, "label": "_seeds"}
            ax.plot(trained["length"], trained["shown"], "o", **look_of)
        if x[-1] < last:
            look_of = {"color": style["color"], "markersize": 7, "markeredgewidth": 1.6, "label": "_left_out"}
            ax.plot(x[-1:], y[-1:], "x", **look_of)
        ends[str(name)] = float(y[-1])
    return ends


def _scales(ax: Axes, lengths: list[int], solved: float, heights: tuple[float, float]) -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_ylim(*heights)
    for height, meaning in ((1.0, "nothing remembered"), (solved, "solved")):
        ax.axhline(height, color=FAINT, linewidth=1.2, zorder=0, label=f"_{meaning}")
        place = {"xytext": (2, 3), "textcoords": "offset points", "fontsize": 7.5, "color": MUTED}
        ax.annotate(meaning, (0, height), xycoords=("axes fraction", "data"), **place)
    ax.set_xlim(lengths[0] / 1.15, lengths[-1] * 1.15)
    ax.xaxis.set_major_locator(FixedLocator(lengths))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}\N{NO-BREAK SPACE}%"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="y", color=FAINT, linewidth=0.4)
