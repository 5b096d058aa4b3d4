"""The fan chart: history, actuals, median and intervals, series by series and forecaster by forecaster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.plots.bands import bands_of, draw_cutoff, draw_forecast, draw_values, keys
from forecast.plots.extent import count, extent
from forecast.plots.focus import best_of_each
from forecast.plots.frames import as_pandas, check_ledger, chosen, is_series, tail_before
from forecast.plots.style import INK, MUTED, families, family_colours, legend, look, panels, shorten, time_axis

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

_MOST = 5  # as many as the library knows: none of them is left out


def plot_forecasts(
    ledger: Ledger,
    history: pd.DataFrame | None = None,
    ids: Sequence | None = None,
    cutoff=None,
    forecasters: Sequence[str] | None = None,
    tail: int | None = None,
    *,
    ax: Axes | Iterable[Axes] | None = None,
) -> Figure:
    """Draw the forecasts of one cutoff: a row of panels per series, a column per forecaster.

    The median and the central 80 % and 50 % intervals are drawn. Where a quantile level is not in the ledger (0.25,
    0.75) it is interpolated between its neighbours; a band beyond the outermost levels is left out. Of several seeds
    the first is drawn.

    `history` is a long frame (`unique_id, ds, y`); without it the actuals that the ledger holds up to the cutoff are
    drawn. `ids` defaults to the first three series, `cutoff` to the last one with an actual, `forecasters` to
    the one with the lowest MAE of each family (at most five), `tail` (values of history before the cutoff) to twice the
    horizon. `ax` holds as many axes as panels, row by row.

    Raises ValueError that names the argument where a series, cutoff or forecaster is not in the ledger.
    """
    check_ledger(ledger)
    table, where = ledger.forecasts, "the ledger"
    ids = chosen("ids", ids, list(table["unique_id"].unique()), 3, where)
    cutoff = _cutoff(table, cutoff)
    everyone = list(ledger.forecasters)
    family_of = families(everyone, ledger.fits)
    names = best_of_each(ledger)[:_MOST] if forecasters is None else forecasters
    names = chosen("forecasters", names, everyone, _MOST, where)
    tail = 2 * extent(ledger).steps if tail is None else tail
    past = table if history is None else as_pandas(history, "history", stamps=["ds"])
    colours, bands = family_colours(list(family_of.values())), bands_of(table, None)
    with look():
        size = (min(max(3.0 + 2.3 * len(names), 6.6), 13.0), 1.2 + 1.55 * len(ids))
        figure, axes = panels(ax, len(ids) * len(names), size, columns=len(names), sharex=True, sharey="row")
        for place, (unique_id, name) in enumerate(product(ids, names)):
            before, rows = tail_before(past, unique_id, cutoff, tail), _forecast(table, name, unique_id, cutoff)
            _fan(axes[place], before, rows, cutoff, bands, colours[family_of[name]])
            time_axis(axes[place], pd.Index([cutoff]), ticks=4, label=False)
            if place < len(names) or ax is not None:
                axes[place].set_title(shorten(name, 34))
            if place % len(names) == 0:
                axes[place].set_ylabel(shorten(unique_id, 18), color=INK, fontweight="bold")
        if ax is None:
            figure.suptitle(_title(ledger, names, cutoff), x=0.01, ha="left")
        legend(figure, axes, keys(bands, actual=True), given=ax is not None)
    return figure


def _cutoff(table: pd.DataFrame, cutoff):
    there = sorted(table["cutoff"].drop_duplicates())
    if cutoff is None:
        observed = table.loc[table["y"].notna(), "cutoff"]
        return observed.max() if len(observed) else there[-1]
    if isinstance(cutoff, str):
        cutoff = pd.Timestamp(cutoff)
    return chosen("cutoff", [cutoff], there, 1, "the ledger")[0]


def _forecast(table: pd.DataFrame, name: str, unique_id, cutoff) -> pd.DataFrame:
    here = (table["forecaster"] == name) & is_series(table, unique_id) & (table["cutoff"] == cutoff)
    rows = table.loc[here].sort_values(by=["seed", "step"])
    return rows.drop_duplicates(subset=["step"])


def _fan(ax: Axes, before: pd.DataFrame, rows: pd.DataFrame, cutoff, bands: list, colour: str) -> None:
    if not len(rows):
        ax.text(0.5, 0.5, "not forecast", transform=ax.transAxes, ha="center", va="center", color=MUTED)
        return
    draw_values(ax, before, past=True)
    draw_values(ax, rows, past=False)
    draw_forecast(ax, rows, bands, colour)
    draw_cutoff(ax, cutoff)


def _title(ledger: Ledger, names: list[str], cutoff) -> str:
    table = ledger.forecasts
    several = [name for name in names if len(table.loc[table["forecaster"] == name, "seed"].unique()) > 1]
    note = ", first seed" if several else ""
    zone = getattr(cutoff, "tzinfo", None)
    when = cutoff if zone is None else f"{cutoff} ({zone})"
    return f"Forecasts made at {when}, {count(extent(ledger).steps, 'step')} ahead (in the units of y{note})"
