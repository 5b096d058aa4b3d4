"""The encoder-decoder with attention: at each step its decoder looks back at all states up to the origin.

Bahdanau et al. 2014, arXiv 1409.0473. B batch, N token, D width, H horizon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from forecast.nn.attention import AdditiveScore, causal_mask, masked_softmax
from forecast.nn.decoders.recurrent import Reader, RecurrentDecoder, RecurrentDecoderModule, Stepper

# Values inside the scores (steps x windows x origins x tokens x size) that are kept for the gradient at most; beyond,
# they are computed in chunks of windows, and a second time for the gradient.
_MOST = 100_000_000


@dataclass(frozen=True, kw_only=True)
class AttentionDecoder(RecurrentDecoder):
    """A gated recurrent unit that at each step scores all states up to the origin, and reads their weighted mean
    (Bahdanau et al. 2014, arXiv 1409.0473).

    The weights are the softmax of the scores: `additive`, v^T tanh(W s + U h) with `size` hidden values, as in
    the paper, or the `dot` product of maps of both to `size` values. Additive scores cost time as origins x tokens x
    size at every step. Trained on 8 origins of a window, evenly spread.
    """

    name = "attention"
    score: Literal["additive", "dot"] = "additive"
    size: int = 32

    def build(
        self, width: int, horizon: int, quantile_levels: Sequence[float], patch_length: int
    ) -> "AttentionDecoderModule":
        """Give the module with fresh weights."""
        del patch_length
        reader = AligningReader(width, horizon, self.score, self.size)
        return AttentionDecoderModule(Stepper(self, reader, width, horizon, quantile_levels))


class DotProductScore(nn.Module):
    """Scaled products of projected queries and data: `AdditiveScore`'s cheap sister."""

    def __init__(self, width: int, *, size: int):
        super().__init__()
        self.query = nn.Linear(width, size, bias=False)
        self.key = nn.Linear(width, size)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Give scores (..., n, m) of queries (..., n, D) and projected data `keys` (..., m, size)."""
        return self.query(queries) @ keys.transpose(-1, -2) / keys.shape[-1] ** 0.5


class AligningReader(Reader):
    """Reads the mean of all states up to the origin, weighted by how well they score against the decoder's state."""

    def __init__(self, width: int, horizon: int, score: Literal["additive", "dot"], size: int):
        super().__init__()
        self.inside = horizon * (size if score == "additive" else 1)  # values for each pair of an origin and a token
        self.score = AdditiveScore(width, size=size) if score == "additive" else DotProductScore(width, size=size)
        self.value = nn.Linear(width, 3 * width)

    def prepare(self, states: Tensor, origins: slice) -> tuple[Tensor, Tensor, Tensor]:
        """Give keys (B, N, size), values (B, N, 3 D) and which tokens each origin may read, (n origins, N)."""
        tokens = torch.arange(states.shape[1], device=states.device)
        return self.score.key(states), self.value(states), causal_mask(tokens[origins], tokens)

    def forward(self, prepared: tuple[Tensor, Tensor, Tensor], hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Give the weighted mean of the values, (B, n origins, 3 D), and the weights (B, n origins, N)."""
        keys, values, mask = prepared
        weights = masked_softmax(self._scores(hidden, keys), mask)
        return weights @ values, weights

    def _scores(self, hidden: Tensor, keys: Tensor) -> Tensor:
        """Score states of the decoder (B, n origins, D) against keys (B, N, size): (B, n origins, N)."""
        rows = _MOST // (hidden.shape[1] * keys.shape[1] * self.inside)
        if rows >= len(keys):
            return self.score(hidden, keys)
        again = partial(checkpoint, self.score, use_reentrant=False, preserve_rng_state=False)
        score = again if torch.is_grad_enabled() else self.score
        parts = zip(hidden.split(max(1, rows)), keys.split(max(1, rows)), strict=True)
        return torch.cat([score(*part) for part in parts])


class AttentionDecoderModule(RecurrentDecoderModule):
    """Steps through the whole horizon, looking back at each step; where it looks can be asked."""

    def alignments(self, states: Tensor, origin: int) -> Tensor:
        """Give the weights with which each step of the forecast from one origin reads states (B, N, D): (B, H, N)."""
        at = slice(origin, origin + 1 or None)
        weights = [read for _, read in self.stepper.walk(states, at) if read is not None]
        return torch.cat(weights, dim=1)
