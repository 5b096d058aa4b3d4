"""Gradient reach: exact for a recurrence whose decay is known, and equal to a loss differentiated by hand."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from forecast.insight import reach_of_gradients, reach_untrained
from forecast.insight.windows import drawn
from forecast.nn import LSTM, TCN, Backbone, CausalModule, Transformer


@dataclass(frozen=True, kw_only=True)
class Decay(Backbone):
    """h' = a h + x, and nothing else."""

    family = "latent-state"
    width: int = 4
    keep: float = 0.8

    def build(self, tokens):
        return DecayModule(self)


class DecayModule(CausalModule):
    receptive_field = None

    def __init__(self, config):
        super().__init__()
        self.keep = config.keep
        self.width = config.width

    def init_state(self, batch):
        return torch.zeros(batch, self.width)

    def advance(self, x, state=None):
        state = x.new_zeros(x.shape[0], self.width) if state is None else state
        states = []
        for token in x.unbind(1):
            state = self.keep * state + token
            states.append(state)
        return torch.stack(states, dim=1), state


@pytest.mark.parametrize("keep", [0.5, 0.8, 1.0, 1.1])
def test_a_linear_recurrence_falls_by_its_own_factor(keep):
    reach = reach_untrained({"decay": Decay(keep=keep)}, tokens=40)
    np.testing.assert_allclose(np.diff(np.log(reach["norm"])), np.log(keep), atol=1e-9)
    np.testing.assert_allclose(reach["relative"], keep ** reach["lag"], rtol=1e-9)
    expected = np.log(0.5) / np.log(keep) if keep < 1 else np.inf
    assert reach["half_life"].unique() == pytest.approx(expected)


def test_a_fitted_recurrence_falls_by_its_own_factor_in_steps(fitted):
    reach = reach_of_gradients({"mine": fitted(Decay(keep=0.7))})
    assert list(reach.columns) == ["forecaster", "family", "lag_tokens", "lag", "norm", "relative", "half_life"]
    assert reach["lag"].tolist() == [4 * n for n in range(12)]
    np.testing.assert_allclose(reach["relative"], 0.7 ** reach["lag_tokens"], rtol=1e-4)
    assert reach["half_life"][0] == pytest.approx(4 * np.log(0.5) / np.log(0.7), rel=1e-4)


def test_it_ends_where_convolutions_end_and_goes_on_where_attention_does():
    backbones = {"tcn": TCN(width=8, depth=2, kernel_size=2), "transformer": Transformer(width=8, heads=2)}
    reach = reach_untrained(backbones, tokens=24).set_index("forecaster")
    assert (reach.loc["tcn", "norm"] > 0).tolist() == [lag < 7 for lag in range(24)]
    assert (reach.loc["transformer", "relative"] > 1e-4).all()
    assert reach["family"].unique().tolist() == ["direct-prediction"]


def test_the_loss_is_that_of_the_last_origin(fitted):
    forecaster = fitted("gru")
    looked = drawn(forecaster, None, ["2024-01-04 07:00"], 64, 0, ahead=6)
    network, norms = looked.network, []
    for number in range(3):
        values, cutoffs = looked.values[number : number + 1], looked.cutoffs[number : number + 1]
        patches = network.read(values, cutoffs)
        tokens = network.tokens(patches).detach().requires_grad_()
        forecast = network.decode(patches, network.backbone(tokens), slice(-1, None))
        scale, loss = forecast.scale.squeeze(), torch.zeros(())
        for step in range(6):
            for place, level in enumerate(forecaster.quantile_levels):
                said = forecast.anchor[0, 0, step] / scale + forecast.quantiles[0, 0, step, place]
                error = looked.targets[number, step] / scale - said
                loss = loss + 2 * torch.maximum(level * error, (level - 1) * error) / 54
        loss.backward()
        norms.append(tokens.grad[0].norm(dim=1).flip(0))
    reach = reach_of_gradients({"gru": forecaster}, cutoffs=["2024-01-04 07:00"])
    np.testing.assert_allclose(reach["norm"], torch.stack(norms).mean(0), rtol=1e-4)


def test_actuals_that_are_not_known_do_not_count(fitted, frame):
    at_end = reach_of_gradients({"gru": fitted("gru")}, cutoffs=["2024-01-05 21:00"])
    assert np.isfinite(at_end["norm"]).all()
    assert (at_end["norm"] > 0).all()


def test_untrained_weights_come_from_the_seed_alone():
    state = torch.get_rng_state()
    first, again = (reach_untrained({"lstm": LSTM(width=8)}, tokens=16, seed=3) for _ in range(2))
    assert first.equals(again)
    assert torch.equal(torch.get_rng_state(), state)
    assert not first.equals(reach_untrained({"lstm": LSTM(width=8)}, tokens=16, seed=4))
    with pytest.raises(ValueError, match="`backbones` is empty"):
        reach_untrained({})
