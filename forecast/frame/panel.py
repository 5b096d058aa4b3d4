"""The panel: all series of a frame as contiguous arrays. Cutting it at a cutoff makes views, never copies."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from forecast.frame.calendar import Calendar
from forecast.frame.covariates import NEVER, Covariates
from forecast.frame.errors import plain
from forecast.frame.form import Form
from forecast.frame.issued import issue_times


@dataclass(frozen=True, eq=False)
class Panel:
    """All series of a frame, end to end in flat arrays, on one calendar and without gaps in time.

    Attributes
    ----------
    values: (all rows,) float32; what a model may read, NaN where there is nothing to read.
    observed: (all rows,) bool; True where the value is an actual, which counts in losses and scores. A value filled in
        at the door can be read but does not count.
    starts, stops: (S,) int64; series s owns `values[starts[s]:stops[s]]`.
    first: (S,) int64; the calendar ordinal of each series' first row.
    ids: the series, in the order in which they came.
    calendar: the time axis that all series share.
    covariates: what else is known of the series; None where no column has a role.
    weights: (all rows,) float32, how much each value counts in the losses of a fit, beside the others; None for all
        alike.
    weight: what the column of the weights is called.
    form: of the frame that came; `panel.form.give(frame)` gives a frame of ours in it.
    unused: columns of that frame that have no purpose.

    """

    values: np.ndarray
    observed: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    first: np.ndarray
    ids: pd.Index
    calendar: Calendar
    covariates: Covariates | None = None
    weights: np.ndarray | None = None
    weight: str = "weight"
    form: Form = field(default_factory=Form)
    unused: tuple = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        rows = int(self.lengths.sum())
        if not rows:
            return "Panel(empty)"
        begin, end = self.calendar.stamp(int(self.first.min())), self.calendar.stamp(int(self.last.max()))
        missing = rows - sum(int(observed.sum()) for _, observed in self)
        size = f"{len(self)} series, {rows:,} rows, {missing:,} missing"
        beside = "".join(f", {role} {', '.join(names)}" for role, names in self._roles().items())
        beside += f", unused {', '.join(map(str, self.unused))}" if self.unused else ""
        return f"Panel({size}, freq {self.calendar.freq}, {begin} to {end}{beside})"

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give (values, observed) of each series, as views."""
        for start, stop in zip(self.starts, self.stops, strict=True):
            yield self.values[start:stop], self.observed[start:stop]

    @property
    def lengths(self) -> np.ndarray:
        """Rows of each series, (S,)."""
        return self.stops - self.starts

    @property
    def last(self) -> np.ndarray:
        """Calendar ordinal of each series' last row, (S,)."""
        return self.first + self.lengths - 1

    def id_of(self, series: int):
        """Give the id of one series, by position, as a plain Python value: a message says 3, not np.int64(3)."""
        return plain(self.ids[series])

    def take(self, series: np.ndarray) -> "Panel":
        """Give the panel of some series, by position or boolean mask, over the same arrays."""
        return replace(
            self,
            starts=self.starts[series],
            stops=self.stops[series],
            first=self.first[series],
            ids=self.ids[series],
            covariates=self.covariates and self.covariates.take(series),
        )

    def until(self, cutoff: int | np.ndarray) -> "Panel":
        """Give what was known at a cutoff (calendar ordinal, inclusive); series that had not begun are left out.

        Each series may have a cutoff of its own, (S,).

        Known covariates go on after it. Of a delayed one the last values are there, but not yet to be read; of a
        forecasted one those that were issued later.
        """
        stops = np.clip(self.starts + (cutoff + 1 - self.first), self.starts, self.stops)
        return replace(self, stops=stops).take(stops > self.starts)

    def since(self, begin: int | np.ndarray) -> "Panel":
        """Give the rows from a calendar ordinal on, or (S,) of them; series that had ended are left out.

        Covariates are cut alike.
        """
        skipped = np.clip(begin - self.first, 0, self.lengths)
        cut = replace(
            self,
            starts=self.starts + skipped,
            first=self.first + skipped,
            covariates=self.covariates and self.covariates.since(begin),
        )
        return cut.take(cut.stops > cut.starts)

    def detached(self, ends: np.ndarray | None = None) -> "Panel":
        """Give a copy over arrays of its own: what has been cut off is then not there to be read.

        Neither is what was not yet known of delayed and forecasted covariates when the last series ends (or, of each
        series, at its place in `ends`, (S,) ordinals), nor a category that is met only in what has been cut off.
        """
        lengths = self.lengths
        rows = _ramps(self.starts, lengths)
        stops = np.cumsum(lengths)
        return replace(
            self,
            values=self.values[rows],
            observed=self.observed[rows],
            starts=stops - lengths,
            stops=stops,
            covariates=self.covariates and self._own(self.covariates, rows, ends),
            weights=None if self.weights is None else self.weights[rows],
        )

    def _own(self, covariates: Covariates, rows: np.ndarray, ends: np.ndarray | None) -> Covariates:
        """Give covariates over arrays of their own; those of the panel's flat `rows` alone, without what came late."""
        past = covariates.past.rows(rows)
        # Steps until the end of the panel: a series that ended before it may be read from there by another.
        if ends is None:
            ends = np.broadcast_to(self.last.max() if len(self) else 0, (len(self),))
        left = np.repeat(ends, self.lengths) - _ramps(self.first, self.lengths)
        for at, column in enumerate(past.columns):
            past.numbers[left < column.delay, at] = np.nan
        lengths = covariates.stops - covariates.starts
        stops = np.cumsum(lengths)
        rows = _ramps(covariates.starts, lengths)
        known, late = covariates.known.rows(rows), covariates.late
        if late is not None:
            left = np.repeat(ends, lengths) - _ramps(covariates.first, lengths)
            late = np.where(late[rows] > left[:, None], np.int32(NEVER), late[rows])
            for at, place in enumerate(covariates.forecasted):
                known.numbers[late[:, at] == NEVER, place] = np.nan
        return Covariates(
            static=covariates.static.own_categories(),
            past=past.own_categories(),
            known=known.own_categories(),
            starts=stops - lengths,
            stops=stops,
            first=covariates.first,
            late=late,
        )

    def at(self, series: np.ndarray, ordinals: np.ndarray) -> np.ndarray:
        """Give the actuals of series (positions) at ordinals, broadcast together; NaN where there is none."""
        series, ordinals = np.broadcast_arrays(series, ordinals)
        rows = self.starts[series] + ordinals - self.first[series]
        inside = (rows >= self.starts[series]) & (rows < self.stops[series])
        rows = np.where(inside, rows, 0)
        return np.where(inside & self.observed[rows], self.values[rows], np.float32(np.nan))

    def to_frame(self) -> pd.DataFrame:
        """Give the long frame back: `unique_id, ds, y`, regular in time, NaN where nothing was observed.

        Columns that have a role follow: static, known and forecasted ones, the stamps from which on these may be read,
        past and delayed ones, the weight.
        """
        lengths = self.lengths
        rows = _ramps(self.starts, lengths)
        ordinals = _ramps(self.first, lengths)
        series = np.repeat(np.arange(len(self)), lengths)
        frame = {
            "unique_id": self.ids[series],
            "ds": self.calendar.stamps(ordinals),
            "y": np.where(self.observed[rows], self.values[rows], np.nan),
        }
        if beside := self.covariates:
            known = (beside.starts - beside.first)[series] + ordinals
            frame |= beside.static.values(series) | beside.known.values(known)
            frame |= issue_times(beside, known, ordinals, self.calendar) | beside.past.values(rows)
        if self.weights is not None:
            frame[self.weight] = self.weights[rows]
        return pd.DataFrame(frame)

    def _roles(self) -> dict[str, list[str]]:
        """Give the roles that columns have, and their names."""
        roles = {"weight": [self.weight]} if self.weights is not None else {}
        if self.covariates is None:
            return roles
        known, past = self.covariates.known.columns, self.covariates.past.columns
        columns = {
            "static": self.covariates.static.columns,
            "known": [column for column in known if column.issued is None],
            "forecasted": [column for column in known if column.issued is not None],
            "past": [column for column in past if not column.delay],
            "delayed": [column for column in past if column.delay],
        }
        return {role: [str(column.name) for column in of] for role, of in columns.items() if of} | roles


def _ramps(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Give begin, begin + 1, ... for each series, one after another."""
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(begins, lengths) + within
