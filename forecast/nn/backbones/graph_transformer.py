"""Graph Transformer: attention along time within each series alternates with attention across series at each token.

The graph is in the mask: a series reads those that its edges lead to, and itself (Dwivedi and Bresson 2020, arXiv
2012.09699). Each series has a learned embedding, by which it knows itself and the others know it (Liu et al. 2023,
arXiv 2308.10425). B batch, N token, D width, S series, G groups of S series.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from forecast.nn.attention import MultiHeadAttention, graph_mask
from forecast.nn.backbones.contract import Backbone, CausalModule
from forecast.nn.backbones.transformer import Block, Transformer
from forecast.nn.feed_forward import FeedForward
from forecast.nn.self_attention import Cache


@dataclass(frozen=True, kw_only=True)
class GraphTransformer(Backbone):
    """`depth` times a Transformer's block along time, then one across the `series` of a group (after Dwivedi and
    Bresson 2020, arXiv 2012.09699).

    The rows of a batch are groups of `series` neighbours that stand for the same time. `edges` are pairs of places in a
    group: (reader, read); what one series tells another travels one edge in each of the `depth` layers. None for all
    pairs. Along time a block attends to the last `window` tokens; None for as many as there are in a context. A
    forecaster sets `series` and `edges` when it is fitted. One series alone has nothing across it: a plain Transformer.
    """

    family = "direct-prediction"
    across_series = True
    width: int = 64
    depth: int = 2
    heads: int = 4
    window: int | None = None
    dropout: float = 0.3
    series: int = 1
    edges: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % (2 * self.heads):
            raise ValueError(
                f"`width` of GraphTransformer is {self.width}; allowed: a multiple of twice its `heads`, {self.heads}, "
                "which rotary positions turn in pairs"
            )
        for edge in self.edges or ():
            if len(edge) != 2 or not all(isinstance(end, int) and 0 <= end < self.series for end in edge):
                raise ValueError(
                    f"`edges` of GraphTransformer holds {edge!r}; allowed: pairs (reader, read) of places from 0 to "
                    f"{self.series - 1}, as `series` is {self.series}"
                )

    def build(self, tokens: int) -> "GraphTransformerModule":
        """Give the module with fresh weights."""
        return GraphTransformerModule(self, self.window or tokens)


class SeriesBlock(nn.Module):
    """Attention between the series of a group at each token, then a feed-forward network, around residuals."""

    def __init__(self, config: GraphTransformer):
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width)
        self.attention = MultiHeadAttention(config.width, heads=config.heads, dropout=config.dropout)
        self.feed_forward_norm = nn.RMSNorm(config.width)
        self.feed_forward = FeedForward(config.width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """(G n, S, D) -> (G n, S, D), under a mask (S, S)."""
        seen = self.attention_norm(x)
        x = x + self.dropout(self.attention(seen, seen, mask))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))


class Layer(nn.Module):
    """A block along time and, where there are several series, one across them."""

    def __init__(self, config: GraphTransformer, window: int):
        super().__init__()
        along = Transformer(width=config.width, heads=config.heads, dropout=config.dropout)
        self.time = Block(along, window)
        self.series = SeriesBlock(config) if config.series > 1 else None

    def advance(self, x: Tensor, cache: Cache | None, series: int, mask: Tensor | None) -> tuple[Tensor, Cache]:
        """(B, n, D) -> (B, n, D), with keys and values of the tokens before."""
        x, cache = self.time.advance(x, cache)
        if self.series is None:
            return x, cache
        n = x.shape[1]
        tokens = x.unflatten(0, (-1, series)).transpose(1, 2).flatten(0, 1)  # (G n, S, D)
        return self.series(tokens, mask).unflatten(0, (-1, n)).transpose(1, 2).flatten(0, 1), cache


class GraphTransformerModule(CausalModule):
    """Stack of layers on top of the series' embeddings."""

    mask: Tensor | None

    def __init__(self, config: GraphTransformer, window: int):
        super().__init__()
        self.series = config.series
        # Small beside the tokens: what tells series apart is found in training.
        self.nodes = nn.Parameter(0.02 * torch.randn(config.series, config.width)) if config.series > 1 else None
        self.layers = cast("list[Layer]", nn.ModuleList(Layer(config, window) for _ in range(config.depth)))
        self.receptive_field = 1 + config.depth * (window - 1)
        mask = None if config.edges is None else graph_mask(config.edges, config.series)
        self.register_buffer("mask", mask, persistent=False)

    def init_state(self, batch: int) -> tuple[Cache, ...]:
        """Give an empty cache for every block along time; across series nothing is carried."""
        return tuple(layer.time.attention.init_state(batch) for layer in self.layers)

    def advance(self, x: Tensor, state: tuple[Cache, ...] | None = None) -> tuple[Tensor, tuple[Cache, ...]]:
        """Add n tokens (B, n, D), B whole groups, to every cache; raises ValueError if the groups are not whole."""
        groups = x.shape[0] // self.series
        if x.shape[0] % self.series:
            raise ValueError(
                f"`x` holds {x.shape[0]} sequences; allowed: a multiple of the {self.series} series of a group, which "
                "lie side by side in a batch"
            )
        if self.nodes is not None:
            x = x + self.nodes.repeat(groups, 1).unsqueeze(1)  # (B, n, D)
        kept = []
        for layer, cache in zip(self.layers, state or [None] * len(self.layers), strict=True):
            x, cache = layer.advance(x, cache, self.series, self.mask)
            kept.append(cache)
        return x, tuple(kept)
