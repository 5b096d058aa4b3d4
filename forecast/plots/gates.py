"""The time-scales of gates: for how long the units of a recurrent layer remember."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.plots.frames import check_columns
from forecast.plots.style import FAINT, MUTED, label_lines, line_height, line_styles, look, panel, percent
from forecast.plots.ticks import plain_logarithms

_GATES = {
    "lstm": "the forget gate of the LSTM",
    "gru": "the update gate of the GRU",
    "mingru": "the gate of the minGRU",
}


def plot_gates(timescales: pd.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Draw the time-scale of every unit, shortest first, on a logarithmic axis: a line per layer.

    Dotted lines mark the length of a patch, the shortest time that a gate can tell, and that of the context, where
    `timescales`, a frame of `gate_timescales`, knows them (in its `attrs`). Raises ValueError where a column is missing
    or there is no row.
    """
    check_columns(timescales, "timescales", ("layer", "cell", "timescale"))
    names = {layer: f"layer {layer}" for layer in sorted(timescales["layer"].unique())}
    styles = line_styles(dict.fromkeys(names.values(), "latent-state"))
    marks = {"patch": timescales.attrs.get("patch_length"), "context": timescales.attrs.get("context")}
    with look():
        figure, ax = panel(ax, (7.0, line_height(len(names))))
        ax.set_yscale("log")
        ends: dict[str, float] = {}
        for layer, name in names.items():
            own = timescales.loc[timescales["layer"] == layer, "timescale"]
            scale = np.sort(own.to_numpy(dtype=float))
            seen = scale[np.isfinite(scale) & (scale > 0)]
            share = (np.arange(len(scale)) + 0.5) / len(scale)
            ax.plot(share, np.where(scale > 0, scale, np.nan), **styles[name], marker="o", markersize=2.5, label=name)
            ends[name] = seen[-1] if len(seen) else float("nan")
        for text, length in marks.items():
            if length:
                ax.axhline(length, color=MUTED, linewidth=0.9, linestyle=(0, (1.2, 1.6)), label="_mark")
                ax.text(0.99, length, text, color=MUTED, fontsize=8, va="bottom", ha="right")
        low, high = ax.get_ylim()
        ax.set_ylim(low / 1.2, high * 1.3)
        ax.set_xlim(0, 1)
        ax.xaxis.set_major_formatter(percent())
        plain_logarithms(ax.yaxis)
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        ax.set_xlabel("share of the units of a layer, shortest memory first")
        ax.set_ylabel("time-scale in steps")
        cell = timescales["cell"].iloc[0]
        ax.set_title(f"How long units remember, by {_GATES.get(cell, f'the gate of {cell}')}")
        label_lines(ax, ends, styles)
    return figure
