"""What the hyper-parameters of any backbone or decoder may be, checked when a config is made."""

from dataclasses import fields


class Hyperparameters:
    """A config whose whole numbers are 1 or more and whose `dropout` lies in [0, 1); what is not raises ValueError."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type] (subclasses are dataclasses)
            value, place = getattr(self, field.name), f"`{field.name}` of {type(self).__name__}"
            if field.type in (int, "int") and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise ValueError(f"{place} is {value!r}; allowed: a whole number of 1 or more")
            if field.name == "dropout" and (not isinstance(value, int | float) or not 0 <= value < 1):
                raise ValueError(f"{place} is {value!r}; allowed: a number from 0 to below 1")
