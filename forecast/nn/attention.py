"""The attention operator: queries ask a set of data vectors, and get weighted means of them.

In the convention of this file rows are vectors: queries Q (n, K) and keys K (m, K), one key and one value for each data
vector, give softmax(Q K^T / sqrt(K)) V, (n, K). Row q of the softmax holds the weights with which query q reads the
data; they sum to one. A mask (n, m) is True where a query may read; elsewhere the score is minus infinity before the
softmax, so that the weight is nothing at all. A query that may read nothing gets zeros.

The operator knows no order: exchange data vectors and the answer is the same, exchange queries and the answers are
exchanged. Order comes with a mask, or with positions (`forecast.nn.positions`).

B batch, A attention head, K head size, D width, n queries, m data vectors.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


def causal_mask(queries: Tensor, keys: Tensor, window: int | None = None) -> Tensor:
    """Let queries at positions (..., n) read keys at positions (..., m) no later than their own, (..., n, m).

    With a `window`, a band: only the last so many positions, its own included. Positions below 0 are read by nobody.
    """
    distance = queries.unsqueeze(-1) - keys.unsqueeze(-2)
    mask = (distance >= 0) & (keys >= 0).unsqueeze(-2)
    return mask if window is None else mask & (distance < window)


def graph_mask(edges, nodes: int) -> Tensor:
    """Let nodes read themselves and, along `edges` (reader, read), pairs of positions, others: (nodes, nodes)."""
    mask = torch.eye(nodes, dtype=torch.bool)
    for reader, read in edges:
        mask[reader, read] = True
    return mask


def dot_product_weights(q: Tensor, k: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
    """Give softmax(Q K^T / sqrt(K)), (..., n, m), by the definition; zeros in the row of a query that may read nothing.

    `causal` stands for the mask in which query i reads keys 0..i.
    """
    if causal:
        _check_one_mask(mask)
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
    return masked_softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, mask)


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Give the softmax of scores (..., m) over what the mask lets through; zeros where it lets nothing through."""
    if mask is None:
        return scores.softmax(-1)
    blind = ~mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~mask & ~blind, -torch.inf).softmax(-1)
    return weights.masked_fill(blind, 0.0)


def dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, causal: bool = False, dropout: float = 0.0
) -> Tensor:
    """Give softmax(Q K^T / sqrt(K)) V, (..., n, K), by PyTorch's fused kernels.

    `causal` stands for the mask in which query i reads keys 0..i, and spares making it.
    """
    if causal:
        _check_one_mask(mask)
    if mask is None:
        return scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=causal)
    blind = ~mask.any(-1, keepdim=True)
    # What may read nothing reads everything first, and the answer is thrown away: no kernel meets an empty row.
    answer = scaled_dot_product_attention(q, k, v, attn_mask=mask | blind, dropout_p=dropout)
    return answer.masked_fill(blind, 0.0)


def _check_one_mask(mask: Tensor | None) -> None:
    if mask is not None:
        raise ValueError("`causal` is True and `mask` is given; allowed: one of them; join masks by &")


class DotProductAttention(nn.Module):
    """`dot_product_attention` as a module: all attention of a network passes through one.

    A forward hook on it sees queries, keys and mask just as they meet; `dot_product_weights` of them are the weights,
    which the fused kernels do not give.
    """

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.dropout = dropout

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        """Answer queries (..., n, K) from keys and values (..., m, K), some of the weights dropped in training."""
        return dot_product_attention(q, k, v, mask, causal=causal, dropout=self.dropout if self.training else 0.0)


class MultiHeadAttention(nn.Module):
    """`heads` attentions side by side, each in a projection of its own (Vaswani et al. 2017, arXiv 1706.03762).

    Cross-attention where queries and data differ, self-attention where they are the same. `norm` normalises queries and
    keys of each head (Dehghani et al. 2023, arXiv 2302.05442), which keeps scores small however wide the states become.
    """

    def __init__(self, width: int, *, heads: int, dropout: float = 0.0, bias: bool = False, norm: bool = True):
        super().__init__()
        if width % heads:
            raise ValueError(f"`heads` is {heads}; allowed: a divisor of the width, {width}")
        self.heads = heads
        self.query = nn.Linear(width, width, bias=bias)
        self.key_value = nn.Linear(width, 2 * width, bias=bias)
        self.query_norm = nn.RMSNorm(width // heads) if norm else nn.Identity()
        self.key_norm = nn.RMSNorm(width // heads) if norm else nn.Identity()
        self.operator = DotProductAttention(dropout)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, queries: Tensor, data: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        """Answer queries (B, n, D) from data (B, m, D), under a mask that broadcasts to (B, A, n, m)."""
        return self.merge(self.attend(self.queries(queries), *self.data(data), mask, causal=causal))

    def weights(self, queries: Tensor, data: Tensor, mask: Tensor | None = None) -> Tensor:
        """Give the weights with which queries (B, n, D) read data (B, m, D) in each head, (B, A, n, m)."""
        return dot_product_weights(self.queries(queries), self.data(data)[0], mask)

    def queries(self, x: Tensor) -> Tensor:
        """(B, n, D) -> (B, A, n, K)."""
        return self.query_norm(self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2))

    def data(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Give keys and values of data (B, m, D), (B, A, m, K) each."""
        k, v = self.key_value(x).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.key_norm(k), v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool = False) -> Tensor:
        """Answer the queries of each head, (B, A, n, K)."""
        return self.operator(q, k, v, mask, causal=causal)

    def merge(self, x: Tensor) -> Tensor:
        """Give (B, A, n, K) -> (B, n, D)."""
        return self.out(x.transpose(1, 2).flatten(2))


class AdditiveScore(nn.Module):
    """Learned alignment scores v^T tanh(W q + U d) of queries and data (Bahdanau et al. 2014, arXiv 1409.0473).

    They cost n m times `size` values of memory, many times a dot product's: for few queries at a time.
    """

    def __init__(self, width: int, *, size: int = 32):
        super().__init__()
        self.query = nn.Linear(width, size, bias=False)
        self.key = nn.Linear(width, size)
        self.score = nn.Linear(size, 1, bias=False)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Give scores (..., n, m) of queries (..., n, D) and projected data `keys` (..., m, size)."""
        inside = (2 * self.query(queries)).unsqueeze(-2) + (2 * keys).unsqueeze(-3)  # (..., n, m, size)
        # tanh x = 2 sigmoid(2 x) - 1, and on a processor torch's sigmoid takes a sixth of the time of its tanh.
        return 2 * self.score(inside.sigmoid()).squeeze(-1) - self.score.weight.sum()
