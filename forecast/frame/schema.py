"""The door: what a frame is called, what may be in it, and `check_frame`, through which all data enters.

Inside the door names are constants, series are contiguous, in time order and without missing rows, and nothing is
checked again. Nothing is repaired unless the caller has named the repair.
"""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, Literal

import numpy as np
import pandas as pd

from forecast.frame.axis import check_axis, in_calendar, in_order, rows_by_stamp, shared_calendar
from forecast.frame.calendar import Calendar
from forecast.frame.columns import read_static, read_table, read_weights
from forecast.frame.covariates import NEVER, Covariates
from forecast.frame.form import ID, TARGET, TIME
from forecast.frame.issued import carry_forward, read_late
from forecast.frame.panel import Panel
from forecast.frame.reading import as_pandas
from forecast.frame.roles import Roles
from forecast.frame.rows import FrameError, Rows, read_rows, tell_lost_moves


def check_frame(
    frame: Any,
    *,
    freq: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    roles: Roles | None = None,
    gaps: Literal["error", "mask", "fill"] = "error",
    unsorted: Literal["error", "sort"] = "error",
    short: Literal["error", "drop"] = "error",
    min_length: int = 1,
) -> Panel:
    """Check a long frame and give it as a panel; the frame itself is left as it is.

    Parameters
    ----------
    frame: a DataFrame of pandas or polars, an Arrow table, or what else narwhals reads: one row per series and time
        step, with the columns `unique_id` (anything that can be hashed), `ds` (timestamps, periods, dates, integers, or
        text as in ISO 8601, of one shape) and `y` (numbers; NaN is a missing value and is masked). Id and time of a
        pandas frame may be levels of its index. A pandas Series with timestamps or periods in its index is one series,
        named by its name (`"y"` without one), with ids and stamps in two levels several. `from_wide` makes wide frames
        long. Columns of no purpose are not used: `Panel.unused` tells them.
    freq: the frequency, such as `"h"` or `"MS"` (`Calendar` tells all), a step for integer `ds`; None: that of periods,
        else read off the longest series. Either way every row of every series is checked against it. `"steps"` where no
        frequency fits, as for trading days: the stamps of all series together are the steps, whatever the clock says.
    columns: our name -> the frame's, where the frame calls them otherwise: `{"unique_id": "store", "y": "sales"}`.
    roles: which columns are covariates, and when they are known; NaN is a missing value. And which one holds weights.
    gaps: what to do with missing rows: refuse, mask (missing values), or fill with the last value of the series before
        the gap (can be read by models; still does not count in losses and scores; also applied to NaN).
    unsorted: what to do with rows out of order: refuse, or sort by series (first come first) and time.
    short: what to do with series of fewer than `min_length` observed values: refuse, or leave out with a warning.
    min_length: observed values that every series must have, 1 or more.

    Raises
    ------
    FrameError: for anything in the frame that is not as described, naming where it is first met.
    TypeError: `frame` is no frame, `columns` not a mapping, `roles` not a `Roles`.
    ValueError: an argument that is not one of those allowed.

    """
    for name, value, allowed in [
        ("gaps", gaps, ("error", "mask", "fill")),
        ("unsorted", unsorted, ("error", "sort")),
        ("short", short, ("error", "drop")),
    ]:
        if value not in allowed:
            raise ValueError(f"`{name}` is {value!r}; allowed: {', '.join(map(repr, allowed))}")
    if isinstance(min_length, bool) or not isinstance(min_length, int | np.integer) or min_length < 1:
        raise ValueError(f"`min_length` is {min_length!r}; allowed: a whole number of 1 or more")
    rows, begins = rows_of(frame, columns, roles, unsorted)
    panel = _panel(rows, begins, shared_calendar(rows, begins, freq), roles or Roles(), gaps)
    _check_weights(panel)
    return _long_enough(panel, min_length, short, str(rows.target.name))


def check_rows(
    frame: Any,
    calendar: Calendar,
    *,
    columns: Mapping[str, str] | None = None,
    roles: Roles | None = None,
    gaps: Literal["error", "mask", "fill"] = "error",
    unsorted: Literal["error", "sort"] = "error",
) -> Panel:
    """Check rows that go on in a calendar, as `check_frame` does, whose options these are; give them as a panel.

    Their stamps may have another unit or time zone; a series may have nothing but missing values in them.

    Raises
    ------
    FrameError, TypeError, ValueError: as `check_frame`.

    """
    rows, begins = rows_of(frame, columns, roles, unsorted)
    rows = in_calendar(rows, calendar)
    return _panel(rows, begins, calendar.with_stamps(rows.stamps), roles or Roles(), gaps)


def as_panel(frame: Any, **door) -> Panel:
    """Give a panel as it is, and a frame checked by `check_frame` with the options of the door.

    Raises
    ------
    TypeError: an option that the door has not; options for a panel, which is already checked.

    """
    if not isinstance(frame, Panel):
        allowed = tuple(signature(check_frame).parameters)[1:]
        if unknown := [name for name in door if name not in allowed]:
            raise TypeError(f"`{unknown[0]}` is no option of `check_frame`; allowed: {', '.join(allowed)}")
        return check_frame(frame, **door)
    if door:
        raise TypeError(
            f"{', '.join(f'`{name}`' for name in door)}: the panel is already checked; give a frame, or no options"
        )
    return frame


def _names_of(frame: pd.DataFrame, columns: Mapping[str, str], roles: Roles, keys: tuple[str, ...]) -> dict[str, str]:
    """Give our name -> the frame's, once all columns are known to be there, each for one purpose."""
    if unknown := [name for name in columns if name not in (ID, TIME, TARGET)]:
        raise ValueError(f"`columns` names {unknown[0]!r}; allowed keys: {ID!r}, {TIME!r}, {TARGET!r}")
    if frame.columns.nlevels > 1:
        raise FrameError(f"the columns have {frame.columns.nlevels} levels; allowed: one row of names")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise FrameError(f"column `{twice}` comes twice; every name may come once")
    names = {name: columns.get(name, name) for name in keys}
    for name, theirs in names.items():
        if theirs in frame.columns:
            continue
        remedy = f"Name another with columns={{{name!r}: ...}}"
        if theirs in frame.index.names:
            remedy = "It is in the index: make it a column with frame.reset_index()"
        raise FrameError(f"column `{theirs}` is not there; got {list(frame.columns)}. {remedy}")
    taken = {}
    for column, use in [(theirs, name) for name, theirs in names.items()] + roles.uses():
        if column not in frame.columns:
            raise FrameError(f"column `{column}` has the role {use} but is not there; got {list(frame.columns)}")
        if column in taken:
            raise FrameError(f"column `{column}` cannot be both {taken[column]} and {use}; allowed: one purpose")
        if column in names and use not in names:
            raise FrameError(
                f"column `{column}` has the role {use}, but {column!r} is what `{names[column]}` is called here: "
                "call it otherwise"
            )
        taken[column] = use
    return names


def rows_of(
    frame: Any,
    columns: Mapping[str, str] | None,
    roles: Roles | None,
    unsorted: str,
    keys: tuple[str, ...] = (ID, TIME, TARGET),
) -> tuple[Rows, np.ndarray]:
    """Give the rows of a frame in order, and the first row of each series; without a target if it is no key."""
    columns, roles = {} if columns is None else columns, roles or Roles()
    if not isinstance(columns, Mapping):
        raise TypeError(f"`columns` is {columns!r}; allowed: our name -> the frame's, such as {{'y': 'sales'}}")
    if not isinstance(roles, Roles):
        raise TypeError(f"`roles` is {roles!r}; allowed: Roles(known=('price',)) and the like, from forecast")
    roles.uses()  # raises for names that are none
    named = {key: columns.get(key, key) for key in keys}
    frame, form, unused = as_pandas(frame, named, roles.columns(), roles.issues())
    names = _names_of(frame, columns, roles, keys)
    stamps = pd.Series(frame[names[TIME]])
    target = pd.Series(frame[names[TARGET]]) if TARGET in keys else pd.Series(np.nan, stamps.index)
    rows = read_rows(pd.Series(frame[names[ID]]), stamps, target, form)
    beside = {column: pd.Series(frame[column]) for column in roles.columns()}
    return in_order(replace(rows, beside=beside, unused=unused), unsorted)


def _panel(rows: Rows, begins: np.ndarray, calendar: Calendar, roles: Roles, gaps: str) -> Panel:
    """Give the panel; where rows are missing, every value goes to the place of its stamp."""
    complete = check_axis(rows, begins, calendar, gaps)
    first, last = (calendar.locate(rows.stamps[at])[0] for at in (begins, np.append(begins[1:], len(rows)) - 1))
    lengths = last - first + 1
    stops = np.cumsum(lengths)
    starts = stops - lengths

    def placed(numbers: np.ndarray, nothing: float = np.nan) -> np.ndarray:
        if complete:
            return numbers
        whole = np.full((stops[-1], *numbers.shape[1:]), nothing, dtype=numbers.dtype)
        for part, place in rows_by_stamp(rows, begins, calendar, starts - first):
            whole[place] = numbers[part]
        return whole

    values = rows.numbers(rows.target)
    tell_lost_moves(rows, begins, values)
    values = placed(values)
    observed = np.isnan(values)
    np.logical_not(observed, out=observed)
    weights = None if roles.weight is None else placed(read_weights(rows, roles.weight), nothing=0)
    covariates = None
    if any((roles.static, roles.known, roles.past, roles.delayed, roles.forecasted)):
        past = read_table(rows, [*roles.past, *roles.delayed], delays=roles.delayed)
        known = read_table(rows, [*roles.known, *roles.forecasted], issued=roles.forecasted)
        late = read_late(rows, known, calendar)
        late = None if late is None else placed(late, nothing=NEVER)
        past, known = (replace(table, numbers=placed(table.numbers)) for table in (past, known))
        covariates = Covariates(read_static(rows, begins, roles.static), past, known, starts, stops, first, late)
    if gaps == "fill":
        _carry_forward(values, starts)
        if covariates is not None:
            _fill(covariates)
    ids = rows.names(begins).rename(ID)
    weight = "weight" if roles.weight is None else roles.weight
    return Panel(
        values, observed, starts, stops, first, ids, calendar, covariates, weights, weight, rows.form, rows.unused
    )


def _fill(covariates: Covariates) -> None:
    """Carry the last value of each column of each series forward, in place."""
    for column in covariates.past.numbers.T:
        _carry_forward(column, covariates.starts)
    forecasted = covariates.forecasted
    for place, column in enumerate(covariates.known.numbers.T):
        if covariates.late is not None and place in forecasted:
            carry_forward(column, covariates.late[:, forecasted.index(place)], covariates.starts)
        else:
            _carry_forward(column, covariates.starts)


def _check_weights(panel: Panel) -> None:
    if panel.weights is not None and not (panel.weights[panel.observed] > 0).any():
        raise FrameError(
            f"column `{panel.weight}` is 0 in every row that has a value: nothing would count. Give some rows a weight"
        )


def _carry_forward(values: np.ndarray, starts: np.ndarray) -> None:
    """Carry the last value of each series forward, in place; what comes before its first one stays NaN."""
    # No value at the door is infinite: it can stand for "nothing yet" at the start of a series, and so stop what would
    # come from the series before.
    values[starts[np.isnan(values[starts])]] = np.inf
    values[:] = pd.Series(values, copy=False).ffill()
    values[np.isinf(values)] = np.nan


def _long_enough(panel: Panel, min_length: int, short: str, target: str) -> Panel:
    counts = np.array([np.count_nonzero(observed) for _, observed in panel])
    too_short = counts < min_length
    if not too_short.any():
        return panel
    which = int(too_short.argmax())
    message = (
        f"series {panel.id_of(which)!r} has {counts[which]} observed values of `{target}`; at least {min_length} "
        f"are needed ({int(too_short.sum())} of {len(panel)} series are too short)"
    )
    if short == "error" or too_short.all():
        raise FrameError(f'{message}. Give longer series, or leave the short ones out: short="drop"')
    dropped = panel.ids[too_short].tolist()
    warnings.warn(f"left out: {message}: {dropped[:10]}{' ...' if len(dropped) > 10 else ''}", stacklevel=3)
    return panel.take(~too_short)
