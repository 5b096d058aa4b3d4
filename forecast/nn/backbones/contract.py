"""What every backbone keeps: a light config that builds a causal module from tokens to states."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from forecast.nn.hyperparameters import Hyperparameters

# A plain nested tuple or dict of tensors: can be moved between devices and written to disk.
State = Any


class CausalModule(nn.Module, ABC):
    """A causal map from tokens to states, (B, N, D) -> (B, N, D): the state at n depends on tokens 0..n only.

    It knows nothing of channels, horizon, quantiles or losses. `receptive_field` is how many tokens, itself included, a
    state depends on; None for all.
    """

    receptive_field: int | None

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Give the states (B, N, D) of tokens (B, N, D), all at once."""

    @abstractmethod
    def init_state(self, batch: int) -> State:
        """Give the state carried before the first token of `batch` sequences."""

    @abstractmethod
    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one more token (B, D); give its state (B, D), that of `forward` up to rounding, and what to carry on."""


class Backbone(Hyperparameters, ABC):
    """Hyper-parameters of a backbone: a frozen keyword-only dataclass, each default stated once, in it.

    `family` says what it stands for in the comparison: carry a latent state, or predict directly from the sequence.
    """

    family: ClassVar[Literal["latent-state", "direct-prediction"]]
    width: int

    @abstractmethod
    def build(self) -> CausalModule:
        """Give the module, with fresh weights from torch's global random state."""
