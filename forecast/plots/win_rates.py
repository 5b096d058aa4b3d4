"""Who beats whom in how many series: a matrix of win rates, or of many forecasters the best against each other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from forecast.plots.extent import count
from forecast.plots.style import FAINT, INK, MUTED, look, panel, percent, say_empty, shorten

if TYPE_CHECKING:
    from forecast.evaluation.statistics import Standings

_MOST = 10  # forecasters whose pairs still have room for figures
_LESS_MORE = LinearSegmentedColormap.from_list("less_more", ["#e3a06c", "#f7f7f7", "#6aa5d0"])


def plot_win_rates(found: Standings, *, ax: Axes | None = None) -> Figure:
    """Draw the share of series in which one forecaster has the lower error than another, with its interval.

    Up to ten forecasters make a matrix, best first: the row against the column. Of more the best one is drawn against
    each of the others. `found` is what `standings` gives. Raises TypeError for anything else.
    """
    if not isinstance(getattr(found, "pairs", None), pd.DataFrame):
        raise TypeError(f"`found` is a {type(found).__name__}; give the Standings that `standings` gives")
    names = found.skill.loc[np.isfinite(found.skill["skill"]), "forecaster"].tolist()
    few = len(names) <= _MOST
    size = (2.6 + 0.62 * len(names), 1.9 + 0.42 * len(names)) if few else (7.0, 1.2 + 0.2 * len(names))
    with look():
        figure, ax = panel(ax, (max(size[0], 5.0), max(size[1], 2.6)))
        ax.set_title(f"Win rates over {count(found.estimand.series, 'series').replace('seriess', 'series')}")
        if len(names) < 2:
            say_empty(ax, "no two forecasters can be compared")
        elif few:
            _matrix(ax, found, names)
        else:
            _forest(ax, found, names)
    return figure


def _matrix(ax: Axes, found: Standings, names: list[str]) -> None:
    rates, lows, highs = (
        found.pairs.pivot(index="forecaster", columns="opponent", values=value).reindex(index=names, columns=names)
        for value in ("win_rate", "win_low", "win_high")
    )
    shares = rates.to_numpy(dtype=float)
    edges = np.arange(len(names) + 1) - 0.5
    look_of = {"cmap": _LESS_MORE, "vmin": 0, "vmax": 1, "edgecolors": "white", "linewidth": 1.0}
    ax.pcolormesh(edges, edges, np.ma.masked_invalid(shares), **look_of)  # not a picture of pixels
    ax.set_ylim(len(names) - 0.5, -0.5)
    for (row, column), share in np.ndenumerate(shares):
        if row == column:
            continue
        low, high = lows.iloc[row, column], highs.iloc[row, column]
        known = np.isfinite(low)
        ax.text(column, row - 0.16 * known, f"{100 * share:.0f}", ha="center", va="center", fontsize=8, color=INK)
        if known:
            told = f"{100 * low:.0f}–{100 * high:.0f}"
            ax.text(column, row + 0.24, told, ha="center", va="center", fontsize=6, color=INK)
    short = [shorten(name, 24) for name in names]
    ax.set_yticks(range(len(names)), short, color=INK)
    ax.set_xticks(range(len(names)), short, rotation=40, ha="right", rotation_mode="anchor", color=INK)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_xlabel(f"% of series in which the row has the lower error than the column{_below(found)}")


def _forest(ax: Axes, found: Standings, names: list[str]) -> None:
    first = names[0]
    rows = found.pairs[found.pairs["forecaster"] == first].set_index("opponent").reindex(names[1:])
    rate, low, high = (rows[name].to_numpy(dtype=float) for name in ("win_rate", "win_low", "win_high"))
    at = np.arange(len(rows))
    ax.axvline(0.5, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0, label="_even")
    for place in range(len(rows)):
        ax.axhline(place, color=FAINT, linewidth=0.5, zorder=0)
    ax.hlines(at, low, high, color=MUTED, linewidth=1.6)
    ax.plot(rate, at, "o", color=INK, markersize=4.5)
    ax.set_yticks(at, [shorten(name, 38) for name in rows.index], color=INK)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(-0.03, 1.03)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_formatter(percent())
    ax.set_xlabel(f"series in which {shorten(first)} has the lower error{_below(found)}")


def _below(found: Standings) -> str:
    if not found.over:
        return ""
    return f"\nsmall: {found.confidence:.0%} interval over {found.over}".replace("%", "\N{NO-BREAK SPACE}%")
