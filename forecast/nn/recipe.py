"""The recipe around the backbone: how values are scaled, from where forecasts are counted, what a loss is.

Each part can be had without, so that what it buys can be measured.
"""

from dataclasses import dataclass
from typing import Literal

from forecast.nn.hyperparameters import Hyperparameters


@dataclass(frozen=True, kw_only=True)
class Recipe(Hyperparameters):
    """What all networks have in common beside their backbone and their decoder.

    Attributes
    ----------
    scale: what a series is divided by, from its own past alone: the mean absolute `"step"` from a value to the one a
        season later, but at least a twentieth of the running standard deviation; that `"deviation"`; or `"none"`.
    anchor: from where each step is counted: a `"blend"`, for each step, of running mean, last value, value at its place
        in the last season, mean of the values at its place, those two of the week and, in contexts of up to 256 values,
        exponential smoothing, which begins where least squares puts it; the `"mean"`, the `"last"` value or the
        `"season"` before alone; or `"none"`, from 0.
    week: whether the week is a second season, where values come several times a day and weeks repeat themselves: in a
        blend, and by the place in it.
    linear_patches: last patches that a linear map reads straight to the forecast, beside the backbone; None for none.
    origins: whether a network is trained from `"all"` origins of a window, or from its `"last"` alone.
    loss: `"pinball"` of all levels, or `"squared"`: in place of the median the mean is learned, by squared errors.

    Raises
    ------
    ValueError: a value that is not one of those allowed.

    """

    scale: Literal["step", "deviation", "none"] = "step"
    anchor: Literal["blend", "mean", "last", "season", "none"] = "blend"
    week: bool = True
    linear_patches: int | None = None
    origins: Literal["all", "last"] = "all"
    loss: Literal["pinball", "squared"] = "pinball"
