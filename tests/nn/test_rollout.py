"""Forecasts further than a decoder reaches, against one path after another, each recomputed from all its values."""

import numpy as np
import pytest
import torch

from forecast.nn import LSTM, ForecastNetwork, Recursive
from forecast.nn.network import LAST
from forecast.nn.rollout import at_levels

LEVELS = (0.1, 0.5, 0.9)
NORMAL = torch.special.ndtri(torch.tensor(LEVELS, dtype=torch.float64))


def network_of(horizon: int, paths: int, quantile_levels=LEVELS, patch_length: int = 4) -> ForecastNetwork:
    torch.manual_seed(1)
    network = ForecastNetwork(
        LSTM(width=8),
        Recursive(paths=paths),
        horizon=horizon,
        quantile_levels=quantile_levels,
        patch_length=patch_length,
        context_length=5 * patch_length,
        season_length=6,
        week_length=14,
    )
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return network.double().eval()


def windows(length: int = 20) -> torch.Tensor:
    values = torch.randn(3, length, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).cumsum(1) + 50
    values[1, :3] = torch.nan
    return values


def value_at(level: float, quantiles: np.ndarray) -> np.ndarray:
    """Join quantiles (P, 3) by straight lines over normal quantiles; the outer lines go on."""
    z, known = float(torch.special.ndtri(torch.tensor(level, dtype=torch.float64))), NORMAL.numpy()
    left = 0 if z < known[1] else 1
    slope = (quantiles[:, left + 1] - quantiles[:, left]) / (known[left + 1] - known[left])
    return quantiles[:, left] + slope * (z - known[left])


@pytest.mark.parametrize("horizon", [9, 12])
def test_quantiles_of_later_steps_are_those_of_all_paths_together(horizon):
    paths, P = 5, 4
    network, values = network_of(horizon, paths), windows()
    cutoffs = torch.tensor([7, 8, 9])
    with torch.no_grad():
        found = network(values, cutoffs, LAST)[:, 0]
        for row in range(3):
            histories, expected = [values[row : row + 1]] * paths, []
            for patch in range(-(-horizon // P)):
                at = cutoffs[row : row + 1] + patch * P
                parts = [network.scaled(h, at, LAST).in_units()[0, 0].numpy() for h in histories]  # (P, 3) each
                if patch == 0:
                    expected.append(parts[0])
                else:
                    points = [value_at((i + 0.5) / 8, part) for part in parts for i in range(8)]
                    expected.append(np.quantile(np.stack(points), LEVELS, axis=0).T)
                order = torch.randperm(paths, generator=torch.Generator().manual_seed(patch + 1)).tolist()
                drawn = [value_at((place + 0.5) / paths, part) for place, part in zip(order, parts, strict=True)]
                histories = [
                    torch.cat([h, torch.from_numpy(d)[None]], 1) for h, d in zip(histories, drawn, strict=True)
                ]
            np.testing.assert_allclose(found[row].numpy(), np.concatenate(expected)[:horizon], rtol=1e-6)


def test_a_horizon_within_a_patch_needs_no_paths():
    network = network_of(horizon=3, paths=7)
    assert network.decoder.reach == 3
    assert network(windows(), torch.zeros(3, dtype=torch.int64)).shape == (3, 5, 3, 3)


def test_paths_of_many_windows_are_followed_in_parts_without_a_difference(monkeypatch):
    network, cutoffs = network_of(horizon=9, paths=5), torch.tensor([7, 8, 9])
    whole = network(windows(), cutoffs, LAST)
    monkeypatch.setattr("forecast.nn.rollout._ROWS", 5)
    torch.testing.assert_close(network(windows(), cutoffs, LAST), whole, rtol=1e-12, atol=0)


def test_uncertainty_grows_along_the_paths():
    network = network_of(horizon=40, paths=32)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()  # nothing but the last value and its spread is left: a random walk
        network.anchor.weights.zero_()
        network.anchor.weights[:, network.anchor.levels.index("last")] = 1.0
        network.spread.copy_(NORMAL.repeat(4, 1) / 10)
    quantiles = network(windows(), torch.zeros(3, dtype=torch.int64), LAST)[0, 0]
    width = quantiles[:, 2] - quantiles[:, 0]
    assert width[36:].mean() > 1.3 * width[:4].mean()
    assert (quantiles[:, 1] - windows()[0, -1]).abs().max() < width.max()


@pytest.mark.parametrize("level", [0.01, 0.1, 0.3, 0.5, 0.77, 0.9, 0.999])
def test_other_levels_lie_on_lines_between_the_known_ones(level):
    quantiles = np.array([[1.0, 3.0, 4.0], [-2.0, 0.0, 7.0]])
    weights = at_levels(torch.tensor([level], dtype=torch.float64), NORMAL)
    np.testing.assert_allclose((torch.from_numpy(quantiles) @ weights.T)[:, 0], value_at(level, quantiles), rtol=1e-9)


def test_a_single_level_is_its_own_path():
    network = network_of(horizon=9, paths=2, quantile_levels=(0.5,))
    assert network(windows(), torch.zeros(3, dtype=torch.int64), LAST).shape == (3, 1, 9, 1)
