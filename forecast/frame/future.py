"""The future at the door: what a frame says of known covariates, for the series of a panel."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from forecast.frame.axis import check_axis, in_calendar, rows_by_stamp
from forecast.frame.calendar import Calendar
from forecast.frame.columns import read_table
from forecast.frame.covariates import NEVER, Covariates, Table
from forecast.frame.issued import read_late
from forecast.frame.panel import Panel
from forecast.frame.roles import Roles
from forecast.frame.rows import FrameError, plain
from forecast.frame.schema import ID, TIME, rows_of


def check_future(
    frame, panel: Panel, *, columns: Mapping[str, str] | None = None, unsorted: str = "error", others: Iterable = ()
) -> tuple[Covariates, Calendar]:
    """Check a frame of known and forecasted covariates; give what it says of the series of a panel, NaN for nothing.

    Parameters
    ----------
    frame: one row per series and stamp, with the id, the stamp, every known and every forecasted column of the panel,
        and the issue times of these; others are not read. Rows may be left out. Id and stamp may be named as in the
        panel's frame, or `unique_id` and `ds`.
    panel: it has such covariates.
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
        repeated; a column that is not there, or holds something else than in the panel; a forecast without issue time.

    """
    assert panel.covariates is not None
    known = panel.covariates.known
    # One of which there is no value yet may turn out to be of numbers or of categories.
    like = tuple(
        column
        for column, numbers in zip(known.columns, known.numbers.T, strict=True)
        if column.categories is not None or np.isfinite(numbers).any()
    )
    issued = {column.name: column.issued for column in known.columns if column.issued is not None}
    roles = Roles(known=tuple(column.name for column in known.columns if column.issued is None), forecasted=issued)
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
    table = read_table(rows, [column.name for column in known.columns], issued=issued, like=like)
    told = read_late(rows, table, calendar)
    numbers = np.full((stops[-1], len(table.columns)), np.nan, dtype="float32")
    late = None if told is None else np.full((stops[-1], told.shape[1]), NEVER, dtype="int32")
    for part, place in rows_by_stamp(rows, begins, calendar, starts - first):
        numbers[place] = table.numbers[part]
        if late is not None and told is not None:
            late[place] = told[part]
    nothing = Table((), np.empty((len(panel), 0), dtype="float32"))
    own_starts, own_stops, own_first = (np.zeros(len(panel), dtype="int64") for _ in range(3))
    for whole, found in zip((own_starts, own_stops, own_first), (starts, stops, first), strict=True):
        whole[series[series >= 0]] = found[series >= 0]
    known = Table(table.columns, numbers)
    return Covariates(nothing, nothing, known, own_starts, own_stops, own_first, late), calendar


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
