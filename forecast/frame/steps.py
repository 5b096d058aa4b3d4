"""Rules that count the steps of a time axis: one small class for each kind of frequency.

Each turns stamps into *ordinals*, which count steps from a fixed point, and back. Stamps are naive datetime64 arrays in
one unit, or integers on an integer axis; what comes back is int64 in that unit.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from forecast.frame.frequency import DAY, NANOSECONDS

_NOTHING = np.iinfo("int64").min  # how numpy and pandas write a missing time
_EPOCH_WEEKDAY = 3  # the epoch was a Thursday, and weeks begin on Monday


class Steps(Protocol):
    """How one kind of frequency counts."""

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the ordinal at or before each stamp, and whether the stamp lies exactly on the grid."""
        ...

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        """Give the stamp of each ordinal, as int64 in the unit of the stamps."""
        ...


@dataclass(frozen=True)
class Ticks:
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
class Months:
    """Steps of `count` months, each on one day of its month at `clock`; `phase` is the month at ordinal 0.

    The day is a number from 1 to 31, for the last day in months that are shorter. With `weekdays` it moves off a
    weekend: day 1 to the Monday after it, day 31 to the Friday before it.
    """

    count: int
    phase: int
    day: int
    weekdays: bool
    unit: str
    clock: int = 0

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        day, exact = _days(stamps, self.clock)
        month = day.astype("datetime64[M]")
        due = self._due(month)
        counts = month.astype("int64") - (day < due) - self.phase
        ordinals = counts // self.count
        return ordinals, exact & (day == due) & (ordinals * self.count == counts)

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        month = (ordinals * self.count + self.phase).astype("datetime64[M]")
        return _at_clock(self._due(month), self.unit, self.clock)

    def _due(self, month: np.ndarray) -> np.ndarray:
        due = day_of_month(month, self.day)
        return off_weekend(due, forward=self.day == 1) if self.weekdays else due


@dataclass(frozen=True)
class HalfMonths:
    """Two steps a month, on the days `early` and `late` (31 is the last one) at `clock`."""

    early: int
    late: int
    unit: str
    clock: int = 0

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        day, exact = _days(stamps, self.clock)
        month = day.astype("datetime64[M]")
        early, late = day_of_month(month, self.early), day_of_month(month, self.late)
        ordinals = month.astype("int64") * 2 - 1 + (day >= early) + (day >= late)
        return ordinals, exact & ((day == early) | (day == late))

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        month, half = np.divmod(ordinals, 2)
        month = month.astype("datetime64[M]")
        day = np.where(half == 1, day_of_month(month, self.late), day_of_month(month, self.early))
        return _at_clock(day, self.unit, self.clock)


@dataclass(frozen=True)
class BusinessDays:
    """Monday to Friday at the time of day `clock`, without holidays."""

    unit: str
    clock: int = 0

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        day, exact = _days(stamps, self.clock)
        week, weekday = np.divmod(day.view("int64") + _EPOCH_WEEKDAY, 7)
        return week * 5 + np.minimum(weekday, 4), exact & (weekday < 5)

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        week, weekday = np.divmod(ordinals, 5)
        return _at_clock((week * 7 + weekday - _EPOCH_WEEKDAY).astype("datetime64[D]"), self.unit, self.clock)


@dataclass(frozen=True)
class Weekly:
    """The same moments in every week: `slots` are their rising distances from Monday's midnight, in `unit`."""

    slots: tuple[int, ...]
    unit: str

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slots = np.array(self.slots)
        week, within = in_week(stamps.view("int64"), self.unit)
        place = np.searchsorted(slots, within, side="right") - 1
        return week * len(slots) + place, (place >= 0) & (slots[place] == within)

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        week, place = np.divmod(ordinals, len(self.slots))
        day = DAY // NANOSECONDS[self.unit]
        return (week * 7 - _EPOCH_WEEKDAY) * day + np.array(self.slots)[place]


@dataclass(frozen=True, eq=False)
class Listed:
    """Steps with no rule: the stamps `known`, in rising order, one after another.

    After the last one go those of the calendar `following`, where the stamps have one; without it they have none (NaT).
    """

    known: np.ndarray
    following: Any  # a Calendar or None; its module imports this one

    def locate(self, stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        stamps = stamps.view("int64")
        ordinals = np.searchsorted(self.known, stamps, side="right") - 1
        return ordinals, (ordinals >= 0) & (self.known[ordinals] == stamps)

    def stamps(self, ordinals: np.ndarray) -> np.ndarray:
        ends = np.clip(ordinals, 0, len(self.known) - 1)
        stamps, beyond = self.known[ends], ordinals != ends
        if beyond.any() and self.following is None:
            stamps[beyond] = _NOTHING
        elif beyond.any():
            stamps[beyond] = self.following.after(stamps[beyond], (ordinals - ends)[beyond])
        return stamps


def day_of_month(month: np.ndarray, day: int) -> np.ndarray:
    """Give a day of months (datetime64[M]), or their last one where they are shorter, as datetime64[D]."""
    first = month.astype("datetime64[D]")
    return first if day == 1 else np.minimum(first + (day - 1), (month + 1).astype("datetime64[D]") - 1)


def off_weekend(days: np.ndarray, forward: bool) -> np.ndarray:
    """Give days (datetime64[D]) with those on a weekend moved to the Monday after it, or the Friday before it."""
    past_friday = np.maximum((days.view("int64") + _EPOCH_WEEKDAY) % 7 - 4, 0)  # 1 on Saturday, 2 on Sunday
    return days + np.where(past_friday > 0, 3 - past_friday, 0) if forward else days - past_friday


def in_week(stamps: np.ndarray, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """Give the week, from Monday, of stamps that are int64 in a unit, and how far into it they are."""
    day = DAY // NANOSECONDS[unit]
    return np.divmod(stamps + _EPOCH_WEEKDAY * day, 7 * day)


def _days(stamps: np.ndarray, clock: int) -> tuple[np.ndarray, np.ndarray]:
    """Give the day that began at or before each stamp, days beginning at `clock`, and whether it began right then."""
    stamps = (stamps.view("int64") - clock).view(stamps.dtype)
    day = stamps.astype("datetime64[D]")
    return day, day.astype(stamps.dtype) == stamps


def _at_clock(days: np.ndarray, unit: str, clock: int) -> np.ndarray:
    """Give days (datetime64[D]) at a time of day, both in a unit."""
    return days.astype(f"datetime64[{unit}]").view("int64") + clock
