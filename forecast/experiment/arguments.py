"""From plain mappings to objects: the constructor of a class is the schema of its part of a config.

`construct` checks keys and values against the constructor's signature and calls it, configs inside configs included;
`canonical` is the way back, with every default spelled out.
"""

import hashlib
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from forecast.experiment.faults import Fault, Field, nearest, unknown_key
from forecast.saving import class_name
from forecast.synthetic import PROCESSES, Process

_INVALID = object()  # stands for a value that has a fault


def construct(
    kind: type, given: Any, field: Field, faults: list[Fault], fixed: Mapping[str, Any], without: Mapping[str, str] = {}
) -> Any:
    """Give `kind(**given, **fixed)`, or add to `faults` what speaks against it and give None.

    `without` names parameters that may not be given, and says why.
    """
    if not isinstance(given, Mapping):
        faults.append(Fault(field, f"should be a mapping of arguments of {kind.__name__}; got {given!r}"))
        return None
    parameters, hints = inspect.signature(kind).parameters, _hints(kind)
    allowed = [name for name in parameters if name not in fixed and name not in without]
    arguments, before = {}, len(faults)
    for name, value in given.items():
        place = (*field, name)
        if name in without:
            faults.append(Fault(place, without[name], at_key=True))
        elif name not in allowed:
            faults.append(unknown_key(place, allowed))
        else:
            arguments[name] = _convert(hints.get(name, Any), value, place, faults)
    for name in [name for name in allowed if name not in given]:
        default = parameters[name].default
        if default is inspect.Parameter.empty:
            faults.append(Fault((*field, name), f"{kind.__name__} needs this argument; it has no default"))
        elif isinstance(default, str):  # may be the name of a config, whose own defaults count too
            arguments[name] = _convert(hints.get(name, Any), default, (*field, name), faults)
    if len(faults) > before:
        return None
    try:
        return kind(**arguments, **fixed)
    except (TypeError, ValueError) as error:
        faults.append(Fault((*field, *argument_named(str(error), given)), str(error)))
        return None


def construct_named(contract: type, given: Any, field: Field, faults: list[Fault]) -> Any:
    """Give a config of a contract by its name, or by `type` and arguments, or add to `faults` and give None."""
    found = _config(contract, _configs(contract), given, field, faults)
    return None if found is _INVALID else found


def argument_named(message: str, given: Any) -> Field:
    """Give the argument that an error begins with, in backticks, if it is one of those given."""
    if message.startswith("`") and isinstance(given, Mapping):
        name = message[1:].partition("`")[0]
        return (name,) if name in given else ()
    return ()


def find_class(name: str, known: Collection[str], get: Callable[[str], type], contract: type) -> type:
    """Give a class by its name, one of the known ones that `get` gives, or by its path, `package.module:Class`.

    Raises ValueError where there is none, or one that does not keep the contract.
    """
    if name in known:
        return get(name)
    module, colon, path = name.partition(":")
    if not colon:
        raise ValueError(
            f"unknown {contract.__name__.lower()} {name!r}; {nearest(name, known)}known: {', '.join(known)}, or a "
            "class of your own as package.module:Class"
        )
    try:
        found = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever a module of the user's own raises
        raise ValueError(f"{name!r} cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, contract)) or inspect.isabstract(found):
        raise ValueError(
            f"{name!r} is no {contract.__name__} that can be used: give a subclass without abstract methods"
        )
    return found


def canonical(value: Any, name: str = "value") -> Any:
    """Give an object as JSON can hold it: what has arguments as its class and all of them, defaults included.

    A class from outside this library carries a hash of the file that it is written in. Raises TypeError, with `name`,
    for what has no such form.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): canonical(inner, f"{name}.{key}") for key, inner in value.items()}
    if isinstance(value, Sequence):
        return [canonical(inner, f"{name}.{number}") for number, inner in enumerate(value)]
    if hasattr(value, "get_params"):
        arguments = value.get_params(deep=False)
    elif is_dataclass(value) and not isinstance(value, type):
        arguments = {one.name: getattr(value, one.name) for one in fields(value)}
    else:
        raise TypeError(
            f"`{name}` is {value!r}, which cannot be written down; allowed: numbers, texts, lists, mappings"
        )
    return {"type": class_name(type(value)), **_code(type(value)), **canonical(arguments, name)}


def _code(kind: type) -> dict[str, str]:
    """Give a hash of the file of a class that is not ours: our own code goes by our version."""
    if kind.__module__.partition(".")[0] == "forecast":
        return {}
    path = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return {"code": hashlib.sha256(Path(path).read_bytes()).hexdigest()} if path else {}


def _convert(hint: Any, value: Any, field: Field, faults: list[Fault]) -> Any:
    """Give a value as an annotation wants it, or add a fault."""
    members = _members(hint)
    for member in members:
        if is_dataclass(member) and isinstance(value, Mapping):
            return construct(typing.cast(type, member), value, field, faults, {})
        if (known := _configs(member)) and isinstance(value, str | Mapping):
            if str in members and _lets_choose(member, value):
                return value
            return _config(typing.cast(type, member), known, value, field, faults)
        if (contract := _contract_of_values(member)) and isinstance(value, Mapping):
            return _labelled_configs(contract, value, field, faults)
    if hint is Any or (is_dataclass(hint) and isinstance(value, typing.cast(type, hint))):
        return value
    # A dataclass has been looked for above, and in Python true is a number.
    if not is_dataclass(hint) and not (isinstance(value, bool) and bool not in members):
        try:
            return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True)).validate_python(value)
        except ValidationError:
            pass
        except PydanticUserError:  # an annotation that cannot be checked
            return value
    faults.append(Fault(field, f"should be {_spelled(members)}; got {value!r}"))
    return _INVALID


def _config(
    contract: type, known: Mapping[str, type], value: Any, field: Field, faults: list[Fault], at_key: bool = False
) -> Any:
    """Give a config by its name, `lstm`, or by its name and arguments, `{type: lstm, width: 64}`."""
    given = {"type": value} if isinstance(value, str) else dict(value)
    name = given.pop("type", None)
    place = field if isinstance(value, str) else (*field, "type")
    if not isinstance(name, str):
        faults.append(Fault(place, f"needs a name: one of {', '.join(known)}, or package.module:Class; got {name!r}"))
        return _INVALID
    try:
        kind = find_class(name, known, known.__getitem__, contract)
    except ValueError as error:
        faults.append(Fault(place, str(error), at_key))
        return _INVALID
    return construct(kind, given, field, faults, {})


def _labelled_configs(contract: type, given: Mapping[Any, Any], field: Field, faults: list[Fault]) -> dict[str, Any]:
    """Give configs by label; a label without anything is the name of its config."""
    built = {}
    for label, value in given.items():
        if not isinstance(label, str):
            faults.append(Fault((*field, label), f"should be text; got {label!r}", at_key=True))
        elif value is None or isinstance(value, str | Mapping):
            name = label if value is None else value
            built[label] = _config(contract, _configs(contract), name, (*field, label), faults, at_key=value is None)
        else:
            faults.append(Fault((*field, label), f"should be {_spelled([contract])}; got {value!r}"))
    return built


def _contract_of_values(member: Any) -> type | None:
    """Give the contract of a mapping's values, if they are named configs."""
    kind, inner = typing.get_origin(member), typing.get_args(member)
    mapped = isinstance(kind, type) and issubclass(kind, Mapping) and len(inner) == 2 and bool(_configs(inner[1]))
    return inner[1] if mapped else None


def _configs(member: Any) -> Mapping[str, type]:
    """Give the named configs of a contract: of backbones, of decoders, of processes."""
    if member is Process:
        return PROCESSES
    if not (isinstance(member, type) and member.__module__.startswith("forecast.nn")):
        return {}
    # Whoever holds such a class has torch imported already.
    from forecast.nn import BACKBONES, DECODERS, Backbone, Decoder

    registries: dict[type, Mapping[str, type]] = {Backbone: BACKBONES, Decoder: DECODERS}
    return registries.get(member, {})


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind.__init__)
    except NameError:  # an annotation that is there for type checkers only
        return {}


def _lets_choose(member: Any, value: Any) -> bool:
    """Whether a value is a backbone by its name alone, which is as wide as its forecaster finds right."""
    if member is Process:
        return False
    from forecast.nn import BACKBONES, Backbone

    return member is Backbone and isinstance(value, str) and value in BACKBONES


def _members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _spelled(members: Sequence[Any]) -> str:
    """Say in words what an annotation allows."""
    return ", or ".join(word for member in members for word in _words(member))


def _words(member: Any) -> list[str]:
    plain = {int: "a whole number", float: "a number", str: "text", bool: "true or false", types.NoneType: "null"}
    if member in plain:
        return [plain[member]]
    if typing.get_origin(member) is typing.Literal:
        return [repr(value) for value in typing.get_args(member)]
    if known := _configs(member):
        return [f"{{type: {', or '.join(known)}, ...}}"]
    if is_dataclass(member):
        return ["a mapping of its arguments"]
    kind = typing.get_origin(member) or member
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return ["a mapping"]
    if isinstance(kind, type) and issubclass(kind, Sequence):
        inner = [word for one in typing.get_args(member) if one is not Any for word in _words(one)]
        return [f"a list, each {inner[0]}" if inner else "a list"]
    return [getattr(kind, "__name__", str(kind))]
