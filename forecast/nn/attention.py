"""Attention: queries ask data vectors, softmax(Q K^T / sqrt(K)) V, here causal and with several heads.

B batch, N token, D width, A attention head, K head size.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from forecast.nn.positions import rotary


class CausalSelfAttention(nn.Module):
    """Multi-head attention of every token to itself and the tokens before it (Vaswani et al. 2017, arXiv 1706.03762).

    Queries and keys are normalised (Dehghani et al. 2023, arXiv 2302.05442) and turned by their positions, so that the
    operator, which knows no order by itself, sees distances.
    """

    def __init__(self, width: int, *, heads: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.query_norm = nn.RMSNorm(width // heads)
        self.key_norm = nn.RMSNorm(width // heads)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Attend within (B, N, D)."""
        q, k, v = self._heads(x, torch.arange(x.shape[1], device=x.device))
        dropout = self.dropout if self.training else 0.0
        return self._merge(scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True))

    def init_state(self, batch: int) -> tuple[Tensor, Tensor]:
        """Give empty caches of keys and values, (B, A, 0, K) each."""
        like = self.out.weight
        empty = like.new_zeros(batch, self.heads, 0, like.shape[0] // self.heads)
        return empty, empty.clone()

    def step(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend from one more token (B, D) to itself and to all in the caches, which grow by it."""
        keys, values = state
        q, k, v = self._heads(x.unsqueeze(1), torch.tensor([keys.shape[2]], device=x.device))
        keys, values = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        return self._merge(scaled_dot_product_attention(q, keys, values)).squeeze(1), (keys, values)

    def _heads(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give queries, keys and values of tokens (B, N, D) at positions (N,), each (B, A, N, K)."""
        q, k, v = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return rotary(self.query_norm(q), positions), rotary(self.key_norm(k), positions), v

    def _merge(self, x: Tensor) -> Tensor:
        """Give (B, A, N, K) -> (B, N, D)."""
        return self.out(x.transpose(1, 2).flatten(2))
