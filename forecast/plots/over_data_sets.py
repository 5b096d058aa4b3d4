"""Several data sets together: who has the lower error in how many, and what family and decoder change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.plots.frames import check_columns
from forecast.plots.matrix import draw_matrix, matrix_size
from forecast.plots.style import FAINT, INK, MUTED, look, panel, percent, say_empty, shorten

if TYPE_CHECKING:
    from forecast.evaluation.statistics import OverDataSets

_STRONG = 0.3  # log ratio of the strongest shade


def plot_pairs(found: OverDataSets, *, ax: Axes | None = None) -> Figure:
    """Draw by how much the error of each forecaster (row) differs from that of each other (column), best first.

    The small figures tell in how many data sets it is lower, a tie being half. `found` is what `over_data_sets` gives.
    Raises TypeError for anything else.
    """
    if not isinstance(getattr(found, "leaders", None), pd.DataFrame):
        raise TypeError(f"`found` is a {type(found).__name__}; give the OverDataSets that `over_data_sets` gives")
    names, number = found.leaders["forecaster"].tolist(), int(found.leaders["data_sets"].iloc[0])
    change, wins = (
        found.pairs.pivot(index="forecaster", columns="opponent", values=value).reindex(index=names, columns=names)
        for value in ("change", "wins")
    )

    def told(row: int, column: int) -> tuple[str, str]:
        differs = f"{100 * change.iloc[row, column]:+.1f}".replace("-", "−")
        return differs, f"{wins.iloc[row, column]:g} of {number}"

    shades = np.clip(-np.log1p(change.to_numpy(float)) / _STRONG, -1, 1)
    with look():
        figure, ax = panel(ax, matrix_size(len(names)))
        draw_matrix(ax, names, shades, told)
        ax.set_title(f"Pairs over {number} data sets")
        ax.set_xlabel("% by which the error of the row differs from that of the column\nsmall: where it is lower")
    return figure


def plot_contrasts(contrasts: pd.DataFrame, *, ax: Axes | None = None) -> Figure:
    """Draw what each effect changes: one mark for each data set, the mean over them, and its interval.

    `contrasts` has rows `effect, dataset, change`, and one for each effect in which `dataset` is "" and which also has
    `low, high`, NaN where there is no interval: the mean. Raises ValueError where a column is missing.
    """
    check_columns(contrasts, "contrasts", ("effect", "dataset", "change", "low", "high"))
    effects = contrasts["effect"].unique().tolist()
    with look():
        figure, ax = panel(ax, (7.4, 1.5 + 0.42 * max(len(effects), 2)))
        ax.set_title("What family and decoder change, data set by data set")
        if not effects:
            say_empty(ax, "no two cells of backbone and decoder can be compared")
            return figure
        for at, effect in enumerate(effects):
            rows = pd.DataFrame(contrasts[contrasts["effect"] == effect])
            own = rows.loc[rows["dataset"] != "", "change"].to_numpy(float)
            mean = next(row for row in rows.to_dict("records") if row["dataset"] == "")
            ax.axhline(at + 0.5, color=FAINT, linewidth=0.5, zorder=0, label="_between")
            ax.plot(own, np.full(len(own), at - 0.14), "|", color=MUTED, markersize=8, label="_data_set")
            ax.hlines(at + 0.1, mean["low"], mean["high"], color=INK, linewidth=1.6, label="_interval")
            ax.plot([mean["change"]], [at + 0.1], "o", color=INK, markersize=5, label="_mean")
        ax.axvline(0, color=MUTED, linewidth=1.0, zorder=1, label="_zero")
        ax.set_ylim(len(effects) - 0.5, -0.5)
        ax.set_yticks(range(len(effects)), [shorten(name, 40) for name in effects], color=INK)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_formatter(percent())
        told = "strokes: data sets; bar: 95\N{NO-BREAK SPACE}% interval of their mean"
        ax.set_xlabel(f"change of the absolute error (right is worse)\n{told}")
    return figure
