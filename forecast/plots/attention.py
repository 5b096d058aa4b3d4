"""Attention maps: of one window by head, by lag over many windows, and across series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from forecast.plots.frames import check_columns, first_window, window_name
from forecast.plots.heat import weight_bar, weight_map, weight_table
from forecast.plots.style import FAINT, MUTED, look, percent, shorten, time_axis

_MOST_LAYERS, _MOST_HEADS = 4, 8
_HEAD_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#a3507f", "#8a7000", "#56b4e9", "#222222", "#999999")
_MOST_NAMES = 24  # along the side of a map


def plot_attention(maps: pd.DataFrame, layers: Sequence[int] | None = None) -> Figure:
    """Draw who reads whom in one window: a row of panels per layer, a column per head, real stamps on both axes.

    A row of a panel is a token that reads, a column one that is read; each stands for the time up to its stamp. What
    lies to the right of the diagonal is the future, and masked.

    `maps` is a frame of `attention_maps`; of several windows the first is drawn. `layers` defaults to the last four.
    Heads beyond eight are left out. Raises ValueError where a column is missing, there is no row, or a layer is not
    there.
    """
    one = first_window(maps, "maps", ("layer", "head", "query", "key", "weight"))
    shown, heads = _layers(one, layers), sorted(one["head"].unique())[:_MOST_HEADS]
    with look():
        size = (1.6 + 2.0 * max(len(heads), 2), 1.0 + 1.85 * len(shown))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(shown), len(heads), squeeze=False, sharex=True, sharey=True)
        for i, layer in enumerate(shown):
            for k, head in enumerate(heads):
                ax, own = axes[i, k], one.loc[(one["layer"] == layer) & (one["head"] == head)]
                weight_map(ax, own.pivot(index="query", columns="key", values="weight"))
                ax.set_title(f"layer {layer}, head {head}", fontsize=8.5)
                time_axis(ax, own["key"], ticks=4, label=False)
                time_axis(ax, own["query"], ticks=5, label=False, upright=True)
        figure.supxlabel("token that is read", fontsize=9, color=MUTED)
        figure.supylabel("token that reads", fontsize=9, color=MUTED)
        weight_bar(figure, axes)
        figure.suptitle(f"Attention up to {window_name(one)}", x=0.01, ha="left")
    return figure


def plot_attention_by_lag(lags: pd.DataFrame, layers: Sequence[int] | None = None) -> Figure:
    """Draw how far back the last token reads: mean weight against lag, a panel per layer, a line per head.

    The dashed line is where weight would be the same at every lag. `lags` is a frame of `attention_by_lag`. `layers`
    defaults to the last four. Raises ValueError where a column is missing, there is no row, or a layer is not there.
    """
    check_columns(lags, "lags", ("layer", "head", "lag", "weight"))
    shown = _layers(lags, layers)
    heads = sorted(lags["head"].unique())
    with look():
        figure = Figure(figsize=(7.0, 1.0 + 1.9 * len(shown)), layout="constrained")
        axes = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
        for ax, layer in zip(axes, shown, strict=True):
            own = lags.loc[lags["layer"] == layer]
            ax.axhline(1 / len(own["lag"].unique()), color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), label="_even")
            for head in heads:
                line = own.loc[own["head"] == head].sort_values(by=["lag"])
                colour = _HEAD_COLOURS[(head - 1) % len(_HEAD_COLOURS)]
                marker = "o" if len(line) <= 40 else None
                ax.plot(line["lag"], line["weight"], color=colour, marker=marker, markersize=3, label=f"head {head}")
            ax.set_title(f"layer {layer}", fontsize=9)
            ax.set_ylabel("mean weight")
            ax.set_ylim(bottom=0)
            ax.margins(x=0.02)
            ax.yaxis.set_major_formatter(percent(None))
            ax.grid(axis="y", color=FAINT, linewidth=0.5)
        axes[-1].set_xlabel("steps from the last token back to the token that is read")
        axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 8), handlelength=1.4)
        figure.suptitle("Attention of the last token, by lag", x=0.01, ha="left")
    return figure


def plot_attention_across_series(across: pd.DataFrame, layers: Sequence[int] | None = None) -> Figure:
    """Draw which series reads which, mean of all heads: a panel per layer; rows read columns.

    What no edge of the graph leads to has weight 0. `across` is a frame of `attention_across_series`. `layers` defaults
    to the last four. Raises ValueError where a column is missing, there is no row, or a layer is not there.
    """
    check_columns(across, "across", ("layer", "reader", "read", "weight"))
    shown, ids = _layers(across, layers), list(across["reader"].drop_duplicates())
    side = max(1.7, 0.2 * min(len(ids), _MOST_NAMES))
    with look():
        figure = Figure(figsize=(1.9 + (side + 0.25) * len(shown), 1.6 + side), layout="constrained")
        axes = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
        for ax, layer in zip(axes, shown, strict=True):
            own = across.loc[across["layer"] == layer]
            weight_table(ax, own.pivot_table(index="reader", columns="read", values="weight").loc[ids, ids])
            ax.set_title(f"layer {layer}", fontsize=9)
            _names(ax, ids)
        figure.supxlabel("series that is read", fontsize=9, color=MUTED)
        axes[0].set_ylabel("series that reads")
        weight_bar(figure, axes)
        figure.suptitle("Attention across series", x=0.01, ha="left")
    return figure


def _layers(table: pd.DataFrame, asked: Sequence[int] | None) -> list[int]:
    there = sorted(table["layer"].unique())
    if asked is None:
        return there[-_MOST_LAYERS:]
    if unknown := [layer for layer in asked if layer not in there]:
        raise ValueError(f"`layers` holds {unknown[0]!r}; there are {there[0]} to {there[-1]}")
    if not asked:
        raise ValueError("`layers` is empty; leave it out or name at least one")
    return list(asked)


def _names(ax: Axes, ids: list) -> None:
    """Write the series on both axes, as many of them as can be read."""
    places = np.arange(0, len(ids), -(-len(ids) // _MOST_NAMES))
    names = [shorten(ids[place], 14) for place in places]
    ax.set_xticks(places, names, rotation=90)
    ax.set_yticks(places, names)
    ax.tick_params(length=0)
