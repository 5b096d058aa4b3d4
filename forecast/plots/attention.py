"""Attention maps: of one window by head, by lag over many windows, and across series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from forecast.plots.frames import check_columns, first_window, window_name
from forecast.plots.heat import name_sides, weight_bar, weight_map, weight_table
from forecast.plots.style import FAINT, MUTED, legend_below, look, panels, percent, room, shorten, time_axis

_MOST_LAYERS, _MOST_HEADS = 4, 8
_HEAD_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#a3507f", "#8a7000", "#56b4e9", "#222222", "#999999")
_MOST_NAMES = 24  # along the side of a map


def plot_attention(
    maps: pd.DataFrame, layers: Sequence[int] | None = None, *, ax: Axes | Iterable[Axes] | None = None
) -> Figure:
    """Draw who reads whom in one window: a row of panels per layer, a column per head, real stamps on both axes.

    A row of a panel is a token that reads, a column one that is read; each stands for the time up to its stamp. What
    lies to the right of the diagonal is the future, and masked.

    `maps` is a frame of `attention_maps`; of several windows the first is drawn. `layers` defaults to the last four.
    Heads beyond eight are left out. `ax` holds as many axes as panels, row by row; fewer take the first. Raises
    ValueError where a column is missing, there is no row, a layer is not there, or `ax` holds more axes than there are
    panels.
    """
    one = first_window(maps, "maps", ("layer", "head", "query", "key", "weight"))
    shown, heads = _layers(one, layers), sorted(one["head"].unique())[:_MOST_HEADS]
    size = (1.6 + 2.0 * max(len(heads), 2), 1.0 + 1.85 * len(shown))
    pairs = list(product(shown, heads))
    pairs = pairs[: room(ax, len(pairs))]
    with look():
        figure, axes = panels(ax, len(pairs), size, columns=len(heads), sharex=True, sharey=True)
        for panel, (layer, head) in zip(axes, pairs, strict=True):
            own = one.loc[(one["layer"] == layer) & (one["head"] == head)]
            weight_map(panel, own.pivot(index="query", columns="key", values="weight"))
            panel.set_title(f"{'' if ax is None else 'Attention: '}layer {layer}, head {head}", fontsize=8.5)
            time_axis(panel, own["key"], ticks=4, label=False)
            time_axis(panel, own["query"], ticks=5, label=False, upright=True)
        name_sides(axes, "token that is read", "token that reads", given=ax is not None)
        weight_bar(axes)
        if ax is None:
            figure.suptitle(f"Attention up to {window_name(one)}", x=0.01, ha="left")
    return figure


def plot_attention_by_lag(
    lags: pd.DataFrame, layers: Sequence[int] | None = None, *, ax: Axes | Iterable[Axes] | None = None
) -> Figure:
    """Draw how far back the last token reads: mean weight against lag, a panel per layer, a line per head.

    The dashed line is where weight would be the same at every lag. `lags` is a frame of `attention_by_lag`. `layers`
    defaults to the last four, or as many as `ax`, one axes or several, holds. Raises ValueError where a column is
    missing, there is no row, a layer is not there, or `ax` holds more axes than there are panels.
    """
    check_columns(lags, "lags", ("layer", "head", "lag", "weight"))
    shown = _layers(lags, layers, ax)
    heads = sorted(lags["head"].unique())
    with look():
        figure, axes = panels(ax, len(shown), (7.0, 1.0 + 1.9 * len(shown)), sharex=True)
        for panel, layer in zip(axes, shown, strict=True):
            own = lags.loc[lags["layer"] == layer]
            even = 1 / len(own["lag"].unique())
            panel.axhline(even, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)), label="_even")
            for head in heads:
                line = own.loc[own["head"] == head].sort_values(by=["lag"])
                colour = _HEAD_COLOURS[(head - 1) % len(_HEAD_COLOURS)]
                marker = "o" if len(line) <= 40 else None
                panel.plot(line["lag"], line["weight"], color=colour, marker=marker, markersize=3, label=f"head {head}")
            panel.set_title(f"{'' if ax is None else 'Attention by lag: '}layer {layer}", fontsize=9)
            panel.set_ylabel("mean weight")
            panel.set_ylim(bottom=0)
            panel.margins(x=0.02)
            panel.yaxis.set_major_formatter(percent(None))
            panel.grid(axis="y", color=FAINT, linewidth=0.5)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[-1].set_xlabel("steps from the last token back to the token that is read")
        handles, names = axes[0].get_legend_handles_labels()
        if ax is None:
            figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 8), handlelength=1.4)
            figure.suptitle("Attention of the last token, by lag", x=0.01, ha="left")
        else:
            legend_below(axes[-1], handles, columns=min(len(names), 4))
    return figure


def plot_attention_across_series(
    across: pd.DataFrame, layers: Sequence[int] | None = None, *, ax: Axes | Iterable[Axes] | None = None
) -> Figure:
    """Draw which series reads which, mean of all heads: a panel per layer; rows read columns.

    What no edge of the graph leads to has weight 0. `across` is a frame of `attention_across_series`. `layers` defaults
    to the last four, or as many as `ax`, one axes or several, holds. Raises ValueError where a column is missing, there
    is no row, a layer is not there, or `ax` holds more axes than there are panels.
    """
    check_columns(across, "across", ("layer", "reader", "read", "weight"))
    shown, ids = _layers(across, layers, ax), list(across["reader"].drop_duplicates())
    side = max(1.7, 0.2 * min(len(ids), _MOST_NAMES))
    with look():
        size = (1.9 + (side + 0.25) * len(shown), 1.6 + side)
        figure, axes = panels(ax, len(shown), size, columns=len(shown), sharey=True)
        for panel, layer in zip(axes, shown, strict=True):
            own = across.loc[across["layer"] == layer]
            means = own.pivot_table(index="reader", columns="read", values="weight")
            weight_table(panel, means.reindex(index=ids, columns=ids))
            panel.set_title(f"{'' if ax is None else 'Attention across series: '}layer {layer}", fontsize=9)
            _names(panel, ids)
        name_sides(axes, "series that is read", "series that reads", given=ax is not None)
        weight_bar(axes)
        if ax is None:
            figure.suptitle("Attention across series", x=0.01, ha="left")
    return figure


def _layers(table: pd.DataFrame, asked: Sequence[int] | None, ax: Axes | Iterable[Axes] | None = None) -> list[int]:
    there = sorted(table["layer"].unique())
    if asked is None:
        return there[-(_MOST_LAYERS if ax is None else room(ax, len(there))) :]
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
