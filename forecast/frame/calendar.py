"""The calendar of a frame: its regular time axis, with integers on one side and stamps on the other.

An *ordinal* counts steps of the frequency from a fixed point, so that the next step is always `ordinal + 1`, in a leap
year, at the end of a month and over a weekend alike. Everything inside the product counts in ordinals; stamps are made
again only for people. Steps of a day or more are counted in local wall time (a daily series stays at local midnight
when the clocks change), shorter ones in absolute time (an hourly day may have 23 or 25 hours).

Where no frequency fits, the frequency `"steps"` takes the stamps of all series together as the calendar: whatever the
clock says, the next of them is the next step.
"""

from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.errors import FrameError
from forecast.frame.frequency import (
    DAY,
    DAY_NAMES,
    MONTH_NAMES,
    MONTHS,
    NANOSECONDS,
    STEPS,
    Frequency,
    parse_freq,
)
from forecast.frame.stamps import is_iso
from forecast.frame.steps import BusinessDays, HalfMonths, Listed, Months, Steps, Ticks

_MONDAY = 4 * DAY  # the epoch was a Thursday


@dataclass(frozen=True)
class Calendar:
    """A regular time axis.

    Attributes
    ----------
    freq: the frequency as pandas spells it today (`"h"`, `"15min"`, `"D"`, `"B"`, `"W-MON"`, `"MS"`, `"BME"`,
        `"SMS-15"`, `"QE-DEC"`, `"YS-APR"`); `"MS+14D"` for day 15 of every month (`"MS+29D"`: day 30, or the last one
        of a shorter month); a whole number as text for an integer axis; `"steps"` where there is no rule.
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
    def week_length(self) -> int | None:
        """The steps of a week, where several make a day; else None."""
        if self.unit is None or not isinstance(self.steps, Ticks):
            return None
        per_day, rest = divmod(DAY, self.steps.length * NANOSECONDS[self.unit])
        return 7 * per_day if rest == 0 and per_day > 1 else None

    @property
    def in_wall_time(self) -> bool:
        """Whether steps are counted on the clock on the wall: true in a time zone for steps of a day and more."""
        return self.zone is not None and self.freq.lstrip("0123456789") not in (*NANOSECONDS, STEPS)

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

        A period is read as its beginning.

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
        if isinstance(stamp, str) and not is_iso(stamp):
            raise ValueError(f"{stamp!r} is no date as in ISO 8601, such as '2024-05-31' or '2024-05-31T17:00'")
        came, stamp = stamp, stamp.start_time if isinstance(stamp, pd.Period) else stamp
        stamp = pd.NaT if is_number else pd.Timestamp(stamp)
        if not isinstance(stamp, pd.Timestamp):
            raise TypeError(f"the time axis holds timestamps; got {came!r}: give a date or a timestamp")
        if self.zone is None and stamp.tz is not None:
            raise ValueError(f"the frame's stamps have no time zone; got {stamp}: give it without one")
        if self.zone is not None and stamp.tz is not None:
            stamp = stamp.tz_convert(self.zone)
        elif self.zone is not None and not self.in_wall_time:
            wall, stamp = stamp, stamp.tz_localize(self.zone, ambiguous="NaT", nonexistent="NaT")
            if not isinstance(stamp, pd.Timestamp):
                raise ValueError(f"{wall} comes twice, or never, in {self.zone}: give it with its distance from UTC")
        raw = _raw_stamp(stamp, self.in_wall_time).astype(f"datetime64[{self.unit}]")
        return int(self.steps.locate(raw)[0][0])

    def stamps(self, ordinals) -> pd.Index:
        """Give the stamp of each ordinal, in the unit and the time zone of the frame.

        Raises
        ------
        FrameError: a stamp beyond what the unit can hold.

        """
        ordinals = np.asarray(ordinals, dtype="int64")
        if self.unit is not None and self.freq != STEPS and ordinals.size:
            self._check_room(ordinals)
        counts = self.steps.stamps(ordinals)
        if not self.in_wall_time:
            return self._index(counts)
        index = pd.DatetimeIndex(counts.view(f"datetime64[{self.unit}]"))
        # Where the clocks change at midnight, local midnight may not exist or come twice: the first moment of the day.
        return index.tz_localize(self.zone, nonexistent="shift_forward", ambiguous=np.ones(len(index), dtype=bool))

    def stamp(self, ordinal: int):
        """Give the stamp of one ordinal: a Timestamp, or an int on an integer axis."""
        stamp = self.stamps([ordinal])[0]
        return int(stamp) if self.unit is None else stamp

    def with_stamps(self, stamps: pd.Index) -> "Calendar":
        """Give a calendar without a rule that goes on with stamps of the frame; any other one is given as it is.

        Those that come before its last step are not taken in: every ordinal keeps its stamp.
        """
        if not isinstance(self.steps, Listed):
            return self
        raw = raw_stamps(stamps).view("int64")
        new = np.unique(raw[raw > self.steps.known[-1]])
        return replace(self, steps=replace(self.steps, known=np.concatenate([self.steps.known, new])))

    def after(self, stamps: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Give what lies so many steps after stamps, or before them; stamps are int64 in absolute time."""
        ordinals = self.locate(self._index(stamps))[0] + steps
        return raw_stamps(self.stamps(ordinals)).view("int64")

    def _check_room(self, ordinals: np.ndarray) -> None:
        """Raise if the stamp of one of these is beyond what its unit can hold, or so near that counting goes beyond."""
        phase = self.steps.phase if isinstance(self.steps, Ticks) else 0
        most = np.iinfo("int64").max - 8 * DAY // NANOSECONDS[self.unit] - phase
        first, last = self.steps.locate(np.array([-most, most]).view(f"datetime64[{self.unit}]"))[0]
        wrong = (ordinals <= first) | (ordinals > last)
        if wrong.any():
            raise FrameError(
                f"{int(wrong.sum())} steps of frequency {self.freq!r} go beyond what stamps in {self.unit} can hold: "
                "convert them to a coarser unit, with .dt.as_unit('s')"
            )

    def _index(self, raw: np.ndarray) -> pd.Index:
        """Give int64 numbers in absolute time as stamps."""
        if self.unit is None:
            return pd.Index(raw)
        index = pd.DatetimeIndex(raw.view(f"datetime64[{self.unit}]"))
        return index if self.zone is None else index.tz_localize("UTC").tz_convert(self.zone)


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
    return Calendar(freq=str(step), steps=Ticks(step, phase % step), unit=None, zone=None, season_length=1)


def calendar_of(freq: str | int, stamp: pd.Timestamp) -> Calendar:
    """Give the calendar of a frequency; unit, zone, time of day and what `freq` leaves open are those of a stamp."""
    parts = parse_freq(freq)
    raw = _raw_stamp(stamp, in_wall_time=parts.unit not in NANOSECONDS)
    if parts.size:
        steps, season, parts = _months(parts, raw)
    elif parts.unit == "B":
        steps, season = BusinessDays(stamp.unit, _time_of_day(raw)), 5
    elif parts.unit in ("SMS", "SME"):
        day = int(parts.anchor or 15)
        parts, days = parts._replace(anchor=str(day)), (1, day) if parts.unit == "SMS" else (day, 31)
        steps, season = HalfMonths(*days, stamp.unit, _time_of_day(raw)), 24
    else:
        steps, season, parts = _ticks(parts, raw)
    return Calendar(str(parts), steps, stamp.unit, stamp.tz, season)


def _months(freq: Frequency, stamp: np.ndarray) -> tuple[Months, int, Frequency]:
    """Give steps, season and frequency where it counts months; without an anchor the stamp sets it."""
    size, at_end = freq.size or "M", freq.unit[-1] == "E"
    length = freq.count * MONTHS[size]
    clock, unit = _time_of_day(stamp), np.datetime_data(stamp.dtype)[0]
    if freq.anchor:
        month = MONTH_NAMES.index(freq.anchor)
    else:  # a stamp before the day of its month belongs to the month before
        month = int(Months(1, 0, _day(freq), freq.unit[0] == "B", unit, clock).locate(stamp)[0][0]) % 12
    if size == "Y":
        freq = freq._replace(anchor=MONTH_NAMES[month])
    elif size == "Q":  # named by a first month (QS-JAN) or by the last month of the year (QE-DEC)
        freq = freq._replace(anchor=MONTH_NAMES[month % 3 + (9 if at_end else 0)])
    steps = Months(length, month % length, _day(freq), freq.unit[0] == "B", unit, clock)
    return steps, 12 // length if 12 % length == 0 else 1, freq


def _day(freq: Frequency) -> int:
    return 31 if freq.unit[-1] == "E" else 1 + freq.later


def _ticks(freq: Frequency, stamp: np.ndarray) -> tuple[Ticks, int, Frequency]:
    """Give steps, season and frequency where steps have one length; without an anchor the stamp sets it."""
    count, unit = freq.count, freq.unit
    nanoseconds = count * (NANOSECONDS.get(unit) or (7 * DAY if unit == "W" else DAY))
    resolution = NANOSECONDS[np.datetime_data(stamp.dtype)[0]]
    length, rest = divmod(nanoseconds, resolution)
    if length > np.iinfo("int64").max:
        raise ValueError(f"`freq` {str(freq)!r} is longer than stamps with a resolution of {resolution} ns can hold")
    if length == 0 or rest:
        raise ValueError(f"`freq` {str(freq)!r} is no multiple of {resolution} ns, the resolution of the stamps")
    phase = int(stamp.view("int64")[0])
    per_day, rest = divmod(DAY, nanoseconds)
    season = per_day if rest == 0 and 1 < per_day <= 1440 else 1
    if unit == "D":
        season = 7 if count == 1 else 1
    elif unit == "W":
        season = 52 if count == 1 else 1
        weekday = (phase * resolution - _MONDAY) // DAY % 7
        anchor = freq.anchor or DAY_NAMES[weekday]
        freq = freq._replace(anchor=anchor)
        phase += (DAY_NAMES.index(anchor) - weekday) * DAY // resolution
    return Ticks(length, phase % length), season, freq


def _time_of_day(stamp: np.ndarray) -> int:
    """Give what a stamp is past midnight, in its own unit."""
    return int((stamp - stamp.astype("datetime64[D]")).view("int64")[0])
