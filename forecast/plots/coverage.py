"""How often the actual lies in an interval, from step to step ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from forecast.evaluation.metrics import coverage, score
from forecast.evaluation.pit import chance_band
from forecast.plots.extent import count, extent
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


def plot_coverage_by_step(ledger: Ledger, lower: float = 0.1, upper: float = 0.9, *, ax: Axes | None = None) -> Figure:
    """Draw the share of actuals in the interval between two quantile levels against the step, a line per forecaster.

    On the dashed line the interval is honest. In the shade lie 95 % of honest forecasters, if their series and cutoffs
    are independent; where they are not, chance goes further. Shares of several seeds are averaged. Of more than a dozen
    forecasters the best of each family under each decoder are named, and the others are faint.

    Raises TypeError for what is no ledger, ValueError for levels that are not in it or do not rise.
    """
    check_ledger(ledger)
    table = score(ledger, {"inside": coverage(lower, upper)}, by=["forecaster", "step"])
    shares = table.pivot_table(index="step", columns="forecaster", values="inside", dropna=False)
    named, nominal = singled_out(ledger), upper - lower
    with look():
        figure, ax = panel(ax, (7.0, line_height(len(named))))
        ax.set_title(f"Coverage by step, over {count(extent(ledger).cutoffs, 'cutoff')}")
        ax.set_ylabel(f"share of actuals between levels {lower:g} and {upper:g}")
        note = f"\nshade: 95 % of honest forecasts, were series and cutoffs independent{told(ledger, named)}"
        ax.set_xlabel(f"step ahead{note}")
        if not np.isfinite(shares.to_numpy(dtype=float)).any():
            say_empty(ax, "no actual was observed")
            return figure
        family_of = families(ledger.forecasters, ledger.fits)
        styles, hues = line_styles({name: family_of[name] for name in named}), family_colours(list(family_of.values()))
        steps = shares.index.to_numpy(dtype=float)
        low, high = chance_band(nominal, np.isfinite(ledger.points.y).sum(axis=0))
        _shade(ax, steps, low, high)
        ax.axhline(nominal, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0.5, label="_honest")
        ends: dict[str, float] = {}
        for name, family in family_of.items():
            y = shares[name].to_numpy(dtype=float)
            if name in named:
                known = y[np.isfinite(y)]
                ends[name] = known[-1] if len(known) else float("nan")
                ax.plot(steps, y, **styles[name], marker="o", markersize=3 if len(steps) <= 12 else 0, label=name)
            else:
                ax.plot(steps, y, color=hues[family], linewidth=0.7, alpha=0.35, zorder=1, label=name)
        if len(steps) == 1:
            ax.set_xlim(steps[0] - 1.0, steps[0] + 0.1)
        else:
            ax.margins(x=0.01)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True) if len(steps) > 1 else FixedLocator([steps[0]]))
        ax.yaxis.set_major_formatter(percent())
        ax.set_ylim(max(-0.02, ax.get_ylim()[0]), min(1.02, ax.get_ylim()[1]))
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        label_lines(ax, ends, styles)
    return figure


def _shade(ax: Axes, steps: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Shade where chance leads; one step alone has no width, and gets some."""
    if len(steps) == 1:
        steps, low, high = steps[0] + np.array([-0.1, 0.1]), low.repeat(2), high.repeat(2)
    ax.fill_between(steps, low, high, color=FAINT, alpha=0.6, linewidth=0, zorder=0, label="_chance")
