"""The alignment map: which part of the past each step of a forecast reads."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.plots.frames import first_window, window_name
from forecast.plots.heat import name_sides, weight_bar, weight_map
from forecast.plots.style import look, panels, room, time_axis

_MOST_PANELS = 8


def plot_alignments(maps: pd.DataFrame, *, ax: Axes | Iterable[Axes] | None = None) -> Figure:
    """Draw with what weight each step of a forecast reads each token of the past: a panel per layer and head.

    A row is a step that is forecast, a column a token of the past; real stamps on both axes. `maps` is a frame of
    `alignments`; of several windows the first is drawn, of more than eight panels the first eight, or as many as `ax`,
    one axes or several, holds. Raises ValueError where a column is missing, there is no row, or `ax` holds more axes
    than there are panels.
    """
    one = first_window(maps, "maps", ("layer", "head", "ds", "key", "weight"))
    shown = list(one[["layer", "head"]].drop_duplicates().itertuples(index=False))
    shown = shown[: _MOST_PANELS if ax is None else room(ax, len(shown))]
    columns = min(len(shown), 2 if len(shown) <= 4 else 4)
    rows = -(-len(shown) // columns)
    with look():
        size = (1.6 + (5.4 if columns == 1 else 2.9 * columns), 1.1 + (2.9 if rows == 1 else 1.9 * rows))
        figure, axes = panels(ax, len(shown), size, columns=columns, sharex=True, sharey=True)
        for panel, (layer, head) in zip(axes, shown, strict=True):
            own = one.loc[(one["layer"] == layer) & (one["head"] == head)]
            weight_map(panel, own.pivot(index="ds", columns="key", values="weight"))
            if ax is not None or len(shown) > 1:
                panel.set_title(f"{'' if ax is None else 'Alignment: '}layer {layer}, head {head}", fontsize=8.5)
            time_axis(panel, own["key"], ticks=6 if columns == 1 else 4, label=False)
            time_axis(panel, own["ds"], ticks=6, label=False, upright=True)
        name_sides(axes, "token of the past that is read", "step that is forecast", given=ax is not None)
        weight_bar(axes)
        if ax is None:
            figure.suptitle(f"Alignment of the forecast made at {window_name(one)}", x=0.01, ha="left")
    return figure
