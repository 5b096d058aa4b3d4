"""Do the intervals hold what they promise? Coverage against the nominal level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.evaluation.metrics import coverage, score
from forecast.plots.focus import singled_out, told
from forecast.plots.frames import check_ledger
from forecast.plots.style import (
    FAINT,
    MUTED,
    families,
    family_colours,
    label_lines,
    line_height,
    line_styles,
    look,
    panel,
    percent,
    say_empty,
)

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

_BESIDE = 0.025  # how far beside the first and the last level the words stand


def plot_calibration(ledger: Ledger, *, ax: Axes | None = None) -> Figure:
    """Draw the share of actuals inside each central interval against its nominal level, one line per forecaster.

    The intervals lie between the quantile levels a and 1 - a of the ledger. On the dashed line an interval is honest;
    below it, it is too narrow (too sure), above it too wide. Of more than a dozen forecasters the best of each family
    under each decoder are named, and the others are faint.
    """
    check_ledger(ledger)
    pairs, named = central_pairs(ledger.quantile_levels), singled_out(ledger)
    with look():
        figure, ax = panel(ax, (7.0, max(4.4, line_height(len(named)))))
        ax.set_title("Coverage by nominal level")
        ax.set_xlabel(f"nominal level of the central interval{told(ledger, named)}")
        ax.set_ylabel("share of actuals inside")
        if not pairs:
            say_empty(ax, "the ledger has no two quantile levels a and 1 - a")
            return figure
        nominal = np.array([upper - lower for lower, upper in pairs])
        table = score(ledger, {f"{lower}": coverage(lower, upper) for lower, upper in pairs}).set_index("forecaster")
        observed = table[[f"{lower}" for lower, _ in pairs]]
        family_of = families(ledger.forecasters, ledger.fits)
        styles, hues = line_styles({name: family_of[name] for name in named}), family_colours(list(family_of.values()))
        ends: dict[str, float] = {}
        for name, family in family_of.items():
            y = observed.loc[name].to_numpy(dtype=float)
            if name in named:
                ax.plot(nominal, y, **styles[name], marker="o", markersize=3.5, label=name)
                ends[name] = y[-1]
            else:
                ax.plot(nominal, y, color=hues[family], linewidth=0.7, alpha=0.35, zorder=1, label=name)
        if not np.isfinite(list(ends.values())).any():
            say_empty(ax, "no actual was observed")
            return figure
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0, label="_honest")
        ax.set_xlim(nominal[0] - 2 * _BESIDE, nominal[-1] + 2 * _BESIDE)
        ax.set_ylim(-0.02, 1.02)  # no more than a line needs that lies on an edge
        ax.set_xticks(nominal)
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.xaxis.set_major_formatter(percent())
        ax.yaxis.set_major_formatter(percent())
        ax.grid(color=FAINT, linewidth=0.5)
        # No line of a forecaster comes here; half-way from the dashed one to the edge, on white instead of the grid.
        left, right = nominal[0] - _BESIDE, nominal[-1] + _BESIDE
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        for x, y, text in ((left, (left + 1) / 2, "too wide"), (right, right / 2, "too narrow")):
            ax.text(x, y, text, rotation=90, ha="center", va="center", color=MUTED, fontsize=8, bbox=white)
        label_lines(ax, ends, styles)
    return figure


def central_pairs(levels: tuple[float, ...]) -> list[tuple[float, float]]:
    """Pairs of levels (a, 1 - a), narrowest interval first."""
    ascending = sorted(levels)
    pairs = [(low, high) for low in ascending if low < 0.5 for high in ascending if abs(low + high - 1) < 1e-9]
    return pairs[::-1]
