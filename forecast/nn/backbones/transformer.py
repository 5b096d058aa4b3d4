"""Causal Transformer: every token attends to itself and to those before it, and predicts directly from them.

The modern form: RMS pre-norm, normalised queries and keys, rotary positions, gated feed-forward (SwiGLU, Shazeer 2020,
arXiv 2002.05202), no biases. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn
from torch.nn.functional import silu

from forecast.nn.backbones.contract import Backbone, CausalModule
from forecast.nn.self_attention import Cache, CausalSelfAttention


@dataclass(frozen=True, kw_only=True)
class Transformer(Backbone):
    """`depth` blocks of causal self-attention with `heads` heads and a gated feed-forward network.

    A block attends to the last `window` tokens; None for as many as there are in a context.
    """

    family = "direct-prediction"
    width: int = 64
    depth: int = 2
    heads: int = 4
    window: int | None = None
    dropout: float = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % (2 * self.heads):
            raise ValueError(
                f"`width` of Transformer is {self.width}; allowed: a multiple of twice its `heads`, {self.heads}, "
                "which rotary positions turn in pairs"
            )

    def build(self, tokens: int) -> "TransformerModule":
        """Give the module with fresh weights."""
        return TransformerModule(self, self.window or tokens)


class FeedForward(nn.Module):
    """The same small network at every token: one half of a projection gates the other."""

    def __init__(self, width: int):
        super().__init__()
        hidden = 8 * width // 3  # as many weights as the plain form has with a hidden size of 4 D
        self.gate = nn.Linear(width, 2 * hidden, bias=False)
        self.out = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        gate, value = self.gate(x).chunk(2, dim=-1)
        return self.out(silu(gate) * value)


class Block(nn.Module):
    """Attention between tokens, then a feed-forward network at each, both around residual connections."""

    def __init__(self, config: Transformer, window: int):
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width)
        self.attention = CausalSelfAttention(config.width, heads=config.heads, window=window, dropout=config.dropout)
        self.feed_forward_norm = nn.RMSNorm(config.width)
        self.feed_forward = FeedForward(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def advance(self, x: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        """(B, n, D) -> (B, n, D), with keys and values of the tokens before."""
        y, cache = self.attention.advance(self.attention_norm(x), cache)
        x = x + self.dropout(y)
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), cache


class TransformerModule(CausalModule):
    """Stack of blocks."""

    def __init__(self, config: Transformer, window: int):
        super().__init__()
        self.blocks = cast("list[Block]", nn.ModuleList(Block(config, window) for _ in range(config.depth)))
        self.receptive_field = 1 + config.depth * (window - 1)

    def init_state(self, batch: int) -> tuple[Cache, ...]:
        """Give an empty cache for every block."""
        return tuple(block.attention.init_state(batch) for block in self.blocks)

    def advance(self, x: Tensor, state: tuple[Cache, ...] | None = None) -> tuple[Tensor, tuple[Cache, ...]]:
        """Add n tokens (B, n, D) to every cache."""
        kept = []
        for block, cache in zip(self.blocks, state or [None] * len(self.blocks), strict=True):
            x, cache = block.advance(x, cache)
            kept.append(cache)
        return x, tuple(kept)
