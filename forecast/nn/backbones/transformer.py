"""Causal Transformer: every token attends to itself and to those before it, and predicts directly from them.

The modern form: RMS pre-norm, normalised queries and keys, rotary positions, gated feed-forward (SwiGLU, Shazeer 2020,
arXiv 2002.05202), no biases. B batch, N token, D width.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule
from forecast.nn.feed_forward import FeedForward
from forecast.nn.positions import AbsolutePositions, absolute_positions
from forecast.nn.self_attention import Cache, CausalSelfAttention


@dataclass(frozen=True, kw_only=True)
class Transformer(Backbone):
    """`depth` blocks of causal self-attention with `heads` heads (Vaswani et al. 2017, arXiv 1706.03762) and a gated
    feed-forward network (Shazeer 2020, arXiv 2002.05202).

    A block attends to the last `window` tokens; None for as many as there are in a context. `positions`: rotary ones
    turn queries and keys in every block; sinusoidal or learned ones are added to the tokens; none leaves order to the
    mask.
    """

    family = "direct-prediction"
    width: int = 64
    depth: int = 2
    heads: int = 4
    window: int | None = None
    dropout: float = 0.3
    positions: Literal["rotary", "sinusoidal", "learned", "none"] = "rotary"

    def __post_init__(self) -> None:
        super().__post_init__()
        turned = self.positions == "rotary"
        if self.width % (2 * self.heads if turned else self.heads):
            twice, why = ("twice ", ", which rotary positions turn in pairs") if turned else ("", "")
            raise ValueError(
                f"`width` of Transformer is {self.width}; allowed: a multiple of {twice}its `heads`, {self.heads}{why}"
            )

    def build(self, tokens: int) -> "TransformerModule":
        """Give the module with fresh weights."""
        window = self.window or tokens
        blocks = (Block(self, window) for _ in range(self.depth))
        return TransformerModule(blocks, window, absolute_positions(self.positions, self.width, window))


class Block(nn.Module):
    """Attention between tokens, then a feed-forward network at each, both around residual connections."""

    def __init__(self, config: Transformer, window: int):
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width)
        self.attention = CausalSelfAttention(
            config.width,
            heads=config.heads,
            window=window,
            dropout=config.dropout,
            positions="rotary" if config.positions == "rotary" else "none",
        )
        self.feed_forward_norm = nn.RMSNorm(config.width)
        self.feed_forward = FeedForward(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def advance(self, x: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        """(B, n, D) -> (B, n, D), with keys and values of the tokens before."""
        y, cache = self.attention.advance(self.attention_norm(x), cache)
        x = x + self.dropout(y)
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), cache


class TransformerModule(CausalModule):
    """Stack of blocks, of this form or another with an `attention` and an `advance` of its own.

    Absolute positions, if there are any, are added before the first. State: where they stand, `()` without, and the
    cache of every block.
    """

    def __init__(self, blocks: Iterable[nn.Module], window: int, positions: AbsolutePositions | None):
        super().__init__()
        self.blocks = cast("list[Any]", nn.ModuleList(blocks))
        self.positions = positions
        self.receptive_field = 1 + len(self.blocks) * (window - 1)

    def init_state(self, batch: int) -> tuple[Tensor | tuple[()], tuple[Cache, ...]]:
        """Give an empty cache for every block."""
        count = () if self.positions is None else self.positions.init_state(batch)
        return count, tuple(block.attention.init_state(batch) for block in self.blocks)

    def advance(
        self, x: Tensor, state: tuple[Any, tuple[Cache, ...]] | None = None
    ) -> tuple[Tensor, tuple[Tensor | tuple[()], tuple[Cache, ...]]]:
        """Add n tokens (B, n, D) to every cache."""
        count, caches = state or (None, [None] * len(self.blocks))
        if self.positions is None:
            count = ()
        else:
            x, count = self.positions.advance(x, count)
        kept = []
        for block, cache in zip(self.blocks, caches, strict=True):
            x, cache = block.advance(x, cache)
            kept.append(cache)
        return x, (count, tuple(kept))
