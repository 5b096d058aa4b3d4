"""A module from tokens to states as the probes read it: a backbone, or a user's own. B batch, N token, D width."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from forecast.auditing.module_subjects import LONGEST, PAST, Field, Probed, in_double, own_copy
from forecast.nn import CausalModule
from forecast.testing.trials import noise

_TOKENS = 24  # that are read at least


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

    def carried(self, module: Any, x: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
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
    positions = min(tokens or max(_TOKENS, stated + PAST), LONGEST)
    group = module.series if isinstance(module, CausalModule) else 1
    single = ProbedModule(
        module=own_copy(module), columns=width, positions=positions, group=group, field=field, anchored=end_anchored
    )
    return in_double(single)


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


def _field(module: nn.Module, given: int | str | None) -> Field:
    if given == "all":
        return None
    if given is not None:
        return int(given)
    stated = getattr(module, "receptive_field", None)
    if isinstance(stated, int) and stated > 0:
        return stated
    return None if isinstance(module, CausalModule) else "unstated"
