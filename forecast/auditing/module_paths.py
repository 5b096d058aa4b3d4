"""M8: no way through a network leads from later positions to earlier ones, whatever its mode and whatever is asked.

In training and outside, with dropout and without, with attention weights asked for and not, with gradients and without,
in single and in half precision, and read on from a state, where queries are fewer than keys.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from forecast.auditing.module_probes import Outcome, Tally, count_leaks
from forecast.auditing.module_subjects import Change, Probed, own_copy
from forecast.auditing.module_tokens import ProbedModule
from forecast.testing.trials import Say

_SIZES = (1.0, 1e6)
_DROPOUT = 0.3  # where there would be none
_ROUNDING = {torch.float32: 1e-4, torch.bfloat16: 1e-2}  # of what is added, for sums that should cancel
_WORDS, _ASKING = ("weights", "attn", "attention"), ("need", "return", "output")


def no_way_leads_from_what_follows(variants: Sequence[Probed]) -> Outcome:
    """M1 in training, with dropout, attention weights asked for or not, gradients, other precisions, and read on."""
    tally, taken, left = Tally(), [], []
    for name, probed, say, has_to in _ways(variants[-1]):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Mismatch dtype")  # torch takes another way to the same norm
                count_leaks(tally, probed, say, probed.draw(8), _SIZES, name)
        except Exception as error:  # whatever a class of the user's own raises
            if has_to:
                return False, f"{name} it raises {type(error).__name__}: {error}"
            left.append(f"{name} ({type(error).__name__})")
        else:
            taken.append(name)
    passed, told = tally.outcome(f"{', '.join(taken)}: earlier positions stay the same")
    return passed, f"{told}; could not be read {', '.join(left)}" if left else told


def _ways(probed: Probed) -> Iterator[tuple[str, Probed, Say, bool]]:
    """Give each way by its name, and whether it has to be one that can be gone."""
    yield "in training", probed, probed.said_in_training, True
    if dropout_on(probed.fresh()):
        yield "in training with dropout", probed, lambda x: probed.said_in_training(x, dropout_on), True
    yield "with gradients", probed, _with_gradients(probed.said), True
    if _asking(probed.module):
        for asked in (True, False):
            name = f"with attention weights {'' if asked else 'not '}asked for"
            change = asking_for_weights(asked)
            yield name, probed, lambda x, change=change: probed.said(x, change), False
            name = f"in training {name}"
            yield name, probed, lambda x, change=change: probed.said_in_training(x, dropout_on, change), False
    if isinstance(probed, ProbedModule) and probed.advances:
        yield "read on from a state", probed, probed.said_in_pieces, False
    if probed.dtype == torch.float64:
        single = replace(probed, module=own_copy(probed.module).float(), rounding=_ROUNDING[torch.float32])
        yield "in single precision", single, single.said, False
        half = replace(single, rounding=_ROUNDING[torch.bfloat16])
        yield "in training in half precision", half, _in_half(half.said_in_training), False


def dropout_on(module: nn.Module) -> bool:
    """Let what drops nothing in a module drop something; give whether there is such."""
    changed = False
    for part in module.modules():
        for name, value in list(vars(part).items()):
            named = "dropout" in name or (name == "p" and "Dropout" in type(part).__name__)
            if named and isinstance(value, float | int) and not isinstance(value, bool) and value == 0:
                setattr(part, name, _DROPOUT)
                changed = True
    return changed


def asking_for_weights(asked: bool) -> Change:
    """Give the change after which every part of a module that can give its attention weights is asked for them."""

    def change(module: nn.Module) -> None:
        for part in module.modules():
            if names := _flags(part):
                part.forward = _asked(part, names, asked)

    return change


def _asked(part: nn.Module, names: Sequence[str], asked: bool) -> Callable:
    signature, forward = inspect.signature(part.forward), part.forward

    def answer(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(dict.fromkeys(names, asked))
        return forward(*bound.args, **bound.kwargs)

    return answer


def _asking(module: nn.Module) -> bool:
    return any(_flags(part) for part in module.modules())


def _flags(part: nn.Module) -> list[str]:
    """Give the names of the switches of a forward pass that ask for attention weights."""
    found = []
    for name, parameter in inspect.signature(part.forward).parameters.items():
        about = any(word in name for word in _WORDS) and "mask" not in name
        switch = isinstance(parameter.default, bool) or (parameter.default is None and name.startswith(_ASKING))
        if about and switch:
            found.append(name)
    return found


def _with_gradients(say: Say) -> Say:
    def said(x: Tensor) -> Tensor:
        with torch.enable_grad():
            return say(x).detach()

    return said


def _in_half(say: Say) -> Say:
    def said(x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return say(x)

    return said
