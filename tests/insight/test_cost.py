"""Costs: bytes against hand-counted ones, powers against known laws, limits, and a process left as it was."""

import math
import os

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.insight import cost
from forecast.insight.cost import COLUMNS, CostPlan, Powers, cost_at, cost_curves, cost_powers, expected_powers
from forecast.insight.memory import peak_bytes, saved_bytes
from forecast.nn import BACKBONES, GRU, LSTM, TCN, AttentiveRNN, GraphTransformer, Transformer

SINGLE = [name for name, kind in BACKBONES.items() if not kind.across_series]
FLOAT = 4


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Times are not looked at: no run is repeated for the sake of a good one."""
    monkeypatch.setattr(cost, "_SPENT", 0.0)


def curves(backbones, lengths, **given):
    return cost_curves(CostPlan(backbones=backbones, lengths=lengths, repeats=1, **{"patch_lengths": (1,), **given}))


def column(table, name, **at):
    for key, value in at.items():
        table = table[table[key] == value]
    return table[name].to_numpy(dtype=float)


# -- bytes -------------------------------------------------------------------------------------------------------------


def test_what_is_kept_for_the_backward_pass_counts_once_however_often_it_is_kept():
    x = torch.ones(1000, requires_grad=True)
    assert saved_bytes(lambda: x * x) == 1000 * FLOAT
    assert saved_bytes(lambda: (x * x).exp().sum()) == 2 * 1000 * FLOAT  # x, and what exp has given
    assert saved_bytes(lambda: (x * x[:10].mean()).sum()) == 1000 * FLOAT + FLOAT  # a part of x is in x


def test_weights_do_not_count_as_kept():
    layer, x = torch.nn.Linear(10, 20), torch.ones(5, 10)
    assert saved_bytes(lambda: layer(x).square(), layer.parameters()) == (5 * 10 + 5 * 20) * FLOAT
    assert saved_bytes(lambda: layer(x.requires_grad_()).square()) == (5 * 10 + 5 * 20 + 20 * 10) * FLOAT


def test_nothing_is_kept_where_there_is_no_gradient():
    layer = torch.nn.Linear(10, 20)
    with torch.no_grad():
        assert saved_bytes(lambda: layer(torch.ones(5, 10)).square()) == 0


def test_the_peak_is_the_most_that_is_held_at_once():
    x = torch.ones(100, 100)
    one = 100 * 100 * FLOAT
    little = 64  # what a sum needs itself
    assert one <= peak_bytes(lambda: (x + 1).add_(1).sum()) <= one + little
    assert 2 * one <= peak_bytes(lambda: ((x + 1) + 1).sum()) <= 2 * one + little
    assert one <= peak_bytes(lambda: [(x + 1).sum() for _ in range(5)]) <= one + 6 * little


def test_the_peak_is_the_same_on_every_run_and_nothing_is_printed(capfd, monkeypatch):
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    network = torch.nn.LSTM(16, 16, batch_first=True)
    x = torch.ones(2, 50, 16)
    with torch.inference_mode():
        peaks = {peak_bytes(lambda: network(x)) for _ in range(3)}
    assert len(peaks) == 1
    assert peaks.pop() >= x.nbytes
    assert "KINETO_LOG_LEVEL" not in os.environ
    assert capfd.readouterr() == ("", "")


# -- curves ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE)
def test_every_backbone_is_measured_in_every_mode_that_it_has(name):
    config = BACKBONES[name]
    table = curves({name: config()}, (8, 16), patch_lengths=(1, 4), context_length=12)
    assert list(table.columns) == COLUMNS
    modes = list(expected_powers(config()))
    assert modes[:3] == ["train", "recompute", "stream"]
    assert table["mode"].tolist() == modes * 4
    assert (table["seconds"] > 0).all()
    assert (table["bytes"] > 0).all()
    assert (table["parameters"] > 0).all()
    assert set(table["family"]) == {config.family}
    assert set(table["left_out"]) == {""}


def test_bytes_are_the_same_on_every_run():
    one, other = (curves({"lstm": LSTM(width=8), "attention": Transformer(width=8, heads=1)}, (16, 32)) for _ in "12")
    pd.testing.assert_series_equal(one["bytes"], other["bytes"])


@pytest.mark.parametrize("config", [LSTM(width=8), GRU(width=8), TCN(width=8, depth=2)])
def test_a_recurrence_or_a_convolution_keeps_as_much_for_every_token_and_carries_the_same(config):
    table = curves({"it": config}, (64, 128, 256), context_length=32)
    for mode in ("train", "recompute"):
        grown = np.diff(column(table, "bytes", mode=mode))
        assert grown[1] == pytest.approx(2 * grown[0], rel=0.02)
    assert len(set(column(table, "bytes", mode="stream"))) == 1
    assert "stream_all" not in set(table["mode"])


def test_attention_holds_all_of_its_weights_in_training_with_dropout_and_never_without():
    backbones = {"with": Transformer(depth=1), "without": Transformer(depth=1, dropout=0)}
    powers = cost_powers(curves(backbones, (64, 128, 256, 512))).set_index(["backbone", "mode"])["bytes_power"]
    assert powers["with", "train"] > 1.5
    assert powers["without", "train"] == pytest.approx(1, abs=0.05)
    assert powers["with", "recompute"] == pytest.approx(1, abs=0.05)


def test_what_remembers_the_whole_history_carries_keys_and_values_of_every_token():
    width, depth = 8, 2
    table = curves({"it": Transformer(width=width, heads=1, depth=depth)}, (64, 128), context_length=32)
    held = column(table, "bytes", mode="stream_all")
    # Of 64 more tokens keys and values, and the values themselves, from which the scale is taken.
    assert np.diff(held)[0] == 64 * (2 * depth * width + 1) * FLOAT
    assert len(set(column(table, "bytes", mode="stream"))) == 1


@pytest.mark.parametrize("config", [LSTM(width=8), Transformer(width=8, heads=1)])
def test_patches_keep_fewer_tokens_in_training_and_more_states_in_a_stream(config):
    table = curves({"it": config}, (256,), patch_lengths=(1, 8), context_length=64)
    train, stream = (column(table, "bytes", mode=mode) for mode in ("train", "stream"))
    assert train[1] < train[0] / 5
    states = {patch: 8 * _state(config, 64 // patch) if patch == 8 else _state(config, 64) for patch in (1, 8)}
    assert np.diff(stream)[0] == pytest.approx(states[8] - states[1], abs=200)  # a patch more of the last values


def _state(config, tokens):
    return cost._size(config.build(tokens).init_state(1))


def test_histories_are_filled_up_to_whole_patches():
    table = curves({"it": LSTM(width=8)}, (40, 48), patch_lengths=(24,))
    for mode in ("train", "recompute"):
        assert len(set(column(table, "bytes", mode=mode))) == 1


@pytest.mark.parametrize(
    ("config", "modes"),
    [
        (LSTM(), {"train": (1, 1), "recompute": (1, 1), "stream": (0, 0)}),
        (TCN(), {"train": (1, 1), "recompute": (1, 1), "stream": (0, 0)}),
        (Transformer(), {"train": (2, 2), "recompute": (2, 1), "stream": (0, 0), "stream_all": (1, 1)}),
        (Transformer(dropout=0), {"train": (2, 1), "recompute": (2, 1), "stream": (0, 0), "stream_all": (1, 1)}),
        (AttentiveRNN(), {"train": (2, 1), "recompute": (2, 1), "stream": (0, 0), "stream_all": (1, 1)}),
        (Transformer(window=5), {"train": (1, 1), "recompute": (1, 1), "stream": (0, 0)}),
    ],
)
def test_what_carries_every_token_is_expected_to_cost_their_square(config, modes):
    assert expected_powers(config) == {mode: Powers(*powers) for mode, powers in modes.items()}


# -- powers ------------------------------------------------------------------------------------------------------------


def law(lengths, seconds, left_out=()):
    """Give a curve that follows a law."""
    rows = [
        (
            "it",
            "latent-state",
            1,
            length,
            "train",
            seconds(length),
            7.0 * length,
            10,
            2,
            1,
            "too much" * (length in left_out),
        )
        for length in lengths
    ]
    table = pd.DataFrame(rows, columns=COLUMNS)
    table.loc[table["left_out"] != "", ["seconds", "bytes"]] = math.nan
    return table


def test_powers_are_fitted_on_the_upper_half_of_the_lengths():
    table = law([8, 16, 32, 64], lambda length: 3.0 * length**2 if length >= 32 else 1e6)
    fitted = cost_powers(table.sample(frac=1, random_state=0)).iloc[0]
    assert fitted["seconds_power"] == pytest.approx(2)
    assert fitted["bytes_power"] == pytest.approx(1)
    assert (fitted["from_length"], fitted["to_length"]) == (32, 64)
    assert (fitted["seconds_expected"], fitted["bytes_expected"]) == (2, 1)


def test_powers_are_fitted_on_what_was_measured_alone():
    fitted = cost_powers(law([8, 16, 32, 64, 128], lambda length: length**1.5, left_out=(64, 128))).iloc[0]
    assert fitted["seconds_power"] == pytest.approx(1.5)
    assert fitted["to_length"] == 32
    alone = cost_powers(law([8, 16], float, left_out=(16,))).iloc[0]
    assert math.isnan(alone["seconds_power"])


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "lengths", "told"),
    [
        (lambda length: length / 100, [8, 16], ""),  # 0.32 s at 32
        (lambda length: length / 40, [8, 16], ""),  # 0.8 s
        (lambda length: length / 20, [8, 16], "a run would take about 1.6 s, more than `most_seconds`, 1"),
        (lambda length: (length / 32) ** 2, [8, 16], ""),  # just 1 s
        (lambda length: (length / 31) ** 2, [8, 16], "a run would take about 1.07 s"),
        (lambda length: (length / 40) ** 3, [8, 16], ""),  # 0.26 s: no cost that is known grows with a higher power
        (lambda length: length / 60, [16], "a run would take about 1.07 s"),  # by a single length, as expected
        (lambda length: length / 60, [8, 16], ""),
        (lambda length: 9.0, [], ""),
    ],
)
def test_a_length_is_left_out_as_the_shorter_ones_have_grown(seconds, lengths, told):
    plan = CostPlan(backbones={"it": LSTM()}, most_seconds=1)
    why = cost._too_much(plan, law(lengths, seconds), 32)
    assert why.startswith(told)
    assert bool(why) == bool(told)


def test_what_would_pass_a_limit_is_left_out_with_all_that_is_longer_and_the_rest_goes_on():
    table = curves({"it": Transformer(width=8, heads=1)}, (16, 32, 64, 128), most_bytes=5e4)
    recompute = table[table["mode"] == "recompute"]
    missing = recompute["left_out"] != ""
    assert missing.tolist() == sorted(missing)
    assert 0 < missing.sum() < 4
    assert recompute.loc[missing, ["seconds", "bytes"]].isna().all(axis=None)
    assert (recompute.loc[~missing, "bytes"] <= 5e4).all()
    assert recompute["left_out"].iloc[-1].endswith("bytes, more than `most_bytes`, 50,000")
    # A history has to be read before it can be streamed, which costs what recomputing does.
    assert (table.loc[table["mode"] == "stream_all", "left_out"] != "").tolist() == missing.tolist()
    assert (table.loc[table["mode"] == "stream", "left_out"] == "").all()


def test_the_points_of_a_curve_can_be_measured_one_by_one():
    plan = CostPlan(backbones={"it": LSTM(width=8)}, patch_lengths=(2,), lengths=(16, 32), repeats=1)
    first = cost_at(plan, "it", 2, 16)
    both = pd.concat([first, cost_at(plan, "it", 2, 32, first)], ignore_index=True)
    pd.testing.assert_frame_equal(
        both.drop(columns="seconds"), cost_curves(plan).drop(columns="seconds"), check_dtype=False
    )


def test_random_state_and_threads_are_given_back():
    torch.manual_seed(5)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    curves({"it": LSTM(width=8)}, (16,))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"backbones": {}}, "`backbones` is empty"),
        ({"backbones": {"graph": GraphTransformer()}}, "`backbones` holds 'graph', which reads across series"),
        ({"lengths": [64, 32]}, r"`lengths` is \[64, 32\]; allowed: whole numbers of 1 or more, each larger"),
        ({"lengths": []}, r"`lengths` is \[\]"),
        ({"patch_lengths": [0, 8]}, r"`patch_lengths` is \[0, 8\]"),
        ({"patch_lengths": [1.5]}, r"`patch_lengths` is \[1.5\]"),
        ({"repeats": 0}, "`repeats` is 0; allowed: a whole number of 1 or more"),
        ({"most_bytes": 0}, "`most_bytes` is 0; allowed: a number above 0"),
        ({"most_seconds": "2"}, "`most_seconds` is '2'"),
    ],
)
def test_a_plan_that_cannot_be_measured_is_refused_by_the_name_of_its_argument(given, told):
    with pytest.raises(ValueError, match=told):
        CostPlan(**{"backbones": {"lstm": LSTM()}, **given})
