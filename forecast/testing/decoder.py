"""`check_decoder`: the contract of a decoder, run on one. B batch, N token, D width, H horizon, Q quantile level."""

import copy
from dataclasses import dataclass
from typing import cast

import pandas as pd
import torch
from torch import Tensor, nn

from forecast.borrowed import seeded
from forecast.nn import LSTM, Decoder, DecoderModule
from forecast.nn.network import ALL, LAST
from forecast.testing.backbone import works_in_a_forecaster
from forecast.testing.checks import Check, demand, run
from forecast.testing.networks import CONFIGS, Subject, config_of, demand_close
from forecast.testing.passes import PASSES

_HORIZON, _LEVELS, _PATCH = 6, (0.1, 0.5, 0.9), 8
_OWN = "decode each origin by itself, from states[:, : n + 1] alone"


@dataclass(frozen=True)
class _Subject(Subject):
    kind = Decoder

    def build(self) -> nn.Module:
        return self.config.build(self.width, _HORIZON, _LEVELS, _PATCH)

    def call(self, module: nn.Module, x: Tensor) -> Tensor:
        return module(x, ALL)


def check_decoder(decoder: Decoder | type[Decoder], *, skip: tuple[str, ...] = ()) -> pd.DataFrame:
    """Run the contract on a decoder: its config, the module that it builds, and a forecaster that uses it.

    Parameters
    ----------
    decoder: a config, such as `Mine(dropout=0.2)`, or the class.
    skip: names of checks that are not run.

    Returns
    -------
    One row per check, in the order in which they were run: `check`, `asks` and `note`.

    Raises
    ------
    AssertionError: a check failed; says which, what was expected, what came and how to mend it.
    TypeError: neither a config nor a class of configs.
    ValueError: `skip` names what is no check.

    """
    config = config_of(decoder, Decoder, "decoder", "such as Direct(dropout=0.2)")
    return run(CHECKS, _Subject(config), repr(config), skip)


def it_says_what_it_is(subject: _Subject) -> None:
    """A DecoderModule that states its reach, at least one step and at most the horizon or a patch."""
    module = subject.module
    demand(
        isinstance(module, DecoderModule),
        expected="build(width, horizon, quantile_levels, patch_length) to give a DecoderModule",
        came=type(module).__name__,
        mend="subclass DecoderModule from forecast.nn",
    )
    reach = getattr(module, "reach", None)
    demand(
        isinstance(reach, int) and 1 <= reach <= max(_HORIZON, _PATCH),
        expected=f"`reach`, steps from one state, from 1 to the horizon of {_HORIZON}",
        came=repr(reach),
        mend="set self.reach in __init__; the network feeds forecasts back where it is less than the horizon",
    )


def forecasts_have_their_shape(subject: _Subject) -> None:
    """(B, N, D) and a slice of origins in, (B, n origins, reach, Q) out, of the same type of number."""
    module, x = cast(DecoderModule, subject.module), subject.x()
    B, N, _ = x.shape
    for origins, n in ((ALL, N), (LAST, 1), (slice(2, 9, 3), 3)):
        y = module(x, origins)
        demand(
            y.shape == (B, n, module.reach, len(_LEVELS)) and y.dtype == x.dtype,
            expected=f"({B}, {n}, {module.reach}, {len(_LEVELS)}), as {x.dtype}, at origins {origins}",
            came=f"{tuple(y.shape)}, as {y.dtype}",
            mend="give origins, steps and quantile levels as the last three axes",
        )


def every_step_and_level_moves_with_the_state(subject: _Subject) -> None:
    """The state at an origin moves every step and level of its forecast."""
    module, x = subject.module, subject.x()
    changed = x.clone()
    changed[:, -1] += torch.linspace(-1, 1, x.shape[-1], dtype=x.dtype)
    still = (module(x, LAST) == module(changed, LAST)).any(0).squeeze(0)  # (reach, Q)
    demand(
        not still.any(),
        expected="every step and level to move with the state at the origin",
        came=f"steps {(still.any(1).nonzero().flatten() + 1).tolist()} that do not",
        mend="let every step read the newest state",
    )


def some_origins_are_decoded_like_all(subject: _Subject) -> None:
    """A forecast does not depend on which other origins are asked for."""
    x = subject.x()
    whole = subject.call(subject.module, x)
    for origins in (LAST, slice(2, 9, 3), slice(4, 5)):
        demand_close(
            subject.module(x, origins),
            whole[:, origins],
            expected=f"the same at origins {origins} as when all are asked for",
            mend=_OWN,
        )


def it_reads_the_newest_state_alone_if_it_streams(subject: _Subject) -> str | None:
    """One whose config says `streams` reads nothing but the state at an origin."""
    x = subject.x()
    alone = subject.module(x[:, -1:], LAST)
    apart = float((alone - subject.module(x, LAST)).detach().abs().max())
    if subject.config.streams:
        demand(
            apart < 1e-9,
            expected="the same forecast from the newest state alone, as `streams` says",
            came=f"one that is {apart:.3g} apart",
            mend="read states[:, origins] and no others, or leave `streams` at False",
        )
        return None
    return "it reads the newest state alone, and may say so: streams = True" if apart == 0 else None


def targets_lead_nothing_but_later_steps_in_training(subject: _Subject) -> None:
    """The truth of a step moves no forecast outside training, and in training none of that step or an earlier one."""
    x = subject.x()
    module = cast(DecoderModule, copy.deepcopy(subject.module))
    targets = torch.zeros(len(x), x.shape[1], module.reach, dtype=x.dtype)
    demand(
        torch.equal(module(x, ALL, targets=targets), module(x, ALL)),
        expected="the same forecasts with targets and without, outside training",
        came="others",
        mend="use targets only where self.training",
    )
    module.train()
    step = module.reach // 2
    said = []
    for value in (0.0, 3.0):
        changed = targets.clone()
        changed[:, :, step] = value
        module.progress = 0.0
        with seeded(0):
            said.append(module(x, ALL, targets=changed)[:, :, : step + 1])
    demand(
        torch.equal(*said),
        expected=f"steps 1..{step + 1} as they were in training, when the truth of step {step + 1} is another",
        came="others",
        mend="tell a step the truth of the step before, never its own",
    )


def it_works_in_a_forecaster(subject: _Subject) -> None:
    """A NeuralForecaster fits it under an LSTM, saves and loads it, and streams where it can."""
    works_in_a_forecaster(LSTM(width=subject.width), subject.config, 1, streams=subject.config.streams)


CHECKS: tuple[Check, ...] = (
    *CONFIGS,
    it_says_what_it_is,
    forecasts_have_their_shape,
    *PASSES,
    every_step_and_level_moves_with_the_state,
    some_origins_are_decoded_like_all,
    it_reads_the_newest_state_alone_if_it_streams,
    targets_lead_nothing_but_later_steps_in_training,
    it_works_in_a_forecaster,
)
