"""What every decoder keeps: a light config that builds a module from states to all steps and quantile levels."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor, nn

from forecast.nn.hyperparameters import Hyperparameters


class DecoderModule(nn.Module, ABC):
    """A map from the states at some origins to forecasts in scaled units, (B, N, D) -> (B, n origins, H, Q).

    An expensive decoder says in its docstring how many origins of a window it trains on; the cheap ones take all.
    """

    @abstractmethod
    def forward(self, states: Tensor, origins: slice, known_future: Tensor | None = None) -> Tensor:
        """Decode the states (B, N, D) at `origins`, a slice along N; quantiles need not be in order.

        `known_future` (B, n origins, H, C) holds covariates known ahead; None where there are none.
        """


class Decoder(Hyperparameters, ABC):
    """Hyper-parameters of a decoder: a frozen keyword-only dataclass; sizes set by the task come with `build`."""

    @abstractmethod
    def build(self, width: int, horizon: int, quantile_levels: Sequence[float]) -> DecoderModule:
        """Give the module, with fresh weights from torch's global random state."""
