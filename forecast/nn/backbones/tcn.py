"""Temporal convolutional network: dilated causal convolutions read the sequence directly (Bai, Kolter and Koltun 2018).

Two convolutions to a residual block as there, dilation doubling from block to block; normalised before (pre-norm)
instead of weight-normalised. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

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

    def build(self, tokens: int) -> "TCNModule":
        """Give the module with fresh weights."""
        del tokens
        return TCNModule(self)


class CausalConvolution(nn.Module):
    """A convolution that sees zeros before the first token, so that token n never reads token n + 1."""

    def __init__(self, width: int, kernel_size: int, dilation: int):
        super().__init__()
        self.past = (kernel_size - 1) * dilation  # tokens before its own that an output reads
        self.conv = nn.Conv1d(width, width, kernel_size, dilation=dilation)

    def init_state(self, batch: int) -> Tensor:
        """Give a buffer (B, past, D) of zeros."""
        return self.conv.weight.new_zeros(batch, self.past, self.conv.in_channels)

    def advance(self, x: Tensor, buffer: Tensor | None) -> tuple[Tensor, Tensor]:
        """Convolve n more tokens (B, n, D); give the buffer of the last tokens for the next."""
        seen = pad(x, (0, 0, self.past, 0)) if buffer is None else torch.cat([buffer, x], dim=1)
        return self.conv(seen.transpose(1, 2)).transpose(1, 2), seen[:, seen.shape[1] - self.past :]


class Block(nn.Module):
    """Two causal convolutions around a residual connection."""

    def __init__(self, config: TCN, dilation: int):
        super().__init__()
        self.norm = nn.RMSNorm(config.width)
        self.first = CausalConvolution(config.width, config.kernel_size, dilation)
        self.between = nn.Sequential(nn.GELU(), nn.Dropout(config.dropout))
        self.second = CausalConvolution(config.width, config.kernel_size, dilation)
        self.dropout = nn.Dropout(config.dropout)

    def init_state(self, batch: int) -> Buffers:
        """Give a buffer of zeros for each convolution."""
        return self.first.init_state(batch), self.second.init_state(batch)

    def advance(self, x: Tensor, buffers: Buffers | tuple[None, None]) -> tuple[Tensor, Buffers]:
        """(B, n, D) -> (B, n, D), with a buffer for each convolution."""
        y, first = self.first.advance(self.norm(x), buffers[0])
        y, second = self.second.advance(self.between(y), buffers[1])
        return x + self.dropout(y), (first, second)


class TCNModule(CausalModule):
    """Stack of blocks."""

    def __init__(self, config: TCN):
        super().__init__()
        self.blocks = cast("list[Block]", nn.ModuleList(Block(config, 2**level) for level in range(config.depth)))
        self.receptive_field = 1 + 2 * (config.kernel_size - 1) * (2**config.depth - 1)

    def init_state(self, batch: int) -> tuple[Buffers, ...]:
        """Give the buffers of every block."""
        return tuple(block.init_state(batch) for block in self.blocks)

    def advance(self, x: Tensor, state: tuple[Buffers, ...] | None = None) -> tuple[Tensor, tuple[Buffers, ...]]:
        """Move every buffer on by n tokens (B, n, D)."""
        kept = []
        for block, buffers in zip(self.blocks, state or [(None, None)] * len(self.blocks), strict=True):
            x, buffers = block.advance(x, buffers)
            kept.append(buffers)
        return x, tuple(kept)
