"""Regimes that match: widths and steps solved for equal sizes and times, what is refused, and what is told of it."""

import itertools
import json
import math
from statistics import median

import numpy as np
import pandas as pd
import pytest

from forecast import Naive, NeuralForecaster, check_frame
from forecast.evaluation import Plan
from forecast.experiment import ConfigError, StoreError, load_experiment, rebuild, run_experiment
from forecast.experiment.regimes import Case, matched_compute
from forecast.experiment.regimes.account import note_of, sentences
from forecast.experiment.regimes.as_given import AsGiven
from forecast.experiment.regimes.matched_compute import MatchedCompute, Price, Seconds, prices_of
from forecast.experiment.regimes.matched_parameters import MatchedParameters, Size, agreeing
from forecast.experiment.regimes.networks import budgets, network_in
from forecast.experiment.work import Progress
from forecast.nn import BACKBONES, DECODERS, GRU, LSTM, RNN, Transformer
from forecast.training import Training

RECURRENT = (
    "{type: NeuralForecaster, backbone: {type: lstm, width: 24}, training: &quick {steps: 4, validation_length: 0}}"
)
CONVOLUTIONAL = "{type: NeuralForecaster, backbone: {type: tcn, width: 16}, training: *quick}"
NETWORKS = f"{{SeasonalNaive: , LSTM: {RECURRENT}, TCN: {CONVOLUTIONAL}}}"
PRICES = {"LSTM": Price(0.5, 0.01), "TCN": Price(0.2, 0.03), "Transformer": Price(1.0, 0.05)}


class Noted(Progress):
    """Remembers what it was told; stops before a cell of a number."""

    def __init__(self, stop=None):
        self.told, self.stop = [], stop

    def at_work(self, cell):
        if len(self.told) == self.stop:
            raise KeyboardInterrupt

    def finished(self, cell, outcome, seconds):
        self.told.append((str(cell), outcome))

    @property
    def outcomes(self):
        return [outcome for _, outcome in self.told]


@pytest.fixture(scope="module")
def panel():
    rng, t = np.random.default_rng(0), np.arange(150)
    days = pd.date_range("2024-01-01", periods=150)
    wave = 10 + 3 * np.sin(2 * np.pi * t / 7)
    return check_frame(
        pd.concat([pd.DataFrame({"unique_id": n, "ds": days, "y": wave + rng.normal(0, 1, 150)}) for n in "ab"])
    )


def case_of(panel, forecasters):
    return Case("waves", panel, int(panel.last.max()), Plan(horizon=5, n_folds=2), forecasters, code="tested")


def network(backbone, decoder="direct", **training):
    options = Training(**{"steps": 200, "validations": 10, **training})
    return NeuralForecaster(backbone, 5, decoder=decoder, context_length=28, training=options)


@pytest.fixture
def by_law(monkeypatch):
    """Give the seconds of fits by a law, with some noise, instead of measuring them."""
    timed, noise = [], np.random.default_rng(0)

    def seconds(forecaster, case):
        label = next(label for label, one in case.forecasters.items() if one.backbone == forecaster.backbone)
        timed.append((label, forecaster.training.steps, forecaster.training.patience))
        return PRICES[label].of(forecaster.training.steps) * noise.uniform(0.99, 1.01)

    monkeypatch.setattr(matched_compute, "_seconds", seconds)
    return timed


# -- configs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("regime", "told"),
    [
        ("matched", "9: regime: unknown regime 'matched'; did you mean 'matched_"),
        ("3", "9: regime: should be text; got 3, or should be a mapping; got 3"),
        ("{within: 0.1}", "9: regime.type: needs a name, one of as_given, matched_parameters"),
        ("{type: matched_parameters, withn: 0.1}", "36: regime.withn: unknown key; did you mean 'within'?"),
        ("{type: matched_parameters, within: 0}", "44: regime.within: `within` is 0.0; allowed: a number above 0"),
        ("{type: matched_parameters, of: LTSM}", "40: regime.of: `of` is 'LTSM', which is no network of this"),
        ("{type: matched_compute, rounds: 0}", "41: regime.rounds: `rounds` is 0; allowed: a whole number of 1"),
        ("{type: tuned, trials: 0}", "31: regime.trials: `trials` is 0; allowed: a whole number of 1 or more"),
        ("{type: tuned, metric: bias}", "31: regime.metric: should be 'mase'"),
        ("{type: tuned, seed: -1}", "29: regime.seed: `seed` is -1; allowed: a whole number, not below 0"),
        ("{type: tuned, space: {}}", "30: regime.space: `space` is empty"),
        ("{type: tuned, space: {width: 3}}", "30: regime.space: `space`: width is 3; allowed: a list of values, or"),
        ("{type: tuned, space: {width: {low: 3, high: 2}}}", "30: regime.space: `space`: width is {'low': 3"),
        ("{type: tuned, space: {witdh: [3]}}", "30: regime.space: `space` holds 'witdh', a parameter that no"),
        ("{type: tuned, space: {width: [0]}}", "30: regime.space: `space`: width may be 0, which 'LSTM' refuses"),
    ],
)
def test_a_planted_fault_is_told_at_its_place(config, regime, told):
    path = config(f"regime: {regime}\n", forecasters=NETWORKS)
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    at = path.read_text().splitlines().index(f"regime: {regime}") + 1
    lines = [line.removeprefix(f"{path}:{at}:") for line in str(caught.value).splitlines()]
    assert any(line.startswith(told) for line in lines), lines


@pytest.mark.parametrize("regime", ["matched_parameters", "matched_compute"])
@pytest.mark.parametrize(
    ("forecasters", "told"),
    [(f"{{LSTM: {RECURRENT}}}", "there is one network to"), ("{Naive: }", "there are no networks")],
)
def test_one_network_alone_has_nothing_to_match(config, regime, forecasters, told):
    with pytest.raises(ConfigError, match=f"regime: {told}"):
        load_experiment(config(f"regime: {regime}\n", forecasters=forecasters))


def test_the_canonical_form_names_the_regime_with_all_options(config):
    assert load_experiment(config()).canonical()["regime"] == {"type": "as_given"}
    found = load_experiment(config("regime: {type: matched parameters, of: LSTM}\n", forecasters=NETWORKS)).canonical()
    assert found["regime"] == {"type": "matched_parameters", "of": "LSTM", "within": 0.05}
    assert json.loads(json.dumps(found)) == found


# -- sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backbone", ["gru", "tcn", "transformer", "graph_transformer"])
@pytest.mark.parametrize("decoder", ["direct", "cross_attention"])
def test_an_outline_counts_what_a_fit_trains_and_draws_nothing(panel, backbone, decoder):
    import torch

    forecaster, before = network(backbone, decoder, steps=1, validation_length=0), torch.random.get_rng_state()
    outline = forecaster.outline(panel)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not [name for name in vars(forecaster) if name.endswith("_")]
    forecaster.fit(panel)
    learned = forecaster.parameters_, forecaster.context_length_, forecaster.patch_length_, forecaster.steps_
    assert outline == (*learned, forecaster.backbone_.width)


def test_a_backbone_by_its_name_is_told_as_wide_as_it_is_for_very_many_values():
    frame = pd.DataFrame({"ds": pd.date_range("2000-01-01", periods=200_001, freq="h"), "y": 0.0})
    named, given = NeuralForecaster("lstm", 24), NeuralForecaster(LSTM(), 24)
    found = budgets({"named": named, "given": given}, check_frame(frame.assign(unique_id="a")))
    assert {label: row["width"] for label, row in found.items()} == {"named": 128, "given": 64}


def sizes_after(regime, forecasters, panel):
    faults = []
    settled = regime.settle(case_of(panel, forecasters), None, faults)
    assert not faults, faults
    return settled, {label: one.outline(panel).parameters for label, one in settled.forecasters.items()}


def test_networks_agree_within_five_percent_and_only_widths_have_changed(panel):
    given = {name: network(name) for name in ("lstm", "tcn", "transformer")}
    settled, counts = sizes_after(MatchedParameters(), given, panel)
    assert max(counts.values()) / min(counts.values()) <= 1.05
    as_given = median(one.outline(panel).parameters for one in given.values())
    assert 1 / 1.2 < median(counts.values()) / as_given < 1.2
    for label, one in settled.forecasters.items():
        width = one.get_params()["backbone__width"]
        assert repr(one) == repr(network(label).set_params(backbone__width=width))
        assert f"{label} width {width}" in settled.sentence
        assert given[label].backbone == label  # what was given stays as it is
    assert settled.sentence.startswith(f"Matched parameters: {min(counts.values()):,} to {max(counts.values()):,}, ")


def test_the_one_that_is_named_keeps_its_width(panel):
    given = {name: network(name) for name in ("gru", "tcn", "wavenet")}
    settled, counts = sizes_after(MatchedParameters(of="gru"), given, panel)
    assert repr(settled.forecasters["gru"]) == repr(network("gru").set_params(backbone__width=64))
    assert counts["gru"] == given["gru"].outline(panel).parameters
    assert max(counts.values()) / min(counts.values()) <= 1.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decoder", "backbones"),
    [("direct", list(BACKBONES)), *((decoder, ["lstm", "tcn", "transformer"]) for decoder in DECODERS)],
)
def test_backbones_agree_under_every_decoder(panel, decoder, backbones):
    _, counts = sizes_after(MatchedParameters(), {name: network(name, decoder) for name in backbones}, panel)
    assert max(counts.values()) / min(counts.values()) <= 1.05


def test_a_network_whose_widths_are_too_coarse_is_named_with_what_it_can_have(panel):
    given = {"small": network(RNN(width=8)), "coarse": network(Transformer(width=32, heads=16))}
    faults = []
    assert MatchedParameters(of="small").settle(case_of(panel, given), None, faults) is None
    assert [fault.field for fault in faults] == [("forecasters", "coarse")]
    assert faults[0].message.startswith("no width gives this network about ")
    assert "its smallest has " in faults[0].message
    faults.clear()
    given |= {"small": network(RNN(width=86)), "fine": network(GRU())}
    assert MatchedParameters(of="small", within=0.001).settle(case_of(panel, given), None, faults) is None
    assert [fault.field for fault in faults] == [("forecasters", "coarse")]
    assert "parameters cannot be matched within 0.1" in faults[0].message
    assert "next to the " in faults[0].message
    assert " at width " in faults[0].message
    assert "Leave `of` out, so that no network has to keep its width, or ask for `within: " in faults[0].message
    asked = float(faults[0].message.partition("`within: ")[2].partition("`")[0])
    assert MatchedParameters(of="small", within=asked).settle(case_of(panel, given), None, []) is not None


def test_sizes_are_chosen_as_a_search_over_all_of_them_would():
    rng = np.random.default_rng(5)
    for _ in range(50):
        sizes = {
            name: [Size(width, count) for width, count in enumerate(sorted(rng.choice(900, 6, False) + 100), start=1)]
            for name in "abc"
        }
        target, within = float(rng.integers(200, 800)), float(rng.choice([0.02, 0.1, 0.4]))
        found = agreeing(sizes, target, within)
        every = [dict(zip(sizes, choice, strict=True)) for choice in itertools.product(*sizes.values())]

        def apart(choice):
            counts = [size.parameters for size in choice.values()]
            return max(counts) / min(counts) - 1

        least = min(map(apart, every))
        assert apart(found) <= within if least <= within else math.isclose(apart(found), least)


# -- seconds -----------------------------------------------------------------------------------------------------------


def test_prices_are_lines_through_medians():
    rows = [(r, "a", s, 1 + 0.1 * s) for r in (1, 2, 3) for s in (10, 50)] + [(4, "a", 10, 99.0), (4, "a", 50, 0.0)]
    price = prices_of(pd.DataFrame(rows, columns=["round", "forecaster", "steps", "seconds"]))["a"]
    assert price.fixed == pytest.approx(1)
    assert price.step == pytest.approx(0.1)


def test_a_longer_fit_that_was_faster_still_costs_something():
    rows = [(1, "a", 10, 2.0), (1, "a", 50, 1.0)]
    price = prices_of(pd.DataFrame(rows, columns=["round", "forecaster", "steps", "seconds"]))["a"]
    assert price.step > 0
    assert price.fixed >= 0


def settled_by_seconds(panel, by_law, tmp_path, regime, given):
    case = case_of(panel, given)
    (work,) = regime.work(case)
    Seconds.write(work.compute(), tmp_path / work.key)

    class Stored:
        def read_error(self, key):
            return None

        def folder_of(self, key):
            return tmp_path / key

    faults = []
    return regime.settle(case, Stored(), faults), faults


@pytest.mark.parametrize("of", [None, "TCN"])
def test_steps_are_solved_for_equal_seconds_and_networks_are_timed_in_turn(panel, by_law, tmp_path, of):
    given = {"LSTM": network("lstm"), "TCN": network("tcn"), "Transformer": network("transformer")}
    settled, faults = settled_by_seconds(panel, by_law, tmp_path, MatchedCompute(of=of, rounds=3), given)
    assert not faults
    assert [label for label, _, _ in by_law[:6]] == ["LSTM", "LSTM", "TCN", "TCN", "Transformer", "Transformer"]
    assert len(by_law) == 4 * 6  # a round that warms up
    assert {patience for _, _, patience in by_law} == {None}
    steps = {label: one.training.steps for label, one in settled.forecasters.items()}
    seconds = [PRICES[label].of(steps[label]) for label in steps]
    assert max(seconds) / min(seconds) < 1.10
    if of:
        assert steps["TCN"] == 200
        assert seconds[0] == pytest.approx(PRICES["TCN"].of(200), rel=0.05)
    for label, one in settled.forecasters.items():
        told = {"training__steps": steps[label], "training__patience": None}
        assert repr(one) == repr(network(given[label].backbone).set_params(**told))
        assert f"{label} {steps[label]:,} steps" in settled.sentence


def test_a_network_that_would_hardly_train_in_that_time_is_named(panel, by_law, tmp_path):
    given = {"LSTM": network("lstm", steps=60), "Transformer": network("transformer")}
    settled, faults = settled_by_seconds(panel, by_law, tmp_path, MatchedCompute(of="LSTM", rounds=1), given)
    assert settled is None
    assert [fault.field for fault in faults] == [("forecasters", "Transformer")]
    assert "makes 2 steps, at" in faults[0].message or "makes 1 steps, at" in faults[0].message
    assert "too few, at least for its 10 looks" in faults[0].message


def test_a_fit_is_really_timed(panel):
    case = case_of(panel, {"LSTM": network("lstm", steps=1, validation_length=0)})
    assert 0 < matched_compute._seconds(case.forecasters["LSTM"], case) < 60


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_matched_run_trains_and_tells_what_was_matched_and_what_was_not(config, tmp_path, undrawn):
    tcn = CONVOLUTIONAL.replace("training:", "context_length: 14, training:")
    path = config(
        "regime: {type: matched_parameters, within: 0.05}\n",
        forecasters=f"{{SeasonalNaive: , LSTM: {RECURRENT}, TCN: {tcn}}}",
        plan="{n_folds: 2, refit: never}",
    )
    results = run_experiment(path, tmp_path / "out")
    assert not results.failures, results.failures
    budgets = results.budgets.set_index("forecaster")
    counts = budgets.loc[["LSTM", "TCN"], "parameters"]
    assert counts.max() / counts.min() <= 1.05
    assert counts.tolist() == results.summary.set_index("forecaster").loc[["LSTM", "TCN"], "parameters"].tolist()
    assert pd.isna(budgets.loc["SeasonalNaive", "parameters"])
    assert budgets.loc["TCN", ["context_length", "steps", "batch_size", "trials", "seeds"]].tolist() == [
        14,
        4,
        64,
        0,
        1,
    ]
    said = results.regimes["series"]
    assert said.startswith("Matched parameters: ")
    assert "Not equal: context length (LSTM " in said
    assert "width (" not in said
    again = rebuild(results.folder)
    pd.testing.assert_frame_equal(again.budgets, results.budgets)
    assert again.regimes == results.regimes
    assert (
        "Matched parameters"
        in pd.read_json(results.folder / "experiment.json", typ="series")["settled"]["series"]["sentence"]
    )


def test_an_unmet_match_is_told_before_a_folder_is_made(config, tmp_path):
    path = config("regime: {type: matched_parameters, within: 0.0001}\n", forecasters=NETWORKS)
    with pytest.raises(ConfigError, match=r"small.yaml:\d+:\d+: forecasters\.(LSTM|TCN): parameters cannot be matched"):
        run_experiment(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_as_given_is_told_with_all_that_differs(panel):
    given = {"LSTM": network(LSTM(width=24)), "TCN": network("tcn"), "Naive": Naive(5)}
    settled = AsGiven().settle(case_of(panel, given), None, [])
    assert settled.forecasters is given
    note = note_of(AsGiven(), settled, panel)
    said = " ".join(sentences(note, None))
    assert said.startswith("Widths and budgets as given, not matched. Not equal: parameters (LSTM ")
    assert "width (LSTM 24, TCN 64)" in said
    assert "steps" not in said
    assert note["budgets"]["Naive"] == {"trials": 0}
    beside = note_of(AsGiven(), settled, panel, ["TCN"])
    assert (beside["unequal"], beside["budgets"]) == ([], note["budgets"])


def test_a_recursive_network_that_says_the_horizon_in_one_patch_is_told(panel):
    given = {"direct": network("lstm"), "fed back": network("lstm", "recursive").set_params(patch_length=4)}
    given["at once"] = network("lstm", "recursive").set_params(patch_length=7)
    settled = AsGiven().settle(case_of(panel, given), None, [])
    said = sentences(note_of(AsGiven(), settled, panel), None)
    assert said[-1] == "Nothing is fed back by at once: one patch holds the horizon, as with `direct`."


def test_measured_seconds_are_stored_and_taken_again_by_a_run_that_was_stopped(config, tmp_path, undrawn, monkeypatch):
    asked = []

    def seconds(forecaster, case):
        asked.append(forecaster)
        return PRICES["LSTM" if "lstm" in repr(forecaster).lower() else "TCN"].of(forecaster.training.steps)

    monkeypatch.setattr(matched_compute, "_seconds", seconds)
    networks = NETWORKS.replace("steps: 4", "steps: 16")
    path, out = (
        config("regime: matched_compute\n", forecasters=networks, plan="{n_folds: 2, refit: never}"),
        tmp_path / "o",
    )
    with pytest.raises(KeyboardInterrupt):
        run_experiment(path, out, Noted(stop=2))
    part = rebuild(out)
    assert part.cells["status"].tolist() == ["done", "unfinished", "unfinished"]
    measured = len(asked)
    assert measured == 6 * 2 * 2
    monkeypatch.setattr(matched_compute, "_seconds", lambda *given: 1 / 0)
    noted = Noted()
    results = run_experiment(path, out, noted)
    assert noted.outcomes == ["stored", "stored", "done", "done"]
    budgets = results.budgets.set_index("forecaster")
    lstm, tcn = (PRICES[label].of(int(budgets.loc[label, "steps"])) for label in ("LSTM", "TCN"))
    assert max(lstm, tcn) / min(lstm, tcn) < 1.10
    assert results.regimes["series"].startswith("Matched compute: ")
    assert "In the fits that were made, seconds of a fit are " in results.regimes["series"]
    with pytest.raises(StoreError, match="differs in `regime"):
        run_experiment(config(forecasters=networks, plan="{n_folds: 2, refit: never}"), out)


def test_a_measurement_that_fails_is_told_with_its_reason(config, tmp_path, undrawn, monkeypatch):
    monkeypatch.setattr(matched_compute, "_seconds", lambda *given: 1 / 0)
    path = config("regime: matched_compute\n", forecasters=NETWORKS)
    with pytest.raises(ConfigError, match=r"regime: training could not be timed: ZeroDivisionError"):
        run_experiment(path, tmp_path / "out")
    assert rebuild(tmp_path / "out").cells.empty


def test_the_network_inside_another_forecaster_is_found():
    calibrated = pytest.importorskip("forecast.calibrated").Calibrated(network("lstm"))
    found = network_in(calibrated)
    assert found is not None
    assert found.prefix == "forecaster__"
    assert calibrated.get_params()["forecaster__backbone__width"] == found.network.get_params()["backbone__width"]


def test_the_shipped_experiment_is_matched():
    experiment = load_experiment("matched")
    assert experiment.canonical()["regime"] == {"type": "matched_parameters", "of": None, "within": 0.05}
