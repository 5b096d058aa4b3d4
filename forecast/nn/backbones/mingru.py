"""minGRU: a recurrence whose gates read the token alone, so that a whole sequence can be trained in parallel.

Feng et al. 2024, arXiv 2410.01201. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.nn.backbones.contract import Backbone, CausalModule


@dataclass(frozen=True, kw_only=True)
class MinGRU(Backbone):
    """`depth` layers of `width`, each a recurrence h' = (1 - z) h + z W x with gate z = sigmoid(U x + b), then an MLP
    (Feng et al. 2024, arXiv 2410.01201).

    Unlike in a GRU the state has no say in what is kept of it; what a layer cannot tell by the token alone, the next
    one reads from its states. A state is a weighted mean of all W x so far, so that it is bounded by them.
    """

    name = "mingru"
    family = "latent-state"
    width: int = 64
    depth: int = 2
    dropout: float = 0.3

    def build(self, tokens: int) -> "MinGRUModule":
        """Give the module with fresh weights."""
        del tokens
        return MinGRUModule(self)


def by_loop(keep: Tensor, new: Tensor) -> Tensor:
    """Give h_n = keep_n h_{n-1} + new_n along N of (B, N, D), from h_{-1} = 0, one token after the other."""
    states = torch.empty_like(new)
    before = torch.zeros_like(new[:, 0])
    for kept, added, state in zip(keep.unbind(1), new.unbind(1), states.unbind(1), strict=True):
        before = torch.addcmul(added, kept, before, out=state)
    return states


def by_scan(keep: Tensor, new: Tensor) -> Tensor:
    """Give the same in log2(N) rounds, each of which doubles how many tokens a position has read.

    What is kept over many tokens is a product of gates. Nothing is divided and no logarithm taken: a product that
    underflows is the zero that it should be.
    """
    reach = 1
    while reach < new.shape[1]:
        later, earlier = slice(reach, None), slice(None, -reach)
        new = torch.cat([new[:, :reach], torch.addcmul(new[:, later], keep[:, later], new[:, earlier])], dim=1)
        keep = torch.cat([keep[:, :reach], keep[:, later] * keep[:, earlier]], dim=1)
        reach *= 2
    return new


def recurrence(keep: Tensor, new: Tensor) -> Tensor:
    """Give the states by the faster of the two ways."""
    # A scan makes more work of fewer steps, which is what an accelerator asks for. On a processor it takes twice as
    # long as the loop at 21 tokens, four times at 168 (with gradients; batch 64, width 64, one thread). A graph that is
    # exported or compiled holds every step of a loop, and none that writes in place.
    loop = new.device.type == "cpu" and not torch.compiler.is_compiling()
    return by_loop(keep, new) if loop else by_scan(keep, new)


class LinearRecurrence(torch.autograd.Function):
    """h_n = keep_n h_{n-1} + new_n along N of (B, N, D), whose gradient is the same recurrence run backwards."""

    @staticmethod
    def forward(ctx, keep: Tensor, new: Tensor) -> Tensor:
        """Give all states (B, N, D)."""
        states = recurrence(keep, new)
        ctx.save_for_backward(keep, states)
        return states

    @staticmethod
    def backward(ctx, *grads: Tensor) -> tuple[Tensor, Tensor]:
        """Give the gradients of `keep` and `new`."""
        keep, states = ctx.saved_tensors
        following = pad(keep[:, 1:], (0, 0, 0, 1)).flip(1)
        reached = cast("Tensor", LinearRecurrence.apply(following, grads[0].flip(1))).flip(1)
        return reached * pad(states[:, :-1], (0, 0, 1, 0)), reached


class Layer(nn.Module):
    """Recurrence, then the same small network at each token, both pre-norm around residual connections."""

    def __init__(self, width: int, dropout: float):
        super().__init__()
        self.recurrence_norm = nn.RMSNorm(width)
        self.update = nn.Linear(width, width)
        self.candidate = nn.Linear(width, width)
        self.feed_forward_norm = nn.RMSNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.dropout = nn.Dropout(dropout)

    def init_state(self, batch: int) -> Tensor:
        """Give zeros."""
        bias = self.update.bias
        return bias.new_zeros(batch, len(bias), dtype=torch.promote_types(bias.dtype, torch.float32))

    def advance(self, x: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        """(B, n, D) -> (B, n, D), from a state (B, D); give the state after it."""
        y = self.recurrence_norm(x)
        # In bfloat16 a gate that keeps 0.999 of a state would keep all of it.
        precise = torch.promote_types(x.dtype, torch.float32)
        update = self.update(y).to(precise)
        keep, new = (-update).sigmoid(), update.sigmoid() * self.candidate(y).to(precise)
        if state is not None:
            new = torch.cat([new[:, :1] + keep[:, :1] * state.unsqueeze(1), new[:, 1:]], dim=1)
        # Where no gradient is asked for there is nothing to keep, and nothing that an export cannot see through.
        states = cast("Tensor", LinearRecurrence.apply(keep, new)) if torch.is_grad_enabled() else recurrence(keep, new)
        x = x + self.dropout(states.to(x.dtype))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x))), states[:, -1]


class MinGRUModule(CausalModule):
    """Stack of layers."""

    receptive_field = None

    def __init__(self, config: MinGRU):
        super().__init__()
        layers = nn.ModuleList(Layer(config.width, config.dropout) for _ in range(config.depth))
        self.layers = cast("list[Layer]", layers)

    def init_state(self, batch: int) -> tuple[Tensor, ...]:
        """Give zeros for every layer."""
        return tuple(layer.init_state(batch) for layer in self.layers)

    def advance(self, x: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Carry every layer's state over n tokens (B, n, D)."""
        carried = []
        for layer, before in zip(self.layers, state or [None] * len(self.layers), strict=True):
            x, after = layer.advance(x, before)
            carried.append(after)
        return x, tuple(carried)
