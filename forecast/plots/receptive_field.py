"""The effective receptive field beside the claimed one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from forecast.plots.frames import check_columns
from forecast.plots.style import FAINT, MUTED, look, panels, percent, room
from forecast.plots.ticks import plain_logarithms

_TITLES = {"backbone": "by way of backbone and decoder", "whole": "with the shortcuts too"}
_COLOURS = ("#0072b2", "#009e73", "#d55e00")
_DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)))
_WARNING = "#a3341c"
_FAINTEST = 1e-4  # of the largest gradient that is drawn
_SHARES = (0.5, 0.95)


def plot_receptive_field(field: pd.DataFrame, *, ax: Axes | Iterable[Axes] | None = None) -> Figure:
    """Draw how strongly forecasts depend on each value of the past, and how much of that lies in the newest steps.

    Left: mean |d forecast / d value| by lag, on a logarithmic axis; right: the share of it in the newest steps, with
    dots at 50 % and 95 %. Above: by way of backbone and decoder; below: with the shortcuts that lead past them, the
    anchor and the linear path. The dotted line is the end of the claimed field, where that lies within the
    context.

    `field` is a frame of `effective_receptive_field`, whose `attrs` give the claimed field and the warning. `ax` holds
    as many axes as panels, row by row; fewer take the first. Raises ValueError where a column is missing, there is no
    row, or `ax` holds more axes than there are panels.
    """
    check_columns(field, "field", ("part", "step", "lag", "gradient", "share"))
    parts = [part for part in _TITLES if part in set(field["part"])]
    claimed, warning = field.attrs.get("claimed"), field.attrs.get("warning")
    with look():
        size = (8.0, 1.2 + 2.2 * len(parts))
        figure, axes = panels(ax, room(ax, 2 * len(parts)), size, columns=2, sharex=True)
        for panel, (part, draw) in zip(axes, product(parts, (_gradients, _shares)), strict=False):
            own = field.loc[field["part"] == part].sort_values(by=["step", "lag"])
            draw(panel, [own.loc[own["step"] == step] for step in own["step"].unique()])
            title = f"Gradient {_TITLES[part]}" if draw is _gradients else "Share of it in the newest steps"
            panel.set_title(title, fontsize=9)
            panel.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
            if part == "backbone" and claimed and claimed <= own["lag"].max():
                _claim(panel, claimed, named=draw is _gradients)
        below = ("steps back from the last value", "newest steps")
        for place in range(len(axes)) if ax is not None else (-2, -1):
            axes[place].set_xlabel(below[place % 2])
        if ax is None:
            figure.suptitle("Effective receptive field", x=0.01, ha="left")
            if warning:
                figure.supxlabel(warning, color=_WARNING, fontsize=9)
        elif warning:
            axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{fill(warning, 50)}")
    return figure


def _claim(ax: Axes, claimed: int, *, named: bool) -> None:
    """Mark the end of the claimed field."""
    ax.axvline(claimed, color=MUTED, linewidth=1.0, linestyle=(0, (1.2, 1.6)), label="_claimed")
    if named:
        place = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points"}
        ax.annotate("claimed", (claimed, 1.0), (3, -8), **place, color=MUTED, fontsize=8)


def _gradients(ax: Axes, steps: list[pd.DataFrame]) -> None:
    largest = max(table["gradient"].max() for table in steps)
    ax.set_yscale("log")
    for table, colour, dash in zip(steps, _COLOURS, _DASHES, strict=False):
        gradient = table["gradient"].to_numpy(dtype=float)
        seen = np.where(gradient > _FAINTEST * largest, gradient, np.nan)
        # A field of few values between nothing and nothing still has to be seen.
        marker = "o" if np.isfinite(seen).sum() <= 40 else None
        name = f"step {table['step'].iloc[0]}"
        ax.plot(
            table["lag"], seen, color=colour, linestyle=dash, linewidth=1.2, marker=marker, markersize=2.5, label=name
        )
    plain_logarithms(ax.yaxis)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    ax.set_ylabel("mean |gradient|")


def _shares(ax: Axes, steps: list[pd.DataFrame]) -> None:
    for table, colour, dash in zip(steps, _COLOURS, _DASHES, strict=False):
        held = table["share"].to_numpy(dtype=float).cumsum()
        places = [min(int(np.searchsorted(held, share - 1e-9)), len(held) - 1) for share in _SHARES]
        said = ", ".join(f"{share:.0%} in {place + 1}" for share, place in zip(_SHARES, places, strict=True))
        name = f"step {table['step'].iloc[0]}: {said}"
        ax.plot(np.arange(1, len(held) + 1), held, color=colour, linestyle=dash, linewidth=1.2, label=name)
        ax.plot(np.array(places) + 1, held[places], "o", color=colour, markersize=4, label="_held")
    ax.set_ylim(0, 1.03)
    ax.yaxis.set_major_formatter(percent())
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    ax.legend(loc="best", fontsize=7.5, handlelength=1.6)
