"""What every decoder keeps: a light config that builds a module from states to steps and quantile levels."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn

from forecast.nn.hyperparameters import Hyperparameters


class DecoderModule(nn.Module, ABC):
    """A map from states (B, N, D) to forecasts from some origins in scaled units, (B, n origins, reach, Q).

    Attributes
    ----------
    reach: steps that are forecast from a state; where they are fewer than the horizon, the network feeds its forecasts
        back until all steps are there.
    paths: how many sample paths are fed back; of no effect where `reach` is the horizon.
    trained_origins: on how many origins of a window it is trained, for an expensive decoder; None for all.
    progress: share of the training that is done; whoever trains a decoder keeps it up to date.

    """

    reach: int
    paths: int = 1
    trained_origins: ClassVar[int | None] = None
    progress: float = 1.0

    @abstractmethod
    def forward(self, states: Tensor, origins: slice, *, targets: Tensor | None = None) -> Tensor:
        """Decode at `origins`, a slice along N; quantiles need not be in order.

        A decoder reads the states at and before an origin. `targets` (B, n origins, reach), in the units of what is
        given, NaN where unknown, are there in training alone, for decoders that are led by the truth at the steps
        before. What is known ahead reaches the forecast beside the decoder.
        """


class Decoder(Hyperparameters, ABC):
    """Hyper-parameters of a decoder: a frozen keyword-only dataclass; sizes set by the task come with `build`.

    What it builds maps states (B, N, D) to forecasts (B, n origins, reach, Q) in scaled units. Making a config raises
    ValueError for a hyper-parameter that is not allowed.

    One that `streams` reads nothing but the state at its origin, which is all that a stream carries. One that `goes_on`
    can feed its forecasts back beyond the horizon that it was trained for.
    """

    streams: ClassVar[bool] = False
    goes_on: ClassVar[bool] = False

    @abstractmethod
    def build(self, width: int, horizon: int, quantile_levels: Sequence[float], patch_length: int) -> DecoderModule:
        """Give the module, with fresh weights from torch's global random state."""
