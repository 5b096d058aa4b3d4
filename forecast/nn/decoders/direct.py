"""The direct decoder: all steps and all quantile levels from one state, at every origin.

B batch, N token, D width, H horizon, Q quantile level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from forecast.nn.decoders.contract import Decoder, DecoderModule


@dataclass(frozen=True, kw_only=True)
class Direct(Decoder):
    """One linear map from a normalised state to all steps and levels (as MQ-RNN: Wen et al. 2017, arXiv 1711.11053)."""

    dropout: float = 0.1

    def build(self, width: int, horizon: int, quantile_levels: Sequence[float]) -> "DirectModule":
        """Give the module with fresh weights."""
        return DirectModule(self, width, horizon, quantile_levels)


class DirectModule(DecoderModule):
    """RMS norm, dropout, one linear map."""

    def __init__(self, config: Direct, width: int, horizon: int, quantile_levels: Sequence[float]):
        super().__init__()
        self.horizon = horizon
        self.norm = nn.RMSNorm(width)
        self.dropout = nn.Dropout(config.dropout)
        self.linear = nn.Linear(width, horizon * len(quantile_levels))
        with torch.no_grad():  # a fresh network says little, and its loss begins near that of its starting point
            self.linear.weight.mul_(0.1)
            self.linear.bias.zero_()

    def forward(self, states: Tensor, origins: slice, known_future: Tensor | None = None) -> Tensor:
        """(B, N, D) -> (B, n origins, H, Q); covariates known ahead have no way into one linear map of the state."""
        del known_future
        return self.linear(self.dropout(self.norm(states[:, origins]))).unflatten(-1, (self.horizon, -1))
