"""A matrix of forecasters, the row against the column: a shade, a figure and a small one below it in each field."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from forecast.plots.style import INK, shorten

_WORSE, _EVEN, _BETTER = "#e3a06c", "#f7f7f7", "#6aa5d0"
_FEW_BETTER = LinearSegmentedColormap.from_list("few_better", [_WORSE, _EVEN, _BETTER])


def matrix_size(count: int) -> tuple[float, float]:
    """Give width and height in inches of a matrix of so many forecasters."""
    return max(5.0, 2.6 + 0.62 * count), max(2.6, 1.9 + 0.42 * count)


def draw_matrix(
    ax: Axes,
    names: Sequence[str],
    shades: np.ndarray,
    told: Callable[[int, int], tuple[str, str]],
) -> None:
    """Draw a matrix of pairs, the first row on top.

    `shades` (F, F) go from -1, where the row is worse, to 1, where it is better; NaN leaves a field empty. `told` gives
    the figure and the small one of a field, "" for none, by its row and its column.
    """
    edges = np.arange(len(names) + 1) - 0.5
    look = {"cmap": _FEW_BETTER, "vmin": -1, "vmax": 1, "edgecolors": "white", "linewidth": 1.0}
    ax.pcolormesh(edges, edges, np.ma.masked_invalid(shades), **look)  # not a picture of pixels
    ax.set_ylim(len(names) - 0.5, -0.5)
    for row, column in np.argwhere(np.isfinite(shades)):
        figure, small = told(int(row), int(column))
        ax.text(column, row - 0.16 * bool(small), figure, ha="center", va="center", fontsize=8, color=INK)
        ax.text(column, row + 0.24, small, ha="center", va="center", fontsize=6, color=INK)
    short = [shorten(name, 24) for name in names]
    ax.set_yticks(range(len(names)), short, color=INK)
    ax.set_xticks(range(len(names)), short, rotation=40, ha="right", rotation_mode="anchor", color=INK)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
