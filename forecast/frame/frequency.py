"""What a frequency is called, and reading one off the stamps of a series."""

import re

import numpy as np
import pandas as pd

NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
DAY = 24 * NANOSECONDS["h"]
MONTH_NAMES = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
DAY_NAMES = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
_UNITS = {*NANOSECONDS, "D", "B", "W", "MS", "ME", "QS", "QE", "YS", "YE"}
# pandas 3 refuses the spellings on the left; data cards and older programs still use them.
_OLD_SPELLINGS = {"H": "h", "T": "min", "S": "s", "L": "ms", "U": "us", "N": "ns", "d": "D", "b": "B", "w": "W"}
_OLD_SPELLINGS |= {"M": "ME", "Q": "QE", "A": "YE", "Y": "YE", "AS": "YS"}
_ALLOWED = (
    "a whole number before one of ns us ms s min h D B W MS ME QS QE YS YE, such as 'h', '15min', 'W-MON', 'QS-FEB'; "
    "B only without a number"
)


def parse_freq(freq: object) -> tuple[int, str, str | None]:
    """Split a frequency, old or new spelling, into multiple, unit and anchor: `"2W-MON"` -> `(2, "W", "MON")`."""
    match = re.fullmatch(r"(\d*)([A-Za-z]+)(?:-([A-Za-z]{3}))?", freq.strip()) if isinstance(freq, str) else None
    if match:
        count, unit, anchor = int(match[1] or 1), match[2], match[3] and match[3].upper()
        unit = _OLD_SPELLINGS.get(unit, unit)
        anchors = DAY_NAMES if unit == "W" else MONTH_NAMES if unit[0] in "QY" else []
        if unit in _UNITS and count > 0 and (anchor is None or anchor in anchors) and (unit != "B" or count == 1):
            return count, unit, anchor
    raise ValueError(f"`freq` is {freq!r}; allowed: {_ALLOWED}")


def spell(count: int, unit: str, anchor: str | None = None) -> str:
    """Put a frequency together again, as pandas spells it today."""
    return f"{count if count > 1 else ''}{unit}{f'-{anchor}' if anchor else ''}"


def infer_step(counts: np.ndarray) -> int | None:
    """Give the most frequent forward distance between neighbours (the smallest of several); None if there is none."""
    distances = np.diff(counts)
    steps, times = np.unique(distances[distances > 0], return_counts=True)
    return int(steps[times.argmax()]) if len(steps) else None


def infer_freq(stamps: pd.DatetimeIndex) -> str | None:
    """Read the frequency off the stamps of one series in time order, by its most frequent distance; None if unclear."""
    step = infer_step(stamps.as_unit("ns").asi8)
    if step is None:
        return None
    wall = stamps.tz_localize(None).as_unit("ns")
    days, rest = divmod(infer_step(wall.asi8) or step, DAY)
    if rest:  # not days on the clock on the wall, so counted in absolute time
        unit = next(unit for unit in reversed(NANOSECONDS) if step % NANOSECONDS[unit] == 0)
        return spell(step // NANOSECONDS[unit], unit)
    if days == 1:
        weekend = np.diff(wall.asi8) == 3 * DAY
        return "B" if weekend.any() and bool((wall.day_of_week < 5).all()) else "D"
    if days >= 28 and (months := _infer_months(wall)):
        return months
    return spell(days // 7, "W") if days % 7 == 0 else spell(days, "D")


def _infer_months(wall: pd.DatetimeIndex) -> str | None:
    """Give the frequency of stamps that are all first days, or all last days, of their months."""
    side = "S" if (wall.day == 1).all() else "E" if wall.is_month_end.all() else None
    months = infer_step(np.asarray(wall.year * 12 + wall.month))
    if side is None or months is None:
        return None
    unit, size = next((unit, size) for unit, size in (("Y", 12), ("Q", 3), ("M", 1)) if months % size == 0)
    return spell(months // size, unit + side)
