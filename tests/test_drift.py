"""What a network has learned by heart of the way that series went."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from forecast import NeuralForecaster, NLinear, Training
from forecast.data import WindowDataModule
from forecast.drift import unfounded_drift
from forecast.frame import check_frame
from forecast.nn.network import LAST
from forecast.time_blocks import BLOCKS, blocks_of_own_time, blocks_of_time, share_beyond_chance

SHAPE = {"context_length": 24, "patch_length": 12}


def panel_of(slopes):
    """A daily wave with noise, on a line that is bent between the parts."""
    rng = np.random.default_rng(1)
    line = np.repeat(slopes, 120).cumsum()
    wave = np.sin(np.arange(len(line)) * np.pi / 6)
    ds = pd.date_range("2024-01-01", periods=len(line), freq="h")
    return check_frame(pd.DataFrame({"unique_id": "a", "ds": ds, "y": line + wave + rng.normal(0, 0.05, len(line))}))


STEADY, BENT = panel_of([0.05] * 5), panel_of([0.05, -0.03, 0.06, -0.05, 0.02])


@pytest.fixture(scope="module")
def fitted():
    training = Training(steps=150, batch_size=64, validation_length=0)
    return {
        name: NeuralForecaster("lstm", 12, training=training, **SHAPE).fit(panel)
        for name, panel in (("steady", STEADY), ("bent", BENT))
    }


def test_a_way_that_is_always_gone_goes_on_and_one_that_turns_round_does_not(fitted):
    kept = {}
    for name, forecaster in fitted.items():
        told, unfounded = displacements(forecaster), forecaster.network_.drift.numpy()
        kept[name] = np.abs(told.mean(axis=0) - unfounded).sum() / np.abs(told.mean(axis=0)).sum()
    assert kept["steady"] > 0.9
    assert kept["bent"] < 0.3


@torch.no_grad()
def test_all_quantiles_of_a_step_are_moved_alike(fitted):
    network = fitted["bent"].network_
    values, cutoffs, drift = torch.randn(3, 24).cumsum(1), torch.zeros(3, dtype=torch.int64), network.drift.clone()
    with_it = network.scaled(values, cutoffs, LAST).quantiles
    try:
        network.drift.zero_()
        without = network.scaled(values, cutoffs, LAST).quantiles
    finally:
        network.drift.copy_(drift)
    torch.testing.assert_close(without - with_it, drift[None, None, :, None].expand_as(with_it))


def test_unfounded_is_what_blocks_of_time_do_not_bear_out(fitted):
    forecaster = fitted["bent"]
    network, drift = forecaster.network_, forecaster.network_.drift.clone()
    try:
        network.drift.zero_()
        found = unfounded_drift(network, *windows_of(forecaster.panel_).some_dataloader(10_000), 12)
        said, true = displacements(forecaster), displacements(forecaster, of_actuals=True)
    finally:
        network.drift.copy_(drift)
    medians = [np.median(true[part], axis=0) for part in np.array_split(np.arange(len(true)), BLOCKS)]
    mean, error = np.mean(medians, axis=0), np.var(medians, axis=0, ddof=1) / BLOCKS
    share = max(0.0, 1 - error.sum() / (mean**2).sum())
    np.testing.assert_allclose(found, (1 - share) * said.mean(axis=0), atol=1e-4)


def test_medians_that_lie_below_the_mean_of_skewed_values_are_no_drift():
    """A shop that sells nothing on most days, and something on a few."""
    rng = np.random.default_rng(0)
    ds = pd.date_range("2020-01-01", periods=600, freq="D")
    sold = pd.DataFrame({"unique_id": "a", "ds": ds, "y": rng.poisson(4, 600) * (rng.random(600) < 0.3)})
    training = Training(steps=100, batch_size=64, validation_length=0)
    forecaster = NeuralForecaster("lstm", 7, context_length=28, patch_length=7, training=training).fit(sold)
    assert forecaster.fitted_values()["0.5"].abs().mean() < 0.3  # the median is 0, and the mean 1.2


def test_where_nothing_is_observed_nothing_is_taken_away(fitted):
    network = fitted["bent"].network_
    (batch,), series = windows_of(BENT).some_dataloader(5)
    unseen = batch._replace(counted=torch.zeros_like(batch.counted))
    assert not unfounded_drift(network, [unseen], series, 12).any()
    assert not unfounded_drift(network, [], series[:0], 12).any()


def test_a_fit_that_goes_on_begins_without_what_was_taken_away(fitted):
    longer = NeuralForecaster("lstm", 12, training=Training(steps=1, validation_length=0, learning_rate=1e-9), **SHAPE)
    again = longer.fit(BENT, continue_from=fitted["bent"])
    torch.testing.assert_close(again.network_.drift, fitted["bent"].network_.drift, rtol=0.01, atol=1e-4)


def windows_of(panel):
    numbers = {"batch_size": 1, "batches": 1, "validation_length": 0, "seed": 0}
    return WindowDataModule(panel, horizon=12, **SHAPE, **numbers)


@torch.no_grad()
def displacements(forecaster, of_actuals=False):
    """Of the medians of all training windows, before anything is taken away, or of what came true."""
    network, values = forecaster.network_, torch.from_numpy(forecaster.panel_.values)
    windows = values.unfold(0, 24 + 12, 1)
    cutoffs = torch.arange(len(windows)) + int(forecaster.panel_.first[0]) + 23
    told = network.scaled(windows[:, :24], cutoffs, LAST)
    actuals = (windows[:, 24:] - told.anchor[:, 0]) / told.scale[:, 0]
    return (actuals if of_actuals else told.quantiles[:, 0, :, network.median] + network.drift).numpy()


@pytest.mark.parametrize(("panel", "kept"), [(STEADY, True), (BENT, False)])
def test_the_linear_map_lets_its_errors_drift_on_where_all_blocks_of_time_do(panel, kept):
    model = NLinear(12, context_length=24, alpha=1.0).fit(panel)
    assert (np.abs(model.error_mean_).mean() > 0.01) == kept


# -- blocks of time ----------------------------------------------------------------------------------------------------


def test_blocks_of_time_are_alike_in_size_and_split_no_cutoff():
    cutoffs = np.repeat(np.arange(23), 4)
    blocks = blocks_of_time(cutoffs)
    np.testing.assert_array_equal(np.concatenate(blocks), np.arange(len(cutoffs)))
    assert len(blocks) == BLOCKS
    assert {len(block) // 4 for block in blocks} <= {4, 5}
    assert not any(set(cutoffs[one]) & set(cutoffs[next_]) for one, next_ in pairwise(blocks))


def test_blocks_of_own_time_are_parts_of_every_series_wherever_it_lies():
    series = np.array([2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    cutoffs = np.array([*range(500, 505), *range(10), 7])
    blocks = blocks_of_own_time(series, cutoffs)
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(16))
    assert [cutoffs[block].tolist() for block in blocks] == [
        [500, 0, 1],
        [501, 2, 3],
        [502, 4, 5, 7],
        [503, 6, 7],
        [504, 8, 9],
    ]


def test_series_that_go_different_ways_at_different_times_are_no_chance():
    """Each keeps its own way, so that both may go on."""
    steady = {"a": np.arange(300) * 0.05, "b": np.arange(300) * 0.01}
    rng = np.random.default_rng(0)
    frame = pd.concat(
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range(start, periods=300, freq="h"),
                "y": line + rng.normal(0, 0.05, 300),
            }
        )
        for (name, line), start in zip(steady.items(), ("2024-01-01", "2025-01-01"), strict=True)
    )
    training = Training(steps=60, batch_size=64, validation_length=0)
    network = NeuralForecaster("lstm", 12, training=training, **SHAPE).fit(frame).network_
    assert float(network.drift.abs().max()) < 0.02


@pytest.mark.parametrize(
    ("means", "share"),
    [([2.0, 2.0, 2.0], 1.0), ([1.0, -1.0, 0.5, -0.5], 0.0), ([0.0, 0.0], 0.0), ([3.0], 1.0), ([1.0, 3.0], 0.75)],
)
def test_a_mean_is_believed_as_far_as_its_blocks_agree(means, share):
    assert share_beyond_chance(np.array(means)) == pytest.approx(share)
    assert share_beyond_chance(np.array(means)[:, None].repeat(3, axis=1)) == pytest.approx(share)
