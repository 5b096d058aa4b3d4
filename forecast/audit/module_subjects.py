"""What the probes of networks are run on: a module, how it is called, and what is claimed of it.

B batch, N position, C what is read at a position, D width, G sequences that are read together.
"""

import copy
import dataclasses
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from forecast.nn import CausalModule
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


@dataclass(frozen=True, kw_only=True)
class ProbedModule(Probed):
    """A module from tokens to states, (B, N, D) -> (B, N, ...): a backbone, or a user's own."""

    @property
    def window(self) -> int:
        """All."""
        return self.positions

    @property
    def stream(self) -> int:
        """All."""
        return self.positions

    def read(self, module: nn.Module, x: Tensor) -> Tensor:
        """Give the first tensor of what the module gives."""
        return _checked(first_tensor(module(x)), x)

    def read_last(self, module: nn.Module, x: Tensor) -> Tensor:
        """Give the last of all."""
        return self.read(module, x)[:, -1]

    def read_in_training(self, module: nn.Module, x: Tensor) -> Tensor:
        """Give the same as outside."""
        return self.read(module, x)

    def draw(self, seed: int, groups: int = 2, positions: int | None = None) -> Tensor:
        """Give noise."""
        shape = groups * self.group, positions or self.positions, self.columns
        return noise(torch.empty(shape, dtype=self.dtype), seed)

    def why_not_carried(self) -> str:
        """Say what it lacks."""
        lacks = [name for name in ("init_state", "step") if not callable(getattr(self.module, name, None))]
        return f"it has no `{'` and no `'.join(lacks)}`: nothing is carried" if lacks else ""

    @property
    def advances(self) -> bool:
        """Whether it reads several tokens on from a state."""
        return callable(getattr(self.module, "advance", None)) and not self.why_not_carried()

    def carried(self, module: nn.Module, x: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Read token by token, and, where the module has `advance`, in pieces."""
        whole = self.read(module, x)
        state, said = module.init_state(len(x)), []
        for n in range(x.shape[1]):
            y, state = module.step(x[:, n], state)
            said.append(first_tensor(y))
        yield "token by token", torch.stack(said, dim=1), whole
        if self.advances:
            for pieces in self._cuts(x.shape[1]):
                yield f"in pieces of {', '.join(map(str, pieces))}", self.in_pieces(module, x, pieces), whole

    def in_pieces(self, module: Any, x: Tensor, pieces: Sequence[int]) -> Tensor:
        """Give what the module says of all tokens, read in pieces of so many."""
        state, said = None, []
        for piece in x.split(list(pieces), dim=1):
            y, state = module.advance(piece) if state is None else module.advance(piece, state)
            said.append(y)
        return torch.cat(said, dim=1)

    def said_in_pieces(self, x: Tensor) -> Tensor:
        """Give what a fresh copy says of all tokens, read in three pieces."""
        return self._with(lambda module, x: self.in_pieces(module, x, self._cuts(x.shape[1])[0]), x)

    def _cuts(self, length: int) -> tuple[tuple[int, ...], ...]:
        third = max(1, length // 3)
        return (1, third, length - third - 1), (length - 1, 1)


def draw_anew() -> None:
    """Let all random numbers on the processor begin anew; whoever audits gives their states back.

    `torch.manual_seed` notes for devices where it was called, every time, which takes longer than a small network.
    """
    torch.default_generator.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


def first_tensor(given: Any) -> Tensor:
    """Give what was given, or the first of several; raises TypeError for what is no tensor."""
    while isinstance(given, tuple | list) and given:
        given = given[0]
    if not isinstance(given, Tensor):
        raise TypeError(
            f"`module` gives {type(given).__name__}; allowed: a tensor (B, N, ...), or a tuple that begins so"
        )
    return given


def _checked(said: Tensor, x: Tensor) -> Tensor:
    if said.shape[:2] != x.shape[:2]:
        raise ValueError(
            f"`module` gives {tuple(said.shape)} for tokens {tuple(x.shape)}; allowed: something for each of the "
            f"sequences and tokens, ({x.shape[0]}, {x.shape[1]}, ...)"
        )
    return said


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


def probed_module(
    module: nn.Module,
    width: int,
    *,
    tokens: int | None = None,
    receptive_field: int | Literal["all"] | None = None,
    end_anchored: bool = False,
) -> ProbedModule:
    """Give a module to probe, in double precision where it can be called so.

    Raises
    ------
    TypeError, ValueError: what the module gives has no place for each token.

    """
    field = _field(module, receptive_field)
    stated = field if isinstance(field, int) else 0
    positions = min(tokens or max(24, stated + PAST), LONGEST)
    group = module.series if isinstance(module, CausalModule) else 1
    single = ProbedModule(
        module=own_copy(module), columns=width, positions=positions, group=group, field=field, anchored=end_anchored
    )
    return in_double(single)


def in_double(probed: Any) -> Any:
    """Give it in double precision, if it can be called so: in it rounding and leaks are far apart."""
    double = replace(probed, module=own_copy(probed.module).double(), rounding=_ROUNDING)
    try:
        double.said(double.draw(0))
    except Exception:  # whatever a class of the user's own raises; in its own precision it is raised again
        probed.said(probed.draw(0))
        return probed
    return double


def _field(module: nn.Module, given: int | str | None) -> Field:
    if given == "all":
        return None
    if given is not None:
        return int(given)
    stated = getattr(module, "receptive_field", None)
    if isinstance(stated, int) and stated > 0:
        return stated
    return None if isinstance(module, CausalModule) else "unstated"
