"""Rows that go on where the series of a stream end: what they have to be, and the steps they make. R series."""

from dataclasses import replace

import numpy as np
import pandas as pd

from forecast.frame import FrameError, Panel


def since(panel: Panel, begin: np.ndarray) -> Panel:
    """Give the panel with its series begun earlier, at ordinals (R,); there nothing was observed."""
    if (begin == panel.first).all():
        return panel
    lengths = panel.last + 1 - begin
    stops = np.cumsum(lengths)
    values = np.full(stops[-1], np.nan, dtype="float32")
    for stop, (rows, _) in zip(stops, panel, strict=True):
        values[stop - len(rows) : stop] = rows
    return replace(panel, values=values, observed=np.isfinite(values), starts=stops - lengths, stops=stops, first=begin)


def carry_into(steps: Panel, last: np.ndarray) -> None:
    """Let the last values (R,) before the steps go on where these are missing, in place."""
    for value, (rows, _) in zip(last, steps, strict=True):
        rows[np.isnan(rows)] = value


def check_kinds(new: Panel, ids: pd.Index) -> None:
    """Refuse new series whose ids are of a type that no id so far has: 7 for "7" would begin a series unawares."""
    kinds = {type(name): None for name in ids.tolist()}
    for series in range(len(new)):
        name = new.id_of(series)
        if type(name) not in kinds:
            raise FrameError(
                f"series {name!r} has an id of type {type(name).__name__}; the ids so far, {ids.tolist()[0]!r} the "
                f"first, are of type {' or '.join(kind.__name__ for kind in kinds)}: give ids as in `fit`"
            )


def check_stamps(new: Panel, before: np.ndarray, column: str, gaps: str) -> None:
    """Refuse rows that do not come right after the ordinals `before` (R,) them; after a gap only by policy."""
    missing = new.first - before - 1
    if (missing < 0).any():
        which = int((missing < 0).argmax())
        raise FrameError(
            f"column `{column}`: series {new.id_of(which)!r} at {new.calendar.stamp(int(new.first[which]))} is not "
            f"after the end of its stream, {new.calendar.stamp(int(before[which]))} ({int((missing < 0).sum())} series "
            "come late or twice). Allowed: rows after it. Leave out what came before; for a corrected history, begin "
            "another stream"
        )
    if not missing.any():
        return
    which, total, given = int((missing > 0).argmax()), int(missing.sum()), int(new.lengths.sum())
    where = (
        f"column `{column}`: {missing[which]} rows are missing before series {new.id_of(which)!r} at "
        f"{new.calendar.stamp(int(new.first[which]))} (after {new.calendar.stamp(int(before[which]))}, the end of its "
        f"stream, frequency {new.calendar.freq!r}; {total} rows in {int((missing > 0).sum())} gaps in all)"
    )
    if gaps == "error":
        raise FrameError(
            f'{where}. Add them, NaN where nothing was measured, or fit with gaps="mask" (missing values) or '
            'gaps="fill" (last value carried forward)'
        )
    if total > 10 * given + 1_000_000:
        raise FrameError(f"{where}: too many beside {given} given. Correct the stamps, or begin another stream")


def check_issued(panel: Panel) -> None:
    """Refuse rows of forecasts that were issued only after the step that they are for."""
    covariates = panel.covariates
    if covariates is None or covariates.late is None:
        return
    for series in range(len(panel)):
        begin = covariates.starts[series]
        count = min(panel.last[series] + 1 - covariates.first[series], covariates.stops[series] - begin)
        rows = slice(begin, begin + count)
        for at, place in enumerate(covariates.forecasted):
            late, column = covariates.late[rows, at], covariates.known.columns[place]
            after = (late > 0) & np.isfinite(covariates.known.numbers[rows, place])
            if after.any():
                stamp = panel.calendar.stamp(int(covariates.first[series] + after.argmax()))
                raise FrameError(
                    f"column `{column.name}`: series {panel.id_of(series)!r} at {stamp} was issued after it, as "
                    f"`{column.issued}` tells, and a stream takes each row once, with what is known by then: leave "
                    "the value missing, or shift the column to the stamps at which its values become known, and fit "
                    "with the role past"
                )


def together(panel: Panel, fitted: pd.Index, reader: str) -> Panel:
    """Give the panel with the series of the fit in their order; refuse others, and series that do not end together.

    `reader` is the backbone that asks for it, for messages.
    """
    why = f"{reader} reads across series, and its stream takes all of them at each step"
    if (new := fitted.get_indexer(panel.ids) < 0).any():
        raise FrameError(
            f"series {panel.id_of(int(new.argmax()))!r} was not there at fit: {why}. Leave it out, or fit again with it"
        )
    places = panel.ids.get_indexer(fitted)
    if (lacking := places < 0).any():
        raise FrameError(
            f"series {fitted.tolist()[int(lacking.argmax())]!r} is not there: {why}. Give its rows too, NaN where "
            "nothing is known"
        )
    panel = panel.take(places)
    if (apart := panel.last != panel.last[0]).any():
        ends = (
            f"series {panel.id_of(series)!r} to {panel.calendar.stamp(int(panel.last[series]))}"
            for series in (0, int(apart.argmax()))
        )
        raise FrameError(f"rows go for {' and for '.join(ends)}: {why}. Give all up to the same stamp")
    return panel
