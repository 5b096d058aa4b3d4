"""`check_backbone`: the contract of a backbone, run on one. B batch, N token, D width, G sequences read together."""

from dataclasses import dataclass, replace
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from forecast.forecaster import Forecaster
from forecast.neural import NeuralForecaster
from forecast.nn import Backbone, CausalModule
from forecast.nn.states import map_state, tensors_of
from forecast.testing.bench import apart, frame_of
from forecast.testing.checks import Check, demand, run
from forecast.testing.networks import CONFIGS, Subject, config_of, demand_close
from forecast.testing.passes import PASSES
from forecast.testing.trials import gradient, reach
from forecast.training import Training

_CONTEXT = 20  # tokens, as the module is told
_LONG = 50  # more than a context: what is remembered of it has to be let go of rightly
_FAMILIES = ("latent-state", "direct-prediction", "control")
_CARRY = "carry in the state all that later tokens read: hidden states, the last inputs, keys and values"


@dataclass(frozen=True)
class _Subject(Subject):
    kind = Backbone

    def build(self) -> nn.Module:
        return self.config.build(_CONTEXT)

    def call(self, module: nn.Module, x: Tensor) -> Tensor:
        return module(x)

    @property
    def width(self) -> int:
        return self.config.width

    @property
    def group(self) -> int:
        return self.config.series if self.config.across_series else 1

    @cached_property
    def causal(self) -> CausalModule:
        return cast(CausalModule, self.module)


def check_backbone(backbone: Backbone | type[Backbone], *, skip: tuple[str, ...] = ()) -> pd.DataFrame:
    """Run the contract on a backbone: its config, the causal module that it builds, and a forecaster that uses it.

    Parameters
    ----------
    backbone: a config, such as `Plain(width=32)`, or the class, which is then checked at a width of 16. One that reads
        across series is checked on groups of three, or as many as its config says.
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
    config = config_of(backbone, Backbone, "backbone", "such as LSTM(width=32)")
    if config.across_series and config.series == 1:
        config = replace(config, series=3)
    return run(CHECKS, _Subject(config), repr(config), skip)


def it_says_what_it_is(subject: _Subject) -> None:
    """A family of the comparison and a width; a CausalModule that states its receptive field."""
    config, module = subject.config, subject.module
    demand(
        getattr(config, "family", None) in _FAMILIES,
        expected=f"`family` to be one of {', '.join(map(repr, _FAMILIES))}",
        came=repr(getattr(config, "family", None)),
        mend="write family = ... in the class",
    )
    demand(
        isinstance(getattr(config, "width", None), int),
        expected="`width`, a whole number",
        came=repr(getattr(config, "width", None)),
        mend="write width: int = 64 among the hyper-parameters",
    )
    demand(
        isinstance(module, CausalModule),
        expected="build(tokens) to give a CausalModule",
        came=type(module).__name__,
        mend="subclass CausalModule from forecast.nn",
    )
    field = getattr(module, "receptive_field", "nothing")
    demand(
        field is None or (isinstance(field, int) and field >= 1),
        expected="`receptive_field` of the module, in tokens, or None for all",
        came=repr(field),
        mend="set self.receptive_field in __init__",
    )


def states_have_the_shape_of_tokens(subject: _Subject) -> None:
    """(B, N, D) in, (B, N, D) out, of the same type of number, for one token and for more than a context."""
    for tokens in (1, _LONG):
        x = subject.x(tokens)
        y = subject.module(x)
        demand(
            y.shape == x.shape and y.dtype == x.dtype,
            expected=f"states {tuple(x.shape)}, as {x.dtype}",
            came=f"{tuple(y.shape)}, as {y.dtype}",
            mend="make new tensors of the type of x or of a weight, as in self.weight.new_zeros(...)",
        )


def stepping_equals_the_whole_pass(subject: _Subject) -> None:
    """`step` from `init_state` on gives at every token what `forward` gives, beyond a context too."""
    x = subject.x(_LONG)
    whole, state = subject.module(x), subject.causal.init_state(len(x))
    for n in range(_LONG):
        y, state = subject.causal.step(x[:, n], state)
        demand_close(y, whole[:, n], expected=f"the state of forward at token {n} from step", mend=_CARRY)


def reading_on_equals_the_whole_pass(subject: _Subject) -> None:
    """`advance` over some tokens and then over the rest gives what one pass gives, wherever it is cut."""
    x = subject.x(_LONG)
    whole = subject.module(x)
    for cut in (1, 5, _CONTEXT, _LONG - 1):
        begin, state = subject.causal.advance(x[:, :cut])
        rest, _ = subject.causal.advance(x[:, cut:], state)
        demand_close(
            torch.cat([begin, rest], dim=1), whole, expected=f"the states of one pass when cut at {cut}", mend=_CARRY
        )


def no_state_is_the_first_state(subject: _Subject) -> None:
    """`advance(x)` and `advance(x, init_state(B))` are the same, and so is what they leave."""
    x = subject.x(9)
    (without, after), (given, carried) = (
        subject.causal.advance(x),
        subject.causal.advance(x, subject.causal.init_state(len(x))),
    )
    mend = "let init_state give what advance begins with"
    demand_close(given, without, expected="the same states from init_state(B)", mend=mend)
    for (name, one), (_, other) in zip(tensors_of(after).items(), tensors_of(carried).items(), strict=True):
        demand_close(other, one, expected=f"the same {name or 'state'} left behind", mend=mend)


def a_state_keeps_its_shapes(subject: _Subject) -> None:
    """Nested tuples or dicts of tensors, sequences first, whose shapes and types do not change from token to token."""
    x = subject.x(_LONG)
    first = _kinds(subject.causal.init_state(len(x)))
    wrong = {name: shape for name, (shape, _) in first.items() if not shape or shape[0] != len(x)}
    demand(
        not wrong, expected=f"tensors with {len(x)} sequences first", came=wrong, mend="let axis 0 be that of sequences"
    )
    for n in (1, _CONTEXT, _LONG):
        found = _kinds(subject.causal.advance(x[:, :n])[1])
        demand(
            found == first,
            expected=f"the shapes and types {first} after {n} tokens too",
            came=found,
            mend="carry a buffer of constant length from the first token on, such as zeros that are masked",
        )


def sequences_can_be_taken_apart(subject: _Subject) -> None:
    """A state of some of the sequences goes on like that of all."""
    x = subject.x(31, groups=3)
    _, state = subject.causal.advance(x[:, :30])
    some = torch.arange(len(x)).view(3, -1)[[2, 0]].flatten()
    y, _ = subject.causal.step(x[some, 30], map_state(lambda t: t[some], state))
    demand_close(
        y,
        subject.module(x)[some, 30],
        expected="the same from the state of some sequences",
        mend="let axis 0 be theirs",
    )


def the_receptive_field_is_true(subject: _Subject) -> str | None:
    """No state depends on a token before its receptive field; a note where it depends on fewer."""
    claimed = subject.causal.receptive_field
    found = gradient(subject.module, subject.x(_LONG, groups=1), slice(-1, None))
    reached = 0 if found is None else reach(found)
    demand(
        claimed is None or reached <= claimed,
        expected=f"a gradient from the last {claimed} tokens alone, as `receptive_field` says",
        came=f"one from {reached}",
        mend="state the true receptive_field, or None for all",
    )
    most = min(claimed or _LONG, _LONG)
    return (
        None if reached == most else f"a gradient comes from the last {reached} tokens; `receptive_field` is {claimed}"
    )


def it_works_in_a_forecaster(subject: _Subject) -> None:
    """A NeuralForecaster fits it, saves and loads it, and streams with it what it predicts."""
    works_in_a_forecaster(subject.config, "direct", subject.group, streams=True)


def works_in_a_forecaster(backbone: Any, decoder: Any, group: int, *, streams: bool) -> None:
    """Fail where a forecaster with a backbone and a decoder does not fit, save, load or stream."""
    series = frame_of(6).groupby("unique_id", sort=False).head(101)
    one = series.loc[series["unique_id"] == "b"]
    # Series that are read together are those of the fit, and end together.
    frame = pd.concat([one.assign(unique_id=f"series {g}", y=one["y"] + g) for g in range(max(group, 2))])
    known, new = (getattr(frame.groupby("unique_id", sort=False), part) for part in ("head", "tail"))
    known, new = known(100), new(1)
    forecaster = NeuralForecaster(
        backbone, 6, decoder=decoder, context_length=24, patch_length=8, training=Training(steps=2)
    ).fit(known)
    said = forecaster.predict()
    with TemporaryDirectory() as folder:
        forecaster.save(folder)
        loaded = Forecaster.load(folder).predict()
    demand(
        loaded.equals(said),
        expected="the forecasts of the forecaster that was saved",
        came="others",
        mend="register what is learned or drawn with nn.Parameter or register_buffer",
    )
    if not streams:
        return
    window = known.groupby("unique_id", sort=False).tail(
        24
    )  # all that predict reads; a stream goes on from a longer one
    stream = forecaster.stream(window)
    difference = apart(stream.predict(), forecaster.predict(window), ["prediction", "mean", "0.1", "0.9"])
    demand(not difference, expected="a stream to forecast what predict forecasts", came=difference, mend=_CARRY)
    demand(
        np.isfinite(stream.update(new)["prediction"]).all(),
        expected="finite forecasts after a new value",
        came="others",
        mend=_CARRY,
    )


def _kinds(state: Any) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
    return {name: (tuple(t.shape), t.dtype) for name, t in tensors_of(state).items()}


CHECKS: tuple[Check, ...] = (
    *CONFIGS,
    it_says_what_it_is,
    states_have_the_shape_of_tokens,
    *PASSES,
    no_state_is_the_first_state,
    a_state_keeps_its_shapes,
    stepping_equals_the_whole_pass,
    reading_on_equals_the_whole_pass,
    sequences_can_be_taken_apart,
    the_receptive_field_is_true,
    it_works_in_a_forecaster,
)
