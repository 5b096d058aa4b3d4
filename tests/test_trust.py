"""How far a network is heard beside its anchor."""

import numpy as np
import pandas as pd
import pytest
import torch

from forecast import NeuralForecaster, Training
from forecast.data import WindowDataModule
from forecast.frame import check_frame
from forecast.nn import Recipe
from forecast.nn.network import LAST
from forecast.trust import trust_in

TRAINING = Training(steps=60, batch_size=32, validation_length=96)


def panel_of(values):
    ds = pd.date_range("2024-01-01", periods=len(values), freq="h")
    return check_frame(pd.DataFrame({"unique_id": "a", "ds": ds, "y": values}))


def walk():
    return np.random.default_rng(0).normal(size=500).cumsum()


def learnable():
    """A day whose height is told by the day before, the other way round."""
    wave = np.sin(np.arange(480) * np.pi / 12)
    return np.repeat(np.tile([1.0, 3.0], 10), 24) * wave + np.random.default_rng(0).normal(0, 0.1, 480)


@pytest.fixture(scope="module")
def fitted():
    return {
        name: NeuralForecaster("lstm", 24, context_length=72, patch_length=24, training=TRAINING).fit(panel_of(make()))
        for name, make in (("walk", walk), ("learnable", learnable))
    }


def test_a_network_that_has_learned_something_is_heard_and_one_of_a_random_walk_hardly(fitted):
    assert float(fitted["learnable"].network_.trust) == 1.0
    assert float(fitted["walk"].network_.trust) < 0.7


@torch.no_grad()
def test_without_trust_quantiles_lie_evenly_around_the_anchor_as_far_apart_as_before(fitted):
    network = fitted["learnable"].network_
    values, cutoffs = torch.randn(3, 72).cumsum(1), torch.zeros(3, dtype=torch.int64)
    before = network.scaled(values, cutoffs, LAST)
    trust = network.trust.clone()
    try:
        network.trust.fill_(0.0)
        after = network.scaled(values, cutoffs, LAST)
    finally:
        network.trust.copy_(trust)
    assert (after.quantiles[..., network.median] == 0).all()
    mirrored, apart = after.quantiles.flip(-1), (x.quantiles - x.quantiles.flip(-1) for x in (after, before))
    torch.testing.assert_close(after.quantiles, -mirrored, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(*apart, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_trust_is_that_of_the_gains_over_blocks_of_time(fitted):
    forecaster = fitted["walk"]
    data = WindowDataModule(
        forecaster.panel_,
        context_length=72,
        horizon=24,
        patch_length=24,
        batch_size=1,
        batches=1,
        validation_length=96,
        seed=0,
    )
    network, trust = forecaster.network_, forecaster.network_.trust.clone()
    gains = {}
    try:
        network.trust.fill_(1.0)
        for batch in data.val_dataloader():
            for row in range(len(batch.values)):
                told = network.scaled(batch.values[row : row + 1, :72], batch.cutoffs[row : row + 1], LAST)
                actual = (batch.values[row, 72:] - told.anchor[0, 0]) / told.scale[0, 0]
                gain = actual.abs().mean() - (actual - told.quantiles[0, 0, :, 4]).abs().mean()
                block = (int(batch.cutoffs[row]) - int(data.validation.first[0])) // 24
                gains.setdefault(block, []).append(float(gain))
        found = trust_in(network, data.val_dataloader(), 24)
    finally:
        network.trust.copy_(trust)
    means = np.array([np.mean(own) for own in gains.values()])
    t = means.mean() / (means.std(ddof=1) / len(means) ** 0.5)
    assert found == pytest.approx(max(0.0, 1 - 1 / t**2) if t > 0 else 0.0, abs=1e-4)
    assert found == pytest.approx(float(trust), abs=1e-4)


@pytest.mark.parametrize(
    ("recipe", "validation", "trust"), [(Recipe(), None, 0.5), (Recipe(), 0, 1.0), (Recipe(anchor="last"), None, 1.0)]
)
def test_a_network_counts_as_much_as_smoothing_where_series_are_too_short_for_validation(recipe, validation, trust):
    training = Training(steps=2, validation_length=validation)
    forecaster = NeuralForecaster("tcn", 4, context_length=8, patch_length=4, recipe=recipe, training=training)
    assert float(forecaster.fit(panel_of(walk()[:40])).network_.trust) == trust
