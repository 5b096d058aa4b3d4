"""The forecasters and the plan that a config describes: checked against the constructors that take its arguments."""

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

import forecast
from forecast import baselines
from forecast.evaluation.plan import Plan
from forecast.experiment.ablations import ablation_of, replaced
from forecast.experiment.arguments import construct, find_class
from forecast.experiment.faults import Fault, Field, unknown_key
from forecast.forecaster import Forecaster

_SET_BY_THE_EXPERIMENT = {
    "horizon": "is set by `horizon` of the experiment; leave it out here",
    "seed": "is set by `seeds` of the experiment; leave it out here",
    "quantile_levels": "is set by `quantile_levels` of the experiment, for all alike; leave it out here",
}


def build_plan(given: Any, horizon: int, faults: list[Fault]) -> Plan | None:
    """Give the plan, or add to `faults` what speaks against it and give None."""
    without = {"horizon": _SET_BY_THE_EXPERIMENT["horizon"]}
    return construct(Plan, given, ("plan",), faults, {"horizon": horizon}, without)


def build_forecasters(
    given: Mapping[Any, Any], horizon: int, levels: Sequence[float], faults: list[Fault]
) -> dict[str, Forecaster]:
    """Give the forecasters by label, not fitted, or add to `faults` what speaks against them."""
    built = {}
    for label, arguments in given.items():
        arguments = dict(arguments) if isinstance(arguments, Mapping) else {} if arguments is None else arguments
        if not isinstance(arguments, dict):
            continue  # not a mapping: the schema says so
        built[label] = _build(label, arguments, ("forecasters", label), horizon, levels, faults)
    return {label: forecaster for label, forecaster in built.items() if forecaster is not None}


def build_ablations(
    ablations: Mapping[Any, Any],
    given: Mapping[Any, Any],
    built: Mapping[str, Forecaster],
    horizon: int,
    levels: Sequence[float],
    faults: list[Fault],
) -> dict[str, Forecaster]:
    """Give by label each of the built forecasters with each ablation whose arguments it has, or add to `faults`."""
    found, known = {}, {label: list(one.get_params(deep=False)) for label, one in built.items()}
    for ablation, changes in ablations.items():
        if not isinstance(changes, Mapping) or not changes:
            continue  # the schema says so
        field = ("ablations", ablation)
        subjects = [label for label, names in known.items() if set(changes) <= set(names)]
        if built and not subjects:
            faults.append(_of_nobody(field, changes, known))
        for label in subjects:
            own: list[Fault] = []
            name, arguments = ablation_of(label, ablation), replaced(given[label] or {}, changes)
            if name in built:
                own.append(Fault(field, f"would be {name!r}, which is a forecaster already", at_key=True))
            found[name] = _build(label, arguments, field, horizon, levels, own)
            faults += [fault for fault in own if fault not in faults]  # several forecasters share it
    return {name: forecaster for name, forecaster in found.items() if forecaster is not None}


def _of_nobody(field: Field, changes: Mapping[Any, Any], known: Mapping[str, list[str]]) -> Fault:
    """Give the fault of an ablation that no forecaster has all arguments of."""
    anybody = dict.fromkeys(name for names in known.values() for name in names)
    unknown = [name for name in changes if name not in anybody]
    if unknown:
        return unknown_key((*field, unknown[0]), list(anybody))
    return Fault(field, f"no forecaster has all of {', '.join(changes)}: give an ablation for each", at_key=True)


def build_fallback(
    given: str | Mapping[str, Any] | None, horizon: int, levels: Sequence[float], faults: list[Fault]
) -> Forecaster | None:
    """Give what stands in for a forecaster that fails, not fitted, or add to `faults`; None where none is given."""
    if given is None:
        return None
    arguments = {"type": given} if isinstance(given, str) else dict(given)
    if "type" not in arguments:
        faults.append(Fault(("fallback",), f"should be {{type: ...}}, a forecaster with its arguments; got {given!r}"))
        return None
    return _build(None, arguments, ("fallback",), horizon, levels, faults)


def _build(
    label: Any, arguments: dict[str, Any], field: Field, horizon: int, levels: Sequence[float], faults: list[Fault]
) -> Forecaster | None:
    """Give the forecaster of some arguments, with the one inside it if it wraps one; None if there is a fault."""
    kind = _forecaster_class(label, arguments, field, faults)
    if kind is None:
        return None
    fixed: dict[str, Any] = {"horizon": horizon}
    if "quantile_levels" in inspect.signature(kind).parameters:
        fixed["quantile_levels"] = tuple(levels)
    if (wraps := kind.wraps) is not None:
        place, inside = (*field, wraps), arguments.get(wraps)
        if isinstance(inside, str):
            inside = {"type": inside}
        if not isinstance(inside, Mapping) or "type" not in inside:
            faults.append(Fault(place, f"should be {{type: ...}}, a forecaster with its arguments; got {inside!r}"))
            return None
        arguments[wraps] = _build(None, dict(inside), place, horizon, levels, faults)
        if arguments[wraps] is None:
            return None
        fixed = {}  # horizon and levels are those of the one inside
    built = construct(kind, arguments, field, faults, fixed, _SET_BY_THE_EXPERIMENT)
    if built is not None and tuple(built.quantile_levels) != tuple(levels):
        told = f"forecasts the levels {list(built.quantile_levels)}, and `quantile_levels` of the experiment are "
        faults.append(Fault(field, f"{told}{list(levels)}: give its class an argument `quantile_levels`"))
        return None
    return built


def _forecaster_class(
    label: Any, arguments: dict[str, Any], field: Field, faults: list[Fault]
) -> type[Forecaster] | None:
    """Give the class named by `type`, which is taken out of the arguments, or else by the label."""
    known = [name for name, kind in vars(baselines).items() if isinstance(kind, type) and not inspect.isabstract(kind)]
    known = [*sorted(known), "NeuralForecaster", "Calibrated", "Oracle"]
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
