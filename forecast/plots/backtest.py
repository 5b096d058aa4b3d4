"""A backtest over time: the forecasts of every fold over what came true."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from forecast.plots.bands import Band, bands_of, draw_cutoff, draw_forecast, draw_values, keys
from forecast.plots.extent import count, extent
from forecast.plots.focus import best_of_each
from forecast.plots.frames import as_pandas, check_columns, check_ledger, chosen, is_series, tail_before
from forecast.plots.style import families, flat, legend, line_styles, look, panels, say_empty, shorten, time_axis

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger
    from forecast.frame import Panel

_MOST_SERIES, _MOST_FORECASTERS, _MOST_STEPS, _MOST_MARKS = 4, 3, 500, 40


def plot_backtest(
    ledger: Ledger,
    history: pd.DataFrame | Panel | None = None,
    *,
    ids: Sequence | None = None,
    forecasters: Sequence[str] | None = None,
    cutoffs: Sequence | None = None,
    levels: Sequence[float] | None = None,
    tail: int | None = None,
    ax: Axes | Iterable[Axes] | None = None,
) -> Figure:
    """Draw the medians of all folds over the actuals: a panel per series, a colour per forecaster.

    Each fold is a line of its own that begins one step after its cutoff; dotted lines mark the cutoffs. Of several
    seeds the first is drawn.

    Parameters
    ----------
    ledger: of `backtest`.
    history: `unique_id, ds, y`, or a panel, for what lies before the first cutoff.
    ids: series to draw; None for the first four, or as many as `ax` holds; the picture says how many are not shown.
    forecasters: None for the one with the lowest MAE of each family, at most three.
    cutoffs: folds to draw; None for the last ones, as many as can be told apart (500 steps in all).
    levels: quantile levels at the edges of bands; None for the central 80 % of one forecaster, for none of several.
    tail: values of history before the first cutoff; None for twice the horizon.
    ax: one axes, or as many as panels; None for a new figure.

    Raises
    ------
    TypeError: what is no frame; a text where a list is meant.
    ValueError: a series, forecaster or level that is not there.

    """
    check_ledger(ledger)
    table, where = ledger.forecasts, "the ledger"
    everyone = table["unique_id"].drop_duplicates().tolist()
    shown = chosen("ids", ids, everyone, _MOST_SERIES if ax is None else len(flat(ax)), where)
    best = best_of_each(ledger)[:_MOST_FORECASTERS] if forecasters is None else forecasters
    names = chosen("forecasters", best, list(ledger.forecasters), _MOST_FORECASTERS, where)
    family_of = families(list(ledger.forecasters), ledger.fits)
    styles = line_styles({name: family_of[name] for name in names})
    bands = bands_of(table, levels)
    if levels is None:
        bands = bands[:1] if len(names) == 1 else []
    past = None if history is None else as_pandas(history, "history", stamps=["ds"])
    if past is not None:
        check_columns(past, "history", ["unique_id", "ds", "y"])
    size = extent(ledger)
    folds = _cutoffs(table, cutoffs, max(2, _MOST_STEPS // size.steps))
    table = table.loc[table["cutoff"].isin(folds)]
    tail = 2 * size.steps if tail is None else tail
    with look():
        figure, axes = panels(ax, len(shown), (9.6, 1.1 + (2.8 if len(shown) == 1 else 1.8 * len(shown))))
        for panel, one in zip(axes, shown, strict=True):
            rows = table.loc[is_series(table, one) & table["forecaster"].isin(names)]
            if past is not None and len(rows):
                draw_values(panel, tail_before(past, one, rows["cutoff"].min(), tail), past=True)
            _series(panel, rows, styles, bands)
            panel.set_title(shorten(one, 60))
        left = len(everyone) - len(shown) if ids is None else 0
        note = f"{left:,} more series not shown" if left else ""
        some = f"{len(folds)} of {count(size.cutoffs, 'cutoff')}" if len(folds) < size.cutoffs else ""
        if ax is None:
            title = f"Backtest: {some or count(size.cutoffs, 'cutoff')}, {count(size.steps, 'step')} ahead"
            figure.suptitle(title + (f" ({note})" if note else ""), x=0.01, ha="left")
        elif some or note:
            axes[-1].set_xlabel(", ".join(filter(None, [some, note])))
        medians = [Line2D([], [], linewidth=1.8, label=shorten(name), **styles[name]) for name in names]
        told = keys(bands, actual=True, medians=medians, cutoff=len(folds) <= _MOST_MARKS)
        legend(figure, axes, told if past is not None else told[1:], given=ax is not None)
    return figure


def _cutoffs(table: pd.DataFrame, asked: Sequence | None, most: int) -> list:
    """Give the cutoffs that are asked for, or the last `most`."""
    there = sorted(table["cutoff"].drop_duplicates())
    if asked is not None and not isinstance(asked, str):
        asked = [pd.Timestamp(one) if isinstance(one, str) else one for one in asked]
    return there[-most:] if asked is None else chosen("cutoffs", asked, there, most, "the ledger")


def _series(ax: Axes, rows: pd.DataFrame, styles: dict[str, dict], bands: Sequence[Band]) -> None:
    rows = pd.DataFrame(rows.loc[rows["ds"].notna()])
    if rows.empty:
        say_empty(ax, "not forecast")
        return
    actual = pd.DataFrame(rows.drop_duplicates(subset=["ds"])).sort_values(by=["ds"])
    cutoffs = rows["cutoff"].drop_duplicates()
    for name, style in styles.items():
        own = pd.DataFrame(rows.loc[rows["forecaster"] == name]).sort_values(by=["seed"], kind="stable")
        own = own.drop_duplicates(subset=["cutoff", "step"]).sort_values(by=["cutoff", "step"])
        draw_forecast(ax, own, bands, style["color"], label=name, linestyle=style["linestyle"])
    draw_values(ax, actual, past=False)
    for cutoff in cutoffs if len(cutoffs) <= _MOST_MARKS else []:
        draw_cutoff(ax, cutoff)
    time_axis(ax, rows["ds"], ticks=9, label=False)
    ax.margins(x=0.01)
