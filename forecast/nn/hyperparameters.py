"""What the hyper-parameters of any backbone or decoder may be, checked when a config is made."""

from dataclasses import fields
from numbers import Number
from typing import Literal, get_args, get_origin


class Hyperparameters:
    """A config whose whole numbers are 1 or more, whose choices are among those named, whose switches are on
    or off and whose `dropout` lies in [0, 1); what is not raises ValueError.
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type] (subclasses are dataclasses)
            value, place = getattr(self, field.name), f"`{field.name}` of {type(self).__name__}"
            if isinstance(value, Number) and (item := getattr(value, "item", None)):  # of numpy
                value = item()
                object.__setattr__(self, field.name, value)
            if not _is_one(value, field.type):
                or_none = ", or None" if field.type == int | None else ""
                raise ValueError(f"{place} is {value!r}; allowed: a whole number of 1 or more{or_none}")
            if field.type is bool and not isinstance(value, bool):
                raise ValueError(f"{place} is {value!r}; allowed: True or False")
            if get_origin(field.type) is Literal and value not in get_args(field.type):
                raise ValueError(f"{place} is {value!r}; allowed: {', '.join(map(repr, get_args(field.type)))}")
            if field.name == "dropout" and (not isinstance(value, int | float) or not 0 <= value < 1):
                raise ValueError(f"{place} is {value!r}; allowed: a number from 0 to below 1")


def _is_one(value, kind) -> bool:
    """Whether a value is a whole number of 1 or more, if such a number is asked for."""
    if kind not in (int, int | None) or (value is None and kind is not int):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
