"""Distances in time as steps of a calendar: 24, or "7D" where seven days are whole steps."""

from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame import Calendar
from forecast.frame.frequency import NANOSECONDS
from forecast.params import check_positive


def plain_stride(stride: Any) -> int | str | None:
    """Give a stride as it is kept: a number of steps, or the text of a time delta; None as it is.

    Raises
    ------
    TypeError: neither a whole number nor a time delta.
    ValueError: a text that is no time delta; a stride of nothing, or backwards.

    """
    if stride is None:
        return None
    if not isinstance(stride, str | timedelta | np.timedelta64):
        check_positive(stride=stride)
        return stride
    try:
        delta = pd.Timedelta(stride)
    except ValueError as error:
        raise ValueError(
            f"`stride` is {stride!r}; allowed: a number of steps, or a time such as '7D', '12h'"
        ) from error
    if not delta > pd.Timedelta(0):
        raise ValueError(f"`stride` is {stride!r}; allowed: a number of steps, or a time such as '7D', of more than 0")
    return str(delta)


def steps_of(stride: int | str, calendar: Calendar, begin: int, end: int) -> int:
    """Give how many steps of a calendar a stride is, between two ordinals.

    Raises
    ------
    ValueError: a time delta that is not the same number of whole steps everywhere, or on an axis of integers.

    """
    if not isinstance(stride, str):
        return stride
    if calendar.unit is None:
        raise ValueError(f"`stride` is {stride!r}, and the time axis counts integers: give a number of steps")
    length, rest = divmod(pd.Timedelta(stride).value, NANOSECONDS[calendar.unit])
    ordinals = np.arange(begin, end + 1)
    # On the clock by which the calendar counts: seven days are seven steps of a day also where the clocks change.
    raw = calendar.steps.stamps(ordinals) + length
    later, exact = calendar.steps.locate(raw.view(f"datetime64[{calendar.unit}]"))
    inside = later <= end if (later <= end).any() else ordinals == begin
    steps = (later - ordinals)[inside]
    if rest or not exact[inside].all() or (steps != steps[0]).any():
        raise ValueError(
            f"`stride` is {stride!r}, which is not the same number of steps of freq {calendar.freq!r} everywhere: "
            "give a number of steps"
        )
    return int(steps[0])
