"""Temporal convolutional network: dilated causal convolutions read the sequence directly (Bai, Kolter and Koltun 2018).

Two convolutions to a residual block as there, dilation doubling from block to block; normalised before (pre-norm)
instead of weight-normalised. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule

Buffers = tuple[Tensor, Tensor]  # of the two convolutions of a block, (B, past, D) each


@dataclass(frozen=True, kw_only=True)
class TCN(Backbone):
    """`depth` blocks of two causal convolutions; a state sees 1 + 2 (kernel_size - 1) (2^depth - 1) tokens."""

    family = "direct-prediction"
    width: int = 64
    depth: int = 3
    kernel_size: int = 3
    dropout: float = 0.3

    def build(self) -> "TCNModule":
        """Give the module with fresh weights."""
        return TCNModule(self)


class CausalConvolution(nn.Module):
    """A convolution padded with zeros on the left only, so that token n never reads token n + 1."""

    def __init__(self, width: int, kernel_size: int, dilation: int):
        super().__init__()
        self.past = (kernel_size - 1) * dilation  # tokens before its own that an output reads
        self.conv = nn.Conv1d(width, width, kernel_size, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve (B, N, D) along N."""
        return self.conv(nn.functional.pad(x.transpose(1, 2), (self.past, 0))).transpose(1, 2)

    def init_state(self, batch: int) -> Tensor:
        """Give a buffer (B, past, D) of zeros, which are what the padding puts before the first token."""
        return self.conv.weight.new_zeros(batch, self.past, self.conv.in_channels)

    def step(self, x: Tensor, buffer: Tensor) -> tuple[Tensor, Tensor]:
        """Give the output (B, D) at one more token (B, D), and the buffer (B, past, D) for the next."""
        seen = torch.cat([buffer, x.unsqueeze(1)], dim=1)
        return self.conv(seen.transpose(1, 2)).squeeze(2), seen[:, 1:]


class Block(nn.Module):
    """Two causal convolutions around a residual connection."""

    def __init__(self, config: TCN, dilation: int):
        super().__init__()
        self.norm = nn.RMSNorm(config.width)
        self.first = CausalConvolution(config.width, config.kernel_size, dilation)
        self.between = nn.Sequential(nn.GELU(), nn.Dropout(config.dropout))
        self.second = CausalConvolution(config.width, config.kernel_size, dilation)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, N, D) -> (B, N, D)."""
        return x + self.dropout(self.second(self.between(self.first(self.norm(x)))))

    def init_state(self, batch: int) -> Buffers:
        """Give a buffer of zeros for each convolution."""
        return self.first.init_state(batch), self.second.init_state(batch)

    def step(self, x: Tensor, buffers: Buffers) -> tuple[Tensor, Buffers]:
        """(B, D) -> (B, D), with a buffer for each convolution."""
        y, first = self.first.step(self.norm(x), buffers[0])
        y, second = self.second.step(self.between(y), buffers[1])
        return x + self.dropout(y), (first, second)


class TCNModule(CausalModule):
    """Stack of blocks."""

    def __init__(self, config: TCN):
        super().__init__()
        self.blocks = cast("list[Block]", nn.ModuleList(Block(config, 2**level) for level in range(config.depth)))
        self.receptive_field = 1 + 2 * (config.kernel_size - 1) * (2**config.depth - 1)

    def forward(self, x: Tensor) -> Tensor:
        """Give the states of all tokens, (B, N, D)."""
        for block in self.blocks:
            x = block(x)
        return x

    def init_state(self, batch: int) -> tuple[Buffers, ...]:
        """Give the buffers of every block."""
        return tuple(block.init_state(batch) for block in self.blocks)

    def step(self, x: Tensor, state: tuple[Buffers, ...]) -> tuple[Tensor, tuple[Buffers, ...]]:
        """Move every buffer on by one token (B, D)."""
        kept = []
        for block, buffers in zip(self.blocks, state, strict=True):
            x, buffers = block.step(x, buffers)
            kept.append(buffers)
        return x, tuple(kept)
