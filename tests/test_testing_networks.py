"""check_backbone and check_decoder: what keeps the contract passes, planted defects are caught by name."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import nn

from forecast.nn import BACKBONES, DECODERS, LSTM, TCN, Backbone, CausalModule, Decoder, DecoderModule, Direct
from forecast.testing import backbone as backbone_checks
from forecast.testing import check_backbone, check_decoder
from forecast.testing import decoder as decoder_checks

# The contract tests of every backbone and decoder run anyway: here the tool is tested.
quick = {"lstm", "tcn", "identity", "direct", "recursive"}


def marked(names):
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", marked(BACKBONES))
def test_every_backbone_keeps_the_contract(name):
    table = check_backbone(BACKBONES[name])
    assert table["check"].tolist() == [check.__name__ for check in backbone_checks.CHECKS]


@pytest.mark.parametrize("name", marked(DECODERS))
def test_every_decoder_keeps_the_contract(name):
    table = check_decoder(DECODERS[name])
    assert table["check"].tolist() == [check.__name__ for check in decoder_checks.CHECKS]


def test_a_config_is_checked_as_it_is():
    assert len(check_backbone(TCN(width=8, depth=2, kernel_size=2)))
    assert len(check_decoder(Direct(dropout=0.5)))


# -- planted defects -------------------------------------------------------------------------------------------------


class Sound(CausalModule):
    """Keeps the contract: a token, and a gated memory of those before; a defect is one thing done otherwise."""

    receptive_field = None

    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(width, width, batch_first=True)

    def init_state(self, batch):
        return self.gru.weight_hh_l0.new_zeros(batch, self.gru.hidden_size)

    def advance(self, x, state=None):
        y, state = self.gru(x, None if state is None else state[None])
        return x + y, state[0]


class Bare(Sound):
    """Changes the states of a whole pass."""

    def forward(self, x):
        return self.changed(super().forward(x))


class SymmetricPadding(Bare):
    def changed(self, y):
        return y + nn.functional.pad(y[:, 1:], (0, 0, 0, 1))


class WholeWindowNorm(Bare):
    def changed(self, y):
        return y - y.mean(1, keepdim=True)


class PositionFromTheEnd(Bare):
    def changed(self, y):
        return y + torch.arange(y.shape[1], 0, -1)[:, None]


class ShiftedByOne(Bare):
    def changed(self, y):
        return nn.functional.pad(y[:, :-1], (0, 0, 1, 0))


class MixesSequences(Bare):
    def changed(self, y):
        return y + y[:, :1].mean(0, keepdim=True)


class Infinite(Bare):
    def changed(self, y):
        return y / y.abs().sum(2, keepdim=True).clamp(max=1e3).sub(1e3).where(y.abs().sum(2, keepdim=True) > 1e3, 1.0)


class Faint(Bare):
    def changed(self, y):
        return 1e-6 * y


class Narrow(Bare):
    def changed(self, y):
        return y[..., 1:]


class Single(Bare):
    def changed(self, y):
        return y + torch.zeros(1)


class BatchStatistics(Sound):
    def __init__(self, width):
        super().__init__(width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.norm(super().forward(x).transpose(1, 2)).transpose(1, 2)


class Remembers(Sound):
    seen = 0.0

    def forward(self, x):
        before, self.seen = self.seen, float(x.detach().mean())
        return super().forward(x) + before


class Unregistered(Sound):
    def __init__(self, width):
        super().__init__(width)
        self.shift = torch.rand(width, dtype=torch.float64)

    def forward(self, x):
        return super().forward(x) + self.shift.to(x.dtype)


class OwnGenerator(Sound):
    def __init__(self, width):
        super().__init__(width)
        with torch.no_grad():
            self.gru.bias_ih_l0.copy_(torch.from_numpy(np.random.default_rng().normal(size=3 * width)))


class Unused(Sound):
    def __init__(self, width):
        super().__init__(width)
        self.spare = nn.Linear(width, width)


class Forgets(Sound):
    def advance(self, x, state=None):
        return super().advance(x, None if state is None else state * 0.5)


class ForgetsLongAgo(Sound):
    def advance(self, x, state=None):
        parts = x.split(30, dim=1)
        y, state = super().advance(parts[0], state)
        for part in parts[1:]:
            more, state = super().advance(part, None)
            y = torch.cat([y, more], dim=1)
        return y, state


class OtherStart(Sound):
    def init_state(self, batch):
        return super().init_state(batch) + 1


class Grows(Sound):
    def init_state(self, batch):
        return (super().init_state(batch), super().init_state(batch)[:, :0])

    def advance(self, x, state=None):
        hidden, seen = (None, x[:, :0, 0]) if state is None else state
        y, hidden = super().advance(x, hidden)
        return y, (hidden, torch.cat([seen, x[..., 0]], dim=1))


class SequencesLast(Sound):
    def init_state(self, batch):
        return super().init_state(batch).T

    def advance(self, x, state=None):
        y, state = super().advance(x, None if state is None else state.T.contiguous())
        return y, state.T


class Shrinks(Sound):
    receptive_field = 5


class Wide(CausalModule):
    receptive_field = 7

    def __init__(self, width):
        super().__init__()
        self.map = nn.Linear(width, width)

    def init_state(self, batch):
        return ()

    def advance(self, x, state=None):
        return self.map(x), ()


class Undeclared(Sound):
    receptive_field = 0


class NotCausal(nn.Module):
    receptive_field = None

    def __init__(self, width):
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(self, x):
        return self.map(x)


@dataclass(frozen=True, kw_only=True)
class Mine(Backbone):
    family = "latent-state"
    width: int = 64
    module: str = "Sound"

    def build(self, tokens):
        return globals()[self.module](self.width)


@pytest.mark.parametrize(
    ("module", "check", "told"),
    [
        (NotCausal, "it_says_what_it_is", "subclass CausalModule"),
        (Undeclared, "it_says_what_it_is", "`receptive_field` of the module.*came: 0"),
        (Narrow, "states_have_the_shape_of_tokens", r"states \(2, 1, 16\).*came: \(2, 1, 15\)"),
        (OwnGenerator, "the_same_random_state_gives_the_same_weights", "gru.bias_ih_l0"),
        (Infinite, "it_is_finite", "finite numbers for huge tokens"),
        (Remembers, "a_second_call_gives_the_same", "keep no tensor"),
        (Unregistered, "weights_can_be_saved", "register_buffer"),
        (SymmetricPadding, "nothing_moves_when_later_tokens_move", r"0.01 x noise is added.*others at \[4\]"),
        (WholeWindowNorm, "nothing_moves_when_later_tokens_move", r"others at \[0, 1, 2, 3, 4\]"),
        (BatchStatistics, "nothing_moves_in_training_either", "use no batch normalisation"),
        (PositionFromTheEnd, "it_is_the_same_when_what_follows_is_cut_off", "from the first 1 tokens alone"),
        (ShiftedByOne, "it_moves_with_the_newest_token", "shift nothing by one"),
        (MixesSequences, "other_sequences_do_not_matter", "beside wild ones"),
        (Unused, "every_parameter_gets_a_gradient", "spare.weight"),
        (Faint, "it_learns", "four fifths"),
        (OtherStart, "no_state_is_the_first_state", "the same states from init_state"),
        (Grows, "a_state_keeps_its_shapes", "constant length"),
        (SequencesLast, "a_state_keeps_its_shapes", "2 sequences first"),
        (Forgets, "stepping_equals_the_whole_pass", "at token 1 from step"),
        (ForgetsLongAgo, "stepping_equals_the_whole_pass", "at token 30 from step"),
        (Shrinks, "the_receptive_field_is_true", "last 5 tokens alone.*came: one from 50"),
    ],
)
def test_a_defect_of_a_backbone_is_caught_by_the_check_that_is_for_it(module, check, told):
    with pytest.raises(AssertionError, match=f"^check `{check}` failed for Mine") as caught:
        check_backbone(Mine(width=16, module=module.__name__))
    assert caught.match(f"(?s){told}")


def test_the_module_that_the_defects_are_planted_in_is_sound():
    assert (check_backbone(Mine)["note"] == "").all()


def test_a_receptive_field_that_is_stated_too_large_is_noted():
    notes = check_backbone(Mine(width=16, module="Wide")).set_index("check")["note"]
    assert notes["the_receptive_field_is_true"] == ("a gradient comes from the last 1 tokens; `receptive_field` is 7")


@dataclass
class Thawed(Backbone):
    family = "control"
    width: int = 16

    def build(self, tokens):
        return Sound(self.width)


@dataclass(frozen=True)
class ByPlace(Mine):
    depth: int = 1


@dataclass(frozen=True, kw_only=True)
class Homeless(Mine):
    family = "recurrent"


def test_configs_that_are_not_as_they_should_be_are_named():
    @dataclass(frozen=True, kw_only=True)
    class Inside(Mine):
        pass

    for config, check, told in [
        (Thawed, "the_config_can_be_written_down", "a frozen dataclass"),
        (ByPlace, "the_config_can_be_written_down", r"by name\n  came: \['depth'\]"),
        (Inside, "the_config_can_be_written_down", "top of a module"),
        (Homeless, "it_says_what_it_is", r"'latent-state', 'direct-prediction', 'control'\n  came: 'recurrent'"),
    ]:
        with pytest.raises(AssertionError, match=f"(?s)check `{check}`.*{told}"):
            check_backbone(config)


class Saying(DecoderModule):
    """A decoder module that says something else than its sound form."""

    def __init__(self, width, horizon, levels):
        super().__init__()
        self.reach, self.levels = horizon, levels
        self.map = nn.Linear(width, horizon * levels)

    def forward(self, states, origins, *, targets=None):
        return self.said(states, origins, targets)

    def said(self, states, origins, targets):
        return self.map(states[:, origins]).unflatten(-1, (self.reach, self.levels))


class NoReach(Saying):
    def __init__(self, width, horizon, levels):
        super().__init__(width, horizon, levels)
        self.reach = 0


class LevelsFirst(Saying):
    def said(self, states, origins, targets):
        return super().said(states, origins, targets).transpose(2, 3)


class ReadsLater(Saying):
    def said(self, states, origins, targets):
        return super().said(states + states.flip(1).cumsum(1).flip(1), origins, targets)


class StepBlind(Saying):
    def said(self, states, origins, targets):
        said = super().said(states, origins, targets)
        return said * (torch.arange(self.reach) != 2).to(said.dtype)[:, None]


class ReadsOrigins(Saying):
    def said(self, states, origins, targets):
        said = super().said(states, origins, targets)
        return said + said.cumsum(1)


class ReadsBefore(Saying):
    def said(self, states, origins, targets):
        return super().said(states.cumsum(1), origins, targets)


class ToldItsOwn(Saying):
    def said(self, states, origins, targets):
        said = super().said(states, origins, targets)
        return said + targets[..., None] if targets is not None and self.training else said


class AlwaysTold(Saying):
    def said(self, states, origins, targets):
        said = super().said(states, origins, targets)
        return said if targets is None else said + targets[..., None] + 1


@dataclass(frozen=True, kw_only=True)
class Speaks(Decoder):
    streams = True
    module: str = "Saying"

    def build(self, width, horizon, quantile_levels, patch_length):
        return globals()[self.module](width, horizon, len(quantile_levels))


@pytest.mark.parametrize(
    ("module", "check", "told"),
    [
        (NoReach, "it_says_what_it_is", "`reach`.*came: 0"),
        (LevelsFirst, "forecasts_have_their_shape", r"\(2, 12, 6, 3\).*came: \(2, 12, 3, 6\)"),
        (ReadsLater, "nothing_moves_when_later_tokens_move", "others at"),
        (StepBlind, "every_parameter_gets_a_gradient|every_step_and_level_moves_with_the_state", r"steps \[3\]"),
        (ReadsOrigins, "some_origins_are_decoded_like_all", "when all are asked for"),
        (ReadsBefore, "it_reads_the_newest_state_alone_if_it_streams", "leave `streams` at False"),
        (ToldItsOwn, "targets_lead_nothing_but_later_steps_in_training", "never its own"),
        (AlwaysTold, "targets_lead_nothing_but_later_steps_in_training", "only where self.training"),
    ],
)
def test_a_defect_of_a_decoder_is_caught_by_the_check_that_is_for_it(module, check, told):
    with pytest.raises(AssertionError, match=f"^check `({check})` failed for Speaks") as caught:
        check_decoder(Speaks(module=module.__name__))
    assert caught.match(f"(?s){told}")


@dataclass(frozen=True, kw_only=True)
class Modest(Speaks):
    streams = False


def test_a_decoder_that_could_stream_is_told():
    assert (check_decoder(Speaks)["note"] == "").all()
    notes = check_decoder(Modest).set_index("check")["note"]
    assert notes["it_reads_the_newest_state_alone_if_it_streams"].endswith("may say so: streams = True")


@pytest.mark.parametrize(
    ("check", "given", "error", "told"),
    [
        (check_backbone, "lstm", TypeError, r"`backbone` is 'lstm'; allowed: a Backbone, as a class or a config"),
        (check_backbone, Direct, TypeError, "`backbone` is <class .*Direct.*; allowed: a Backbone"),
        (check_decoder, LSTM(width=8), TypeError, r"`decoder` is LSTM.*such as Direct\(dropout=0.2\)"),
    ],
)
def test_what_is_no_config_is_named(check, given, error, told):
    with pytest.raises(error, match=told):
        check(given)
    with pytest.raises(ValueError, match="`skip` names 'leaks'"):
        check({check_backbone: LSTM, check_decoder: Direct}[check], skip=("leaks",))


def test_global_random_states_are_left_as_they_are():
    torch.manual_seed(8)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    check_backbone(replace(LSTM(), width=8))
    check_decoder(Direct)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]
