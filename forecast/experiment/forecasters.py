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
        field = ("forecasters", label)
        kind = _forecaster_class(label, arguments, field, faults)
        if kind is not None:
            built[label] = construct(kind, arguments, field, faults, {"horizon": horizon}, _SET_BY_THE_EXPERIMENT)
    return built


def _forecaster_class(label: Any, arguments: dict[str, Any], field: Field, faults: list[Fault]) -> type | None:
    """Give the class named by `type`, which is taken out of the arguments, or else by the label."""
    known = [name for name, kind in vars(baselines).items() if isinstance(kind, type) and not inspect.isabstract(kind)]
    known = [*sorted(known), "NeuralForecaster"]
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
