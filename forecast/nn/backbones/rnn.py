"""Recurrent networks: the history is summarised in a latent state that is carried from token to token.

LSTM: Hochreiter and Schmidhuber 1997. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule

LayerState = tuple[Tensor, Tensor]  # hidden and cell, (B, D) each


@dataclass(frozen=True, kw_only=True)
class LSTM(Backbone):
    """Long short-term memory: `depth` recurrent layers of `width`, each normalised before and added to its input."""

    family = "latent-state"
    width: int = 64
    depth: int = 1
    dropout: float = 0.3

    def build(self) -> "LSTMModule":
        """Give the module with fresh weights."""
        return LSTMModule(self)


class RecurrentLayer(nn.Module):
    """One LSTM layer, pre-norm, around a residual connection."""

    def __init__(self, width: int, dropout: float):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        weights = dict(self.lstm.named_parameters())
        nn.init.orthogonal_(weights["weight_hh_l0"])
        # Remember by default: a forget gate that starts half open halves the memory at every token.
        nn.init.zeros_(weights["bias_hh_l0"])
        nn.init.zeros_(weights["bias_ih_l0"])
        with torch.no_grad():
            weights["bias_ih_l0"][width : 2 * width] = 1.0

    def forward(self, x: Tensor, state: LayerState | None = None) -> tuple[Tensor, LayerState]:
        """Run over (B, N, D) from a state, zeros where none is given; give the output and the state after it."""
        carried = None if state is None else (state[0].unsqueeze(0), state[1].unsqueeze(0))
        y, (hidden, cell) = self.lstm(self.norm(x), carried)
        return x + self.dropout(y), (hidden.squeeze(0), cell.squeeze(0))


class LSTMModule(CausalModule):
    """Stack of recurrent layers."""

    receptive_field = None

    def __init__(self, config: LSTM):
        super().__init__()
        self.width = config.width
        layers = nn.ModuleList(RecurrentLayer(config.width, config.dropout) for _ in range(config.depth))
        self.layers = cast("list[RecurrentLayer]", layers)

    def forward(self, x: Tensor) -> Tensor:
        """Give the states of all tokens, (B, N, D)."""
        for layer in self.layers:
            x, _ = layer(x)
        return x

    def init_state(self, batch: int) -> tuple[LayerState, ...]:
        """Give zeros for every layer."""
        zeros = next(self.parameters()).new_zeros(batch, self.width)
        return tuple((zeros, zeros.clone()) for _ in self.layers)

    def step(self, x: Tensor, state: tuple[LayerState, ...]) -> tuple[Tensor, tuple[LayerState, ...]]:
        """Carry every layer's state over one token (B, D)."""
        x = x.unsqueeze(1)
        carried = []
        for layer, before in zip(self.layers, state, strict=True):
            x, after = layer(x, before)
            carried.append(after)
        return x.squeeze(1), tuple(carried)
