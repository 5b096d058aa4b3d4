"""Causal self-attention that reads a whole sequence at once, or goes on from a cache of keys and values.

B batch, N token, A attention head, K head size, D width, W window.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.nn.attention import MultiHeadAttention, causal_mask, dot_product_weights
from forecast.nn.positions import rotary

# keys and values of the last W - 1 tokens, (B, A, W - 1, K) each, and how many tokens there were, (B,)
Cache = tuple[Tensor, Tensor, Tensor]


class CausalSelfAttention(nn.Module):
    """Attention of every token to itself and to the `window - 1` tokens before it.

    With `rotary` positions queries and keys are turned, so that scores depend on distances. What lies before the window
    is out of reach for a whole sequence just as for a stream: a cache that forgets would otherwise differ from it.
    """

    def __init__(
        self,
        width: int,
        *,
        heads: int,
        window: int,
        dropout: float,
        positions: Literal["rotary", "none"] = "rotary",
        bias: bool = False,
        norm: bool = True,
    ):
        super().__init__()
        self.window = window
        self.rotary = positions == "rotary"
        self.attention = MultiHeadAttention(width, heads=heads, dropout=dropout, bias=bias, norm=norm)

    def init_state(self, batch: int) -> Cache:
        """Give a cache in which nothing is."""
        like, heads = self.attention.out.weight, self.attention.heads
        keys = like.new_zeros(batch, heads, self.window - 1, like.shape[0] // heads)
        return keys, keys.clone(), torch.zeros(batch, dtype=torch.int64, device=like.device)

    def advance(self, x: Tensor, cache: Cache | None = None) -> tuple[Tensor, Cache]:
        """Attend from n more tokens (B, n, D) to themselves and to those in the cache."""
        q, k, v, mask, cache = self._read(x, cache)
        causal = mask is None
        return self.attention.merge(self.attention.attend(q, k, v, mask, causal=causal)), cache

    def weights(self, x: Tensor) -> Tensor:
        """Give the weights with which the tokens of whole sequences (B, N, D) read each other, (B, A, N, N)."""
        q, k, _, mask, _ = self._read(x, None)
        return dot_product_weights(q, k, mask, causal=mask is None)

    def _read(self, x: Tensor, cache: Cache | None) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Cache]:
        """Give queries, keys, values, mask (None: all before, none after) and the cache that is left."""
        B, n, _ = x.shape
        past = self.window - 1
        seen = torch.zeros(B, dtype=torch.int64, device=x.device) if cache is None else cache[2]
        new = seen.unsqueeze(1) + torch.arange(n, device=x.device)  # (B, n), positions
        if cache is None:  # the same in all sequences
            new = new[:1]
        q, (k, v) = self.attention.queries(x), self.attention.data(x)
        if self.rotary:
            q, k = rotary(torch.cat([q, k], dim=1), new).chunk(2, dim=1)
        if cache is None:
            mask = None if n <= self.window else causal_mask(new, new, self.window).unsqueeze(1)  # (1, 1, n, n)
            short = max(0, past - n)
            kept_k, kept_v = (pad(t[:, :, n + short - past :], (0, 0, short, 0)) for t in (k, v))
        else:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            old = seen.unsqueeze(1) + torch.arange(-past, 0, device=x.device)
            mask = causal_mask(new, torch.cat([old, new], dim=1), self.window).unsqueeze(1)  # (B, 1, n, W - 1 + n)
            kept_k, kept_v = (t[:, :, n:] for t in (k, v))
        return q, k, v, mask, (kept_k, kept_v, seen + n)
