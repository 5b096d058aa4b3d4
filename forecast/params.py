"""The arguments of a constructor, stored under their own names: checked, read, set and spelled out.

These are the manners of scikit-learn, whose `clone` and searches work with them, without importing it.
"""

import inspect
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np


def check_positive(**arguments) -> None:
    """Refuse arguments that are not whole numbers of 1 or more, naming the first.

    Raises
    ------
    TypeError: no whole number.
    ValueError: less than 1.

    """
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"`{name}` is {value!r}; allowed: a whole number of 1 or more")
        if value < 1:
            raise ValueError(f"`{name}` is {value!r}; allowed: a whole number of 1 or more")


def read(thing: object, deep: bool) -> dict[str, Any]:
    """Give the arguments of a thing; with `deep` also those of arguments that have some: `backbone__width`."""
    params = {name: getattr(thing, name) for name in inspect.signature(type(thing)).parameters}
    if deep:
        for name, value in list(params.items()):
            if is_dataclass(value) and not isinstance(value, type):
                params |= {f"{name}__{key}": inner for key, inner in vars(value).items()}
    return params


def set_values(thing: object, values: Mapping[str, Any]) -> None:
    """Set arguments of a thing, `backbone__width` inside one of them. Raises ValueError for one that it has not."""
    known = read(thing, deep=True)
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{type(thing).__name__} has no parameter {name!r}; it has {', '.join(known)}")
        owner, _, inner = name.partition("__")
        setattr(thing, owner, replace(getattr(thing, owner), **{inner: value}) if inner else value)


def spelled(thing: object) -> str:
    """Give the call that makes a thing, without the arguments that are as by default."""
    parameters = inspect.signature(type(thing)).parameters.values()
    values = [(one.name, getattr(thing, one.name), one.default) for one in parameters]
    told = [f"{name}={_shown(value)}" for name, value, default in values if _differs(value, default)]
    return f"{type(thing).__name__}({', '.join(told)})"


def _differs(value, default) -> bool:
    return default is inspect.Parameter.empty or (value is not default and repr(value) != repr(default))


def _shown(value) -> str:
    """Give a value's repr, or what it is where that takes lines, as of a frame."""
    text = repr(value)
    return f"<{type(value).__name__} of {len(value)} rows>" if "\n" in text else text
