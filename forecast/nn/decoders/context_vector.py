"""The encoder-decoder with a context vector: all that its decoder knows of the history is one state.

Cho et al. 2014, arXiv 1406.1078; Sutskever et al. 2014, arXiv 1409.3215. B batch, N token, D width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from forecast.nn.decoders.recurrent import Reader, RecurrentDecoder, RecurrentDecoderModule, Stepper


@dataclass(frozen=True, kw_only=True)
class ContextVector(RecurrentDecoder):
    """A gated recurrent unit that sees the state at the origin at each step of the horizon, and no other (Cho et al.
    2014, arXiv 1406.1078).

    However long the history, it has to pass through that one vector. Trained on 8 origins of a window, evenly spread.
    """

    streams = True

    def build(
        self, width: int, horizon: int, quantile_levels: Sequence[float], patch_length: int
    ) -> RecurrentDecoderModule:
        """Give the module with fresh weights."""
        del patch_length
        return RecurrentDecoderModule(Stepper(self, OriginReader(width), width, horizon, quantile_levels))


class OriginReader(Reader):
    """Reads the state at the origin, whatever the step."""

    def __init__(self, width: int):
        super().__init__()
        self.value = nn.Linear(width, 3 * width)

    def prepare(self, states: Tensor, origins: slice) -> Tensor:
        """(B, N, D) -> (B, n origins, 3 D)."""
        return self.value(states[:, origins])

    def forward(self, prepared: Tensor, hidden: Tensor) -> tuple[Tensor, None]:
        """Give what was prepared."""
        del hidden
        return prepared, None
