"""Covariates that are forecasts themselves: from when on each of their values may be read.

Each value has an issue time of its own, a stamp of any unit and time zone that need not lie on the grid: one issued
between two steps may be read from the later one on. Inside that becomes `late`: how many steps after the stamp that it
is for a value may be read, below 0 for one that was issued before.
"""

from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.axis import kind_of
from forecast.frame.calendar import Calendar
from forecast.frame.covariates import NEVER, Covariates, Table
from forecast.frame.errors import FrameError, plain
from forecast.frame.rows import Rows
from forecast.frame.stamps import read_stamps


def read_late(rows: Rows, table: Table, calendar: Calendar) -> np.ndarray | None:
    """Give how late the values of the forecasted columns of a table are, (rows, F) int32; None where there are none.

    Parameters
    ----------
    rows: they hold the columns of the issue times.
    table: a row for each of them.
    calendar: that of the rows.

    Raises
    ------
    FrameError: a value without an issue time; issue times that are no stamps, or of another kind than those of the
        rows.

    """
    forecasted = [place for place, column in enumerate(table.columns) if column.issued is not None]
    if not forecasted:
        return None
    own, found = calendar.locate(rows.stamps)[0], {}
    late = np.empty((len(rows), len(forecasted)), dtype="int32")
    for at, place in enumerate(forecasted):
        name = table.columns[place].issued
        if name not in found:
            found[name] = _ordinals(rows, name, calendar)
        ordinals, there = found[name]
        if (unsaid := np.isfinite(table.numbers[:, place]) & ~there).any():
            row, value = int(unsaid.argmax()), rows.beside[table.columns[place].name]
            raise FrameError(
                f"column `{name}` is missing in {rows.at(row)}, where `{value.name}` is {plain(value.iloc[row])!r} "
                f"({int(unsaid.sum())} such rows in all): nobody knows since when it was known. Give the time at which "
                "it was issued, or leave the value missing"
            )
        late[:, at] = np.where(there, np.clip(ordinals - own, -NEVER, NEVER - 1), NEVER)
    return late


def carry_forward(values: np.ndarray, late: np.ndarray, starts: np.ndarray) -> None:
    """Let a column's last value before a gap go on in it, in place, from when on it may be read; by series."""
    rows = np.arange(len(values))
    source = np.where(np.isfinite(values), rows, -1)
    source[starts] = starts
    np.maximum.accumulate(source, out=source)
    carried = np.clip(late[source].astype("int64") - (rows - source), -NEVER, None)
    values[:], late[:] = values[source], np.where(late[source] == NEVER, NEVER, carried)


def issue_times(covariates: Covariates, rows: np.ndarray, ordinals: np.ndarray, calendar: Calendar) -> dict:
    """Give the columns of issue times of some known rows, at these ordinals, by name.

    An issue time is told by the first step at which the value may be read; it is missing where there is none.
    """
    times = {}
    if (late := covariates.late) is not None:
        for at, place in enumerate(covariates.forecasted):
            there = late[rows, at] != NEVER
            stamps = pd.Series(calendar.stamps(ordinals + np.where(there, late[rows, at], 0)))
            times.setdefault(covariates.known.columns[place].issued, stamps.where(there))
    return times


def _ordinals(rows: Rows, name, calendar: Calendar) -> tuple[np.ndarray, np.ndarray]:
    """Give the ordinals of the first steps at or after the stamps of a column, and where it has some."""
    given = rows.beside[name]
    there = given.notna().to_numpy(dtype=bool)
    ordinals = np.zeros(len(rows), dtype="int64")
    if not there.any():
        return ordinals, there
    some: Any = given[there]
    if calendar.unit is None and pd.api.types.is_float_dtype(some.dtype) and (some % 1 == 0).all():
        some = some.astype("int64")  # whole numbers among which some were missing
    stamps = read_stamps(some)[0]
    kind = kind_of(getattr(stamps, "unit", None), getattr(stamps, "tz", None))
    if kind != (own := kind_of(calendar.unit, calendar.zone)):
        raise FrameError(
            f"column `{name}` holds {kind}, first {stamps[0]} in {rows.at(int(there.argmax()))}; the stamps of the "
            f"frame, column `{rows.stamps.name}`, are {own}: give the same"
        )
    exact = np.ones(len(stamps), dtype=bool)
    if isinstance(stamps, pd.DatetimeIndex):
        try:
            unit: Any = calendar.unit
            fitting = stamps.as_unit(unit)
        except pd.errors.OutOfBoundsDatetime as error:
            raise FrameError(f"column `{name}` goes beyond what stamps in {calendar.unit} can hold: {error}") from error
        exact = np.asarray(fitting >= stamps)  # else the unit of the calendar is coarser
        stamps = fitting if calendar.zone is None else fitting.tz_convert(calendar.zone)
    before, on_grid = calendar.locate(stamps)
    ordinals[there] = before + ~(on_grid & exact)
    return ordinals, there
