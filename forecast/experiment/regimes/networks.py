"""The networks among forecasters: where in a forecaster one is, how large it is, and what it is trained with."""

import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from forecast.forecaster import Forecaster
from forecast.frame import Panel

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster

BUDGETS = ("parameters", "width", "context_length", "patch_length", "steps", "batch_size", "learning_rate")
Row = dict[str, Any]


class Network(NamedTuple):
    """A network, and what the names of its parameters begin with in the forecaster that holds it."""

    prefix: str
    network: "NeuralForecaster"


def network_in(forecaster: Forecaster) -> Network | None:
    """Give the network that a forecaster is, or wraps; None where it has none."""
    neural = sys.modules.get("forecast.neural")  # whoever holds a network has it imported
    prefix, inside = "", forecaster
    while neural is not None and isinstance(inside, Forecaster):
        if isinstance(inside, neural.NeuralForecaster):
            return Network(prefix, cast("NeuralForecaster", inside))
        if inside.wraps is None:
            break
        prefix, inside = f"{prefix}{inside.wraps}__", inside.get_params(deep=False)[inside.wraps]
    return None


def networks(forecasters: Mapping[str, Forecaster]) -> dict[str, Network]:
    """Give the networks by label."""
    found = {label: network_in(forecaster) for label, forecaster in forecasters.items()}
    return {label: one for label, one in found.items() if one is not None}


def changed(forecaster: Forecaster, values: Mapping[str, Any]) -> Forecaster:
    """Give a copy with other parameters, under the names of `set_params`. Raises ValueError for what is not allowed."""
    return deepcopy(forecaster).set_params(**values)


def budgets(forecasters: Mapping[str, Forecaster], panel: Panel) -> dict[str, Row]:
    """Give what each forecaster may spend, as far as it is a network: `BUDGETS` by name.

    Sizes are those of a fit on `panel`; a network that cannot be fitted on it has none of them.
    """
    return {label: _budget(network_in(forecaster), panel) for label, forecaster in forecasters.items()}


def unequal(found: Mapping[str, Row], frees: Sequence[str]) -> list[str]:
    """Say which budgets differ between networks, but for those that are free to."""
    told = []
    for name in BUDGETS:
        values = {label: row[name] for label, row in found.items() if row.get(name) is not None}
        if name not in frees and len(set(values.values())) > 1:
            each = ", ".join(f"{label} {value:,}" for label, value in values.items())
            told.append(f"{name.replace('_', ' ')} ({each})")
    return told


def at_once(forecasters: Mapping[str, Forecaster], found: Mapping[str, Row]) -> list[str]:
    """Name the networks that would feed forecasts back, but say the horizon in one patch, given their budgets."""
    from forecast.nn import DECODERS, Decoder
    from forecast.shape import config_of

    return [
        label
        for label, (_, network) in networks(forecasters).items()
        if config_of(network.decoder, "decoder", DECODERS, Decoder).goes_on
        and (found[label]["patch_length"] or 0) >= network.horizon
    ]


def _budget(held: Network | None, panel: Panel) -> Row:
    if held is None:
        return {}
    network = held.network
    row: Row = {name: getattr(network.training, name) for name in ("batch_size", "learning_rate")}
    try:
        size = network.outline(panel)._asdict()
    except (ValueError, TypeError, ModuleNotFoundError):  # the cell says so, with all of its reasons
        size = {}
    return {name: (row | size).get(name) for name in BUDGETS}
