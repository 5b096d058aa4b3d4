"""What the probes of networks are run on: a module, how it is called, and what is claimed of it.

B batch, N position, C what is read at a position, D width, G sequences that are read together.
"""

import copy
import dataclasses
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from forecast.testing.trials import ALL, noise

LONGEST = 1024  # positions that are read at most, however many are claimed: bounds time
PAST = 3  # positions read beyond those that are claimed
_SHAKEN = 0.05  # what is added to weights: enough that none is at its neutral start
_ROUNDING = 1e-12  # of what is added: in double precision sums that should cancel, as those of an FFT, leave less
_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4}  # of the largest that is said, for sums in another order

Field = int | None | Literal["unstated"]  # positions that are claimed to be read; None for all before
Change = Callable[[nn.Module], Any]


@dataclass(frozen=True, kw_only=True)
class Probed(ABC):
    """A network to probe, that reads (B, N, C) and says something at each position, (B, N, ...).

    Attributes
    ----------
    module: the network; what is called are copies of it, so that no call leaves anything behind.
    weights: which weights it has, in words.
    columns: C.
    positions: N, of the probes.
    group: G.
    field: how many positions, its own included, what is said at one is claimed to depend on.
    newest, oldest: the first and the last that is known of what is read at a position.
    parts: whether axis 2 of what is said are steps, each of which has to see the newest.
    anchored: whether it is declared to count from the end of what it reads.
    rounding: how far what may not move can, in units of what was added: what sums that should cancel leave.
    unit: what positions are, in words.

    """

    module: nn.Module
    weights: str = "as they are"
    columns: int
    positions: int
    group: int = 1
    field: Field = "unstated"
    newest: slice = dataclasses.field(default_factory=lambda: ALL)
    oldest: slice = dataclasses.field(default_factory=lambda: ALL)
    parts: bool = False
    anchored: bool = False
    rounding: float = 0.0
    unit: str = "positions"

    @abstractmethod
    def read(self, module: nn.Module, x: Tensor) -> Tensor:
        """Let a module say something of all positions of (B, N, C)."""

    @abstractmethod
    def read_last(self, module: nn.Module, x: Tensor) -> Tensor:
        """Let a module say something of the last position alone, (B, ...)."""

    @abstractmethod
    def read_in_training(self, module: nn.Module, x: Tensor) -> Tensor:
        """Let a module in training mode say something, as a training loop does."""

    @abstractmethod
    def draw(self, seed: int, groups: int = 2, positions: int | None = None) -> Tensor:
        """Give something to read, (groups G, N, C); None stands for the positions of the probes."""

    @abstractmethod
    def why_not_carried(self) -> str:
        """Say why it cannot go on from a state; "" if it can."""

    @abstractmethod
    def carried(self, module: nn.Module, x: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Read in pieces with a carried state; give for each way of cutting what is said, and what should be."""

    @property
    @abstractmethod
    def window(self) -> int:
        """Positions that are read where the oldest has to matter."""

    @property
    @abstractmethod
    def stream(self) -> int:
        """Positions that are read with a carried state."""

    @property
    def dtype(self) -> torch.dtype:
        """The precision in which it is probed."""
        return next((t.dtype for t in _numbers(self.module)), torch.float64)

    @property
    def tolerance(self) -> float:
        """How far apart what should be equal can be, in units of the largest that is said: sums in another order."""
        return _TOLERANCE.get(self.dtype, 1e-4)

    def said(self, x: Tensor, *changes: Change) -> Tensor:
        """Give what a fresh copy says, with the same random numbers each time; `changes` are made to the copy."""
        return self._with(self.read, x, *changes)

    def said_last(self, x: Tensor) -> Tensor:
        """Give what a fresh copy says of the last position alone."""
        return self._with(self.read_last, x)

    def said_in_training(self, x: Tensor, *changes: Change) -> Tensor:
        """Give what a fresh copy says in training mode."""
        return self._with(self.read_in_training, x, nn.Module.train, *changes)

    def shaken(self) -> "Probed":
        """Give it with all weights that are learned moved a little: a gate that starts at zero hides what is behind."""
        module = own_copy(self.module)
        with torch.no_grad():
            for number, parameter in enumerate(module.parameters()):
                if parameter.requires_grad and parameter.is_floating_point():
                    parameter.add_(_SHAKEN * noise(parameter, number))
        return replace(self, module=module, weights="moved a little")

    def fresh(self) -> nn.Module:
        """Give a copy that shares the weights, and nothing else that a call may change."""
        return twin(self.module)

    def _with(self, read: Callable, x: Tensor, *changes: Change) -> Tensor:
        module = self.fresh()
        for change in changes:
            change(module)
        draw_anew()
        return read(module, x)


def draw_anew() -> None:
    """Let all random numbers on the processor begin anew; whoever audits gives their states back.

    `torch.manual_seed` notes for devices where it was called, every time, which takes longer than a small network.
    """
    torch.default_generator.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def own_copy(module: nn.Module) -> nn.Module:
    """Give a copy on the processor, outside training."""
    return copy.deepcopy(module, _results(module)).cpu().eval()


def twin(module: nn.Module) -> nn.Module:
    """Give a copy that shares the weights and hooks, and nothing else that a call may change."""
    hooks = (value for part in module.modules() for name, value in vars(part).items() if "hooks" in name)
    shared = {id(one): one for group in (module.parameters(), hooks) for one in group}
    return copy.deepcopy(module, shared | _results(module))


def _results(module: nn.Module) -> dict[int, Any]:
    """Give what calls left on a module, by identity: results cannot be copied, but a copy may hold what they hold."""
    kept = (value for part in module.modules() for value in vars(part).values())
    return {id(value): value.detach() for value in kept if isinstance(value, Tensor) and not value.is_leaf}


def _numbers(module: nn.Module) -> Iterator[Tensor]:
    yield from (t for part in (module.parameters(), module.buffers()) for t in part if t.is_floating_point())


def in_double(probed: Any) -> Any:
    """Give it in double precision, if it can be called so: in it rounding and leaks are far apart."""
    double = replace(probed, module=own_copy(probed.module).double(), rounding=_ROUNDING)
    try:
        double.said(double.draw(0))
    except Exception:  # whatever a class of the user's own raises; in its own precision it is raised again
        probed.said(probed.draw(0))
        return probed
    return double
