"""The learning curve: losses in training and on what was held back, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from forecast.plots.bands import finite
from forecast.plots.frames import as_pandas, check_columns
from forecast.plots.style import FAINT, FAMILY_COLOURS, MUTED, legend_below, look, panel, say_empty, shorten
from forecast.plots.ticks import plain_logarithms

_STEEP = 20.0  # losses that are further apart than this factor are drawn on a logarithmic axis
_COLUMNS = {"train_loss": ("training", 1.0, (0, (1.5, 1.2))), "validation_loss": ("validation", 1.8, "-")}
_COLOURS = [FAMILY_COLOURS[family] for family in ("latent-state", "direct-prediction", "linear", "control", "baseline")]


def plot_learning_curve(losses: pd.DataFrame | Mapping[str, pd.DataFrame], *, ax: Axes | None = None) -> Figure:
    """Draw losses against optimiser steps: training dotted, validation solid with its lowest value marked.

    `losses` has the columns `step, train_loss, validation_loss` (NaN where nothing was looked at; all NaN, or no such
    column, without validation): what `learning_curve()` of a fitted NeuralForecaster gives. A mapping of names to such
    frames draws several fits into one picture. Losses are in scaled units, as they were trained on.

    Raises TypeError for what is no frame, ValueError where a column is missing or there is no row.
    """
    fits = losses if isinstance(losses, Mapping) else {"": losses}
    if not fits:
        raise ValueError("`losses` holds no fit; there is nothing to draw")
    tables = {name: as_pandas(one, "losses") for name, one in fits.items()}
    for table in tables.values():
        check_columns(table, "losses", ["step", "train_loss"])
    with look():
        figure, ax = panel(ax, (7.0, 3.6))
        ax.set_title("Learning curve" if len(tables) == 1 else f"Learning curves of {len(tables)} fits")
        for (name, table), colour in zip(tables.items(), cycle(_COLOURS), strict=False):
            _curve(ax, f"{shorten(name)}: " if name else "", table.sort_values(by=["step"], kind="stable"), colour)
        ax.set_xlabel("optimiser step")
        ax.set_ylabel("loss (scaled units)")
        lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
        if not lines:
            say_empty(ax, "no loss was kept")
            return figure
        values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines])
        if values.min() > 0 and values.max() > _STEEP * values.min():
            ax.set_yscale("log")
            plain_logarithms(ax.yaxis)
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        ax.margins(x=0.02, y=0.12)
        keys = lines if len(tables) == 1 else [*_names(list(tables)), *_kinds()]
        legend_below(ax, keys, columns=-(-len(keys) // -(-len(keys) // 6)))
    return figure


def _names(fits: list[str]) -> list[Line2D]:
    coloured = zip(fits, cycle(_COLOURS), strict=False)
    return [Line2D([], [], color=colour, label=shorten(name)) for name, colour in coloured]


def _kinds() -> list[Line2D]:
    """Say what the kinds of lines are, for fits of all colours."""
    lines = [Line2D([], [], color=MUTED, lw=width, ls=dash, label=name) for name, width, dash in _COLUMNS.values()]
    return [*lines, Line2D([], [], color=MUTED, ls="none", marker="o", markersize=5, label="lowest")]


def _curve(ax: Axes, of: str, table: pd.DataFrame, colour: str) -> None:
    """Draw the losses of one fit; of each, the steps at which it was looked at."""
    steps = finite(table["step"])
    for column, (name, width, dash) in _COLUMNS.items():
        loss = finite(table[column]) if column in table.columns else np.full(len(table), np.nan)
        there = np.isfinite(loss) & np.isfinite(steps)
        if not there.any():
            continue
        lone = "o" if there.sum() == 1 else None
        ax.plot(steps[there], loss[there], color=colour, ls=dash, linewidth=width, marker=lone, label=f"{of}{name}")
        if column == "validation_loss":
            best = int(np.nanargmin(np.where(there, loss, np.nan)))
            label = f"{of}lowest, {loss[best]:.4g} at step {steps[best]:,.0f}"
            ax.plot(
                steps[[best]], loss[[best]], color=colour, marker="o", mec=MUTED, ls="none", markersize=5, label=label
            )
