"""What backbones and decoders have in common: a config, what it builds, and the checks of these.

B batch, N token, D width, G sequences that are read together.
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn

from forecast import saving
from forecast.borrowed import seeded
from forecast.nn.hyperparameters import Hyperparameters
from forecast.testing.checks import Check, demand

TOKENS = 12
_ATOL = 1e-9  # of float64, for sums in another order


@dataclass(frozen=True)
class Subject(ABC):
    """A config to check, and how what it builds is called on sequences (B, N, D).

    Attributes
    ----------
    config: the config.
    kind: its contract.

    """

    config: Any
    kind: ClassVar[type[Hyperparameters]]

    @abstractmethod
    def build(self) -> nn.Module:
        """Give a module with fresh weights."""

    @abstractmethod
    def call(self, module: nn.Module, x: Tensor) -> Tensor:
        """Give what the module says at every position, (B, N, ...)."""

    @property
    def width(self) -> int:
        """D."""
        return 16

    @property
    def group(self) -> int:
        """G, sequences that are read together; 1 where each is read by itself."""
        return 1

    @cached_property
    def module(self) -> nn.Module:
        """A module in float64, not in training, with weights as after some training: none at its neutral start."""
        with seeded(3):
            module = self.build().double().eval()
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.add_(0.05 * torch.randn_like(parameter))
        return module

    def x(self, tokens: int = TOKENS, groups: int = 2) -> Tensor:
        """Give sequences (B, N, D), B = groups G."""
        generator = torch.Generator().manual_seed(5)
        return torch.randn(groups * self.group, tokens, self.width, generator=generator, dtype=torch.float64)


def the_config_can_be_written_down(subject: Subject) -> None:
    """A frozen keyword-only dataclass of plain values, of a class at the top of a module; JSON gives it back."""
    config, kind = subject.config, subject.kind.__name__
    demand(
        is_dataclass(config) and config.__dataclass_params__.frozen,  # type: ignore[attr-defined]
        expected="a frozen dataclass",
        came=f"{type(config).__name__}, which is none",
        mend=f"write @dataclass(frozen=True, kw_only=True) above class {type(config).__name__}({kind})",
    )
    demand(
        all(field.kw_only for field in fields(config)),
        expected="hyper-parameters that are given by name",
        came=[field.name for field in fields(config) if not field.kw_only],
        mend="write kw_only=True in the decorator",
    )
    try:
        again = saving.from_json(saving.to_json(config, "config"))
    except (TypeError, ValueError) as error:
        again = error
    demand(
        again == config,
        expected=f"{config!r} from what is saved of it",
        came=again,
        mend="define the class at the top of a module; hold numbers, texts, None, or tuples of these",
    )


def the_same_random_state_gives_the_same_weights(subject: Subject) -> None:
    """Fresh weights come from torch's global random state, and from nothing else."""
    weights = []
    for _ in range(2):
        with seeded(1):
            weights.append(subject.build().state_dict())
    differ = [name for name in weights[0] if not torch.equal(weights[0][name], weights[1][name])]
    demand(
        not differ,
        expected="the same weights from torch.manual_seed(1)",
        came=f"others: {differ[:5]}",
        mend="draw weights with torch alone, without a generator of your own",
    )


def weights_can_be_saved(subject: Subject) -> None:
    """`state_dict` holds all that is learned: a module built anew takes it and says the same."""
    with seeded(4):  # other weights, which are replaced
        other = subject.build().double().eval()
    try:
        other.load_state_dict(copy.deepcopy(subject.module.state_dict()))
    except RuntimeError as error:
        demand(False, expected="weights of the same names and sizes", came=error, mend="build every layer in __init__")
    x = subject.x()
    demand(
        torch.equal(subject.call(other, x), subject.call(subject.module, x)),
        expected="the same from a new module with the same state_dict",
        came="something else",
        mend="register what is learned or drawn with nn.Parameter or register_buffer",
    )


def allowed(said: Tensor) -> float:
    """Give how far apart sums in another order may be of what is said."""
    return _ATOL * (1 + float(said.detach().abs().max()))


def demand_close(came: Tensor, expected_value: Tensor, *, expected: str, mend: str) -> None:
    """Fail where two tensors differ by more than sums in another order do."""
    apart = (came - expected_value).detach().abs()
    worst = float(apart.max()) if apart.numel() else 0.0
    demand(worst <= allowed(expected_value), expected=expected, came=f"numbers that are {worst:.3g} apart", mend=mend)


def config_of(given: Any, kind: type, argument: str, name: str) -> Any:
    """Give the config, of width 16 where the class is given.

    Raises
    ------
    TypeError: neither a config nor a class of configs; a class that needs arguments.

    """
    if isinstance(given, type) and issubclass(given, kind):
        try:
            config = given()
        except TypeError as error:
            raise TypeError(
                f"`{argument}`: {given.__name__} needs arguments ({error}); give a config, {name}"
            ) from error
        if is_dataclass(config) and hasattr(config, "width"):
            config = replace(cast(Any, config), width=16)
        return config
    if not isinstance(given, kind):
        raise TypeError(f"`{argument}` is {given!r}; allowed: a {kind.__name__}, as a class or a config, {name}")
    return given


CONFIGS: tuple[Check, ...] = (
    the_config_can_be_written_down,
    the_same_random_state_gives_the_same_weights,
)
