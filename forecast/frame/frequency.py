"""What a frequency is called, and reading one off the stamps of a series."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
DAY = 24 * NANOSECONDS["h"]
MONTH_NAMES = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
DAY_NAMES = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
STEPS = "steps"  # no rule: the stamps of all series together are the calendar
MONTHS = {"M": 1, "Q": 3, "Y": 12}  # in a step of units such as MS, BQE
_MONTHLY = [f"{weekdays}{size}{side}" for weekdays in ("", "B") for size in MONTHS for side in "SE"]
_UNITS = {*NANOSECONDS, "D", "B", "W", *_MONTHLY, "SMS", "SME"}
# pandas 3 refuses the spellings on the left; data cards and older programs still use them.
_OLD_SPELLINGS = {"H": "h", "T": "min", "S": "s", "L": "ms", "U": "us", "N": "ns", "d": "D", "b": "B", "w": "W"}
_OLD_SPELLINGS |= {"M": "ME", "Q": "QE", "A": "YE", "Y": "YE", "AS": "YS", "SM": "SME"}
_OLD_SPELLINGS |= {"BM": "BME", "BQ": "BQE", "BA": "BYE", "BY": "BYE", "BAS": "BYS"}
_ALLOWED = (
    "a whole number before one of ns us ms s min h D W MS ME QS QE YS YE BMS BME BQS BQE BYS BYE, such as 'h', "
    "'15min', 'W-MON', 'QS-FEB', and 'MS+14D' for day 15 of a month; B, SMS and SME, without a number; 'steps' for "
    "rows that follow one another whatever the clock says"
)


class Frequency(NamedTuple):
    """A frequency in its parts: `"2QS-FEB+14D"` is `(2, "QS", "FEB", 14)`.

    `anchor` is a weekday of W, a month of Q and Y, a day of the month of SMS and SME; `later` counts days after the
    first of the month, and stays in the month: `+30D` would be its last day.
    """

    count: int
    unit: str
    anchor: str | None = None
    later: int = 0

    def __str__(self) -> str:
        anchor, later = f"-{self.anchor}" if self.anchor else "", f"+{self.later}D" if self.later else ""
        return f"{self.count if self.count > 1 else ''}{self.unit}{anchor}{later}"

    @property
    def size(self) -> str | None:
        """`"M"`, `"Q"` or `"Y"` for a unit that counts whole months, else None."""
        return self.unit[-2] if self.unit in _MONTHLY else None

    def of_starts(self) -> "Frequency":
        """Give the frequency of the days on which the periods of this one begin: `"QE-DEC"` -> `"QS-JAN"`."""
        names = DAY_NAMES if self.unit == "W" else MONTH_NAMES
        if self.unit != "W" and (self.size is None or self.unit[-1] == "S"):
            return self
        anchor = self.anchor and names[(names.index(self.anchor) + 1) % len(names)]
        return self._replace(unit=self.unit if self.unit == "W" else f"{self.unit[:-1]}S", anchor=anchor)


def parse_freq(freq: object) -> Frequency:
    """Split a frequency, old or new spelling, into its parts.

    Raises
    ------
    ValueError: what is no frequency.

    """
    parts = r"(\d*)([A-Za-z]+)(?:-([A-Za-z]{3}|\d{1,2}))?(?:\+(\d{1,2})[Dd])?"
    if isinstance(freq, str) and (match := re.fullmatch(parts, freq.strip())):
        unit = _OLD_SPELLINGS.get(match[2], match[2])
        found = Frequency(int(match[1] or 1), unit, match[3] and match[3].upper(), int(match[4] or 0))
        if unit in _UNITS and _is_allowed(found):
            return found
    came = getattr(freq, "freqstr", None)
    raise ValueError(f"`freq` is {freq!r}; {f'give the text {came!r}; ' if came else ''}allowed: {_ALLOWED}")


def _is_allowed(freq: Frequency) -> bool:
    """Tell whether the parts go together; the unit is one of those that there are."""
    anchors: list[str | None] = [None]
    if freq.unit == "W":
        anchors += DAY_NAMES
    elif freq.size in ("Q", "Y"):
        anchors += MONTH_NAMES
    elif freq.unit in ("SMS", "SME"):
        anchors += [str(day) for day in range(2, 28)]
    single = freq.unit in ("B", "SMS", "SME")
    later = freq.later <= 29 if freq.unit in ("MS", "QS", "YS") else freq.later == 0
    return freq.anchor in anchors and later and 0 < freq.count <= (1 if single else 10**9)


def infer_step(counts: np.ndarray) -> int | None:
    """Give the most frequent forward distance between neighbours (the smallest of several); None if there is none."""
    distances = np.diff(counts)
    steps, times = np.unique(distances[distances > 0], return_counts=True)
    return int(steps[times.argmax()]) if len(steps) else None


def infer_freq(stamps: pd.DatetimeIndex) -> str | None:
    """Read the frequency off the stamps of one series in time order, by its most frequent distance; None if unclear."""
    step, resolution = infer_step(stamps.asi8), NANOSECONDS[stamps.unit]
    if step is None:
        return None
    wall = stamps.tz_localize(None)
    days, rest = divmod((infer_step(wall.asi8) or step) * resolution, DAY)
    if rest:  # not days on the clock on the wall, so counted in absolute time
        step *= resolution
        unit = next(unit for unit in reversed(NANOSECONDS) if step % NANOSECONDS[unit] == 0)
        return str(Frequency(step // NANOSECONDS[unit], unit))
    if days == 1:
        weekend = np.diff(wall.asi8) == 3 * DAY // resolution
        return "B" if weekend.any() and bool((wall.day_of_week < 5).all()) else "D"
    found = _infer_half_months(wall) if days < 28 else _infer_months(wall)
    return str(found or (Frequency(days // 7, "W") if days % 7 == 0 else Frequency(days, "D")))


def _infer_months(wall: pd.DatetimeIndex) -> Frequency | None:
    """Give the frequency of stamps that are all on the same day of their months."""
    months = infer_step(np.asarray(wall.year * 12 + wall.month))
    if months is None:
        return None
    day = np.asarray(wall.day)
    latest = int(day.max())
    weekday, left = wall.day_of_week, wall.days_in_month - day
    sides = {  # the first that holds; the last of the weekdays is Friday
        "S": day == 1,
        "E": left == 0,
        f"S+{latest - 1}D": day == np.minimum(latest, wall.days_in_month),
        "BS": (weekday < 5) & ((day == 1) | ((weekday == 0) & (day <= 3))),
        "BE": (weekday < 5) & ((left == 0) | ((weekday == 4) & (left <= 2))),
    }
    side = next((side for side, holds in sides.items() if holds.all()), None)
    if side is None:
        return None
    size = next(size for size in reversed(MONTHS) if months % MONTHS[size] == 0)
    unit = f"B{size}{side[1:]}" if side[0] == "B" else f"{size}{side}"
    return parse_freq(f"{months // MONTHS[size]}{unit}")


def _infer_half_months(wall: pd.DatetimeIndex) -> Frequency | None:
    """Give the frequency of stamps on two days of their months, of which one is the first or the last."""
    if len(np.unique(np.diff(wall.asi8))) == 1:  # such as two weeks
        return None
    days = np.unique(np.where(wall.is_month_end, 31, wall.day))
    if len(days) != 2:
        return None
    early, late = (int(day) for day in days)
    if early == 1 and late <= 27:
        return Frequency(1, "SMS", str(late))
    return Frequency(1, "SME", str(early)) if early > 1 and late == 31 else None
