"""What every backbone keeps: a light config that builds a causal module from tokens to states."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from forecast.nn.hyperparameters import Hyperparameters

# A plain nested tuple or dict of tensors, batch first, whose shapes do not change from token to token: can be moved
# between devices, written to disk, and taken apart by sequences.
State = Any


class CausalModule(nn.Module, ABC):
    """A causal map from tokens to states, (B, N, D) -> (B, N, D): the state at n depends on tokens 0..n only.

    It knows nothing of channels, horizon, quantiles or losses. `receptive_field` is how many tokens, itself included, a
    state depends on; None for all. `series` is how many neighbouring sequences of a batch are read together. A module
    of one's own implements `init_state` and `advance`: the same code then reads a whole sequence and goes on from it.
    """

    receptive_field: int | None
    series: int = 1

    @abstractmethod
    def init_state(self, batch: int) -> State:
        """Give what is carried before the first token of `batch` sequences."""

    @abstractmethod
    def advance(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Take n more tokens (B, n, D); give their states (B, n, D), and what to carry on.

        Without a state, from the first token on, as with `init_state(B)`.
        """

    def forward(self, x: Tensor) -> Tensor:
        """Give the states (B, N, D) of whole sequences (B, N, D)."""
        return self.advance(x)[0]

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one more token (B, D); give its state (B, D), that of `forward` up to rounding, and what to carry on."""
        y, state = self.advance(x.unsqueeze(1), state)
        return y.squeeze(1), state


class Backbone(Hyperparameters, ABC):
    """Hyper-parameters of a backbone: a frozen keyword-only dataclass, each default stated once, in it.

    What it builds maps tokens (B, N, D) to states of the same shape; `width` is D. Making a config raises ValueError
    for a hyper-parameter that is not allowed.

    `family` says what it stands for in the comparison: carry a latent state, predict directly from the sequence, or, as
    a control, neither. One that is `across_series` has hyper-parameters `series` and `edges` and reads the sequences of
    a batch in groups of so many; all others read each sequence by itself.
    """

    family: ClassVar[Literal["latent-state", "direct-prediction", "control"]]
    across_series: ClassVar[bool] = False
    width: int

    @abstractmethod
    def build(self, tokens: int) -> CausalModule:
        """Give the module, with fresh weights from torch's global random state.

        `tokens` are those of a context: what has no bound by itself, such as attention, remembers so many.
        """
