"""The arguments of a constructor, stored under their own names: checked, read, set and spelled out.

These are the manners of scikit-learn, whose `clone` and searches work with them, without importing it.
"""

import inspect
from collections.abc import Mapping
from copy import copy
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
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


def check_kind(kind: type, allowed: str, **arguments) -> None:
    """Refuse arguments that are of another class, naming the first. Raises TypeError."""
    for name, value in arguments.items():
        if not isinstance(value, kind):
            raise TypeError(f"`{name}` is {value!r}; allowed: {allowed}")


def is_probability(value: Any) -> bool:
    """Whether a value is a number inside (0, 1)."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(0 < value < 1)


def check_seed(seed) -> None:
    """Refuse what seeds no generator.

    Raises
    ------
    ValueError: no whole number from 0 to below 2**64.

    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise ValueError(f"`seed` is {seed!r}; allowed: a whole number of 0 or more, below 2**64")


def plain_numbers(thing: object) -> None:
    """Set numpy's numbers among the arguments of a thing to Python's: of few bits, they would overflow in a sum."""
    for name, value in read(thing, deep=False).items():
        if isinstance(value, np.number) and not isinstance(value, np.timedelta64):  # a number of a unit
            object.__setattr__(thing, name, value.item())  # configs are frozen


def read(thing: object, deep: bool) -> dict[str, Any]:
    """Give the arguments of a thing; with `deep` also those of arguments that have some: `backbone__width`."""
    params = {name: getattr(thing, name) for name in inspect.signature(type(thing)).parameters}
    if not deep:
        return params
    inner = ((name, _inner(_config(thing, name, value))) for name, value in params.items())
    return params | {f"{name}__{key}": value for name, values in inner for key, value in values.items()}


def takes(thing: object, name: str) -> bool:
    """Whether a thing has an argument of its own or, where it wraps another, the other one has it."""
    inside = getattr(type(thing), "wraps", None)
    return name in read(thing, deep=False) or (inside is not None and takes(getattr(thing, inside), name))


def set_values(thing: object, values: Mapping[str, Any]) -> None:
    """Set arguments of a thing, `backbone__width` inside one of them; all of them or, if one is refused, none.

    An argument inside a backbone that is given by its name makes a config of it.

    Raises
    ------
    ValueError: an argument that it has not; what the config refuses.

    """
    values = _at_home(thing, values)
    own = {name: value for name, value in values.items() if "__" not in name}
    new = copy(thing)
    _check_known(thing, own, read(thing, deep=False))
    for name, value in own.items():
        setattr(new, name, value)
    _check_known(thing, values, read(new, deep=True))
    for name, inside in _by_owner(values).items():
        own[name] = _with(_config(new, name, getattr(new, name)), inside)
    for name, value in own.items():
        setattr(thing, name, value)


def _at_home(thing: object, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give values by where they belong: of a thing that wraps another, what it has not itself is the other's."""
    if (inside := getattr(type(thing), "wraps", None)) is None:
        return values
    own = inspect.signature(type(thing)).parameters
    others = {name: value for name, value in values.items() if name.partition("__")[0] not in own}
    there = _at_home(getattr(thing, inside), others)
    mine = {name: value for name, value in values.items() if name not in others}
    return mine | {f"{inside}__{name}": value for name, value in there.items()}


def _check_known(thing: object, values: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in values:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{type(thing).__name__} has no parameter {name!r}; it has {', '.join(known)}{hint}")


def _config(thing: object, name: str, value: Any) -> Any:
    """Give the config that an argument stands for where it is given by its name, else the argument as it is."""
    kind = getattr(type(thing), "configs", {}).get(name, {}).get(value) if isinstance(value, str) else None
    return value if kind is None else kind()


def _inner(value: Any) -> dict[str, Any]:
    """Give the arguments that an argument has itself: a config, or another forecaster."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return value.get_params(deep=True)
    if not is_config(value):
        return {}
    params = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    inner = ((name, _inner(one)) for name, one in params.items())
    return params | {f"{name}__{key}": one for name, values in inner for key, one in values.items()}


def _with(value: Any, inside: Mapping[str, Any]) -> Any:
    """Give a config with other arguments, set together: one alone may not go with what was there."""
    if hasattr(value, "set_params"):
        return copy(value).set_params(**inside)  # who else holds it keeps it as it is
    own = {name: one for name, one in inside.items() if "__" not in name}
    deeper = {name: _with(own.get(name, getattr(value, name)), one) for name, one in _by_owner(inside).items()}
    return replace(value, **own | deeper)


def _by_owner(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the values inside each argument: {"a__b": 1} as {"a": {"b": 1}}."""
    owners: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        owner, _, inner = name.partition("__")
        if inner:
            owners.setdefault(owner, {})[inner] = value
    return owners


def spelled(thing: object) -> str:
    """Give the call that makes a thing, without the arguments that are as by default."""
    given = [f"{name}={value}" for name, value, differs in told(thing) if differs]
    return f"{type(thing).__name__}({', '.join(given)})"


def told(thing: object) -> list[tuple[str, str, bool]]:
    """Give name and value of each argument as texts, and whether it is another than by default."""
    parameters = inspect.signature(type(thing)).parameters.values()
    values = [(one.name, getattr(thing, one.name), one.default) for one in parameters]
    return [(name, shown(value), _differs(value, default)) for name, value, default in values]


def shown(value) -> str:
    """Give a value's repr, or what it is where that takes lines, as of a frame."""
    text = repr(value)
    if "\n" not in text:
        return text
    size = f" of {len(value)} rows" if hasattr(value, "__len__") else ""
    return f"<{type(value).__name__}{size}>"


def is_config(value) -> bool:
    """Whether a value is made of named parts: a backbone, a decoder, how a network is trained."""
    return is_dataclass(value) and not isinstance(value, type)


def _differs(value, default) -> bool:
    return default is inspect.Parameter.empty or (value is not default and repr(value) != repr(default))
