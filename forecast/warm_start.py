"""Going on from another fit: which fitted networks lend their weights to which, and what differs where they cannot."""

from typing import TYPE_CHECKING, Any

from forecast.encoding import Encoding
from forecast.nn import ForecastNetwork

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster

_DO = "fit with what it was fitted with, or leave `continue_from` out"


def check_alike(forecaster: "NeuralForecaster", earlier: "NeuralForecaster") -> None:
    """Refuse a fitted forecaster that was made for something else, naming the first difference.

    Raises
    ------
    TypeError: it is of another class.
    NotFittedError: it is not fitted.
    ValueError: it differs in what its forecasts are of, or in the covariates and categories that it reads.

    """
    if not isinstance(earlier, type(forecaster)):
        raise TypeError(
            f"`continue_from` is a {type(earlier).__name__}; allowed: a fitted {type(forecaster).__name__}, or None"
        )
    earlier._fitted()
    apart: dict[str, tuple[Any, Any]] = {
        "backbone": (type(earlier.backbone_).__name__, type(forecaster.backbone_).__name__),
        "horizon": (earlier.horizon, forecaster.horizon),
        "quantile_levels": (tuple(earlier.quantile_levels), tuple(forecaster.quantile_levels)),
        "patch_length": (earlier.patch_length_, forecaster.patch_length_),
        "season_length": (earlier.season_length_, forecaster.season_length_),
        "transform": (earlier.transform, forecaster.transform),
        "recipe": (earlier.recipe, forecaster.recipe),
        **_read(earlier.encoding_, forecaster.encoding_),
    }
    for name, (was, now) in apart.items():
        if was != now:
            raise ValueError(f"`continue_from` was fitted with `{name}` {was!r}, and this is a fit with {now!r}: {_DO}")


def take_weights(network: ForecastNetwork, earlier: ForecastNetwork) -> None:
    """Give a network the weights of another. Raises ValueError, naming the first that does not fit."""
    weights, own = earlier.state_dict(), network.state_dict()
    for name in own | weights:
        was, now = (tuple(of[name].shape) if name in of else "not there" for of in (weights, own))
        if was != now:
            raise ValueError(
                f"`continue_from` has another network: its weight `{name}` is {was}, and that of this one {now}: {_DO}"
            )
    network.load_state_dict(weights)
    network.drift.zero_()  # of what it will have learned, and how far that is heard
    network.trust.fill_(1.0)


def _read(earlier: Encoding | None, now: Encoding | None) -> dict[str, tuple[Any, Any]]:
    """Give by name what two networks read beside the values: columns by role, categories of each, of the calendar."""
    of = [encoding or Encoding() for encoding in (earlier, now)]
    apart: dict[str, tuple[Any, Any]] = {"calendar": (of[0].calendar, of[1].calendar)}
    for role in ("static", "past", "known"):
        parts = [getattr(encoding, role) for encoding in of]
        apart[f"{role} columns"] = parts[0].names, parts[1].names
        known, here = ({column.name: column.values for column in part.categories} for part in parts)
        for name in known | here:
            theirs, ours = known.get(name, ()), here.get(name, ())
            # In another order, or fewer, they are read as they were.
            apart[f"categories of {name}"] = theirs, theirs if set(ours) <= set(theirs) else ours
        apart[f"delays of {role} columns"] = parts[0].delays, parts[1].delays
    return apart
