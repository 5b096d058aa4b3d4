"""Recurrent decoders: step after step through the horizon, each told what was said at the step before.

What they see of the history at a step is a part of its own, a reader: the state at the origin alone (`context_vector`),
or whichever states it attends to (`attention_decoder`). B batch, N token, D width, H horizon, Q quantile level.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from forecast.nn.decoders.contract import Decoder, DecoderModule
from forecast.nn.decoders.readout import Readout

_FARTHEST = 10.0  # scaled units that a truth is led by: one outlier would otherwise make the whole gradient


@dataclass(frozen=True, kw_only=True)
class RecurrentDecoder(Decoder):
    """What all recurrent decoders let choose.

    Attributes
    ----------
    start: the decoder's first state: the backbone's state at the origin, a linear map of it, or zeros.
    feedback: what a step is told in training of the step before: the truth (teacher forcing, where it is known), what
        the decoder said itself (free), or each at times, the truth with a probability that falls from 1 to 0 over the
        training (scheduled sampling: Bengio et al. 2015, arXiv 1506.03099). In a forecast, always what it said.
    positions: whether each step has inputs of its own, learned, that say which step it is.
    dropout: of the backbone's states.

    """

    start: Literal["last", "linear", "zeros"] = "last"
    feedback: Literal["scheduled", "teacher", "free"] = "scheduled"
    positions: Literal["learned", "none"] = "learned"
    dropout: float = 0.1


class Reader(nn.Module, ABC):
    """What a recurrent decoder sees of the history at each step, mapped to its gates."""

    @abstractmethod
    def prepare(self, states: Tensor, origins: slice) -> Any:
        """Give what is the same at every step, of states (B, N, D)."""

    @abstractmethod
    def forward(self, prepared: Any, hidden: Tensor) -> tuple[Tensor, Tensor | None]:
        """Give what is read with the decoder's states (B, n origins, D), as inputs of its gates (B, n origins, 3 D).

        Beside it the weights of the states that were read, (B, n origins, N), if there was a choice.
        """


class GatedCell(nn.Module):
    """A gated recurrent unit (Cho et al. 2014, arXiv 1406.1078) whose input comes mapped to its gates already.

    Reset gate, update gate and candidate lie side by side, and the reset gate acts after the recurrent map, both as in
    `torch.nn.GRUCell`.
    """

    def __init__(self, width: int):
        super().__init__()
        self.recurrent = nn.Linear(width, 3 * width)
        for gate in self.recurrent.weight.chunk(3):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.recurrent.bias)

    def forward(self, inputs: Tensor, hidden: Tensor) -> Tensor:
        """Give the state (..., D) after that of before, with inputs (..., 3 D)."""
        sizes = 2 * hidden.shape[-1], hidden.shape[-1]
        gates, new = inputs.split(sizes, dim=-1)
        carried_gates, carried = self.recurrent(hidden).split(sizes, dim=-1)
        reset, update = (gates + carried_gates).sigmoid().chunk(2, dim=-1)
        candidate = torch.addcmul(new, reset, carried).tanh()
        return torch.addcmul(candidate, update, hidden - candidate)


class Stepper(nn.Module):
    """Walks through the horizon from every origin: read, step, say all levels, hear what was said."""

    def __init__(
        self, config: RecurrentDecoder, reader: Reader, width: int, horizon: int, quantile_levels: Sequence[float]
    ):
        super().__init__()
        self.horizon = horizon
        self.feedback = config.feedback
        self.median = min(range(len(quantile_levels)), key=lambda level: abs(quantile_levels[level] - 0.5))
        self.norm = nn.RMSNorm(width)
        self.dropout = nn.Dropout(config.dropout)
        self.start = nn.Linear(width, width) if config.start == "linear" else None
        self.blank = config.start == "zeros"
        self.reader = reader
        self.said = nn.Parameter(torch.empty(3 * width).uniform_(-1, 1) / width**0.5)  # from what was said to the gates
        learned = config.positions == "learned"
        self.positions = nn.Parameter(torch.zeros(horizon, 3 * width)) if learned else None
        self.cell = GatedCell(width)
        self.readout = Readout(width, 1, len(quantile_levels))

    def forward(self, states: Tensor, origins: slice, targets: Tensor | None, progress: float) -> Tensor:
        """Give forecasts (B, n origins, H, Q) from states (B, N, D)."""
        led = self._led(targets, progress)
        hidden = torch.stack([hidden for hidden, _ in self.walk(states, origins, led)], dim=2)
        return self.readout(hidden).squeeze(3)

    def walk(self, states: Tensor, origins: slice, led: Tensor | None = None) -> Iterator[tuple[Tensor, Tensor | None]]:
        """Give the decoder's state at each step, (B, n origins, D), and the weights of the states that it read.

        Where `led` (B, n origins, H) holds a number, the next step is told that instead of what was said.
        """
        states = self.dropout(self.norm(states))
        prepared, hidden = self.reader.prepare(states, origins), self._begin(states[:, origins])
        said = hidden.new_zeros(hidden.shape[:2])
        places = [None] * self.horizon if self.positions is None else self.positions.unbind()
        for step, place in enumerate(places):
            inputs, weights = self.reader(prepared, hidden)
            inputs = torch.addcmul(inputs, said.unsqueeze(-1), self.said)
            hidden = self.cell(inputs if place is None else inputs + place, hidden)
            yield hidden, weights
            said = self._say(hidden)
            if led is not None:
                said = torch.where(led[..., step].isfinite(), led[..., step], said)

    def _say(self, hidden: Tensor) -> Tensor:
        """Give the medians (B, n origins) that the next step is told; in training no gradient goes through them."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.training):
            return self.readout(hidden)[..., 0, self.median]

    def _begin(self, states: Tensor) -> Tensor:
        """Give the decoder's first states, (B, n origins, D)."""
        if self.blank:
            return torch.zeros_like(states)
        return states if self.start is None else self.start(states)

    def _led(self, targets: Tensor | None, progress: float) -> Tensor | None:
        """Give the truths that steps are told in training, NaN where they hear what was said; None for nowhere."""
        if targets is None or not self.training or self.feedback == "free":
            return None
        targets = targets.clamp(-_FARTHEST, _FARTHEST)
        if self.feedback == "teacher":
            return targets
        return torch.where(torch.rand_like(targets) < 1 - progress, targets, torch.nan)


class RecurrentDecoderModule(DecoderModule):
    """Steps through the whole horizon from every origin, reading as its stepper does."""

    trained_origins = 8  # of a window: a step costs as much at each origin as many steps of a direct decoder

    def __init__(self, stepper: Stepper):
        super().__init__()
        self.reach = stepper.horizon
        self.stepper = stepper

    def forward(self, states: Tensor, origins: slice, *, targets: Tensor | None = None) -> Tensor:
        """(B, N, D) -> (B, n origins, H, Q)."""
        return self.stepper(states, origins, targets, self.progress)
