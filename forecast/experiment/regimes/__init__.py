"""Regimes: what is made equal between the networks of an experiment before they are compared, and how it is told.

`as_given`, `matched_parameters`, `matched_compute` and `tuned`: each settles the forecasters of a config on the rows up
to the first cutoff alone.
"""

from collections.abc import Mapping
from typing import Any

from forecast.experiment.arguments import argument_named, construct
from forecast.experiment.faults import Fault, nearest
from forecast.experiment.regimes.as_given import AsGiven
from forecast.experiment.regimes.contract import Case, Regime, Settled
from forecast.experiment.regimes.matched_compute import MatchedCompute
from forecast.experiment.regimes.matched_parameters import MatchedParameters
from forecast.experiment.regimes.tuned import Tuned
from forecast.forecaster import Forecaster

REGIMES: Mapping[str, type[Regime]] = {kind.name: kind for kind in (AsGiven, MatchedParameters, MatchedCompute, Tuned)}

__all__ = ["REGIMES", "Case", "Regime", "Settled", "build_regime"]


def build_regime(given: Any, forecasters: Mapping[str, Forecaster] | None, faults: list[Fault]) -> Regime | None:
    """Give the regime that a config names, `tuned`, or names with options, `{type: tuned, trials: 30}`.

    Adds to `faults` what speaks against it, and gives None; so also where forecasters, if given, do not go with it.
    """
    options = {"type": given} if isinstance(given, str) else dict(given) if isinstance(given, Mapping) else {}
    name, allowed = options.pop("type", None), ", ".join(REGIMES)
    if not isinstance(name, str):
        place = ("regime", "type") if isinstance(given, Mapping) else ("regime",)
        faults.append(Fault(place, f"needs a name, one of {allowed}; got {name if options else given!r}"))
        return None
    if name.replace(" ", "_") not in REGIMES:
        place = ("regime",) if isinstance(given, str) else ("regime", "type")
        faults.append(Fault(place, f"unknown regime {name!r}; {nearest(name, REGIMES)}allowed: {allowed}"))
        return None
    regime = construct(REGIMES[name.replace(" ", "_")], options, ("regime",), faults, {})
    if regime is not None and forecasters is not None:
        try:
            regime.check(forecasters)
        except ValueError as error:
            faults.append(Fault(("regime", *argument_named(str(error), given)), str(error)))
            return None
    return regime
