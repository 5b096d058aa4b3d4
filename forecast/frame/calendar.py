"""The calendar of a frame: its regular time axis, with integers on one side and stamps on the other.

An *ordinal* counts steps of the frequency from a fixed point, so that the next step is always `ordinal + 1`, in a leap
year, at the end of a month and over a weekend alike. Everything inside the product counts in ordinals; stamps are made
again only for people. Steps of a day or more are counted in local wall time (a daily series stays at local midnight
when the clocks change), shorter ones in absolute time (an hourly day may have 23 or 25 hours).
"""

from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Protocol

import numpy as np
import pandas as pd

from forecast.frame.frequency import DAY, DAY_NAMES, MONTH_NAMES, NANOSECONDS, parse_freq, spell

_MONTHS_PER_STEP = {"M": 1, "Q": 3, "Y": 12}
_MONDAY = 4 * DAY  # the epoch was a Thursday


class Steps(Protocol):
    """How one kind of frequency counts. Stamps are naive datetime64 arrays, or integers on an integer axis."""

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the ordinal at or before each stamp, and whether the stamp lies exactly on the grid."""
        ...

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        """Give the stamp of each ordinal, as int64 in the unit of the stamps."""
        ...


@dataclass(frozen=True)
class _Ticks:
    """Steps of fixed length: integers, seconds, hours, days, weeks; `length` and `phase` in the unit of the stamps."""

    length: int
    phase: int

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = stamps.view("int64") - self.phase
        ordinals = counts // self.length
        counts -= ordinals * self.length
        return ordinals, counts == 0

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        return ordinals * self.length + self.phase


@dataclass(frozen=True)
class _Months:
    """Steps of `count` months, on the first or the last day at `clock`; `phase` is the month at ordinal 0."""

    count: int
    phase: int
    at_end: bool
    unit: str
    clock: int = 0

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        day, exact = _days(stamps, self.clock)
        # The day after a month's last day is the first of the next: one rule serves both ends.
        first = day + int(self.at_end)
        month = first.astype("datetime64[M]")
        counts = month.astype("int64") - int(self.at_end) - self.phase
        ordinals = counts // self.count
        return ordinals, exact & (month.astype("datetime64[D]") == first) & (ordinals * self.count == counts)

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        month = ordinals * self.count + self.phase + int(self.at_end)
        day = month.astype("datetime64[M]").astype("datetime64[D]") - int(self.at_end)
        return day.astype(f"datetime64[{self.unit}]").view("int64") + self.clock


@dataclass(frozen=True)
class _BusinessDays:
    """Monday to Friday at the time of day `clock`, without holidays."""

    unit: str
    clock: int = 0

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        day, exact = _days(stamps, self.clock)
        week, weekday = np.divmod(day.view("int64") + 3, 7)  # weeks from Monday; the epoch was a Thursday
        return week * 5 + np.minimum(weekday, 4), exact & (weekday < 5)

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        week, weekday = np.divmod(ordinals, 5)
        day = (week * 7 + weekday - 3).astype("datetime64[D]")
        return day.astype(f"datetime64[{self.unit}]").view("int64") + self.clock


def _days(stamps: np.ndarray, clock: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the day that began at or before each stamp, days beginning at `clock`, and whether it began right then."""
    stamps = (stamps.view("int64") - clock).view(stamps.dtype)
    day = stamps.astype("datetime64[D]")
    return day, day.astype(stamps.dtype) == stamps


@dataclass(frozen=True)
class Calendar:
    """A regular time axis.

    Attributes
    ----------
    freq: the frequency as pandas spells it today (`"h"`, `"15min"`, `"W-MON"`, `"MS"`), or a whole number as text for
        an integer axis.
    steps: the rule that counts.
    unit: the resolution of the stamps (`"ns"`, `"us"`, ...), None for an integer axis.
    zone: the time zone of the stamps, or None.
    season_length: the steps of the most usual season: 24 for hours, 7 for days, 12 for months; 1 where there is none.

    """

    freq: str
    steps: Steps
    unit: Any  # pandas' types allow only four literals
    zone: tzinfo | None
    season_length: int

    @property
    def in_wall_time(self) -> bool:
        """Whether steps are counted on the clock on the wall: true in a time zone for steps of a day and more."""
        return self.zone is not None and self.freq.lstrip("0123456789") not in NANOSECONDS

    def locate(self, stamps: pd.Index | pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Give for each stamp of the frame the ordinal at or before it, and whether it lies on the grid.

        Raises
        ------
        ValueError: stamps of another unit, or with a time zone where the frame has none, or the other way round.

        """
        index = pd.Index(stamps, copy=False)
        unit, zone = getattr(index, "unit", None), getattr(index, "tz", None)
        if unit != self.unit or (zone is None) != (self.zone is None):
            raise ValueError(
                f"the stamps are {index.dtype}; this calendar has unit {self.unit} and time zone {self.zone}: convert "
                "them with as_unit and tz_convert"
            )
        ordinals, exact = self.steps.locate(raw_stamps(index, self.in_wall_time))
        if self.in_wall_time and not exact.all():
            # Where the clocks skip a step's time of day, the stamp of that step is a little later.
            off = np.flatnonzero(~exact)
            exact[off] = self.stamps(ordinals[off]) == index[off]
        return ordinals, exact

    def ordinal(self, stamp) -> int:
        """Give the last ordinal at or before one stamp; a stamp without zone is read in the calendar's zone.

        Raises
        ------
        TypeError: a number on an axis of timestamps, or something else on an axis of integers.
        ValueError: no timestamp, or one with a time zone where the frame has none.

        """
        is_number = isinstance(stamp, int | float | np.number)
        if self.unit is None:
            if isinstance(stamp, bool) or not isinstance(stamp, int | np.integer):
                raise TypeError(f"the time axis counts integers; got {stamp!r}: give a whole number")
            return int(self.steps.locate(np.array([stamp], dtype="int64"))[0][0])
        came, stamp = stamp, pd.NaT if is_number else pd.Timestamp(stamp)
        if not isinstance(stamp, pd.Timestamp):
            raise TypeError(f"the time axis holds timestamps; got {came!r}: give a date or a timestamp")
        if self.zone is None and stamp.tz is not None:
            raise ValueError(f"the frame's stamps have no time zone; got {stamp}: give it without one")
        if self.zone is not None and stamp.tz is not None:
            stamp = stamp.tz_convert(self.zone)
        elif self.zone is not None and not self.in_wall_time:
            stamp = stamp.tz_localize(self.zone)
        raw = _raw_stamp(stamp, self.in_wall_time).astype(f"datetime64[{self.unit}]")
        return int(self.steps.locate(raw)[0][0])

    def stamps(self, ordinals) -> pd.Index:
        """Give the stamp of each ordinal, in the unit and the time zone of the frame."""
        counts = self.steps.stamps(np.asarray(ordinals, dtype="int64"))
        if self.unit is None:
            return pd.Index(counts)
        index = pd.DatetimeIndex(counts.view(f"datetime64[{self.unit}]"))
        if self.zone is None:
            return index
        if not self.in_wall_time:
            return index.tz_localize("UTC").tz_convert(self.zone)
        # Where the clocks change at midnight, local midnight may not exist or come twice: the first moment of the day.
        return index.tz_localize(self.zone, nonexistent="shift_forward", ambiguous=np.ones(len(index), dtype=bool))

    def stamp(self, ordinal: int):
        """Give the stamp of one ordinal: a Timestamp, or an int on an integer axis."""
        stamp = self.stamps([ordinal])[0]
        return int(stamp) if self.unit is None else stamp


def raw_stamps(stamps: pd.Index | pd.Series, in_wall_time: bool = False) -> np.ndarray:
    """Give stamps as the numbers below them, without a copy where there is one: naive datetime64, or int64."""
    index = pd.Index(stamps, copy=False)
    if not isinstance(index, pd.DatetimeIndex):
        return np.asarray(index, dtype="int64")
    if in_wall_time:
        index = index.tz_localize(None)
    return index.asi8.view(f"datetime64[{index.unit}]")


def _raw_stamp(stamp: pd.Timestamp, in_wall_time: bool) -> np.ndarray:
    # Not by way of an index, which pandas 2 makes of nanoseconds, whatever the unit of the stamp.
    return np.array([(stamp.tz_localize(None) if in_wall_time else stamp).to_datetime64()])


def integer_calendar(step: int, phase: int) -> Calendar:
    """Give the calendar of integer stamps that advance by `step`."""
    return Calendar(freq=str(step), steps=_Ticks(step, phase % step), unit=None, zone=None, season_length=1)


def calendar_of(freq: str | int, stamp: pd.Timestamp) -> Calendar:
    """Give the calendar of a frequency; unit, zone, time of day and what `freq` leaves open are those of a stamp."""
    count, unit, anchor = parse_freq(freq)
    raw = _raw_stamp(stamp, in_wall_time=unit not in NANOSECONDS)
    if unit == "B":
        steps, season = _BusinessDays(stamp.unit, _time_of_day(raw)), 5
    elif unit[0] in _MONTHS_PER_STEP:
        steps, season, anchor = _months(count, unit, anchor, raw)
    else:
        steps, season, anchor = _ticks(count, unit, anchor, raw)
    return Calendar(spell(count, unit, anchor), steps, stamp.unit, stamp.tz, season)


def _months(count: int, unit: str, anchor: str | None, stamp: np.ndarray) -> tuple[_Months, int, str | None]:
    """Give steps, season and anchor of a frequency that counts months; without an anchor the stamp sets it."""
    length = count * _MONTHS_PER_STEP[unit[0]]
    at_end = unit[1] == "E"
    month = MONTH_NAMES.index(anchor) if anchor else int(stamp.astype("datetime64[M]").astype("int64")[0]) % 12
    if unit[0] == "Y":
        anchor = MONTH_NAMES[month]
    elif unit[0] == "Q":  # named by a first month (QS-JAN) or by the last month of the year (QE-DEC)
        anchor = MONTH_NAMES[month % 3 + (9 if at_end else 0)]
    steps = _Months(length, month % length, at_end, np.datetime_data(stamp.dtype)[0], _time_of_day(stamp))
    return steps, 12 // length if 12 % length == 0 else 1, anchor


def _ticks(count: int, unit: str, anchor: str | None, stamp: np.ndarray) -> tuple[_Ticks, int, str | None]:
    """Give steps, season and anchor of a frequency of fixed length; without an anchor the stamp sets it."""
    nanoseconds = count * (NANOSECONDS.get(unit) or (7 * DAY if unit == "W" else DAY))
    resolution = NANOSECONDS[np.datetime_data(stamp.dtype)[0]]
    length, rest = divmod(nanoseconds, resolution)
    if length == 0 or rest:
        raise ValueError(
            f"`freq` {spell(count, unit)!r} is no multiple of {resolution} ns, the resolution of the stamps"
        )
    phase = int(stamp.view("int64")[0])
    per_day, rest = divmod(DAY, nanoseconds)
    season = per_day if rest == 0 and 1 < per_day <= 1440 else 1
    if unit == "D":
        season = 7 if count == 1 else 1
    elif unit == "W":
        season = 52 if count == 1 else 1
        weekday = (phase * resolution - _MONDAY) // DAY % 7
        anchor = anchor or DAY_NAMES[weekday]
        phase += (DAY_NAMES.index(anchor) - weekday) * DAY // resolution
    return _Ticks(length, phase % length), season, anchor


def _time_of_day(stamp: np.ndarray) -> int:
    """Give what a stamp is past midnight, in its own unit."""
    return int((stamp - stamp.astype("datetime64[D]")).view("int64")[0])
