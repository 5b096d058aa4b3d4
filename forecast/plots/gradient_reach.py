"""How far gradients reach: many networks on one axis."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from forecast.plots.frames import check_columns
from forecast.plots.style import FAINT, label_lines, line_height, line_styles, look, panel
from forecast.plots.ticks import plain_logarithms

_SMALLEST = 1e-9  # of the gradient of the last token that is drawn: less is nothing beside the noise of training


def plot_gradient_reach(reach: pd.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Draw the norm of the loss's gradient at each token, relative to that of the last, by lag: a line per forecaster.

    On the logarithmic axis a gradient that vanishes geometrically is a straight line; the names say in how many steps
    it falls by half. A line ends where nothing is left. `reach` is a frame of `reach_of_gradients` or
    `reach_untrained`. Raises ValueError where a column is missing or there is no row.
    """
    check_columns(reach, "reach", ("forecaster", "family", "lag", "relative", "half_life"))
    rows = dict(iter(reach.groupby("forecaster", sort=False)))
    styles = line_styles({str(name): own["family"].iloc[0] for name, own in rows.items()})
    with look():
        figure, ax = panel(ax, (7.4, line_height(len(rows))))
        ax.set_yscale("log")
        ends: dict[str, float] = {}
        told: dict[str, dict] = {}
        for name, own in rows.items():
            own = own.sort_values(by=["lag"])
            relative = own["relative"].to_numpy(dtype=float)
            seen = np.where(relative >= _SMALLEST, relative, np.nan)
            marker = "o" if len(own) <= 40 else None
            ax.plot(own["lag"], seen, **styles[str(name)], marker=marker, markersize=3, label=str(name))
            left = seen[np.isfinite(seen)]
            text = f"{name}{_half_life(own['half_life'].iloc[0])}"
            ends[text] = left[-1] if len(left) else float("nan")
            told[text] = styles[str(name)]
        low, high = ax.get_ylim()
        ax.set_ylim(min(low, 0.1), high)  # of less than a power of ten nothing has vanished
        plain_logarithms(ax.yaxis)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        ax.margins(x=0.01)
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        ax.set_xlabel("steps from the last token back")
        ax.set_ylabel("gradient, relative to the last token's")
        ax.set_title("What of the last loss reaches a token of the past")
        label_lines(ax, ends, told)
    return figure


def _half_life(steps: float) -> str:
    if np.isnan(steps):
        return ""
    return f": half in {steps:.3g}" if np.isfinite(steps) else ": half in ∞"
