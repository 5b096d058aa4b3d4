"""The space of a search: for each parameter the values that it may have, and draws from them.

A parameter is named as `set_params` names it, `backbone__width`, or by its last part where that is enough: `width` is
looked for among the arguments of the forecaster, then in its backbone, its training, its decoder. A forecaster that has
no such parameter is searched in the others.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from forecast.experiment.regimes.networks import changed, network_in
from forecast.forecaster import Forecaster

_OWNERS = ("", "backbone__", "training__", "decoder__")
_DRAWS = 1000  # until one is found whose values go together


@dataclass(frozen=True)
class Choices:
    """One of some values, each as likely as the others."""

    values: tuple[Any, ...]

    def at(self, place: float) -> Any:
        """Give the value at a place in [0, 1)."""
        return self.values[int(place * len(self.values))]

    def ends(self) -> tuple[Any, ...]:
        """Give values to try whether the space is allowed: all."""
        return self.values

    def plain(self) -> list[Any]:
        """Give it as a config has it."""
        return list(self.values)


@dataclass(frozen=True)
class Range:
    """A number between two, uniform, or uniform in its logarithm; whole where both ends are."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether its numbers are."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def at(self, place: float) -> float:
        """Give the number at a place in [0, 1)."""
        low, high = self.low, self.high + self.whole
        number = low * (high / low) ** place if self.log else low + place * (high - low)
        return math.floor(number) if self.whole else min(max(float(f"{number:.4g}"), self.low), self.high)

    def ends(self) -> tuple[float, ...]:
        """Give values to try whether the space is allowed."""
        return self.low, self.high

    def plain(self) -> dict[str, Any]:
        """Give it as a config has it."""
        return {"low": self.low, "high": self.high, "log": self.log}


Space = dict[str, Choices | Range]


def read_space(given: Mapping[str, Any]) -> Space:
    """Read a space: lists of values, and ranges `{low: 0.0001, high: 0.01, log: true}`.

    Raises ValueError, which begins with `space`.
    """
    if not given:
        raise ValueError("`space` is empty; allowed: parameters with a list of values, or a range, for each")
    return {name: _dimension(name, one) for name, one in given.items()}


def names_in(space: Space, forecaster: Forecaster) -> dict[str, str]:
    """Give of each name in a space that a forecaster has the name in full; of one that it has not, nothing."""
    held = network_in(forecaster)
    prefixes = dict.fromkeys(("", held.prefix if held else ""))
    known = forecaster.get_params(deep=True)
    full = {name: [f"{prefix}{owner}{name}" for prefix in prefixes for owner in _OWNERS] for name in space}
    found = {name: next((one for one in several if one in known), None) for name, several in full.items()}
    return {name: one for name, one in found.items() if one is not None}


def check_space(space: Space, forecasters: Mapping[str, Forecaster]) -> None:
    """Refuse a name that no forecaster has, and a value that one of them refuses. Raises ValueError."""
    names = {label: names_in(space, forecaster) for label, forecaster in forecasters.items()}
    for name, dimension in space.items():
        having = [label for label in names if name in names[label]]
        if not having:
            raise ValueError(
                f"`space` holds {name!r}, a parameter that no forecaster of this experiment has; allowed: names of "
                "parameters, such as learning_rate, width, dropout, or backbone__depth"
            )
        for label in having:
            for value in dimension.ends():
                try:
                    changed(forecasters[label], {names[label][name]: value})
                except ValueError as error:
                    raise ValueError(
                        f"`space`: {name} may be {value!r}, which {label!r} refuses: {error}. Give values that all "
                        "forecasters take"
                    ) from error


def draw(space: Space, forecaster: Forecaster, seed: int, number: int) -> dict[str, Any]:
    """Give the parameters of a trial, drawn at random: by full name.

    Every number of a trial has draws of its own, the same for all forecasters as far as they have the parameter.
    Values that do not go together are drawn again. Raises ValueError where none do.
    """
    names = names_in(space, forecaster)
    for attempt in range(_DRAWS):
        places = {name: np.random.default_rng([seed, number, attempt, crc32(name.encode())]).random() for name in names}
        values = {names[name]: space[name].at(place) for name, place in places.items()}
        if goes_together(forecaster, values):
            return values
    raise ValueError(f"none of {_DRAWS} draws from the space go together: {forecaster!r} refuses them all")


def goes_together(forecaster: Forecaster, values: Mapping[str, Any]) -> bool:
    """Whether a forecaster takes parameters at once: heads, as an example, have to divide a width."""
    try:
        changed(forecaster, values)
    except ValueError:
        return False
    return True


def _dimension(name: str, given: Any) -> Choices | Range:
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given):
        return Choices(tuple(_number(one) for one in given))
    if isinstance(given, Mapping) and {"low", "high"} <= set(given) <= {"low", "high", "log"}:
        low, high, log = _number(given["low"]), _number(given["high"]), given.get("log", False)
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (low, high))
        if numbers and low < high < math.inf and (low > 0 or not log) and isinstance(log, bool):
            return Range(low, high, log)
    raise ValueError(
        f"`space`: {name} is {given!r}; allowed: a list of values, or {{low: 0.0001, high: 0.01, log: true}} with "
        "rising numbers, above 0 where `log` is true"
    )


def _number(value: Any) -> Any:
    """Give a number that YAML has read as text, such as 1e-3, as one."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value
