"""Weights from 0 to 1 as shades: one scale for every map, so that maps can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, PowerNorm

from forecast.plots.style import INK, MUTED, instants, root

# Roots of weights: among many tokens most weights are small, and differ.
_NORM = PowerNorm(0.5, vmin=0.0, vmax=1.0)
_SHADES = LinearSegmentedColormap.from_list("weight", ["#fbfaf7", "#9cc3dd", "#0072b2", "#00263d"])
_NOTHING = "#e9e6e0"  # what cannot be read
_DARK = 0.2  # from here on white letters read better than black ones
_MOST_FIGURES = 6  # rows of a table that is written in figures
_TICKS = (0, 0.01, 0.05, 0.2, 0.5, 1)


def weight_map(ax: Axes, table: pd.DataFrame) -> None:
    """Draw weights, NaN for what cannot be read; rows and columns are stamps, each the end of a token's own time."""
    rows, columns = (_edges(instants(stamps)) for stamps in (table.index, table.columns))
    ax.set_facecolor(_NOTHING)
    ax.pcolormesh(columns, rows, table.to_numpy(dtype=float), norm=_NORM, cmap=_SHADES)
    ax.set_ylim(rows[-1], rows[0])  # later rows below, as in a matrix


def weight_table(ax: Axes, table: pd.DataFrame) -> None:
    """Draw weights whose rows and columns are names; in figures too, where these can be read."""
    weights = table.to_numpy(dtype=float)
    ax.set_facecolor(_NOTHING)
    ax.imshow(weights, norm=_NORM, cmap=_SHADES, aspect="auto")
    if len(weights) > _MOST_FIGURES:
        return
    for row, column in np.argwhere(np.isfinite(weights)):
        weight = weights[row, column]
        colour = "white" if weight > _DARK else INK
        ax.text(column, row, f"{weight:.2f}", ha="center", va="center", fontsize=7.5, color=colour)


def weight_bar(axes: Sequence[Axes]) -> None:
    """Say beside `axes` which shade is which weight."""
    bar = root(axes[0]).colorbar(ScalarMappable(_NORM, _SHADES), ax=list(axes), aspect=30, shrink=0.9, pad=0.015)
    bar.set_ticks(_TICKS, labels=[f"{tick:g}" for tick in _TICKS])
    bar.set_label("weight", color=MUTED)
    bar.outline.set_visible(False)  # type: ignore[operator]


def name_sides(axes: Sequence[Axes], x: str, y: str, *, given: bool) -> None:
    """Say what the columns and the rows of maps are: once in a figure of one's own, on each of the axes given."""
    if given:
        for ax in axes:
            ax.set_xlabel(x, loc="left")  # to the right stands what all dates have in common
            ax.set_ylabel(y)
    else:
        figure = root(axes[0])
        figure.supxlabel(x, fontsize=9, color=MUTED)
        figure.supylabel(y, fontsize=9, color=MUTED)


def _edges(stamps: np.ndarray) -> np.ndarray:
    """Give where each of the stamps begins and ends; the first is as long as the second."""
    if len(stamps) == 1:
        one = np.timedelta64(1, "h") if stamps.dtype.kind == "M" else 1.0
        return np.array([stamps[0] - one, stamps[0]])
    return np.concatenate([[stamps[0] - (stamps[1] - stamps[0])], stamps])
