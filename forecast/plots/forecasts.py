"""The fan chart: history, actuals, median and intervals, series by series and forecaster by forecaster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from forecast.evaluation.columns import level_columns
from forecast.plots.extent import count, extent
from forecast.plots.focus import best_of_each
from forecast.plots.style import (
    INK,
    MUTED,
    families,
    family_colours,
    instants,
    look,
    shorten,
    time_axis,
)

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

_MOST = 5  # as many as the library knows: none of them is left out
_BANDS = ((0.8, 0.22), (0.5, 0.42))


def plot_forecasts(
    ledger: Ledger,
    history: pd.DataFrame | None = None,
    unique_ids: Sequence | None = None,
    cutoff=None,
    forecasters: Sequence[str] | None = None,
    tail: int | None = None,
) -> Figure:
    """Draw the forecasts of one cutoff: a row of panels per series, a column per forecaster.

    The median and the central 80 % and 50 % intervals are drawn. Where a quantile level is not in the ledger (0.25,
    0.75) it is interpolated between its neighbours; a band beyond the outermost levels is left out. Of several seeds
    the first is drawn.

    `history` is a long frame (`unique_id, ds, y`); without it the actuals that the ledger holds up to the cutoff are
    drawn. `unique_ids` defaults to the first three series, `cutoff` to the last one with an actual, `forecasters` to
    the one with the lowest MAE of each family (at most five), `tail` (values of history before the cutoff) to twice the
    horizon.

    Raises ValueError that names the argument where a series, cutoff or forecaster is not in the ledger.
    """
    table = ledger.forecasts
    ids = _chosen("unique_ids", unique_ids, list(table["unique_id"].unique()), 3)
    cutoff = _cutoff(table, cutoff)
    everyone = list(ledger.forecasters)
    family_of = families(everyone, ledger.fits)
    names = best_of_each(ledger)[:_MOST] if forecasters is None else _chosen("forecasters", forecasters, everyone, 1)
    tail = 2 * extent(ledger).steps if tail is None else tail
    past = table if history is None else history
    colours = family_colours(list(family_of.values()))
    with look():
        size = (min(3.0 + 2.3 * len(names), 13.0), 1.2 + 1.55 * len(ids))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(ids), len(names), squeeze=False, sharex=True, sharey="row")
        for i, unique_id in enumerate(ids):
            before = _before(past, unique_id, cutoff, tail)
            for k, name in enumerate(names):
                ax, rows = axes[i, k], _forecast(table, name, unique_id, cutoff)
                _fan(ax, before, rows, cutoff, colours[family_of[name]])
                time_axis(ax, pd.Index([cutoff]), ticks=4, label=False)
                if i == 0:
                    ax.set_title(shorten(name, 34))
                if k == 0:
                    ax.set_ylabel(shorten(unique_id, 18), color=INK, fontweight="bold")
        figure.suptitle(_title(ledger, names, cutoff), x=0.01, ha="left")
        _legend(figure)
    return figure


def central_interval(rows: pd.DataFrame, coverage: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Lower and upper edges (rows,) of the central interval of nominal `coverage`; None beyond the outermost levels.

    Levels between those of the ledger are interpolated linearly in the quantile level.
    """
    columns = level_columns(rows)
    levels = np.array(sorted(columns))
    wanted = np.array([0.5 - coverage / 2, 0.5 + coverage / 2])
    # A hair of slack: 0.5 - 0.8 / 2 is not exactly the 0.1 that names a column.
    if len(levels) == 0 or wanted[0] < levels[0] - 1e-9 or wanted[1] > levels[-1] + 1e-9:
        return None
    values = rows[[columns[level] for level in levels]].to_numpy(dtype=float)
    edges = np.array([np.interp(wanted, levels, row) for row in values]).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


def _chosen(argument: str, wanted: Sequence | None, there: list, most: int) -> list:
    if wanted is None:
        return there[:most]
    if isinstance(wanted, str):
        raise TypeError(f"`{argument}` must be a list of names, got the string {wanted!r}; pass [{wanted!r}]")
    unknown = [one for one in wanted if one not in there]
    if unknown:
        raise ValueError(f"`{argument}` {unknown[0]!r} is not in the ledger; it holds {_some(there)}")
    if not len(wanted):
        raise ValueError(f"`{argument}` is empty; leave it out or name at least one")
    return list(wanted)


def _cutoff(table: pd.DataFrame, cutoff):
    there = sorted(table["cutoff"].drop_duplicates())
    if cutoff is None:
        observed = table.loc[table["y"].notna(), "cutoff"]
        return observed.max() if len(observed) else there[-1]
    if isinstance(cutoff, str):
        cutoff = pd.Timestamp(cutoff)
    return _chosen("cutoff", [cutoff], there, 1)[0]


def _some(values: list) -> str:
    shown = ", ".join(str(value) for value in values[:5])
    return shown if len(values) <= 5 else f"{shown}, ... ({len(values)} in all)"


def _before(past: pd.DataFrame, unique_id, cutoff, tail: int) -> pd.DataFrame:
    rows = past.loc[(past["unique_id"] == unique_id) & (past["ds"] <= cutoff)]
    rows = rows.drop_duplicates(subset=["ds"]).sort_values(by=["ds"])
    return rows.iloc[max(len(rows) - tail, 0) :]


def _forecast(table: pd.DataFrame, name: str, unique_id, cutoff) -> pd.DataFrame:
    here = (table["forecaster"] == name) & (table["unique_id"] == unique_id) & (table["cutoff"] == cutoff)
    rows = table.loc[here].sort_values(by=["seed", "step"])
    return rows.drop_duplicates(subset=["step"])


def _fan(ax: Axes, before: pd.DataFrame, rows: pd.DataFrame, cutoff, colour: str) -> None:
    if not len(rows):
        ax.text(0.5, 0.5, "not forecast", transform=ax.transAxes, ha="center", va="center", color=MUTED)
        return
    ahead = instants(rows["ds"])
    for coverage, strength in _BANDS:
        edges = central_interval(rows, coverage)
        if edges is not None:
            # One step has no width to fill: its band becomes a bar.
            ax.fill_between(ahead, *edges, color=colour, alpha=strength, linewidth=6 if len(rows) == 1 else 0)
    ax.plot(instants(before["ds"]), before["y"].to_numpy(float), color=MUTED, linewidth=1.0, label="history")
    dot = "o" if len(rows) == 1 else None
    # A lone actual between two gaps has no line: small dots keep it visible.
    ax.plot(ahead, rows["y"].to_numpy(float), color=INK, linewidth=1.1, marker=".", markersize=2.5, label="actual")
    ax.plot(ahead, rows["prediction"].to_numpy(float), color=colour, linewidth=1.8, marker=dot, label="median")
    ax.axvline(instants([cutoff])[0], color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)))


def _title(ledger: Ledger, names: list[str], cutoff) -> str:
    table = ledger.forecasts
    several = [name for name in names if len(table.loc[table["forecaster"] == name, "seed"].unique()) > 1]
    note = ", first seed" if several else ""
    zone = getattr(cutoff, "tzinfo", None)
    when = cutoff if zone is None else f"{cutoff} ({zone})"
    return f"Forecasts made at {when}, {count(extent(ledger).steps, 'step')} ahead (in the units of y{note})"


def _legend(figure: Figure) -> None:
    keys = [
        Line2D([], [], color=MUTED, linewidth=1.0, label="history"),
        Line2D([], [], color=INK, linewidth=1.1, marker=".", markersize=3, label="actual"),
        Line2D([], [], color=MUTED, linewidth=1.8, label="median forecast"),
        Patch(color=MUTED, alpha=0.62, linewidth=0, label="50 % interval"),
        Patch(color=MUTED, alpha=0.28, linewidth=0, label="80 % interval"),
        Line2D([], [], color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)), label="cutoff"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), handlelength=1.4, columnspacing=1.2)
