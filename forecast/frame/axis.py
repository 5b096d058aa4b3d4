"""The time axis of the rows: their order, the calendar they share, and what contradicts it, in any series."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import tzinfo
from itertools import pairwise

import numpy as np
import pandas as pd

from forecast.frame.calendar import Calendar, calendar_of, integer_calendar
from forecast.frame.errors import FrameError, plain
from forecast.frame.frequency import STEPS, infer_freq, infer_step
from forecast.frame.listed import listed_calendar
from forecast.frame.rows import Rows, raw_integers
from forecast.frame.stamps import FARTHEST

_BLOCK = 1 << 16  # rows looked at together: keeps what the checks need beside the data small
_MIXED = ("mixed", "mixed-integer", "mixed-integer-float")  # pandas' words for objects of several types
_TELLING = 10_000  # rows of one series that are enough to read a frequency off


class _Offence:
    """How many rows break one rule, and the first of them."""

    def __init__(self):
        self.count = 0
        self.first = -1

    def add(self, low: int, broken: np.ndarray) -> None:
        """Take in a block of rows that begins at row `low`."""
        if broken.any():
            if not self.count:
                self.first = low + int(broken.argmax())
            self.count += int(broken.sum())


def in_order(rows: Rows, unsorted: str) -> tuple[Rows, np.ndarray]:
    """Give the rows in order (sorted if asked for), and the first row of each series.

    Raises
    ------
    FrameError: an id that cannot be hashed; series whose rows do not lie together, or go back in time.

    """
    begins = _begins(rows.ids)
    names = rows.ids[begins]
    _check_apart(names)
    try:
        scattered = names.duplicated()
    except (TypeError, NotImplementedError) as error:  # lists and structures of Arrow
        raise _not_apart(names, error) from None
    backward = _Offence()
    for low, pair, inside in _neighbours(len(rows), begins):
        backward.add(low, inside & (np.diff(raw_integers(rows.stamps[pair])) < 0))
    if not scattered.any() and not backward.count:
        return rows, begins
    if unsorted == "sort":
        rows = rows.sorted()
        return rows, _begins(rows.ids)
    if scattered.any():
        row = int(begins[scattered][0])
        by_time = " The frame is sorted by time across series." if rows.stamps.is_monotonic_increasing else ""
        problem = (
            f"column `{rows.ids.name}`: {rows.at(row)} comes after rows of another series ({int(scattered.sum())} such "
            f"returns, to {names[scattered].nunique()} of {names.nunique()} series).{by_time}"
        )
    else:
        row = backward.first
        problem = (
            f"column `{rows.stamps.name}`: {rows.at(row)} comes after {rows.stamps[row - 1]} ({backward.count} rows go "
            "back in time)."
        )
    raise FrameError(
        f"{problem} Allowed: the rows of a series together and in time order. Sort with "
        f'frame.sort_values([{rows.ids.name!r}, {rows.stamps.name!r}]), or ask for it: unsorted="sort"'
    )


def _begins(ids: pd.Index) -> np.ndarray:
    """Give the first row of every stretch of rows with the same id."""
    mixed = ids.dtype == object and pd.api.types.infer_dtype(ids, skipna=False) in _MIXED
    begins = [np.zeros(1, dtype="int64")]
    for low in range(1, len(ids), _BLOCK):
        high = min(low + _BLOCK, len(ids))
        try:
            changes = np.asarray(ids[low:high] != ids[low - 1 : high - 1], dtype=bool)
        except ValueError as error:  # arrays
            raise _not_apart(ids, error) from None
        if mixed:  # 1 and True are equal
            types = map(type, ids[low - 1 : high])
            changes |= np.fromiter((new is not old for old, new in pairwise(types)), dtype=bool)
        begins.append(np.flatnonzero(changes) + low)
    return np.concatenate(begins)


def _check_apart(names: pd.Index) -> None:
    """Refuse ids that cannot be hashed, or are equal although they are of two types."""
    seen = {}
    try:
        for name in names if names.dtype == object else ():
            if type(first := seen.setdefault(name, name)) is not type(name):
                raise _not_apart(names, f"{first!r} of type {type(first).__name__} equals {name!r} of another")
    except TypeError as error:
        raise _not_apart(names, error) from None


def _not_apart(names: pd.Index, reason: object) -> FrameError:
    return FrameError(
        f"column `{names.name}`: ids that cannot be told apart ({reason}); allowed: text, numbers, dates and other "
        "things that can be hashed, tuples of them"
    )


def _neighbours(size: int, begins: np.ndarray) -> Iterator[tuple[int, slice, np.ndarray]]:
    """Go through the rows in blocks: first row, a slice with the row before it too, which rows continue a series."""
    for low in range(1, size, _BLOCK):
        high = min(low + _BLOCK, size)
        inside = np.ones(high - low, dtype=bool)
        inside[begins[np.searchsorted(begins, low) : np.searchsorted(begins, high)] - low] = False
        yield low, slice(low - 1, high), inside


def shared_calendar(rows: Rows, begins: np.ndarray, freq: str | int | None) -> Calendar:
    """Give the calendar of the rows: as asked for, or read off the longest series.

    Raises
    ------
    FrameError: no `freq` is given and none can be read off the longest series; steps finer than the stamps can tell.
    ValueError: `freq` is not a frequency, or not one for this kind of stamps.

    """
    if isinstance(freq, str) and freq.strip() == STEPS:
        return listed_calendar(_distinct(rows.stamps))
    freq = rows.form.stamps.freq_inside(freq)
    calendar = _ruled_calendar(rows, begins, freq)
    here = int(calendar.locate(rows.stamps[:1])[0][0])
    if not rows.form.can_tell(calendar.stamps(np.arange(here, here + 3))):
        raise FrameError(
            f"column `{rows.stamps.name}`: frequency {calendar.freq!r} has steps between those that "
            f"{rows.form.stamps.kind} such as {rows.stamps[0]} can tell. Give a coarser `freq`, or timestamps"
        )
    return calendar


def _distinct(stamps: pd.Index) -> pd.Index:
    """Give every stamp once, in rising order."""
    distinct = stamps[:0]
    for low in range(0, len(stamps), _BLOCK):
        distinct = distinct.append(stamps[low : low + _BLOCK].unique()).unique()
    return distinct.sort_values()


def _ruled_calendar(rows: Rows, begins: np.ndarray, freq: str | int | None) -> Calendar:
    lengths = np.diff(np.append(begins, len(rows)))
    longest, length = int(begins[lengths.argmax()]), int(lengths.max())
    sample = rows.stamps[longest : longest + min(length, _TELLING)]
    dated = isinstance(sample, pd.DatetimeIndex)
    if freq is None:
        freq = infer_freq(sample) if dated else infer_step(sample.to_numpy())
    if freq is None:
        raise FrameError(
            f"the frequency cannot be read off column `{rows.stamps.name}`: the longest series, "
            f"{plain(rows.ids[longest])!r}, has {length} rows from {sample[0]} to {sample[-1]}. Give `freq`"
        )
    if dated:
        return calendar_of(freq, _on_the_grid(sample))  # refuses numbers
    if not str(freq).isdecimal() or not 1 <= int(freq) <= FARTHEST:
        raise ValueError(
            f"`freq` is {freq!r}; column `{rows.stamps.name}` holds integers: allowed is a whole number of 1 or more, "
            f"or {STEPS!r}"
        )
    return integer_calendar(int(freq), int(sample.to_numpy()[0]))


def _on_the_grid(stamps: pd.DatetimeIndex) -> pd.Timestamp:
    """Give a stamp to set the grid by: any would do, but where the clocks skip midnight a day begins late."""
    wall = stamps.tz_localize(None)
    at = int((wall - wall.normalize()).argmin())
    return stamps[at : at + 1].to_list()[0]  # a list of all would be most of what a long frame costs


def in_calendar(rows: Rows, calendar: Calendar) -> Rows:
    """Give the rows with their stamps in the unit and the time zone of a calendar.

    Raises
    ------
    FrameError: stamps that are of another kind than those of the calendar, or finer than its unit.

    """
    stamps, time = rows.stamps, rows.stamps.name
    kind = kind_of(getattr(stamps, "unit", None), getattr(stamps, "tz", None))
    if kind != (own := kind_of(calendar.unit, calendar.zone)):
        raise FrameError(
            f"column `{time}` holds {kind}, first {stamps[0]}; the series so far have {own}: give the same"
        )
    if not isinstance(stamps, pd.DatetimeIndex) or (stamps.unit, stamps.tz) == (calendar.unit, calendar.zone):
        return rows
    if calendar.zone is not None:
        stamps = stamps.tz_convert(calendar.zone)
    try:
        fitting = stamps.as_unit(calendar.unit)
    except pd.errors.OutOfBoundsDatetime as error:
        raise FrameError(f"column `{time}` goes beyond what stamps in {calendar.unit} can hold: {error}") from error
    if (finer := np.asarray(fitting != stamps)).any():
        raise FrameError(
            f"column `{time}`: {rows.at(int(finer.argmax()))} is finer than the unit of the series so far, "
            f"{calendar.unit!r}, and so not on their grid of frequency {calendar.freq!r}. Round the stamps to it"
        )
    return replace(rows, stamps=fitting)


def kind_of(unit: str | None, zone: tzinfo | None) -> str:
    """Say what kind of stamps these are."""
    return (
        "integers" if unit is None else "timestamps without time zone" if zone is None else "timestamps in a time zone"
    )


def check_axis(rows: Rows, begins: np.ndarray, calendar: Calendar, gaps: str) -> bool:
    """Refuse stamps off the grid, repeated or (by policy) left out; True if no row is missing.

    Raises
    ------
    FrameError: the first of them, and how many there are.

    """
    off_grid, repeated, after_gap = _Offence(), _Offence(), _Offence()
    off_grid.add(0, ~calendar.locate(rows.stamps[:1])[1])
    missing = 0
    for low, pair, inside in _neighbours(len(rows), begins):
        ordinals, exact = calendar.locate(rows.stamps[pair])
        distances = np.diff(ordinals)
        wide = inside & (distances > 1)
        off_grid.add(low, ~exact[1:])
        repeated.add(low, inside & (distances == 0))
        after_gap.add(low, wide)
        missing += int((distances[wide] - 1).sum())
    time = rows.stamps.name
    if off_grid.count:
        before = int(calendar.locate(rows.stamps[[off_grid.first]])[0][0])
        raise FrameError(
            f"column `{time}`: {rows.at(off_grid.first)} is not on the grid of frequency {calendar.freq!r}, which goes "
            f"from {calendar.stamp(before)} to {calendar.stamp(before + 1)} ({off_grid.count} rows off it in all). "
            f"Give the right `freq`, or bring all series to one regular step{_or_steps(calendar)}"
        )
    if repeated.count:
        raise FrameError(
            f"column `{time}`: {rows.at(repeated.first)} comes more than once ({repeated.count} repeated rows in all). "
            "Allowed: one row per series and stamp. Remove them with "
            f"frame.drop_duplicates([{rows.ids.name!r}, {time!r}]), or aggregate"
        )
    if after_gap.count and gaps == "error":
        row = after_gap.first
        here = calendar.locate(rows.stamps[[row - 1, row]])[0]
        raise FrameError(
            f"column `{time}`: {int(here[1] - here[0]) - 1} rows are missing before {rows.at(row)} (after "
            f"{rows.stamps[row - 1]}, frequency {calendar.freq!r}; {missing} rows in {after_gap.count} gaps in all). "
            'Add them, or say what to do: gaps="mask" (missing values) or gaps="fill" (last value carried forward)'
            f"{_or_steps(calendar)}"
        )
    if missing > 10 * len(rows) + 1_000_000:
        raise FrameError(
            f"column `{time}`: {missing} rows are missing at frequency {calendar.freq!r} beside {len(rows)} given, "
            f"first before {rows.at(after_gap.first)}: too many to make room for. Give the right `freq`, or correct "
            "the stamps"
        )
    return not after_gap.count


def _or_steps(calendar: Calendar) -> str:
    """Give the way out of a message for stamps that follow no rule."""
    return (
        "" if calendar.freq == STEPS else f'; freq="{STEPS}" takes rows in time order as steps, whatever the clock says'
    )


def rows_by_stamp(
    rows: Rows, begins: np.ndarray, calendar: Calendar, offsets: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Go through the rows in blocks: give them as a slice, and the place of each, its ordinal + its series' offset."""
    for low in range(0, len(rows), _BLOCK):
        part = slice(low, min(low + _BLOCK, len(rows)))
        series = np.searchsorted(begins, np.arange(part.start, part.stop), side="right") - 1
        yield part, calendar.locate(rows.stamps[part])[0] + offsets[series]
