"""The forecasters and the plan that a config describes: checked against the constructors that take its arguments."""

import inspect
import re
from collections.abc import Mapping
from typing import Any

import forecast
from forecast import baselines
from forecast.evaluation.plan import Plan
from forecast.experiment.arguments import construct, find_class
from forecast.experiment.faults import Fault, Field
from forecast.forecaster import Forecaster

_SET_BY_THE_EXPERIMENT = {
    "horizon": "is set by `horizon` of the experiment; leave it out here",
    "seed": "is set by `seeds` of the experiment; leave it out here",
    "quantile_levels": "all forecasters of an experiment give the deciles, to be compared; leave it out here",
}


def build_plan(given: Any, horizon: int, faults: list[Fault]) -> Plan | None:
    """Give the plan, or add to `faults` what speaks against it and give None."""
    without = {"horizon": _SET_BY_THE_EXPERIMENT["horizon"]}
    return construct(Plan, given, ("plan",), faults, {"horizon": horizon}, without)


def build_forecasters(given: Mapping[Any, Any], horizon: int, faults: list[Fault]) -> dict[str, Forecaster]:
    """Give the forecasters by label, not fitted, or add to `faults` what speaks against them."""
    built = {}
    for label, arguments in given.items():
        arguments = dict(arguments) if isinstance(arguments, Mapping) else {} if arguments is None else arguments
        if not isinstance(arguments, dict):
            continue  # not a mapping: the schema says so
        built[label] = _build(label, arguments, ("forecasters", label), horizon, faults)
    return {label: forecaster for label, forecaster in built.items() if forecaster is not None}


def build_fallback(given: str | Mapping[str, Any] | None, horizon: int, faults: list[Fault]) -> Forecaster | None:
    """Give what stands in for a forecaster that fails, not fitted, or add to `faults`; None where none is given."""
    if given is None:
        return None
    arguments = {"type": given} if isinstance(given, str) else dict(given)
    if "type" not in arguments:
        faults.append(Fault(("fallback",), f"should be {{type: ...}}, a forecaster with its arguments; got {given!r}"))
        return None
    return _build(None, arguments, ("fallback",), horizon, faults)


def _build(label: Any, arguments: dict[str, Any], field: Field, horizon: int, faults: list[Fault]) -> Forecaster | None:
    """Give the forecaster of some arguments, with the one inside it if it wraps one; None if there is a fault."""
    kind = _forecaster_class(label, arguments, field, faults)
    if kind is None:
        return None
    fixed: dict[str, Any] = {"horizon": horizon}
    if (wraps := kind.wraps) is not None:
        place, inside = (*field, wraps), arguments.get(wraps)
        if isinstance(inside, str):
            inside = {"type": inside}
        if not isinstance(inside, Mapping) or "type" not in inside:
            faults.append(Fault(place, f"should be {{type: ...}}, a forecaster with its arguments; got {inside!r}"))
            return None
        arguments[wraps] = _build(None, dict(inside), place, horizon, faults)
        if arguments[wraps] is None:
            return None
        fixed = {}  # the horizon is that of the one inside
    return construct(kind, arguments, field, faults, fixed, _SET_BY_THE_EXPERIMENT)


def _forecaster_class(
    label: Any, arguments: dict[str, Any], field: Field, faults: list[Fault]
) -> type[Forecaster] | None:
    """Give the class named by `type`, which is taken out of the arguments, or else by the label."""
    known = [name for name, kind in vars(baselines).items() if isinstance(kind, type) and not inspect.isabstract(kind)]
    known = [*sorted(known), "NeuralForecaster", "Calibrated"]
    named = "type" in arguments
    name = arguments.pop("type", label)
    place = (*field, "type") if named else field
    if not isinstance(name, str):
        faults.append(Fault(place, f"should be the name of a class, as text; got {name!r}", at_key=not named))
        return None
    try:
        # The name is looked up in the package, which imports torch only for a network.
        return find_class(name, known, lambda name: getattr(forecast, name), Forecaster)
    except ValueError as error:
        message = str(error) if named else f"{error} (a label without `type` is the name of a class)"
        from forecast.nn import BACKBONES  # torch comes with it, and only a fault needs it

        if (backbone := re.sub(r"\W+", "_", name.lower())) in BACKBONES:
            message += "; for a network write {type: NeuralForecaster, backbone: " + backbone + "}"
        faults.append(Fault(place, message, at_key=not named))
        return None
