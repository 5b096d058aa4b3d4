"""What each part is worth: by how much the error changes where it is exchanged, forecaster by forecaster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from forecast.plots.bands import finite
from forecast.plots.frames import as_pandas, check_columns
from forecast.plots.style import FAINT, MUTED, legend_below, line_styles, look, panel, percent, shorten

_MARKS = "osD^vPX*"  # of forecasters, whose colours tell families only
_LEAST = 0.05  # of the axis on either side


def plot_ablations(ablations: Any, *, ax: Axes | None = None) -> Figure:
    """Draw the change of the error by each ablation, a row for each, a mark for each forecaster; bars are intervals.

    `ablations` has the columns `ablation, forecaster, change`, and may have `low, high` for bars and `family` for
    colours: what `ablations.csv` of an experiment holds for one data set. What is far worse than all others is drawn as
    an arrow at the edge. Raises TypeError for what is no frame, ValueError where a column is missing, there is no row,
    or a forecaster has two rows of an ablation.
    """
    table = as_pandas(ablations, "ablations")
    check_columns(table, "ablations", ["ablation", "forecaster", "change"])
    if (twice := table.duplicated(["ablation", "forecaster"])).any():
        first = table.loc[twice].iloc[0]
        told = f"{first['forecaster']!r} has two rows of {first['ablation']!r}"
        raise ValueError(f"`ablations`: {told}; give those of one data set")
    rows, names = table["ablation"].unique().tolist(), table["forecaster"].unique().tolist()
    family = dict(zip(table["forecaster"], table["family"], strict=True)) if "family" in table.columns else {}
    styles = line_styles({name: family.get(name) or "other" for name in names})
    table = table.reindex(columns=["ablation", "forecaster", "change", "low", "high"])
    marks = table.to_dict("records")
    apart = 0.62 / len(names)
    with look():
        figure, ax = panel(ax, (7.0, 1.3 + max(0.26, 0.13 * len(names)) * len(rows)))
        low, high = _limits(table)
        for at, ablation in enumerate(rows):
            ax.axhline(at + 0.5, color=FAINT, linewidth=0.5, zorder=0, label="_between")
            for row in (one for one in marks if one["ablation"] == ablation):
                place = names.index(row["forecaster"])
                height = at + apart * (place - (len(names) - 1) / 2)
                look_of = {"color": styles[row["forecaster"]]["color"], "label": "_interval"}
                ax.hlines(height, *np.clip([row["low"], row["high"]], low, high), linewidth=1.2, alpha=0.6, **look_of)
                mark = ">" if row["change"] > high else _MARKS[place % len(_MARKS)]
                ax.plot([min(row["change"], high)], [height], mark, markersize=5, color=look_of["color"], label="_mark")
        ax.axvline(0, color=MUTED, linewidth=1.0, zorder=1, label="_zero")
        room = 0.03 * (high - low)
        ax.set_xlim(low - room, high + room)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.set_yticks(range(len(rows)), [shorten(name) for name in rows])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_formatter(percent())
        ax.set_xlabel("change of the absolute error (right is worse)")
        ax.set_title("One part exchanged at a time")
        legend_below(ax, [_key(name, styles[name]["color"], place) for place, name in enumerate(names)])
    return figure


def _limits(table: pd.DataFrame) -> tuple[float, float]:
    """Give the ends of the axis; a hopeless ablation must not squeeze the others."""
    edges = np.concatenate([finite(table[name]) for name in ("change", "low", "high")])
    edges, usual = edges[np.isfinite(edges)], np.nanmedian(np.abs(finite(table["change"])))
    high = max(edges.max(initial=0.0), _LEAST)
    return min(edges.min(initial=0.0), -_LEAST), min(high, max(8 * np.nan_to_num(usual), 2 * _LEAST))


def _key(name: str, colour: Any, place: int) -> Line2D:
    mark = _MARKS[place % len(_MARKS)]
    return Line2D([], [], linestyle="none", marker=mark, markersize=5, color=colour, label=shorten(name))
