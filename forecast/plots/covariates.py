"""The covariate check: the target and each covariate of a series, and what of them is known after the cutoff."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from forecast.ahead import with_future
from forecast.frame import Panel, as_panel
from forecast.origins import ordinals_of
from forecast.plots.extent import count
from forecast.plots.frames import moment
from forecast.plots.style import FAMILY_COLOURS, INK, MUTED, instants, legend, look, panels, shorten, time_axis

_KNOWN = FAMILY_COLOURS["direct-prediction"]
_UNREAD = {"linestyle": (0, (1.2, 1.6)), "linewidth": 1.1, "alpha": 0.7}
_MOST_CATEGORIES = 6
_LEAST_TAIL = 60


@dataclass(frozen=True)
class _Row:
    """One panel of the picture: values at ordinals, of which those up to `read` and after it may be read."""

    title: str
    ordinals: np.ndarray
    values: np.ndarray
    read: int  # last ordinal that a forecast from the cutoff may read
    known: bool = False
    categories: pd.Index | None = None


def plot_covariates(
    frame: pd.DataFrame | Panel,
    *,
    future: pd.DataFrame | None = None,
    unique_id: Any = None,
    cutoff: Any = None,
    horizon: int | None = None,
    tail: int | None = None,
    ax: Axes | Iterable[Axes] | None = None,
    **door,
) -> Figure:
    """Draw the target and each covariate of one series over time, a panel each, and what a forecast may read of them.

    Dark is what may be read at the cutoff, coloured what is known of the steps after it, dotted what is in the data but
    may not be read: the target and past covariates after the cutoff, delayed ones also of the last steps before it.
    Titles count the steps ahead at which a known covariate has no value. Static covariates stand in the title.

    Parameters
    ----------
    frame: a panel of `check_frame`, or a frame with the options of the door, `roles=Roles(...)` among them.
    future: known covariates of the steps after the ends of series, as for `predict`; None for what the frame holds.
    unique_id: the series; None for the first.
    cutoff: a stamp; None for the last row with a value of the target.
    horizon: steps ahead to look at; None for as many as any known covariate reaches.
    tail: steps before the cutoff; None for four times the steps ahead, at least 60.
    ax: as many axes as panels (one more than covariates that are not static); None for a new figure.

    Raises
    ------
    FrameError, TypeError, ValueError: what `check_frame` raises; a panel without covariates; a series or cutoff that is
        not there.

    """
    panel = as_panel(frame, **door)
    if panel.covariates is None:
        raise ValueError("`frame` has no covariate: no column has a role; say which with roles=Roles(known=('price',))")
    if future is not None:
        panel = with_future(panel, future, door)
    series = _place(panel, unique_id)
    end = _cutoff(panel, series, cutoff)
    rows = _rows(panel, series, end)
    reach = [int(row.ordinals.max()) - end for row in rows if row.known and len(row.ordinals)]
    ahead = max([0, *reach]) if horizon is None else horizon
    begin = end - (max(4 * ahead, _LEAST_TAIL) if tail is None else tail)
    with look():
        size = (8.4, 1.0 + 1.25 * len(rows))
        figure, axes = panels(ax, len(rows), size, sharex=True)
        for axes_, row in zip(axes, rows, strict=True):
            _draw(axes_, row, panel, begin, end, end + ahead)
        if ax is None:
            figure.suptitle(_title(panel, series, end), x=0.01, ha="left")
        legend(figure, axes, _keys(), given=ax is not None)
    return figure


def _place(panel: Panel, asked: Any) -> int:
    ids = panel.ids.tolist()
    if asked is None:
        return 0
    if asked not in ids:
        shown = ", ".join(map(repr, ids[:5])) + (f", ... ({len(ids)} in all)" if len(ids) > 5 else "")
        raise ValueError(f"`unique_id` is {asked!r}; the frame has the series {shown}")
    return ids.index(asked)


def _cutoff(panel: Panel, series: int, asked: Any) -> int:
    """Give the ordinal of the cutoff: the last observed one where none is asked for."""
    first, last = int(panel.first[series]), int(panel.last[series])
    if asked is not None:
        cutoff = int(ordinals_of(panel.calendar, [asked])[0])
        if not first <= cutoff <= last:
            begin, end = panel.calendar.stamp(first), panel.calendar.stamp(last)
            raise ValueError(f"`cutoff` is {asked}; series {panel.id_of(series)!r} goes from {begin} to {end}")
        return cutoff
    seen = np.flatnonzero(panel.observed[panel.starts[series] : panel.stops[series]])
    return first + int(seen[-1]) if len(seen) else last


def _rows(panel: Panel, series: int, cutoff: int) -> list[_Row]:
    """Give the target, then what is known ahead, then past and delayed covariates."""
    covariates = panel.covariates
    assert covariates is not None  # as plot_covariates has checked
    own = slice(int(panel.starts[series]), int(panel.stops[series]))
    at = np.arange(int(panel.first[series]), int(panel.last[series]) + 1)
    actual = np.where(panel.observed[own], panel.values[own], np.nan)
    rows = [_Row("target", at, actual, cutoff)]
    there = slice(int(covariates.starts[series]), int(covariates.stops[series]))
    known_at = int(covariates.first[series]) + np.arange(there.stop - there.start)
    forecasted = covariates.forecasted
    for place, column in enumerate(covariates.known.columns):
        values, role = covariates.known.numbers[there, place], "known"
        if covariates.late is not None and place in forecasted:
            role, late = "forecasted", covariates.late[there, forecasted.index(place)]
            values = np.where(known_at + late <= cutoff, values, np.nan)  # what had been issued by then
        rows.append(_Row(f"{column.name}: {role}", known_at, values, cutoff, True, column.categories))
    for place, column in enumerate(covariates.past.columns):
        role = f"delayed by {column.delay}" if column.delay else "past"
        values = covariates.past.numbers[own, place]
        rows.append(_Row(f"{column.name}: {role}", at, values, cutoff - column.delay, False, column.categories))
    return rows


def _draw(ax: Axes, row: _Row, panel: Panel, begin: int, cutoff: int, end: int) -> None:
    inside = (row.ordinals >= begin) & (row.ordinals <= max(end, int(panel.last.max())))
    at, values = row.ordinals[inside], row.values[inside].astype(float)
    values = np.where(np.isfinite(values), values, np.nan)
    style = "steps-post" if row.categories is not None else "default"
    read = at <= row.read
    # A line that is broken in two goes on from where the first part ends.
    after = (at >= row.read) & (at <= end) if row.known else at >= row.read
    x = instants(panel.calendar.stamps(at)) if len(at) else np.array([])
    if read.any():
        dot = "." if np.isfinite(values[read]).sum() == 1 else None
        ax.plot(x[read], values[read], color=INK, linewidth=1.1, drawstyle=style, marker=dot, label="read")
    if after.any():
        look_ = {"color": _KNOWN, "linewidth": 1.8} if row.known else {"color": MUTED, **_UNREAD}
        ax.plot(x[after], values[after], drawstyle=style, label="known ahead" if row.known else "not read", **look_)
    edge = instants(panel.calendar.stamps([cutoff, end]))
    ax.axvline(edge[0], color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)), label="_cutoff")
    title = shorten(row.title, 60)
    if end > cutoff:
        ax.axvspan(edge[0], edge[1], color=MUTED, alpha=0.08, linewidth=0)
        if row.known:
            there = int(np.isfinite(values[(at > cutoff) & (at <= end)]).sum())
            steps = count(end - cutoff, "step")
            title += f", all of {steps} ahead" if there == end - cutoff else f", {there} of {steps} ahead"
    ax.set_title(title)
    if not np.isfinite(values).any():
        ax.text(0.5, 0.5, "no value here", transform=ax.transAxes, ha="center", va="center", color=MUTED)
    if row.categories is not None:
        _name_categories(ax, row.categories)
    time_axis(ax, panel.calendar.stamps([cutoff]), ticks=7, label=False)
    ax.margins(x=0.01)


def _name_categories(ax: Axes, categories: pd.Index) -> None:
    apart = max(1, -(-len(categories) // _MOST_CATEGORIES))
    places = list(range(0, len(categories), apart))
    ax.set_yticks(places, [shorten(categories[place], 14) for place in places])
    ax.set_ylim(-0.5, max(len(categories) - 0.5, 0.5))


def _title(panel: Panel, series: int, cutoff: int) -> str:
    static = panel.covariates.static if panel.covariates is not None else None
    told = []
    for place, column in enumerate(static.columns if static is not None else ()):
        value = static.numbers[series, place]  # type: ignore[union-attr]
        named = np.isfinite(value) and column.categories is not None
        told.append(f"{column.name} {column.categories[int(value)] if named else f'{value:g}'}")  # type: ignore[index]
    where = f"{shorten(panel.id_of(series))} at the cutoff {moment(panel.calendar.stamp(cutoff))}"
    return shorten("; ".join([where, ", ".join(told)] if told else [where]), 110)


def _keys() -> list[Line2D | Patch]:
    return [
        Line2D([], [], color=INK, linewidth=1.1, label="may be read"),
        Line2D([], [], color=_KNOWN, linewidth=1.8, label="known ahead"),
        Line2D([], [], color=MUTED, **_UNREAD, label="in the data, not read"),
        Line2D([], [], color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)), label="cutoff"),
        Patch(color=MUTED, alpha=0.08, linewidth=0, label="steps ahead"),
    ]
