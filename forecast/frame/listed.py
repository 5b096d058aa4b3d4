"""The calendar of what follows no frequency: the stamps themselves, and what most likely comes after them."""

import numpy as np
import pandas as pd

from forecast.frame.calendar import Calendar, calendar_of, integer_calendar, raw_stamps
from forecast.frame.frequency import DAY, NANOSECONDS, STEPS, infer_freq, infer_step
from forecast.frame.steps import Listed, Weekly, in_week

_MOST = 0.8  # of the stamps, that a rule has to tell to be believed for those to come


def listed_calendar(stamps: pd.Index) -> Calendar:
    """Give the calendar of which stamps in rising order are the steps, whatever lies between them.

    Later steps have the stamps of a rule that tells most of those that are known: the moments of the week at which
    there mostly is one, or else a frequency; no stamp (NaT) where there is no such rule. Integers go on by their most
    frequent distance.
    """
    known = raw_stamps(stamps).view("int64")
    if not isinstance(stamps, pd.DatetimeIndex):
        following = integer_calendar(infer_step(known) or 1, int(known[0]))
        return Calendar(STEPS, Listed(known, following), None, None, season_length=1)
    rule = _weekly(stamps) or _regular(stamps)
    return Calendar(STEPS, Listed(known, rule), stamps.unit, stamps.tz, rule.season_length if rule else 1)


def _weekly(stamps: pd.DatetimeIndex) -> Calendar | None:
    """Give the calendar of the moments of a week that most stamps have; None where there is no such pattern.

    It is read off the last year, and takes two weeks. Its season is the day if that has several moments, else the week.
    """
    unit, year = stamps.unit, 52 * 7 * DAY // NANOSECONDS[stamps.unit]
    wall = raw_stamps(stamps, in_wall_time=True).view("int64")
    wall = wall[wall > wall[-1] - year]
    week, within = in_week(wall, unit)
    if wall[-1] - wall[0] < year // 26:
        return None
    slots, times = np.unique(within, return_counts=True)
    slots = slots[times * 2 >= week[-1] - week[0] + 1]
    if not len(slots):
        return None
    rule = Weekly(tuple(slots.tolist()), unit)
    places, exact = rule.locate(wall)
    if exact.sum() < _MOST * max(len(wall), places[-1] - places[0] + 1):
        return None
    days = len(np.unique(slots // (DAY // NANOSECONDS[unit])))
    return Calendar("weekly", rule, unit, stamps.tz, len(slots) // days if len(slots) > days else len(slots))


def _regular(stamps: pd.DatetimeIndex) -> Calendar | None:
    """Give the calendar of the frequency that tells most stamps; None where there is none."""
    freq = infer_freq(stamps)
    if freq is None:
        return None
    rule = calendar_of(freq, stamps.to_list()[-1])
    ordinals, exact = rule.locate(stamps)
    return rule if exact.all() and len(stamps) >= _MOST * (ordinals[-1] - ordinals[0] + 1) else None
