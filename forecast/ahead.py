"""Known covariates ahead of a panel: put there from a frame, asked for where they are missing.

S series, H horizon, F forecasted columns.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame import ID, TIME, FrameError, Panel
from forecast.frame.covariates import NEVER, Covariates
from forecast.frame.future import check_future
from forecast.origins import Origins, ordinals_of, origins_of

_GATHERED = 1 << 22  # values looked at together: bounds memory
_HELP = "forecaster.future_frame() gives the rows to fill in"


def with_future(panel: Panel, future, door: Mapping[str, Any], others: Iterable = ()) -> Panel:
    """Give the panel with what a frame says of its known covariates after the end of each series.

    A warning tells of forecasted ones of which nothing had been issued by then.

    Parameters
    ----------
    panel: the history; before series are selected, or the ids of others in `future` are refused as unknown.
    future: a frame with id, stamp, every known and forecasted column, and the issue times of these; its rows up to a
        series' end are not read, nor are its other columns. It may leave out series and rows: `check_known` tells
        whether what is needed is there.
    door: the options of `fit`, of which `columns` and `unsorted` hold here too.
    others: ids of series beside those of the panel, of which there may be rows that are not used.

    Raises
    ------
    FrameError: `future` may not enter (see `frame.future.check_future`), or has no row after the end of its series.
    TypeError: `future` is no frame.
    ValueError: the panel has no known covariates.

    """
    covariates = panel.covariates
    if covariates is None or not covariates.known.columns:
        raise ValueError(
            "`future` was given, but no column has the role known or forecasted, so that nothing in it would be read: "
            "declare some at fit, roles=Roles(known=(...,)), or leave `future` out"
        )
    options = {name: door[name] for name in ("columns", "unsorted") if name in door}
    try:
        told, calendar = check_future(future, panel, **options, others=others)
    except (FrameError, TypeError) as error:
        raise type(error)(f"`future`: {error}. {_HELP}") from error
    given = told.stops > told.starts
    ends = told.first + (told.stops - told.starts) - 1
    if given.any() and not (given & (ends > panel.last)).any():
        series = int(given.argmax())
        raise FrameError(
            f"`future` has no row after the end of its series: {panel.id_of(series)!r} ends at "
            f"{panel.calendar.stamp(int(panel.last[series]))}, its last row in `future` is at "
            f"{calendar.stamp(int(ends[series]))}. Give the steps that come after; {_HELP}"
        )
    if told.late is not None:
        _tell_unread(panel, told)
    return replace(panel, calendar=calendar, covariates=_appended(covariates, told, panel.last))


def _tell_unread(panel: Panel, told: Covariates) -> None:
    """Warn of a forecasted column that tells of later steps, but nothing that was known where its series end."""
    assert told.late is not None
    lengths = told.stops - told.starts
    series = np.repeat(np.arange(len(panel)), lengths)
    within = np.arange(len(series)) - (np.cumsum(lengths) - lengths)[series]
    ordinals, late = told.first[series] + within, told.late[told.starts[series] + within]
    for at, place in enumerate(told.forecasted):
        after = (ordinals > panel.last[series]) & (late[:, at] != NEVER)
        if not after.any() or (ordinals + late[:, at] <= panel.last[series])[after].any():
            continue
        row, column = int(after.argmax()), told.known.columns[place]
        warnings.warn(
            f"`future`: of `{column.name}` nothing is read, as all of it was issued after the end of its series: for "
            f"series {panel.id_of(series[row])!r}, which ends at {panel.calendar.stamp(int(panel.last[series[row]]))}, "
            f"`{column.issued}` tells that the first may be read from "
            f"{panel.calendar.stamp(int(ordinals[row]) + int(late[row, at]))} on",
            stacklevel=5,
        )


def _appended(covariates: Covariates, told: Covariates, last: np.ndarray) -> Covariates:
    """Give the covariates with the rows of `told` after the ordinals `last` (S,) put in, over an array of their own."""
    lengths, rows = covariates.stops - covariates.starts, told.stops - told.starts
    lengths = np.where(rows > 0, np.maximum(lengths, told.first + rows - covariates.first), lengths)
    if (empty := int((lengths - (covariates.stops - covariates.starts) - rows).sum())) > 10 * rows.sum() + 1_000_000:
        raise FrameError(
            f"`future` leaves {empty} rows out between the ends of the series and its own rows: too many to make room "
            f"for. Correct the stamps; {_HELP}"
        )
    stops = np.cumsum(lengths)
    starts = stops - lengths

    def joined(own: np.ndarray, new: np.ndarray, nothing: float) -> np.ndarray:
        whole = np.full((stops[-1], own.shape[1]), nothing, dtype=own.dtype)
        for series, begin in enumerate(starts):
            rows = slice(covariates.starts[series], covariates.stops[series])
            whole[begin : begin + rows.stop - rows.start] = own[rows]
            skipped = max(0, int(last[series] + 1 - told.first[series]))
            after = new[told.starts[series] : told.stops[series]][skipped:]
            begin += told.first[series] + skipped - covariates.first[series]
            whole[begin : begin + len(after)] = after
        return whole

    numbers, late = joined(covariates.known.numbers, told.known.numbers, np.nan), None
    if covariates.late is not None and told.late is not None:
        late = joined(covariates.late, told.late, NEVER)
    return replace(covariates, known=replace(told.known, numbers=numbers), starts=starts, stops=stops, late=late)


def check_known(panel: Panel, origins: Origins, horizon: int) -> None:
    """Refuse origins of which the known covariates of some step are not there.

    In the rows of the panel itself a known value may be missing, as any other value; after them none may. One that is a
    forecast may be missing anywhere: it need not have been issued.

    Raises
    ------
    FrameError: names the first series, column and stamp, and the rows that are expected.

    """
    covariates = panel.covariates
    if covariates is None:
        return
    asked = [place for place, column in enumerate(covariates.known.columns) if column.issued is None]
    if not asked:
        return
    origins = origins.take(origins.cutoffs + horizon > panel.last[origins.series])
    steps = np.arange(1, horizon + 1)
    size = max(1, _GATHERED // (horizon * len(asked)))
    for low in range(0, len(origins), size):
        part = origins.take(slice(low, low + size))
        ordinals, series = part.cutoffs[:, None] + steps, part.series[:, None]
        rows = covariates.starts[series] + ordinals - covariates.first[series]
        inside = rows < covariates.stops[series]
        missing = np.isnan(covariates.known.numbers[np.where(inside, rows, 0)][..., asked]) | ~inside[..., None]
        missing &= (ordinals > panel.last[series])[..., None]  # (M, H, C)
        if missing.any():
            origin, step, column = (int(place) for place in np.argwhere(missing)[0])
            cutoff, end = int(part.cutoffs[origin]), int(panel.last[part.series[origin]])
            begin, stop = max(cutoff, end) + 1, cutoff + horizon
            rows, (at, low, high, last) = (
                stop + 1 - begin,
                map(panel.calendar.stamp, (cutoff + step + 1, begin, stop, end)),
            )
            name = covariates.known.columns[asked[column]].name
            expected = f"{rows} rows after {last}" if pd.isna(high) else f"{low} to {high}, {rows} rows"
            raise FrameError(
                f"series {panel.id_of(int(part.series[origin]))!r}: `{name}` is not known "
                f"{'' if pd.isna(at) else f'at {at} '}(step {step + 1}); expected {expected}. Give them in "
                f"`future`; {_HELP}"
            )


def future_rows(panel: Panel, horizon: int, cutoffs: Sequence | None = None) -> pd.DataFrame:
    """Give the rows that `future` has to hold: those of the steps 1 to H that come after the end of a series.

    Parameters
    ----------
    panel: the history.
    horizon: H, how many steps are forecast.
    cutoffs: the stamps from which they are; None for each series' own end.

    Returns
    -------
    `unique_id`, `ds`, every known and forecasted column, and the issue times of these, empty; series in the order of
    the panel, then time. Of steps without a rule (`freq="steps"`) a stamp that nobody knows is missing, to be filled in
    too.

    Raises
    ------
    TypeError, ValueError: `cutoffs` is no list of stamps, or holds one at which no series is under way.

    """
    origins = origins_of(panel, None if cutoffs is None else ordinals_of(panel.calendar, cutoffs))
    ordinals = origins.cutoffs[:, None] + np.arange(1, horizon + 1)
    series = np.broadcast_to(origins.series[:, None], ordinals.shape)
    after = ordinals > panel.last[series]
    series, ordinals = np.unique(np.stack([series[after], ordinals[after]]), axis=1)
    rows: dict[Any, Any] = {ID: panel.ids[series], TIME: panel.calendar.stamps(ordinals)}
    for column in panel.covariates.known.columns if panel.covariates else ():
        kind = np.empty(0) if column.categories is None else column.categories.array[:0]
        rows[column.name] = pd.Series(kind).reindex(range(len(series))).array
        if column.issued is not None:
            rows[column.issued] = pd.Series(rows[TIME][:0]).reindex(range(len(series))).array
    return pd.DataFrame(rows)
