"""The critical-difference diagram: mean ranks over data sets, and who cannot be told apart (Demsar 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.plots.style import INK, MUTED, look, panel, say_empty, shorten

if TYPE_CHECKING:
    from forecast.evaluation.statistics import Ranks

_BAR = 0.04  # of the range of ranks, from one bar to the next


def plot_ranks(found: Ranks, *, ax: Axes | None = None) -> Figure:
    """Draw mean ranks, best first; bars on the right join forecasters of whom no pair is separated.

    Pairs are separated by Wilcoxon's test with Holm's rule; how far ranks have to lie apart for Nemenyi's, the critical
    difference, is drawn below. Where tests are not reported, the picture says why and shows no ranks. `found` is what
    `ranks` gives. Raises TypeError for anything else.
    """
    if not isinstance(getattr(found, "mean_ranks", None), pd.Series):
        raise TypeError(f"`found` is a {type(found).__name__}; give the Ranks that `ranks` gives")
    names, means = list(found.mean_ranks.index), found.mean_ranks.to_numpy("float64")
    with look():
        figure, ax = panel(ax, (6.4, max(2.4, 1.5 + 0.28 * len(names))))
        ax.set_title("Mean ranks, and who cannot be told apart")
        if refused := [note for note in found.notes if note.startswith("not reported")]:
            say_empty(ax, refused[0].replace(": ", ":\n", 1))
            return figure
        rows = np.arange(len(names))
        ax.hlines(rows, 1, means, color=MUTED, lw=0.8)
        ax.plot(means, rows, "o", color=INK)
        for row, mean in zip(rows, means, strict=True):
            ax.annotate(f"{mean:.2f}", (mean, row), (6, 0), textcoords="offset points", va="center", fontsize=8)
        right = max(len(names), 1 + np.nan_to_num(found.critical_difference)) + 0.6
        for group in found.groups:
            ends = names.index(group[0]) - 0.25, names.index(group[-1]) + 0.25
            ax.plot([right, right], ends, color=INK, lw=3, label="alike")
            right += _BAR * len(names)
        bottom = len(names) - 0.5
        if np.isfinite(found.critical_difference):
            bottom += 1
            ax.plot(
                [1, 1 + found.critical_difference], [bottom - 0.6] * 2, "|-", color=MUTED, label="critical difference"
            )
            told = f"critical difference {found.critical_difference:.2f}"
            ax.annotate(told, (1, bottom - 0.6), (0, -4), textcoords="offset points", va="top", color=MUTED, fontsize=8)
        ax.set_ylim(bottom + 0.1, -0.6)
        ax.set_xlim(0.9, right)
        ax.set_xticks(range(1, len(names) + 1))
        ax.set_yticks(rows, [shorten(name, 30) for name in names], color=INK)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("mean rank over blocks (1 is the lowest error)")
        if not found.groups:
            ax.annotate(
                "all separated", (1, 0), xycoords="axes fraction", ha="right", va="bottom", color=MUTED, fontsize=8
            )
    return figure
