"""Probes of bare networks: sound ones pass, planted defects are caught, and no single probe catches all of them."""

import random
import runpy
import time
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from forecast import NeuralForecaster, SeasonalNaive, Training
from forecast.auditing import audit_module
from forecast.auditing.modules import PROBES, module_findings
from forecast.nn import BACKBONES, DECODERS, LSTM, TCN, Backbone, CausalModule, Decoder, DecoderModule, ForecastNetwork
from forecast.nn.covariates import Columns, Layout
from forecast.nn.scaling import Running, running

defects = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("defects.py"))))

ALL = [f"M{number}" for number in range(1, 9)]
LAYOUT = Layout(
    past=Columns(location=(3.0,), scale=(2.0,), categories=(4,)),
    known=Columns(location=(1.0,), scale=(1.0,), plain=1, categories=(3,)),
    static=Columns(categories=(3,)),
)


@cache
def certificate_of(kind):
    torch.manual_seed(0)
    return audit_module(kind(), defects.WIDTH)


def failed(findings) -> list[str]:
    return [finding.probe for finding in findings if finding.passed is False]


def told(findings, probe: str) -> str:
    return next(finding.evidence for finding in findings if finding.probe == probe)


def slow_unless(quick, values):
    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]


# -- sound modules and planted defects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", defects.SOUND, ids=lambda kind: kind.__name__)
def test_a_sound_module_passes(kind):
    certificate = certificate_of(kind)
    assert certificate.failed == ()
    assert certificate.passed
    assert [finding.probe for finding in certificate.findings] == [probe.id for probe in PROBES] == ALL
    assert certificate.forecaster == kind.__name__
    assert certificate.facts["precision"] == "float64"


@pytest.mark.parametrize("kind", list(defects.DEFECTS), ids=lambda kind: kind.__name__)
def test_a_defect_is_caught_by_the_probes_that_are_for_it(kind):
    certificate = certificate_of(kind)
    assert set(defects.DEFECTS[kind].split()) <= set(failed(certificate.findings)), str(certificate)


def test_no_single_probe_catches_all_and_each_alone_catches_some():
    rows = {kind.__name__: failed(certificate_of(kind).findings) for kind in (*defects.SOUND, *defects.DEFECTS)}
    matrix = pd.DataFrame({probe: ["X" if probe in seen else "." for seen in rows.values()] for probe in ALL}, rows)
    print(f"\n{matrix.to_string()}")
    planted = matrix.tail(len(defects.DEFECTS)) == "X"
    assert planted.any(axis=1).all()
    assert not planted.all(axis=0).any()
    alone = planted[planted.sum(axis=1) == 1].any(axis=0)
    assert alone[["M3", "M4", "M5", "M6", "M7", "M8"]].all()  # M1 and M2 back each other, and M8 goes on from M1


def test_what_moved_how_much_and_where_is_told():
    assert told(certificate_of(defects.Convolution).findings, "M1") == (
        "added 0.001 to 1e+06 times noise from positions 1, 12, 23 on, or zeros there: earlier ones stay the same to "
        "the last bit, in 60 trials"
    )
    evidence = told(certificate_of(defects.RoundedStatistic).findings, "M1")
    assert "when 1e+06 times noise is added from" in evidence
    assert evidence.endswith("12 of 60 trials moved something")
    assert "weights moved a little" in told(certificate_of(defects.HiddenBehindAGate).findings, "M1")
    assert "in training with dropout" in told(certificate_of(defects.MaskDroppedWithDropout).findings, "M8")
    assert "attention weights asked for" in told(certificate_of(defects.MaskDroppedWithWeights).findings, "M8")
    assert "up to rounding" in told(certificate_of(defects.Spectral).findings, "M2")


def test_the_receptive_field_is_measured_and_held_against_what_is_claimed():
    evidence = {kind: told(certificate_of(kind).findings, "M7") for kind in (*defects.SOUND, *defects.DEFECTS)}
    assert evidence[defects.Convolution].endswith("it reads the last 7 positions of 7 that it claims")
    assert evidence[defects.Attention].endswith("it reads the last 24 of 24 positions; no receptive field is stated")
    assert evidence[defects.ClaimsTooMuch].endswith(
        "claims to read 15 positions, of which the oldest does not matter: it reads 7"
    )
    assert evidence[defects.ClaimsTooLittle].startswith("claims to read 5 positions and moves")
    assert evidence[defects.ForgetsTheOldest].startswith("claims to read all 24 positions")


def test_a_claim_may_be_given_with_the_module():
    assert audit_module(defects.Attention(), defects.WIDTH, receptive_field="all").passed
    assert failed(audit_module(defects.Cached(), defects.WIDTH, receptive_field="all").findings) == ["M7"]
    assert failed(audit_module(defects.Convolution(), defects.WIDTH, receptive_field=9).findings) == ["M7"]
    assert audit_module(defects.Convolution(), defects.WIDTH, tokens=5).passed  # as far as can be seen


def test_a_module_that_is_anchored_at_its_end_may_say_so():
    certificate = audit_module(defects.PlacesFromTheEnd(), defects.WIDTH, end_anchored=True)
    assert certificate.passed
    assert [finding.probe for finding in certificate.findings if finding.passed is None] == ["M3", "M6"]


class InSingle(defects.Convolution):
    """Makes numbers of its own in single precision, and can be called in no other."""

    def forward(self, x):
        return super().forward(x @ torch.eye(defects.WIDTH))


class LeaksInSingle(InSingle):
    def forward(self, x):
        return super().forward(x) + 1e-4 * x.mean(1, keepdim=True)


def test_what_works_in_single_precision_alone_is_probed_in_it():
    sound, leaking = (audit_module(kind(), defects.WIDTH) for kind in (InSingle, LeaksInSingle))
    assert sound.facts["precision"] == leaking.facts["precision"] == "float32"
    assert sound.passed
    assert {"M1", "M2"} <= set(failed(leaking.findings))


def test_layers_of_torch_are_probed_as_they_come():
    assert audit_module(nn.LSTM(4, 6, num_layers=2, batch_first=True, dropout=0.1), 4).passed
    assert audit_module(nn.Linear(4, 3), 4).passed
    assert "M1" in failed(audit_module(nn.LSTM(4, 6, batch_first=True, bidirectional=True), 4).findings)


def test_the_module_and_the_random_states_are_left_as_they_are():
    module = defects.BatchStatisticsInTraining().train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    torch.manual_seed(8)
    states = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    audit_module(module, defects.WIDTH)
    assert module.training
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.random.get_state()[1].tolist() == states[1]
    assert random.getstate() == states[2]


def test_the_same_audit_says_the_same():
    module = defects.Recurrent()
    one, other = (audit_module(module, defects.WIDTH).table().drop(columns="milliseconds") for _ in range(2))
    assert one.equals(other)


class Raises(nn.Linear):
    def forward(self, x):
        if len(x) == 1:
            raise RuntimeError("one sequence is too few")
        return super().forward(x)


def test_what_a_module_raises_fails_the_probe_and_is_told():
    findings = audit_module(Raises(4, 4), 4).findings
    assert failed(findings) == ["M4"]
    assert told(findings, "M4") == "raises RuntimeError: one sequence is too few"


class NoTensor(nn.Module):
    def forward(self, x):
        return {"said": x}


class Pools(nn.Module):
    def forward(self, x):
        return x.mean(1)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"module": "lstm"}, TypeError, r"`module` is a str; allowed: a torch module, or a config such as LSTM"),
        ({"module": nn.Linear(3, 3)}, TypeError, "`width` is None; give how many numbers a token of Linear has"),
        ({"module": nn.Linear(3, 3), "width": 0}, ValueError, "`width` is 0; allowed: a whole number of 1 or more"),
        ({"module": nn.Linear(3, 3), "width": 3, "tokens": 2}, ValueError, "`tokens` is 2; allowed: .* 3 or more"),
        (
            {"module": nn.Linear(3, 3), "width": 3, "receptive_field": "some"},
            ValueError,
            "`receptive_field` is 'some'; allowed: a whole number of 1 or more, or \"all\"",
        ),
        ({"module": NoTensor(), "width": 3}, TypeError, r"`module` gives dict; allowed: a tensor \(B, N, ...\)"),
        ({"module": Pools(), "width": 3}, ValueError, r"gives \(2, 3\) for tokens \(2, 24, 3\); allowed: .*\(2, 24, "),
        ({"module": nn.Linear(3, 3), "width": 4}, RuntimeError, "mat1 and mat2"),
    ],
)
def test_what_cannot_be_probed_is_named(given, error, message):
    with pytest.raises(error, match=message):
        audit_module(**given)


# -- backbones ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", slow_unless(("lstm", "transformer"), BACKBONES))
def test_every_backbone_passes_at_its_default_width_within_three_seconds(name):
    began = time.process_time()
    certificate = audit_module(BACKBONES[name]())
    assert time.process_time() - began < (3 if name != "graph_transformer" else 9)  # groups of three
    assert certificate.passed, str(certificate)
    assert all(finding.passed for finding in certificate.findings)
    assert certificate.forecaster == repr(BACKBONES[name]())


# -- networks ----------------------------------------------------------------------------------------------------------


def network_of(backbone: Backbone, decoder: Decoder, layout: Layout | None = None, patch_length=8) -> ForecastNetwork:
    torch.manual_seed(3)
    return ForecastNetwork(
        backbone,
        decoder,
        horizon=12,
        quantile_levels=(0.1, 0.5, 0.9),
        patch_length=patch_length,
        context_length=5 * patch_length,
        season_length=24,
        week_length=35,
        layout=layout,
    )


def combinations():
    quick = {("lstm", "direct", True), ("identity", "cross_attention", False)}
    for backbone, decoder, reads in product(BACKBONES, DECODERS, (False, True)):
        combination = backbone, decoder, reads
        if reads and backbone not in ("lstm", "graph_transformer"):
            continue  # covariates are read beside the backbone
        name = f"{backbone}-{decoder}{'-covariates' * reads}"
        yield pytest.param(*combination, marks=() if combination in quick else pytest.mark.slow, id=name)


@pytest.mark.parametrize(("backbone", "decoder", "reads"), list(combinations()))
def test_every_fresh_network_passes(backbone, decoder, reads):
    config = BACKBONES[backbone](**({"series": 3} if backbone == "graph_transformer" else {}))
    findings = module_findings(network_of(config, DECODERS[decoder](), LAYOUT if reads else None))
    assert failed(findings) == [], findings
    assert [finding.probe for finding in findings] == ALL
    assert [finding.probe for finding in findings if finding.passed is None] == (
        [] if DECODERS[decoder].streams else ["M6"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("patch_length", [1, 24])
def test_networks_of_other_patches_pass(patch_length):
    for decoder in DECODERS.values():
        assert failed(module_findings(network_of(LSTM(width=16), decoder(), LAYOUT, patch_length))) == []


@pytest.fixture(scope="module")
def fitted() -> NeuralForecaster:
    ds = pd.date_range("2024-01-01", periods=150, freq="h")
    frame = pd.DataFrame({"unique_id": "a", "ds": ds, "y": np.sin(np.arange(150) / 4) + 10})
    return NeuralForecaster(
        TCN(width=8), 6, context_length=24, patch_length=8, training=Training(steps=3, threads=1)
    ).fit(frame)


def test_the_network_of_a_fitted_forecaster_passes_and_is_left_as_it_is(fitted):
    before = fitted.predict()
    findings = module_findings(fitted)
    assert failed(findings) == []
    assert all(finding.passed for finding in findings)
    assert told(findings, "M7") == (
        "every step moves with the newest value; it reads the last 3 patches of all 3 that it claims; its backbone "
        "reads the last 29 positions of 29 that it claims"
    )
    pd.testing.assert_frame_equal(fitted.predict(), before)


def test_a_forecaster_without_a_network_of_ours_has_nothing_to_probe(fitted):
    frame = pd.DataFrame({"unique_id": "a", "ds": pd.date_range("2024", periods=60, freq="D"), "y": np.arange(60.0)})
    naive = SeasonalNaive(3).fit(frame)
    assert {finding.evidence for finding in module_findings(naive)} == {"it has no network"}
    naive.net_ = nn.Linear(2, 2)
    findings = module_findings(naive)
    assert [finding.passed for finding in findings] == [None] * 8
    assert findings[0].evidence.startswith("how `net_`, a Linear, is called is not known")
    with pytest.raises(Exception, match=r"NeuralForecaster.*fit"):
        module_findings(NeuralForecaster("lstm", 3))


# -- planted defects of networks ---------------------------------------------------------------------------------------


class Doubtful(DecoderModule):
    """Says what a state says, a defect beside it."""

    def __init__(self, width, horizon, levels):
        super().__init__()
        self.reach, self.levels = horizon, levels
        self.map = nn.Linear(width, horizon * levels)

    def forward(self, states, origins, *, targets=None):
        said = self.said(states).unflatten(-1, (self.reach, self.levels))
        return said[:, origins]

    def said(self, states):
        return self.map(states)


class ReadsLater(Doubtful):
    def said(self, states):
        return super().said(states + states.mean(1, keepdim=True))


class ReadsBefore(Doubtful):
    def said(self, states):
        return super().said(states.cumsum(1))


@dataclass(frozen=True, kw_only=True)
class Speaks(Decoder):
    streams = True
    module: str = "Doubtful"

    def build(self, width, horizon, quantile_levels, patch_length):
        return globals()[self.module](width, horizon, len(quantile_levels))


class Forgets(CausalModule):
    """Carries half of what it should."""

    receptive_field = None

    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(width, width, batch_first=True)

    def init_state(self, batch):
        return self.gru.weight_hh_l0.new_zeros(batch, self.gru.hidden_size)

    def advance(self, x, state=None):
        y, state = self.gru(x, None if state is None else state[None])
        return x + y, state[0] / 2


@dataclass(frozen=True, kw_only=True)
class Forgetful(Backbone):
    family = "latent-state"
    width: int = 8

    def build(self, tokens):
        return Forgets(self.width)


@pytest.mark.parametrize(
    ("backbone", "decoder", "probes"),
    [
        (LSTM(width=8), Speaks(module="ReadsLater"), ["M1", "M2", "M3", "M6", "M8"]),
        (LSTM(width=8), Speaks(module="ReadsBefore"), ["M6"]),
        (Forgetful(), Speaks(), ["M6"]),
    ],
    ids=["reads later states", "reads all states and says that it streams", "forgets in a stream"],
)
def test_a_defect_of_the_network_of_a_forecaster_is_caught(fitted, backbone, decoder, probes):
    forecaster = copy(fitted)
    forecaster.network_, forecaster.decoder_ = network_of(backbone, decoder), decoder
    assert failed(module_findings(forecaster)) == probes


def test_a_network_of_which_nothing_is_said_streams_if_its_decoder_reads_the_newest_state_alone():
    evidence = told(module_findings(network_of(LSTM(width=8), Speaks(module="ReadsBefore"))), "M6")
    assert evidence == "ReadsBefore reads all states before an origin: it does not stream"


def of_the_whole_window(values, readable, *, memory, every=1):
    ends = running(values, readable, memory=memory, every=every)
    return Running(ends.location[:, -1:].expand_as(ends.location), ends.scale, ends.last, ends.count)


def test_a_scale_of_the_whole_window_is_caught(monkeypatch):
    monkeypatch.setattr("forecast.nn.network.running", of_the_whole_window)
    findings = module_findings(network_of(LSTM(width=8), DECODERS["direct"]()))
    assert {"M1", "M2", "M3", "M8"} <= set(failed(findings))


class StepBlind(Doubtful):
    def said(self, states):
        said = super().said(states).unflatten(-1, (self.reach, self.levels))
        shown = torch.arange(self.reach)[:, None] != 2
        return torch.where(shown, said, 0.0).flatten(-2)


def test_a_step_that_does_not_see_the_newest_value_is_caught(monkeypatch):
    network = network_of(LSTM(width=8), Speaks(module="StepBlind"))
    with torch.no_grad():
        network.anchor.weights.zero_()  # the anchor is the mean: hold it, and nothing but the decoder moves
    monkeypatch.setattr(
        "forecast.nn.network.running",
        lambda values, readable, **how: Running(
            *(x * 0 + 1 for x in vars(running(values, readable, **how)).values()),
        ),
    )
    evidence = told(module_findings(network), "M7")
    assert evidence == "step 3 from position 0 does not move with what is newest there (weights as they are)"
