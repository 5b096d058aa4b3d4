"""Cross-attention from the horizon to the past: a query for each patch of steps reads the states up to the origin.

All steps at once, none told what another said (as CATS: Kim et al. 2024, arXiv 2405.16877). B batch, N token, D width,
P patch length, H horizon, J patches of the horizon, A attention head, Q quantile level.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from forecast.nn.attention import MultiHeadAttention, causal_mask, dot_product_weights
from forecast.nn.decoders.contract import Decoder, DecoderModule
from forecast.nn.decoders.readout import Readout
from forecast.nn.feed_forward import FeedForward
from forecast.nn.positions import rotary


@dataclass(frozen=True, kw_only=True)
class CrossAttention(Decoder):
    """`depth` blocks in which queries, one for each patch of the horizon, attend with `heads` heads to the past (as
    CATS: Kim et al. 2024, arXiv 2405.16877).

    A query is learned, and begins with the state at the origin added to it. Keys stand at their tokens' places and
    queries as many patches after the origin as they are to forecast (rotary positions), so that a weight can depend on
    how long ago something was, seen from the steps that are forecast. Trained on 8 origins of a window, evenly spread.
    """

    heads: int = 4
    depth: int = 1
    dropout: float = 0.1

    def build(
        self, width: int, horizon: int, quantile_levels: Sequence[float], patch_length: int
    ) -> "CrossAttentionModule":
        """Give the module with fresh weights; ValueError where the heads do not fit the width."""
        if width % (2 * self.heads):
            raise ValueError(
                f"`heads` of CrossAttention is {self.heads}; allowed: a number that, twice, divides the backbone's "
                f"`width`, {width}: rotary positions turn the values of a head in pairs"
            )
        return CrossAttentionModule(self, width, horizon, len(quantile_levels), patch_length)


class LookBack(nn.Module):
    """Attention of horizon queries to the past, then a feed-forward network at each, around residual connections."""

    def __init__(self, config: CrossAttention, width: int):
        super().__init__()
        self.attention_norm = nn.RMSNorm(width)
        self.attention = MultiHeadAttention(width, heads=config.heads, dropout=config.dropout)
        self.feed_forward_norm = nn.RMSNorm(width)
        self.feed_forward = FeedForward(width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, queries: Tensor, states: Tensor, ahead: Tensor, mask: Tensor) -> Tensor:
        """Let queries (B, n, D) at positions `ahead` (n,) read states (B, N, D) under a mask (n, N)."""
        q, k, v = self._turned(queries, states, ahead)
        queries = queries + self.dropout(self.attention.merge(self.attention.attend(q, k, v, mask)))
        return queries + self.dropout(self.feed_forward(self.feed_forward_norm(queries)))

    def weights(self, queries: Tensor, states: Tensor, ahead: Tensor, mask: Tensor) -> Tensor:
        """Give the weights with which the queries read the states in each head, (B, A, n, N)."""
        q, k, _ = self._turned(queries, states, ahead)
        return dot_product_weights(q, k, mask)

    def _turned(self, queries: Tensor, states: Tensor, ahead: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give queries, keys and values of each head, turned to their positions."""
        q, (k, v) = self.attention.queries(self.attention_norm(queries)), self.attention.data(states)
        tokens = torch.arange(states.shape[1], device=states.device)
        return rotary(q, ahead.unsqueeze(0)), rotary(k, tokens.unsqueeze(0)), v


class CrossAttentionModule(DecoderModule):
    """Learned queries, blocks, and one readout of P steps for all queries."""

    trained_origins = 8

    def __init__(self, config: CrossAttention, width: int, horizon: int, levels: int, patch_length: int):
        super().__init__()
        self.reach = horizon
        self.patch_length = patch_length
        self.queries = nn.Parameter(torch.randn(-(-horizon // patch_length), width))  # (J, D)
        self.states_norm = nn.RMSNorm(width)
        self.states_dropout = nn.Dropout(config.dropout)
        self.blocks = cast("list[LookBack]", nn.ModuleList(LookBack(config, width) for _ in range(config.depth)))
        self.norm = nn.RMSNorm(width)
        self.dropout = nn.Dropout(config.dropout)
        self.readout = Readout(width, patch_length, levels)

    def forward(self, states: Tensor, origins: slice, *, targets: Tensor | None = None) -> Tensor:
        """(B, N, D) -> (B, n origins, H, Q)."""
        del targets
        x, states, ahead, mask = self._begin(states, origins)
        for block in self.blocks:
            x = block(x, states, ahead, mask)
        steps = self.readout(self.dropout(self.norm(x)))  # (B, n origins J, P, Q)
        return steps.unflatten(1, (-1, len(self.queries))).flatten(2, 3)[:, :, : self.reach]

    def weights(self, states: Tensor, origin: int) -> Tensor:
        """Give how the queries of one origin read states (B, N, D) in each block and head: (blocks, B, A, J, N)."""
        x, states, ahead, mask = self._begin(states, slice(origin, origin + 1 or None))
        seen = []
        for block in self.blocks:
            seen.append(block.weights(x, states, ahead, mask))
            x = block(x, states, ahead, mask)
        return torch.stack(seen)

    def alignments(self, states: Tensor, origin: int) -> Tensor:
        """Give the weights with which each step reads states (B, N, D), mean of all blocks and heads: (B, H, N)."""
        patches = self.weights(states, origin).mean((0, 2))  # (B, J, N)
        return patches.repeat_interleave(self.patch_length, dim=1)[:, : self.reach]

    def _begin(self, states: Tensor, origins: slice) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Give queries (B, n origins J, D), states to read, the queries' positions and what each may read."""
        states = self.states_dropout(self.states_norm(states))
        tokens = torch.arange(states.shape[1], device=states.device)
        count = len(self.queries)
        at = tokens[origins].repeat_interleave(count)  # (n origins J,)
        ahead = at + torch.arange(1, count + 1, device=at.device).repeat(len(tokens[origins]))
        x = states[:, origins].unsqueeze(2) + self.queries  # (B, n origins, J, D)
        return x.flatten(1, 2), states, ahead, causal_mask(at, tokens)
