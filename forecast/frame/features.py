"""Calendar features: what clock and calendar say of a stamp, as numbers that are known for every future step.

What comes again (the hour of the day, the day of the year) is a pair of sine and cosine, so that its end lies beside
its beginning; a weekend or a holiday is 1 where it is one, 0 elsewhere. All in the local time of the data. F features.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.calendar import Calendar
from forecast.frame.rows import FrameError

_DAY = 24 * 3600.0
_HOLIDAYS = "holidays:"


def _clock(stamps: pd.DatetimeIndex) -> np.ndarray:
    """Give the seconds since midnight on the clock on the wall."""
    return np.asarray(stamps.hour * 3600 + stamps.minute * 60 + stamps.second + stamps.microsecond / 1e6)


def _yearday(stamps: pd.DatetimeIndex) -> np.ndarray:
    return np.asarray((stamps.day_of_year - 1) / np.where(stamps.is_leap_year, 366, 365))


def _week(stamps: pd.DatetimeIndex) -> np.ndarray:
    date = stamps.isocalendar()
    year = (date["year"].to_numpy(dtype="int64") - 1970).astype("datetime64[Y]")
    last = pd.DatetimeIndex((year + 1).astype("datetime64[D]") - 4)  # December 28, always in the last week of its year
    weeks = last.isocalendar()["week"].to_numpy(dtype="float64")
    return (date["week"].to_numpy(dtype="float64") - 1) / weeks


# How much of its cycle has gone by at each stamp, from 0 to 1.
_CYCLES: dict[str, Callable[[Any], np.ndarray]] = {
    "minute": lambda stamps: _clock(stamps) % 3600 / 3600,
    "hour": lambda stamps: _clock(stamps) / _DAY,
    "weekday": lambda stamps: np.asarray(stamps.day_of_week / 7),
    "monthday": lambda stamps: np.asarray((stamps.day - 1) / stamps.days_in_month),
    "month": lambda stamps: np.asarray((stamps.month - 1) / 12),
    "yearday": _yearday,
    "week": _week,
    "quarter": lambda stamps: np.asarray((stamps.quarter - 1) / 4),
}
_ALLOWED = f"{', '.join(_CYCLES)}, weekend, {_HOLIDAYS}US or another country, {_HOLIDAYS}US-CA or another part of one"

# What varies at steps of so many days at least, but fewer than those of the next line.
_AUTO = [
    (0.0, ("minute", "hour", "weekday", "yearday")),
    (1 / 24, ("hour", "weekday", "yearday")),
    (1.0, ("weekday", "monthday", "yearday")),
    (7.0, ("yearday",)),
    (28.0, ("month",)),
    (89.0, ("quarter",)),
    (360.0, ()),
]
_STEPS = 12  # to measure one by: a year of months, of which some are short


def feature_names(calendar: Calendar, asked: str | Sequence[str] | None) -> tuple[str, ...]:
    """Give the names of the calendar features that were asked for, once they are known to be there.

    Parameters
    ----------
    calendar: that of the data.
    asked: names, such as `("hour", "weekday", "holidays:DE")`; "auto": those that vary at the frequency of the data (of
        hours: hour, weekday, yearday; none on an axis of integers); None for none.

        - periodic, a pair of numbers each: `minute` of the hour, `hour` of the day (with its minutes), `weekday`,
          `monthday`, `month` of the year, `yearday`, `week` of the ISO year, `quarter` of the year;
        - 1 or 0: `weekend` (Saturday and Sunday), `holidays:US`, `holidays:US-CA` (public holidays of a country, or
          also of a part of it, by their ISO 3166 codes; needs the extra `calendar`).

    Raises
    ------
    TypeError: one text other than "auto".
    ValueError: an unknown name, or one that comes twice; names for an axis of integers, which have no date.
    ModuleNotFoundError: holidays are asked for, and the library that knows them is not installed.

    """
    if asked is None:
        return ()
    if isinstance(asked, str):
        if asked == "auto":
            return _auto(calendar)
        raise TypeError(f"`calendar` is the text {asked!r}; allowed: 'auto', or several names, as in ({asked!r},)")
    names = tuple(asked)
    if names and calendar.unit is None:
        raise ValueError(
            f"`calendar` asks for {names[0]!r}, but the time axis counts integers, which have no date: give "
            "timestamps, or leave it out"
        )
    for at, name in enumerate(names):
        if not isinstance(name, str) or (name not in (*_CYCLES, "weekend") and not name.startswith(_HOLIDAYS)):
            raise ValueError(f"`calendar` asks for {name!r}; allowed: {_ALLOWED}")
        if name in names[:at]:
            raise ValueError(f"`calendar` asks for {name!r} twice; allowed: each once")
        if name.startswith(_HOLIDAYS):
            _holidays(name, [])
    return names


def calendar_features(calendar: Calendar, names: Sequence[str], ordinals: np.ndarray) -> np.ndarray:
    """Give the features at ordinals, (..., F) float32 for ordinals of shape (...); a periodic one is two columns.

    Parameters
    ----------
    calendar: that of the data, in whose local time hours and days are told.
    names: from `feature_names`.
    ordinals: steps of the calendar, in any order and repeated at will; may be none, to learn F. NaN for those before
        the first stamp of a calendar without a rule (`freq="steps"`).

    Raises
    ------
    FrameError: a step after the last stamp of such a calendar, where nothing tells its stamp.

    """
    ordinals = np.asarray(ordinals)
    unique, places = np.unique(ordinals.ravel(), return_inverse=True)
    # Of no features the stamps need not be there. pandas' types do not know the clock of an index.
    stamps: Any = calendar.stamps(unique if names else unique[:0])
    there = np.asarray(stamps.notna())
    if names and not there[unique >= 0].all():
        raise FrameError(
            f"calendar features ({', '.join(names)}) need the stamp of every step; frequency {calendar.freq!r} does "
            f"not say that of {int((~there).sum())} steps. Give known columns for them in `future`, or ask for no "
            "features"
        )
    stamps, columns = stamps[there], []
    for name in names:
        if name in _CYCLES:
            angle = 2 * np.pi * _CYCLES[name](stamps)
            columns += [np.sin(angle), np.cos(angle)]
        elif name == "weekend":
            columns.append(np.asarray(stamps.day_of_week >= 5))
        else:
            columns.append(_are_holidays(name, stamps))
    features = np.full((len(unique), len(columns)), np.nan, dtype="float32")
    for at, column in enumerate(columns):
        features[there, at] = column
    return features[places.ravel()].reshape(*ordinals.shape, len(columns))


def _auto(calendar: Calendar) -> tuple[str, ...]:
    if calendar.unit is None:
        return ()
    days = 0.0
    for steps in (1, _STEPS):
        stamps = calendar.stamps(np.arange(steps + 1)).dropna()
        days = (stamps[-1] - stamps[0]) / pd.Timedelta(days=max(1, len(stamps) - 1))
        if days >= _AUTO[-1][0]:  # many steps could lead beyond what a stamp can be
            break
    return next(names for least, names in reversed(_AUTO) if days >= least)


def _are_holidays(name: str, stamps: Any) -> np.ndarray:
    """Tell for each stamp whether its day is a holiday."""
    days = stamps.tz_localize(None).to_numpy().astype("datetime64[D]")
    years = np.unique(stamps.year)
    # Those around too: a holiday that falls on a weekend may be kept in the year before or after.
    return np.isin(days, _holidays(name, np.unique([years - 1, years, years + 1]).tolist()))


def _holidays(name: str, years: list[int]) -> np.ndarray:
    """Give the days of so many years that are holidays somewhere."""
    try:
        import holidays
    except ModuleNotFoundError as error:
        if error.name != "holidays":
            raise
        raise ModuleNotFoundError(
            f"`calendar` asks for {name!r}, and the library `holidays` is not installed: pip install "
            "'foretell[calendar]'",
            name="holidays",
        ) from error
    country, _, part = name.removeprefix(_HOLIDAYS).partition("-")
    try:
        days = holidays.country_holidays(country, subdiv=part or None, years=years, expand=False)
    except NotImplementedError as error:
        raise ValueError(f"`calendar` asks for {name!r}: {error}; allowed: {_ALLOWED}") from error
    return np.array(sorted(days), dtype="datetime64[D]")
