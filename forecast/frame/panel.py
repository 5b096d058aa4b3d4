"""The panel: all series of a frame as contiguous arrays. Cutting it at a cutoff makes views, never copies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from forecast.frame.calendar import Calendar
from forecast.frame.covariates import Covariates
from forecast.frame.rows import plain


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

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        rows = int(self.lengths.sum())
        if not rows:
            return "Panel(empty)"
        begin, end = self.calendar.stamp(int(self.first.min())), self.calendar.stamp(int(self.last.max()))
        missing = rows - sum(int(observed.sum()) for _, observed in self)
        size = f"{len(self)} series, {rows:,} rows, {missing:,} missing"
        return f"Panel({size}, freq {self.calendar.freq}, {begin} to {end})"

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

    def until(self, cutoff: int) -> "Panel":
        """Give what was known at a cutoff (calendar ordinal, inclusive); series that had not begun are left out."""
        stops = np.clip(self.starts + (cutoff + 1 - self.first), self.starts, self.stops)
        return replace(self, stops=stops).take(stops > self.starts)

    def since(self, begin: int) -> "Panel":
        """Give the rows from a calendar ordinal on; series that had ended are left out."""
        skipped = np.clip(begin - self.first, 0, self.lengths)
        cut = replace(self, starts=self.starts + skipped, first=self.first + skipped)
        return cut.take(cut.stops > cut.starts)

    def detached(self) -> "Panel":
        """Give a copy over arrays of its own: what has been cut off is then not there to be read."""
        lengths = self.lengths
        rows = _ramps(self.starts, lengths)
        stops = np.cumsum(lengths)
        return replace(
            self, values=self.values[rows], observed=self.observed[rows], starts=stops - lengths, stops=stops
        )

    def at(self, series: np.ndarray, ordinals: np.ndarray) -> np.ndarray:
        """Give the actuals of series (positions) at ordinals, broadcast together; NaN where there is none."""
        series, ordinals = np.broadcast_arrays(series, ordinals)
        rows = self.starts[series] + ordinals - self.first[series]
        inside = (rows >= self.starts[series]) & (rows < self.stops[series])
        rows = np.where(inside, rows, 0)
        return np.where(inside & self.observed[rows], self.values[rows], np.float32(np.nan))

    def to_frame(self) -> pd.DataFrame:
        """Give the long frame back: `unique_id, ds, y`, regular in time, NaN where nothing was observed."""
        lengths = self.lengths
        rows = _ramps(self.starts, lengths)
        ordinals = _ramps(self.first, lengths)
        return pd.DataFrame(
            {
                "unique_id": self.ids[np.repeat(np.arange(len(self)), lengths)],
                "ds": self.calendar.stamps(ordinals),
                "y": np.where(self.observed[rows], self.values[rows], np.nan),
            }
        )


def _ramps(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Give begin, begin + 1, ... for each series, one after another."""
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(begins, lengths) + within
