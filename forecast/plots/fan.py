"""The fan of a forecast: history, median and bands of one or several series, and what came true where it is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.plots.bands import Band, bands_of, draw_cutoff, draw_forecast, draw_values, finite, keys
from forecast.plots.frames import as_pandas, check_columns, chosen, is_series, moment, tail_before
from forecast.plots.style import FAMILY_COLOURS, flat, legend, look, panels, say_empty, shorten, time_axis

if TYPE_CHECKING:
    from forecast.frame import Panel

_MOST = 6  # series that are drawn unless others are asked for
_LEAST_TAIL = 24
_COLOUR = FAMILY_COLOURS["latent-state"]


def plot_forecast(
    forecast: pd.DataFrame,
    history: pd.DataFrame | Panel | None = None,
    *,
    ids: Sequence | None = None,
    actuals: pd.DataFrame | Panel | None = None,
    levels: Sequence[float] | None = None,
    cutoff: Any = None,
    tail: int | None = None,
    ax: Axes | Iterable[Axes] | None = None,
) -> Figure:
    """Draw what `predict` gave: a panel per series with the end of its history, the median and bands.

    Parameters
    ----------
    forecast: a forecast frame (`unique_id, cutoff, ds, prediction`, a column per quantile level), of pandas or polars.
    history: what was known, `unique_id, ds, y`, or the panel of `check_frame`. Rows after the cutoff are actuals.
    ids: series to draw; None for the first six, or as many as `ax` holds; the picture says how many are not shown.
    actuals: what came true, `unique_id, ds, y`; None for a column `y` of the forecast, else for later rows of history.
    levels: quantile levels at the edges of the bands, as many low as high ones; None for the central 80 % and 50 %.
    cutoff: of several; None for the last of each series.
    tail: values of history before the cutoff; None for twice the steps ahead, at least 24.
    ax: one axes, or as many as panels; None for a new figure.

    Raises
    ------
    TypeError: what is no frame; a text where a list is meant.
    ValueError: a column that is missing, no rows, several forecasters, or a series, cutoff or level that is not there.

    """
    table = as_pandas(forecast, "forecast", stamps=["ds", "cutoff"])
    check_columns(table, "forecast", ["unique_id", "cutoff", "ds", "prediction"])
    table = _one_run(table)
    past = None if history is None else as_pandas(history, "history", stamps=["ds"])
    later = past if actuals is None else as_pandas(actuals, "actuals", stamps=["ds"])
    for name, frame in (("history", past), ("actuals", later)):
        if frame is not None:
            check_columns(frame, name, ["unique_id", "ds", "y"])
    everyone = table["unique_id"].drop_duplicates().tolist()
    shown = chosen("ids", ids, everyone, _MOST if ax is None else len(flat(ax)), "`forecast`")
    cutoffs = {one: _cutoff(table, one, cutoff) for one in shown}
    bands = bands_of(table, levels)
    columns = 1 if len(shown) < 4 else 2
    with look():
        height = 0.9 + (2.6 if len(shown) == 1 else 1.75 * -(-len(shown) // columns))
        figure, axes = panels(ax, len(shown), (7.6 if columns == 1 else 10.4, height), columns=columns)
        seen = False
        for panel, one in zip(axes, shown, strict=True):
            rows = table.loc[is_series(table, one) & (table["cutoff"] == cutoffs[one])].sort_values(by=["ds"])
            seen |= _fan(panel, one, rows, past, later, actuals is None, tail, bands)
            panel.set_title(f"{shorten(one, 44)}, from {moment(cutoffs[one])}")
        left = len(everyone) - len(shown) if ids is None else 0
        note = f"{left:,} more series not shown" if left else ""
        if ax is None and note:
            figure.suptitle(f"Forecasts of {len(shown)} series ({note})", x=0.01, ha="left")
        elif note:
            axes[-1].set_xlabel(note)
        legend(figure, axes, keys(bands, actual=seen), given=ax is not None)
    return figure


def _one_run(table: pd.DataFrame) -> pd.DataFrame:
    """Give the rows of the one forecaster and its first seed."""
    if "forecaster" in table.columns:
        names = table["forecaster"].unique()
        if len(names) > 1:
            raise ValueError(
                f"`forecast` holds {len(names)} forecasters, {names[0]!r} and {names[1]!r} among them; give the rows "
                "of one, or the whole ledger to plot_forecasts"
            )
    return table.loc[table["seed"] == table["seed"].iloc[0]] if "seed" in table.columns else table


def _cutoff(table: pd.DataFrame, one, asked):
    there = table.loc[is_series(table, one), "cutoff"]
    if asked is None:
        return there.max()
    asked = pd.Timestamp(asked) if isinstance(asked, str) else asked
    return chosen("cutoff", [asked], there.drop_duplicates().tolist(), 1, f"the forecasts of series {one!r}")[0]


def _fan(
    ax: Axes,
    one,
    rows: pd.DataFrame,
    past: pd.DataFrame | None,
    later: pd.DataFrame | None,
    own: bool,
    tail: int | None,
    bands: Sequence[Band],
) -> bool:
    """Draw one series; give whether actuals are among what is drawn."""
    cutoff, rows = rows["cutoff"].iloc[0], rows.loc[rows["ds"].notna()]
    if not len(rows):
        say_empty(ax, "the calendar does not tell when these steps are")
        return False
    if past is not None:
        tail = max(2 * len(rows), _LEAST_TAIL) if tail is None else tail
        draw_values(ax, tail_before(past, one, cutoff, tail), past=True)
    if own and "y" in rows.columns:
        true = rows
    elif later is not None:
        within = is_series(later, one) & (later["ds"] > cutoff) & (later["ds"] <= rows["ds"].max())
        true = later.loc[within].sort_values(by=["ds"])
    else:
        true = rows.iloc[:0]
    seen = bool(np.isfinite(finite(true["y"])).any()) if len(true) else False
    draw_forecast(ax, rows, bands, _COLOUR)
    if seen:
        draw_values(ax, true, past=False)
    draw_cutoff(ax, cutoff)
    time_axis(ax, rows["ds"], ticks=7, label=False)
    ax.margins(x=0.01)
    return seen
