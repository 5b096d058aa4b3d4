"""The controls: no memory at all, and a memory that is linear. What a backbone is worth shows against them.

An identity under a good embedding often comes near to elaborate backbones (CombinationTS, arXiv 2605.01231). B batch,
N token, D width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule
from forecast.nn.convolution import with_past


@dataclass(frozen=True, kw_only=True)
class Identity(Backbone):
    """The state is the token: a forecast reads the last patch, and what the rest of the network tells of the past.

    A control, after CombinationTS (arXiv 2605.01231).
    """

    family = "control"
    width: int = 64

    def build(self, tokens: int) -> "IdentityModule":
        """Give the module, which has no weights."""
        del tokens
        return IdentityModule()


@dataclass(frozen=True, kw_only=True)
class Linear(Backbone):
    """The state is the token plus a linear map of the last `window` tokens; None for as many as a context has.

    A control: what a linear model can do (after Zeng et al. 2023, arXiv 2205.13504) in place of a backbone.

    A token costs `window` times the square of `width`: where tokens are single values of a long context, that is many
    times what a recurrent layer asks for, and `window` bounds it.
    """

    family = "control"
    width: int = 64
    window: int | None = None
    dropout: float = 0.3

    def build(self, tokens: int) -> "LinearModule":
        """Give the module with fresh weights."""
        return LinearModule(self, self.window or tokens)


class IdentityModule(CausalModule):
    """Gives tokens back."""

    receptive_field = 1

    def init_state(self, batch: int) -> tuple[()]:
        """Give nothing: there is nothing to carry."""
        del batch
        return ()

    def advance(self, x: Tensor, state: tuple[()] | None = None) -> tuple[Tensor, tuple[()]]:
        """(B, n, D) -> (B, n, D)."""
        del state
        return x, ()


class LinearModule(CausalModule):
    """A convolution over `window` tokens around a residual connection."""

    def __init__(self, config: Linear, window: int):
        super().__init__()
        self.receptive_field = window
        self.past = window - 1  # tokens before its own that a state reads
        self.filter = nn.Conv1d(config.width, config.width, window)
        self.dropout = nn.Dropout(config.dropout)
        with torch.no_grad():  # a fresh state is little more than its token
            self.filter.weight.mul_(0.1)

    def init_state(self, batch: int) -> tuple[Tensor]:
        """Give a buffer (B, past, D) of zeros."""
        return (self.filter.weight.new_zeros(batch, self.past, self.filter.in_channels),)

    def advance(self, x: Tensor, state: tuple[Tensor] | None = None) -> tuple[Tensor, tuple[Tensor]]:
        """Filter n more tokens (B, n, D); give the buffer of the last tokens for the next."""
        seen, buffer = with_past(x, None if state is None else state[0], self.past)
        y = self.filter(seen.transpose(1, 2)).transpose(1, 2)
        return x + self.dropout(y), (buffer,)
