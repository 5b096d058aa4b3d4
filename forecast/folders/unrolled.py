"""Rows of whole series as rows of values: lists laid end to end, stamps counted on from the first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from forecast.folders.source import is_list
from forecast.frame import ID, TARGET, TIME, Calendar, FrameError
from forecast.frame.calendar import calendar_of, integer_calendar
from forecast.frame.frequency import STEPS

if TYPE_CHECKING:
    import pyarrow as pa


def unrolled(table: "pa.Table", names: Mapping[str, str], freq: str | int | None) -> tuple["pa.Table", np.ndarray]:
    """Give the long table of one with a row for each series, and the rows at which series begin.

    Parameters
    ----------
    table: `unique_id`, `ds` (the stamp of the first value: a timestamp, a date or a whole number), `y` (a list), and
        further columns: a list with an entry for each of `y`, or one value for all.
    names: what the first three are called in it.
    freq: the frequency by which the stamps go on.

    Raises
    ------
    FrameError: no `freq`; a series without values, or with a list of another length; a stamp that is none.
    ValueError: `freq` is not a frequency, or not one for this kind of stamps.

    """
    import pyarrow as pa

    table = table.combine_chunks()
    id_, time, target = (names[name] for name in (ID, TIME, TARGET))
    ids, lengths = table[id_], _lengths(table[target])
    if (empty := lengths < 1).any():
        raise FrameError(
            f"series {ids[int(empty.argmax())].as_py()!r} has no values in `{target}` ({int(empty.sum())} such rows in "
            "reach): leave its row out"
        )
    series = pa.array(np.repeat(np.arange(len(table)), lengths))
    columns = {id_: ids.take(series), time: _Begins(time, ids, table[time]).go_on(lengths, freq)}
    for name in table.column_names:
        if name in columns:
            continue
        if not is_list(table[name].type):
            columns[name] = table[name].take(series)
            continue
        if (differing := _lengths(table[name]) != lengths).any():
            row = int(differing.argmax())
            raise FrameError(
                f"series {ids[row].as_py()!r} has {lengths[row]} values in `{target}` and {_lengths(table[name])[row]} "
                f"in `{name}`: give lists of one length, in `{target}` with null for what is not known"
            )
        columns[name] = pa.concat_arrays([chunk.flatten() for chunk in table[name].chunks])
    return pa.table(columns).select(table.column_names), np.cumsum(lengths) - lengths


def _lengths(lists: Any) -> np.ndarray:
    import pyarrow.compute as compute

    return compute.call_function("list_value_length", [lists]).fill_null(0).to_numpy().astype("int64")


@dataclass(frozen=True)
class _Begins:
    """The stamps of the first values of series, as they came: the name of their column, ids, and stamps of Arrow."""

    name: str
    ids: Any
    stamps: Any

    def go_on(self, lengths: np.ndarray, freq: str | int | None) -> Any:
        """Give the stamps of all values, one series after another, as an array of Arrow of the type that came."""
        import pyarrow as pa

        index = self._index()
        calendar = self._calendar(index, freq)
        first, exact = calendar.locate(index)
        if not exact.all():
            row = int((~exact).argmax())
            raise FrameError(
                f"column `{self.name}`: series {self.ids[row].as_py()!r} begins at {index[row]}, which is not on the "
                f"grid of frequency {calendar.freq!r}: give the right `freq`, or bring all series to one regular step"
            )
        ordinals = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        low, high = int(ordinals.min()), int(ordinals.max()) + 1
        if high - low < len(ordinals):  # series that go on beside each other share their stamps
            stamps = calendar.stamps(np.arange(low, high)).take(ordinals - low)
        else:
            stamps = calendar.stamps(ordinals)
        kind = self.stamps.type
        if not isinstance(stamps, pd.DatetimeIndex):
            return pa.array(np.asarray(stamps)).cast(kind)
        if pa.types.is_date(kind):
            return pa.array(stamps.to_numpy().astype("datetime64[D]")).cast(kind)
        return pa.array(stamps.asi8).cast(kind)

    def _index(self) -> pd.Index:
        """Give the stamps as a DatetimeIndex or int64."""
        import pyarrow as pa

        kind = self.stamps.type
        if self.stamps.null_count:
            row = int(self.stamps.is_null().to_numpy().argmax())
            raise FrameError(
                f"column `{self.name}` is missing for series {self.ids[row].as_py()!r}: give the stamp of its first "
                "value"
            )
        if pa.types.is_integer(kind):
            return pd.Index(self.stamps.cast(pa.int64()).to_numpy())
        if pa.types.is_date(kind):
            days = self.stamps.cast(pa.date32()).cast(pa.int32()).to_numpy()
            return pd.DatetimeIndex(days.astype("datetime64[D]").astype("datetime64[s]"))
        if pa.types.is_timestamp(kind):
            index = pd.DatetimeIndex(self.stamps.cast(pa.int64()).to_numpy().view(f"datetime64[{kind.unit}]"))
            return index if kind.tz is None else index.tz_localize("UTC").tz_convert(kind.tz)
        raise FrameError(
            f"column `{self.name}` holds {kind}; allowed where a row is a series: timestamps, dates, whole numbers"
        )

    def _calendar(self, index: pd.Index, freq: str | int | None) -> Calendar:
        if freq is None or freq == STEPS:
            raise FrameError(
                f"`freq` is {freq!r}; where a row is a series, stamps go on from the first by a frequency: give one, "
                "such as freq='D', or write it into the metadata of the files under the name freq"
            )
        if isinstance(index, pd.DatetimeIndex):
            return calendar_of(freq, index[:1].to_list()[0])
        if not str(freq).isdecimal() or int(freq) < 1:
            raise ValueError(
                f"`freq` is {freq!r}; column `{self.name}` holds integers: allowed is a whole number of 1 or more"
            )
        return integer_calendar(int(freq), int(index[0]))
