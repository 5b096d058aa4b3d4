"""Recurrent networks: the history is summarised in a latent state that is carried from token to token.

Three cells in the same stack of layers, so that nothing but the cell is compared. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule

Cell = Literal["rnn", "lstm", "gru"]
LayerState = tuple[Tensor, ...]  # hidden, and the LSTM's cell, (B, D) each


@dataclass(frozen=True, kw_only=True)
class RNN(Backbone):
    """The plain recurrent network with a tanh (Elman 1990): `depth` layers of `width`.

    h' = tanh(W x + U h + b). What it remembers passes through tanh and U at every token, and so does every gradient.
    """

    family = "latent-state"
    width: int = 64
    depth: int = 1
    dropout: float = 0.3

    def build(self, tokens: int) -> "RecurrentModule":
        """Give the module with fresh weights."""
        del tokens
        return RecurrentModule("rnn", self.width, self.depth, self.dropout)


@dataclass(frozen=True, kw_only=True)
class LSTM(Backbone):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): `depth` layers of `width`.

    c' = f c + i tanh(...), h' = o tanh(c'), with gates i, f and o that read token and hidden state: what is remembered
    is added to, and passes from token to token through the forget gate alone.
    """

    family = "latent-state"
    width: int = 64
    depth: int = 1
    dropout: float = 0.3

    def build(self, tokens: int) -> "RecurrentModule":
        """Give the module with fresh weights."""
        del tokens
        return RecurrentModule("lstm", self.width, self.depth, self.dropout)


@dataclass(frozen=True, kw_only=True)
class GRU(Backbone):
    """Gated recurrent unit (Cho et al. 2014, arXiv 1406.1078): `depth` layers of `width`.

    h' = z h + (1 - z) tanh(W x + r (U h)), with gates z and r: one state instead of the LSTM's two. The gate r is
    applied after the product with U, as fast kernels have it.
    """

    family = "latent-state"
    width: int = 64
    depth: int = 1
    dropout: float = 0.3

    def build(self, tokens: int) -> "RecurrentModule":
        """Give the module with fresh weights."""
        del tokens
        return RecurrentModule("gru", self.width, self.depth, self.dropout)


class RecurrentLayer(nn.Module):
    """One recurrent layer, pre-norm, around a residual connection."""

    def __init__(self, cell: Cell, width: int, dropout: float):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.cell = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[cell](width, width, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        weights = dict(self.cell.named_parameters())
        # A turn in state space: a recurrent matrix that shrinks or stretches does so at every token.
        nn.init.orthogonal_(weights["weight_hh_l0"])
        nn.init.zeros_(weights["bias_hh_l0"])
        nn.init.zeros_(weights["bias_ih_l0"])
        if cell == "lstm":
            # Remember by default: a forget gate that starts half open halves the memory at every token.
            with torch.no_grad():
                weights["bias_ih_l0"][width : 2 * width] = 1.0

    def init_state(self, batch: int) -> LayerState:
        """Give zeros."""
        zeros = self.norm.weight.new_zeros(batch, self.cell.hidden_size)
        return (zeros, zeros.clone()) if isinstance(self.cell, nn.LSTM) else (zeros,)

    def advance(self, x: Tensor, state: LayerState | None) -> tuple[Tensor, LayerState]:
        """Run over (B, n, D) from a state, zeros where none is given; give the output and the state after it."""
        carried = None if state is None else tuple(part.unsqueeze(0) for part in state)
        if isinstance(self.cell, nn.LSTM):
            y, after = self.cell(self.norm(x), carried)
        else:
            y, hidden = self.cell(self.norm(x), None if carried is None else carried[0])
            after = (hidden,)
        return x + self.dropout(y), tuple(part.squeeze(0) for part in after)


class RecurrentModule(CausalModule):
    """Stack of recurrent layers."""

    receptive_field = None

    def __init__(self, cell: Cell, width: int, depth: int, dropout: float):
        super().__init__()
        layers = nn.ModuleList(RecurrentLayer(cell, width, dropout) for _ in range(depth))
        self.layers = cast("list[RecurrentLayer]", layers)

    def init_state(self, batch: int) -> tuple[LayerState, ...]:
        """Give zeros for every layer."""
        return tuple(layer.init_state(batch) for layer in self.layers)

    def advance(self, x: Tensor, state: tuple[LayerState, ...] | None = None) -> tuple[Tensor, tuple[LayerState, ...]]:
        """Carry every layer's state over n tokens (B, n, D)."""
        carried = []
        for layer, before in zip(self.layers, state or [None] * len(self.layers), strict=True):
            x, after = layer.advance(x, before)
            carried.append(after)
        return x, tuple(carried)
