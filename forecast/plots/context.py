"""What a longer context is worth: skill against the number of values that a forecaster reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, StrMethodFormatter

from forecast.plots.bands import finite
from forecast.plots.frames import as_pandas, check_columns
from forecast.plots.style import FAINT, label_lines, line_height, line_styles, look, panel, percent

_BARRED = 8  # forecasters whose bars can still be told apart


def plot_skill_by_context(contexts: Any, *, ax: Axes | None = None) -> Figure:
    """Draw skill against the context length, a line for each forecaster; bars are intervals, of up to eight.

    `contexts` has the columns `forecaster, context_length, skill`, and may have `low, high` for bars and `family` for
    colours: what `contexts.csv` of an experiment holds for one data set. Every point is a fit of its own. Raises
    TypeError for what is no frame, ValueError where a column is missing or there is no row.
    """
    table = as_pandas(contexts, "contexts")
    check_columns(table, "contexts", ["forecaster", "context_length", "skill"])
    names = table["forecaster"].unique().tolist()
    family = dict(zip(table["forecaster"], table["family"], strict=True)) if "family" in table.columns else {}
    styles = line_styles({name: family.get(name) or "other" for name in names})
    lengths = sorted(set(table["context_length"].tolist()))
    with look():
        figure, ax = panel(ax, (7.0, line_height(len(names))))
        ax.set_title("Skill by context length")
        ax.set_xlabel("context length (values), each fitted anew")
        ax.set_ylabel("skill against seasonal naive")
        ends = {}
        barred = {"low", "high"} <= set(table.columns) and len(names) <= _BARRED
        for place, name in enumerate(names):
            rows = pd.DataFrame(table[table["forecaster"] == name]).sort_values(by=["context_length"], kind="stable")
            x, y = finite(rows["context_length"]), finite(rows["skill"])
            if barred:
                beside = x * 2 ** (0.03 * (place - (len(names) - 1) / 2))  # or one bar would hide the other
                look_of = {"color": styles[name]["color"], "alpha": 0.55, "linewidth": 1.0, "label": "_interval"}
                ax.vlines(beside, finite(rows["low"]), finite(rows["high"]), **look_of)
            ax.plot(x, y, **styles[name], marker="o", markersize=4, label=name)
            ends[name] = y[-1]
        ax.axhline(0, color=FAINT, linewidth=1.2, zorder=0, label="_zero")
        if len(lengths) > 1:
            ax.set_xscale("log", base=2)
        ax.xaxis.set_major_locator(FixedLocator(lengths if len(lengths) <= 8 else lengths[:: -(-len(lengths) // 8)]))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(percent())
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        skills = finite(table["skill"])
        if np.isfinite(skills).any():  # a wide interval must not flatten the lines
            low, high = np.nanmin(skills), np.nanmax(skills)
            ax.set_ylim(max(ax.get_ylim()[0], low - 1.5 * max(high - low, 0.05)), ax.get_ylim()[1])
        label_lines(ax, ends, styles)
    return figure
