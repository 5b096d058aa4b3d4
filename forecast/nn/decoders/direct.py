"""The direct decoder: all steps and all quantile levels from one state, at every origin.

B batch, N token, D width, H horizon, Q quantile level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from forecast.nn.decoders.contract import Decoder, DecoderModule
from forecast.nn.decoders.readout import Readout


@dataclass(frozen=True, kw_only=True)
class Direct(Decoder):
    """One linear map from a normalised state to all steps and levels (as MQ-RNN: Wen et al. 2017, arXiv 1711.11053)."""

    streams = True
    dropout: float = 0.1

    def build(self, width: int, horizon: int, quantile_levels: Sequence[float], patch_length: int) -> "DirectModule":
        """Give the module with fresh weights."""
        del patch_length
        return DirectModule(width, horizon, len(quantile_levels), self.dropout)


class DirectModule(DecoderModule):
    """RMS norm, dropout, one linear map to `reach` steps and all levels."""

    def __init__(self, width: int, reach: int, levels: int, dropout: float, paths: int = 1):
        super().__init__()
        self.reach = reach
        self.paths = paths
        self.norm = nn.RMSNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.readout = Readout(width, reach, levels)

    def forward(self, states: Tensor, origins: slice, *, targets: Tensor | None = None) -> Tensor:
        """(B, N, D) -> (B, n origins, reach, Q)."""
        del targets
        return self.readout(self.dropout(self.norm(states[:, origins])))
