"""Who beats whom in how many series: a matrix of win rates, or of many forecasters the best against each other one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.plots.extent import count
from forecast.plots.matrix import draw_matrix, matrix_size
from forecast.plots.style import FAINT, INK, MUTED, look, panel, percent, say_empty, shorten

if TYPE_CHECKING:
    from forecast.evaluation.statistics import Standings

_MOST = 10  # forecasters whose pairs still have room for figures


def plot_win_rates(found: Standings, *, ax: Axes | None = None) -> Figure:
    """Draw the share of series in which one forecaster has the lower error than another, with its interval.

    Up to ten forecasters make a matrix, best first: the row against the column. Of more the best one is drawn against
    each of the others. `found` is what `standings` gives. Raises TypeError for anything else.
    """
    if not isinstance(getattr(found, "pairs", None), pd.DataFrame):
        raise TypeError(f"`found` is a {type(found).__name__}; give the Standings that `standings` gives")
    names = found.skill.loc[np.isfinite(found.skill["skill"]), "forecaster"].tolist()
    few = len(names) <= _MOST
    size = matrix_size(len(names)) if few else (7.0, max(2.6, 1.2 + 0.2 * len(names)))
    with look():
        figure, ax = panel(ax, size)
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

    def told(row: int, column: int) -> tuple[str, str]:
        low, high = lows.iloc[row, column], highs.iloc[row, column]
        small = f"{100 * low:.0f}–{100 * high:.0f}" if np.isfinite(low) else ""
        return f"{100 * rates.iloc[row, column]:.0f}", small

    shades = 2 * rates.to_numpy(dtype=float) - 1
    np.fill_diagonal(shades, np.nan)
    draw_matrix(ax, names, shades, told)
    ax.set_xlabel(f"% of series in which the row has the lower error than the column{_below(found, 'small')}")


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
    ax.set_xlabel(f"series in which {shorten(first)} has the lower error{_below(found, 'bar')}")


def _below(found: Standings, mark: str) -> str:
    if not found.over:
        return ""
    return f"\n{mark}: {found.confidence:.0%} interval over {found.over}".replace("%", "\N{NO-BREAK SPACE}%")
