"""What every decoder keeps: all steps from any origin, nothing from after it, and a short training that teaches."""

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.baselines import SeasonalNaive
from forecast.network_training import NetworkTraining
from forecast.neural import NeuralForecaster
from forecast.nn import DECODERS, LSTM, AttentionDecoder, ContextVector, CrossAttention
from forecast.training import Training

WIDTH, TOKENS = 16, 7
KINDS = {
    **{name: DECODERS[name]() for name in ("direct", "context_vector", "attention", "cross_attention")},
    **{f"context_vector_{start}": ContextVector(start=start) for start in ("linear", "zeros")},
    "attention_dot_zeros": AttentionDecoder(score="dot", start="zeros", positions="none"),
    "cross_attention_deep": CrossAttention(heads=2, depth=2),
}


@pytest.fixture(params=KINDS)
def decoder(request):
    return KINDS[request.param]


def build(decoder, horizon=5, levels=(0.1, 0.5, 0.9), patch_length=2):
    torch.manual_seed(1)
    module = decoder.build(WIDTH, horizon, levels, patch_length).double().eval()
    with torch.no_grad():  # as after some training: nothing is at its neutral start
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return module


def states(batch=2, seed=2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, TOKENS, WIDTH, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("patch_length", [1, 8, 24])
@pytest.mark.parametrize("horizon", [1, 7, 30])
@pytest.mark.parametrize("levels", [(0.1, 0.5, 0.9), (0.9,)], ids=["three levels", "one level"])
def test_it_gives_every_step_and_level_of_any_horizon(decoder, patch_length, horizon, levels):
    module = build(decoder, horizon, levels, patch_length)
    forecasts = module(states(), slice(1, None, 3))
    assert module.reach == horizon
    assert forecasts.shape == (2, 2, horizon, len(levels))
    assert forecasts.isfinite().all()


def test_origins_are_decoded_as_if_each_were_alone(decoder):
    module, x = build(decoder), states()
    together = module(x, slice(None))
    for n in range(TOKENS):
        torch.testing.assert_close(module(x, slice(n, n + 1))[:, 0], together[:, n])


def test_what_comes_after_an_origin_or_in_another_window_does_not_matter(decoder):
    module, x = build(decoder), states()
    together = module(x, slice(None))
    for n in range(TOKENS):
        torch.testing.assert_close(module(x[:1, : n + 1], slice(-1, None))[:, 0], together[:1, n])
    later = x.clone()
    later[:, 4:] = 1e6
    assert torch.equal(module(later, slice(None))[:, :4], together[:, :4])


def test_every_step_moves_with_the_state_at_the_origin(decoder):
    module, x = build(decoder), states()
    moved = x.clone()
    moved[:, 4] += 0.1
    change = module(moved, slice(4, 5)) - module(x, slice(4, 5))
    assert (change.abs() > 1e-9).all()


def test_only_decoders_that_attend_read_earlier_states(decoder):
    module, x = build(decoder), states()
    moved = x.clone()
    moved[:, 2] += 0.1
    change = module(moved, slice(4, 5)) - module(x, slice(4, 5))
    assert (change.abs() > 1e-12).all() == (not decoder.streams)
    assert (change == 0).all() == decoder.streams


def test_states_without_any_size_give_finite_forecasts_and_gradients(decoder):
    module = build(decoder).train()
    module.progress = 0.5
    nothing = torch.zeros(2, TOKENS, WIDTH, dtype=torch.float64, requires_grad=True)
    forecasts = module(nothing, slice(None), targets=torch.full((2, TOKENS, 5), torch.nan, dtype=torch.float64))
    forecasts.sum().backward()
    assert forecasts.isfinite().all()
    assert nothing.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # of speed alone
def test_in_half_precision_forecasts_stay_near(decoder):
    module, x = build(decoder).float(), states().float()
    with torch.autocast("cpu", torch.bfloat16):
        rough = module(x, slice(None))
    torch.testing.assert_close(rough.float(), module(x, slice(None)), rtol=0.1, atol=0.1)


# -- in training -----------------------------------------------------------------------------------------------------


def waves(series=4, length=240) -> pd.DataFrame:
    """Daily waves of different level, size and phase."""
    rng, hours = np.random.default_rng(0), np.arange(length)
    parts = [
        pd.DataFrame(
            {
                "unique_id": f"s{i}",
                "ds": pd.date_range("2024-01-01", periods=length, freq="h"),
                "y": 10 * i + (1 + i) * (np.sin(2 * np.pi * (hours + 5 * i) / 24) + 0.05 * rng.normal(size=length)),
            }
        )
        for i in range(series)
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(
    "decoder", [ContextVector(), AttentionDecoder(), CrossAttention()], ids=lambda decoder: type(decoder).__name__
)
def test_a_short_training_teaches_a_wave(decoder):
    frame = waves()
    past, future = frame[frame["ds"] < "2024-01-10"], frame[frame["ds"] >= "2024-01-10"]
    forecaster = NeuralForecaster(LSTM(width=16), 12, decoder=decoder, training=Training(steps=60, learning_rate=3e-3))
    scored = forecaster.fit(past).predict().merge(future, on=["unique_id", "ds"])
    naive = SeasonalNaive(12).fit(past).predict().merge(future, on=["unique_id", "ds"])
    error, bar = ((table["prediction"] - table["y"]).abs().mean() for table in (scored, naive))
    assert error < bar
    assert scored["y"].between(scored["0.1"], scored["0.9"]).mean() > 0.4


@pytest.mark.parametrize(
    "decoder", [ContextVector(), AttentionDecoder(), CrossAttention()], ids=lambda decoder: type(decoder).__name__
)
def test_it_is_trained_on_few_origins_that_reach_the_last_and_told_how_far_training_is(decoder, monkeypatch):
    seen = []
    loss = NetworkTraining.loss

    def watch(self, batch, origins):
        if self.training:
            tokens = (batch.values.shape[1] - self.horizon) // self.network.patch_length
            seen.append((list(range(tokens))[origins], tokens, self.network.decoder.progress))
        return loss(self, batch, origins)

    monkeypatch.setattr(NetworkTraining, "loss", watch)
    training = Training(steps=4, validation_length=0)
    forecaster = NeuralForecaster(
        LSTM(width=16), 12, decoder=decoder, patch_length=2, context_length=40, training=training
    ).fit(waves())
    assert all(1 < len(origins) <= 8 and origins[-1] == tokens - 1 for origins, tokens, _ in seen)
    assert [progress for *_, progress in seen] == [0, 0.25, 0.5, 0.75]
    assert forecaster.network_.decoder.progress == 1


def test_a_network_with_any_decoder_gives_a_flat_forecast_of_a_flat_series(decoder):
    frame = waves(series=2)
    frame.loc[frame["unique_id"] == "s1", "y"] = 7.0
    forecaster = NeuralForecaster(LSTM(width=16), 12, decoder=decoder, training=Training(steps=2))
    forecast = forecaster.fit(frame).predict()
    assert np.isfinite(forecast.select_dtypes("number").to_numpy()).all()
    assert (forecast.loc[forecast["unique_id"] == "s1", "0.1":"0.9"] == 7.0).all(axis=None)
