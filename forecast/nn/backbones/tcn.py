"""Temporal convolutional network: dilated causal convolutions read the sequence directly (Bai, Kolter and Koltun 2018).

Two convolutions to a residual block as there (arXiv 1803.01271), dilation growing from block to block; normalised
before (pre-norm) instead of weight-normalised. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule
from forecast.nn.convolution import CausalConvolution, causal_mean

Buffers = tuple[Tensor, ...]  # of the two convolutions of a block, (B, past, D) each, and of its pooling


@dataclass(frozen=True, kw_only=True)
class TCN(Backbone):
    """`depth` blocks of two causal convolutions over `kernel_size` tokens that lie `dilation`^i apart in block i (Bai,
    Kolter and Koltun 2018, arXiv 1803.01271).

    With `pooling`, what a block adds is the mean of its last so many results; the newest token stays a part of every
    state. A state sees 1 + 2 (kernel_size - 1) (1 + dilation + dilation^2 + ...) + depth (pooling - 1) tokens.
    """

    family = "direct-prediction"
    width: int = 64
    depth: int = 3
    kernel_size: int = 3
    dilation: int = 2
    pooling: int | None = None
    dropout: float = 0.3

    def build(self, tokens: int) -> "TCNModule":
        """Give the module with fresh weights."""
        del tokens
        return TCNModule(self)


class Block(nn.Module):
    """Two causal convolutions, pooled if asked for, around a residual connection."""

    def __init__(self, config: TCN, dilation: int):
        super().__init__()
        width, kernel_size = config.width, config.kernel_size
        self.norm = nn.RMSNorm(width)
        self.first = CausalConvolution(width, width, kernel_size=kernel_size, dilation=dilation)
        self.between = nn.Sequential(nn.GELU(), nn.Dropout(config.dropout))
        self.second = CausalConvolution(width, width, kernel_size=kernel_size, dilation=dilation)
        self.pooling = config.pooling
        self.dropout = nn.Dropout(config.dropout)
        self.past = self.first.past + self.second.past + (self.pooling or 1) - 1

    def init_state(self, batch: int) -> Buffers:
        """Give a buffer of zeros for each convolution, and for the pooling if there is one."""
        buffers = self.first.init_state(batch), self.second.init_state(batch)
        if self.pooling is None:
            return buffers
        return *buffers, self.norm.weight.new_zeros(batch, self.pooling - 1, self.first.width)

    def advance(self, x: Tensor, buffers: Buffers | None) -> tuple[Tensor, Buffers]:
        """(B, n, D) -> (B, n, D), from the buffers and to those for the next tokens."""
        before = buffers or (None, None, None)
        y, first = self.first.advance(self.norm(x), before[0])
        y, second = self.second.advance(self.between(y), before[1])
        after = (first, second)
        if self.pooling is not None:
            y, pooled = causal_mean(y, before[2], self.pooling)
            after = (first, second, pooled)
        return x + self.dropout(y), after


class TCNModule(CausalModule):
    """Stack of blocks."""

    def __init__(self, config: TCN):
        super().__init__()
        blocks = nn.ModuleList(Block(config, config.dilation**level) for level in range(config.depth))
        self.blocks = cast("list[Block]", blocks)
        self.receptive_field = 1 + sum(block.past for block in self.blocks)

    def init_state(self, batch: int) -> tuple[Buffers, ...]:
        """Give the buffers of every block."""
        return tuple(block.init_state(batch) for block in self.blocks)

    def advance(self, x: Tensor, state: tuple[Buffers, ...] | None = None) -> tuple[Tensor, tuple[Buffers, ...]]:
        """Move every buffer on by n tokens (B, n, D)."""
        kept = []
        for block, buffers in zip(self.blocks, state or [None] * len(self.blocks), strict=True):
            x, buffers = block.advance(x, buffers)
            kept.append(buffers)
        return x, tuple(kept)
