"""Which windows are looked at, and that looking changes nothing."""

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.baselines import Naive
from forecast.forecaster import NotFittedError
from forecast.frame import FrameError
from forecast.insight import effective_receptive_field, inspect, reach_of_gradients
from forecast.insight.hooks import calls
from forecast.insight.windows import drawn, ends
from forecast.neural import NeuralForecaster


def test_windows_end_where_they_say(fitted, frame):
    looked = drawn(fitted("lstm"), None, None, 16, 0, ahead=6)
    assert len(looked) == 16
    rows = frame.set_index(["unique_id", "ds"])["y"]
    for number in range(len(looked)):
        stamps = looked.stamps(looked.origins.cutoffs[number] + np.arange(-47, 7))
        expected = rows.loc[[(looked.ids[number], stamp) for stamp in stamps]].to_numpy("float32")
        np.testing.assert_array_equal(looked.values[looked.rows[number]].numpy(), expected[:48])
        np.testing.assert_array_equal(looked.targets[number].numpy(), expected[48:])


def test_the_same_seed_draws_the_same_windows_and_another_others(fitted):
    first, again, other = (drawn(fitted("lstm"), None, None, 8, seed, 0).origins for seed in (0, 0, 1))
    assert first.ends.tolist() == again.ends.tolist() != other.ends.tolist()


def test_windows_can_be_named_by_cutoff_and_series(fitted):
    looked = drawn(fitted("lstm"), None, ["2024-01-03 05:00", "2024-01-04"], 64, 0)
    assert list(zip(looked.ids, looked.stamps(looked.origins.cutoffs).astype(str), strict=True)) == [
        (one, stamp) for one in ("s0", "s1", "s2") for stamp in ("2024-01-03 05:00:00", "2024-01-04 00:00:00")
    ]
    assert list(ends(fitted("lstm"), None, ["s2"], None).ids) == ["s2"]
    assert list(ends(fitted("lstm"), None, None, None).ids) == ["s0"]


def test_a_window_brings_the_series_that_it_reads_once_more(fitted, frame):
    looked = drawn(fitted("graph_transformer"), None, ["2024-01-03", "2024-01-04"], 64, 0)
    assert looked.values.shape == (18, 48)
    own = frame.loc[(frame["unique_id"] == "s1") & (frame["ds"] <= pd.Timestamp("2024-01-04")), "y"].to_numpy("float32")
    np.testing.assert_array_equal(looked.values[looked.rows[3]].numpy(), own[-48:])
    parts = list(looked.parts(12))
    assert [len(part) for part in parts] == [4, 2]
    assert torch.equal(torch.cat([part.values[part.rows] for part in parts]), looked.values[looked.rows])


def test_windows_of_short_series_are_as_long_as_these_allow(fitted, frame):
    short = frame[frame["ds"] < "2024-01-01 20:00"]
    looked = drawn(fitted("lstm"), short, None, 64, 0, ahead=6)
    assert looked.origins.ends.tolist() == [14, 34, 54]
    with pytest.raises(FrameError, match="no window that 6 steps follow: its longest series has 6 rows"):
        drawn(fitted("lstm"), frame[frame["ds"] < "2024-01-01 06:00"], None, 64, 0, ahead=6)


def test_what_has_no_network_or_no_windows_is_refused_with_a_reason(fitted, frame):
    with pytest.raises(TypeError, match="`forecaster` is a Naive; allowed: a NeuralForecaster"):
        effective_receptive_field(Naive(3).fit(frame))
    with pytest.raises(NotFittedError):
        effective_receptive_field(NeuralForecaster("lstm", 3))
    with pytest.raises(ValueError, match="`windows` is 0"):
        effective_receptive_field(fitted("lstm"), windows=0)
    with pytest.raises(ValueError, match=r"`ids` holds 's9'.*'s0', 's1', 's2'"):
        ends(fitted("lstm"), None, ["s9"], None)
    with pytest.raises(TypeError, match=r"`ids` is 's1'; allowed: a list of ids"):
        ends(fitted("lstm"), None, "s1", None)
    missing = frame.assign(y=frame["y"].where(frame["ds"] < "2024-01-01 10:00"))
    with pytest.raises(FrameError, match="no window that ends with a value"):
        effective_receptive_field(fitted("lstm"), missing)
    with pytest.raises(FrameError, match="no window of `frame` moves"):
        effective_receptive_field(fitted("lstm"), frame.assign(y=1.0))
    with pytest.raises(ValueError, match="`forecasters` is empty"):
        reach_of_gradients({})


def test_looking_leaves_network_and_random_state_as_they_were(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("forecast.insight.inspection._DPI", 40)
    forecaster = fitted("attentive_rnn", "cross_attention")
    before, state = forecaster.predict(), torch.get_rng_state()
    weights = {name: weight.clone() for name, weight in forecaster.network_.state_dict().items()}
    inspect(forecaster, tmp_path, windows=4)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(weight, weights[name]) for name, weight in forecaster.network_.state_dict().items())
    assert all(p.grad is None for p in forecaster.network_.parameters())
    assert not any(module._forward_hooks for module in forecaster.network_.modules())
    pd.testing.assert_frame_equal(forecaster.predict(), before)


def test_hooks_go_even_after_an_error():
    module = torch.nn.Linear(2, 3)
    with pytest.raises(RuntimeError), calls([module]):
        module(torch.zeros(1, 5))
    with calls([module]) as seen:
        output = module(torch.ones(1, 2))
    assert torch.equal(seen[0].output, output)
    assert torch.equal(seen[0].inputs[0], torch.ones(1, 2))
    assert not module._forward_hooks
