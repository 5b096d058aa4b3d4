"""The Transformer as first published (Vaswani et al. 2017, arXiv 1706.03762), with a causal mask.

Positions are added to a projection of the tokens; then blocks that normalise after each residual connection
(post-norm, LayerNorm), with a plain feed-forward network (ReLU) and biases. `transformer.py` holds the modern form.
B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule
from forecast.nn.backbones.transformer import TransformerModule
from forecast.nn.positions import absolute_positions
from forecast.nn.self_attention import Cache, CausalSelfAttention


@dataclass(frozen=True, kw_only=True)
class VanillaTransformer(Backbone):
    """`depth` post-norm blocks of causal self-attention with `heads` heads and a feed-forward network (Vaswani et al.
    2017, arXiv 1706.03762).

    A block attends to as many tokens as there are in a context, and positions count modulo that number
    (`AbsolutePositions`), so that a stream may run on. Without `positions` order is left to the mask.
    """

    family = "direct-prediction"
    width: int = 64
    depth: int = 2
    heads: int = 4
    dropout: float = 0.3
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(
                f"`width` of VanillaTransformer is {self.width}; allowed: a multiple of its `heads`, {self.heads}"
            )

    def build(self, tokens: int) -> "VanillaTransformerModule":
        """Give the module with fresh weights."""
        return VanillaTransformerModule(self, tokens)


class VanillaBlock(nn.Module):
    """Attention, residual, norm; feed-forward network, residual, norm: `nn.TransformerEncoderLayer` with a cache."""

    def __init__(self, config: VanillaTransformer, window: int):
        super().__init__()
        width, dropout = config.width, config.dropout
        self.attention = CausalSelfAttention(
            width, heads=config.heads, window=window, dropout=dropout, positions="none", bias=True, norm=False
        )
        self.attention_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 4 * width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(4 * width, width)
        )
        self.feed_forward_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def advance(self, x: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        """(B, n, D) -> (B, n, D), with keys and values of the tokens before."""
        y, cache = self.attention.advance(x, cache)
        x = self.attention_norm(x + self.dropout(y))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x))), cache


class VanillaTransformerModule(CausalModule):
    """A projection of the tokens, positions, and a stack of blocks."""

    def __init__(self, config: VanillaTransformer, window: int):
        super().__init__()
        self.projection = nn.Linear(config.width, config.width)
        blocks = (VanillaBlock(config, window) for _ in range(config.depth))
        self.stack = TransformerModule(blocks, window, absolute_positions(config.positions, config.width, window))
        self.receptive_field = self.stack.receptive_field

    def init_state(self, batch: int) -> Any:
        """Give the first position and an empty cache for every block."""
        return self.stack.init_state(batch)

    def advance(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Add n tokens (B, n, D) to every cache."""
        return self.stack.advance(self.projection(x), state)
