"""The future at the door: what a frame says of known covariates, for the series of a panel."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from forecast.frame.axis import check_axis, in_calendar, rows_by_stamp
from forecast.frame.calendar import Calendar
from forecast.frame.columns import read_table
from forecast.frame.covariates import Covariates, Table
from forecast.frame.panel import Panel
from forecast.frame.roles import Roles
from forecast.frame.rows import FrameError, plain
from forecast.frame.schema import ID, TIME, rows_of


def check_future(
    frame, panel: Panel, *, columns: Mapping[str, str] | None = None, unsorted: str = "error", others: Iterable = ()
) -> tuple[Covariates, Calendar]:
    """Check a frame of known covariates; give what it says of the series of a panel, NaN where it says nothing.

    Parameters
    ----------
    frame: one row per series and stamp, with the id, the stamp and every known column of the panel; others are not
        read. Rows may be left out. Id and stamp may be named as in the panel's frame, or `unique_id` and `ds`.
    panel: it has known covariates.
    columns, unsorted: as in `check_frame`.
    others: ids of series beside those of the panel, of which there may be rows that are not used.

    Returns
    -------
    Known covariates of all series of the panel, in their order, without rows for those that `frame` does not name;
    nothing static or past. The categories of the panel keep their places. And the calendar of the panel; one without a
    rule goes on with the stamps of `frame`.

    Raises
    ------
    FrameError: a series that the panel does not have; stamps that are of another kind, off the grid of the panel or
        repeated; a known column that is not there, or holds something else than in the panel.

    """
    assert panel.covariates is not None
    known = panel.covariates.known
    # One of which there is no value yet may turn out to be of numbers or of categories.
    like = tuple(
        column
        for column, numbers in zip(known.columns, known.numbers.T, strict=True)
        if column.categories is not None or np.isfinite(numbers).any()
    )
    roles = Roles(known=tuple(column.name for column in known.columns))
    named = _names_in(frame)
    columns = {name: theirs for name, theirs in (columns or {}).items() if theirs in named or name not in named}
    rows, begins = rows_of(frame, columns, roles, unsorted, keys=(ID, TIME))
    series = _places_in(panel, rows.ids[begins], others)
    rows = in_calendar(rows, panel.calendar)
    calendar = panel.calendar.with_stamps(rows.stamps)
    check_axis(rows, begins, calendar, gaps="mask")
    ends = np.append(begins[1:], len(rows)) - 1
    first, last = (calendar.locate(rows.stamps[at])[0] for at in (begins, ends))
    stops = np.cumsum(last - first + 1)
    starts = stops - (last - first + 1)
    table = read_table(rows, roles.known, like=like)
    numbers = np.full((stops[-1], len(table.columns)), np.nan, dtype="float32")
    for part, place in rows_by_stamp(rows, begins, calendar, starts - first):
        numbers[place] = table.numbers[part]
    nothing = Table((), np.empty((len(panel), 0), dtype="float32"))
    ranges = [np.zeros(len(panel), dtype="int64") for _ in range(3)]
    for whole, found in zip(ranges, (starts, stops, first), strict=True):
        whole[series[series >= 0]] = found[series >= 0]
    return Covariates(nothing, nothing, Table(table.columns, numbers), *ranges), calendar


def _names_in(frame) -> list:
    """Give what the columns of a frame of any kind are called; nothing for what is no frame."""
    if isinstance(frame, pd.DataFrame):
        return [*frame.columns, *frame.index.names]
    import narwhals.stable.v2 as nw

    frame = nw.from_native(frame, pass_through=True)
    return frame.collect_schema().names() if isinstance(frame, nw.DataFrame | nw.LazyFrame) else []


def _places_in(panel: Panel, ids: pd.Index, others: Iterable) -> np.ndarray:
    """Give the position in the panel of each id, -1 for one of the others."""
    places = dict.fromkeys(others, -1) | {name: place for place, name in enumerate(panel.ids)}
    if unknown := [name for name in ids if name not in places]:
        name = plain(unknown[0])
        own = panel.id_of(0)
        differ = type(name) is not type(own)
        of_type, own_type = (f" of type {type(value).__name__}" if differ else "" for value in (name, own))
        raise FrameError(
            f"column `{ids.name}`: series {name!r}{of_type} is not in the data, whose first of {len(panel)} is "
            f"{own!r}{own_type} ({len(unknown)} of {len(ids)} series are unknown). Give rows of series of the data only"
        )
    return np.array([places[name] for name in ids])
