"""A recurrent network that looks back: its state asks all hidden states so far, and takes what they answer along.

So nothing needs to survive in one state from the first token to the last. Scores are learned by a small network, as
Bahdanau et al. 2014 (arXiv 1409.0473) have it, or are scaled dot products. B batch, N token, A attention head, D width,
W window.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint

from forecast.nn.attention import AdditiveScore, causal_mask, masked_softmax
from forecast.nn.backbones.contract import Backbone, CausalModule, State
from forecast.nn.backbones.rnn import Cell, RecurrentModule
from forecast.nn.self_attention import CausalSelfAttention

# keys (B, W - 1, size) and states (B, W - 1, D) of the last W - 1 tokens, and how many tokens there were, (B,)
Ring = tuple[Tensor, Tensor, Tensor]

# Values of additive scores that are worked out together: 16 MiB, which a processor's cache may hold. At 168 tokens this
# is twice as fast as all together, although gradients work every score out once more.
_AT_ONCE = 2**22
_FEW = 64  # tokens that may ask together, however short the window: a call costs as much as their scores


@dataclass(frozen=True, kw_only=True)
class AttentiveRNN(Backbone):
    """`depth` recurrent layers, whose hidden states are then asked by each of them; state and answer are summed (after
    Bahdanau et al. 2014, arXiv 1409.0473).

    A token asks the last `window` hidden states, its own included; None for as many as there are tokens in a context.
    The answer is the mean of the hidden states, weighted by the softmax of their scores and mapped linearly. Every
    token asks, whichever origins are trained. An additive score works out 32 values for each pair of tokens, a dot
    product one: a training step takes about as long with either at 21 tokens, but three times as long at 168. It is
    done for some tokens at a time, which bounds its memory; `window` and patches bound its time.
    """

    family = "latent-state"
    width: int = 64
    depth: int = 1
    cell: Cell = "lstm"
    score: Literal["dot", "additive"] = "dot"
    window: int | None = None
    dropout: float = 0.3

    def build(self, tokens: int) -> "AttentiveRNNModule":
        """Give the module with fresh weights."""
        return AttentiveRNNModule(self, self.window or tokens)


class AdditiveSelfAttention(nn.Module):
    """Attention of every state to itself and to the `window - 1` states before it, by a learned score."""

    def __init__(self, width: int, *, window: int):
        super().__init__()
        self.window = window
        self.score = AdditiveScore(width)
        self.out = nn.Linear(width, width, bias=False)

    def init_state(self, batch: int) -> Ring:
        """Give a ring in which nothing is."""
        key, past = self.score.key, self.window - 1
        keys, states = (key.weight.new_zeros(batch, past, size) for size in (key.out_features, key.in_features))
        return keys, states, torch.zeros(batch, dtype=torch.int64, device=keys.device)

    def advance(self, x: Tensor, ring: Ring | None = None) -> tuple[Tensor, Ring]:
        """Attend from n more states (B, n, D) to themselves and to those in the ring."""
        keys, states, positions, ring = self._read(x, ring)
        n, before = x.shape[1], states.shape[1] - x.shape[1]
        values = keys[:, : 2 * self.window].numel()  # at most, of one token's scores in a chunk of up to a window
        at_once = min(max(self.window, _FEW), max(1, _AT_ONCE // values))
        again = n * values > _AT_ONCE and torch.is_grad_enabled()
        answers = []
        for low in range(0, n, at_once):
            high = min(low + at_once, n)
            read = slice(max(0, before + low - self.window + 1), before + high)
            mask = causal_mask(positions[:, before + low : before + high], positions[:, read], self.window)
            asked = x[:, low:high], keys[:, read], states[:, read], mask
            if again:  # gradients work the scores out once more: all of them are not even kept
                answers.append(checkpoint(self._answer, *asked, use_reentrant=False, preserve_rng_state=False))
            else:
                answers.append(self._answer(*asked))
        return self.out(torch.cat(answers, dim=1)), ring

    def weights(self, x: Tensor) -> Tensor:
        """Give the weights with which the states of whole sequences (B, N, D) read each other, (B, 1, N, N)."""
        positions = torch.arange(x.shape[1], device=x.device)
        mask = causal_mask(positions, positions, self.window)
        return masked_softmax(self.score(x, self.score.key(x)), mask).unsqueeze(1)

    def _answer(self, x: Tensor, keys: Tensor, states: Tensor, mask: Tensor) -> Tensor:
        """Give the weighted means (B, n, D) of states (B, m, D) that are asked by x (B, n, D)."""
        return masked_softmax(self.score(x, keys), mask) @ states

    def _read(self, x: Tensor, ring: Ring | None) -> tuple[Tensor, Tensor, Tensor, Ring]:
        """Give keys, states and positions, (B, m, ...) or (1, m), of what may be read, and the ring that is left."""
        (B, n, _), past = x.shape, self.window - 1
        new = torch.arange(n, device=x.device).unsqueeze(0)
        if ring is None:  # nothing was before
            keys, states, positions, seen = self.score.key(x), x, new, new.new_zeros(B)
        else:
            keys, states = torch.cat([ring[0], self.score.key(x)], dim=1), torch.cat([ring[1], x], dim=1)
            seen = ring[2]
            positions = seen.unsqueeze(1) + torch.arange(-past, n, device=x.device)
        short = max(0, past - states.shape[1])
        kept_keys, kept_states = (pad(t, (0, 0, short, 0))[:, t.shape[1] + short - past :] for t in (keys, states))
        return keys, states, positions, (kept_keys, kept_states, seen + n)


class AttentiveRNNModule(CausalModule):
    """Recurrent layers, then attention over their states, pre-norm around a residual connection."""

    receptive_field = None

    def __init__(self, config: AttentiveRNN, window: int):
        super().__init__()
        width = config.width
        self.recurrence = RecurrentModule(config.cell, width, config.depth, config.dropout)
        self.norm = nn.RMSNorm(width)
        if config.score == "additive":
            self.attention = AdditiveSelfAttention(width, window=window)
        else:  # the states know their order by themselves
            self.attention = CausalSelfAttention(
                width, heads=1, window=window, dropout=0.0, positions="none", norm=False
            )
        self.dropout = nn.Dropout(config.dropout)

    def init_state(self, batch: int) -> tuple[State, State]:
        """Give the recurrent layers' zeros and a memory in which nothing is."""
        return self.recurrence.init_state(batch), self.attention.init_state(batch)

    def advance(self, x: Tensor, state: tuple[State, State] | None = None) -> tuple[Tensor, tuple[State, State]]:
        """Carry the recurrent layers over n tokens (B, n, D), and ask the states so far at each."""
        before, memory = state or (None, None)
        x, after = self.recurrence.advance(x, before)
        answer, memory = self.attention.advance(self.norm(x), memory)
        return x + self.dropout(answer), (after, memory)

    def weights(self, x: Tensor) -> Tensor:
        """Give the weights with which the states of tokens (B, N, D) read each other, (B, 1, N, N)."""
        return self.attention.weights(self.norm(self.recurrence(x)))
