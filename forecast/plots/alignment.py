"""The alignment map: which part of the past each step of a forecast reads."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from forecast.plots.frames import first_window, window_name
from forecast.plots.heat import weight_bar, weight_map
from forecast.plots.style import MUTED, look, time_axis

_MOST_PANELS = 8


def plot_alignments(maps: pd.DataFrame) -> Figure:
    """Draw with what weight each step of a forecast reads each token of the past: a panel per layer and head.

    A row is a step that is forecast, a column a token of the past; real stamps on both axes. `maps` is a frame of
    `alignments`; of several windows the first is drawn, of more than eight panels the first eight. Raises ValueError
    where a column is missing or there is no row.
    """
    one = first_window(maps, "maps", ("layer", "head", "ds", "key", "weight"))
    panels = list(one[["layer", "head"]].drop_duplicates().itertuples(index=False))[:_MOST_PANELS]
    columns = min(len(panels), 2 if len(panels) <= 4 else 4)
    rows = -(-len(panels) // columns)
    with look():
        size = (1.6 + (5.4 if columns == 1 else 2.9 * columns), 1.1 + (2.9 if rows == 1 else 1.9 * rows))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for ax, (layer, head) in zip(axes, panels, strict=False):
            own = one.loc[(one["layer"] == layer) & (one["head"] == head)]
            weight_map(ax, own.pivot(index="ds", columns="key", values="weight"))
            if len(panels) > 1:
                ax.set_title(f"layer {layer}, head {head}", fontsize=8.5)
            time_axis(ax, own["key"], ticks=6 if columns == 1 else 4, label=False)
            time_axis(ax, own["ds"], ticks=6, label=False, upright=True)
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        figure.supxlabel("token of the past that is read", fontsize=9, color=MUTED)
        figure.supylabel("step that is forecast", fontsize=9, color=MUTED)
        weight_bar(figure, axes.tolist())
        figure.suptitle(f"Alignment of the forecast made at {window_name(one)}", x=0.01, ha="left")
    return figure
