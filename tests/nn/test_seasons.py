"""What seasons say against a plain twin, and the anchor that is made of it."""

import math

import numpy as np
import pytest
import torch

from forecast.nn.anchor import Anchor, _mixture
from forecast.nn.past import Past
from forecast.nn.scaling import running
from forecast.nn.seasons import seasons


def said(values, readable, season):
    """Give step, last season and profile of the values (T,), by their definitions."""
    x = np.where(readable, values, np.nan)
    apart = np.abs(x[season:] - x[:-season]) if len(x) > season else np.array([])
    apart = apart[np.isfinite(apart)]
    places = [x[len(x) - 1 - place :: -season] for place in range(min(season, len(x)))][::-1]
    places = [np.array([np.nan])] * (season - len(places)) + places
    profile = [np.nanmean(of) if np.isfinite(of).any() else np.nan for of in places]
    return apart.mean() if len(apart) else 0.0, [of[0] for of in places], profile


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("memory", [3, 12, 40])
@pytest.mark.parametrize("season", [1, 5])
def test_what_seasons_say_equals_the_definition_on_the_last_values(season, memory, every):
    rng = np.random.default_rng(0)
    values, readable = rng.normal(50, 5, (3, 41)), rng.random((3, 41)) > 0.3
    read = torch.from_numpy(readable)
    given = torch.where(read, torch.from_numpy(values), 0.0), read
    told = seasons(*given, season=season, memory=memory, every=every)
    some = seasons(*given, season=season, memory=memory, every=every, places=2)
    for part in ("last", "profile"):
        torch.testing.assert_close(getattr(some, part), getattr(told, part)[..., :2], equal_nan=True)
    for b in range(3):
        for n in range(41 // every):
            which = slice(max(0, (n + 1) * every - memory), (n + 1) * every)
            step, last, profile = said(values[b, which], readable[b, which], season)
            assert math.isclose(told.step[b, n], step, rel_tol=1e-9, abs_tol=1e-9)
            np.testing.assert_allclose(told.last[b, n], last, rtol=1e-12)
            np.testing.assert_allclose(told.profile[b, n], profile, rtol=1e-9)


def test_a_small_season_on_a_high_level_survives_float32():
    wave = torch.sin(torch.arange(240, dtype=torch.float64) * math.pi / 6)
    exact, rough = (
        seasons(x, torch.ones(1, 240, dtype=torch.bool), season=12, memory=120, every=12)
        for x in ((1e6 + wave).unsqueeze(0), (1e6 + wave).float().unsqueeze(0))
    )
    torch.testing.assert_close(rough.profile.double(), exact.profile, rtol=1e-7, atol=0)


def around(values, season):
    values = torch.as_tensor(values, dtype=torch.float64).unsqueeze(0)
    readable = torch.ones_like(values, dtype=torch.bool)
    ends = running(values, readable, memory=values.shape[1], every=4)
    return ends, seasons(values, readable, season=season, memory=values.shape[1], every=4)


@pytest.mark.parametrize(("kind", "level"), [("mean", 3.5), ("last", 8.0), ("season", [5.0, 6.0, 7.0, 8.0, 5.0, 6.0])])
def test_an_anchor_of_one_kind_is_that_level(kind, level):
    ends, told = around([0.0, -1.0, 2.0, 1.0, 5.0, 6.0, 7.0, 8.0], season=4)
    anchor = Anchor(kind, 6, 4, 1, False)(ends, Past(told))[0, -1]
    np.testing.assert_allclose(anchor.detach(), np.broadcast_to(level, 6))


def test_no_anchor_is_zero():
    ends, told = around([5.0] * 8, season=4)
    assert (Anchor("none", 3, 4, 1, False)(ends, Past(told)) == 0).all()


def blended(weights):
    """Give the weights that are found where the truth is a blend, and the error that is left."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(1, 400, generator=generator, dtype=torch.float64).cumsum(1)
    ends, told = around(values[0], season=4)
    past, sizes = Past(told), (len(weights), 4, 1, False)
    exact = Anchor("blend", *sizes).double()
    with torch.no_grad():
        exact.weights.copy_(torch.tensor(weights, dtype=torch.float64))
    targets = exact(ends, past).detach()
    found = Anchor("blend", *sizes).double()
    found.solve(ends, past, targets, (ends.scale > 0).double().unsqueeze(-1).expand_as(targets))
    error = (found(ends, past) - targets).abs().mean() / (targets - ends.location.unsqueeze(-1)).abs().mean()
    return found.weights.detach().numpy(), error


def test_a_blend_takes_the_weights_of_least_squares_step_by_step():
    assert blended([[0.7, 0.2, 0.0], [0.0, 1.0, 0.0], [0.1, 0.1, 0.5]])[1] < 0.03  # the ridge alone


def test_a_blend_does_not_extrapolate():
    weights, _ = blended([[1.8, 0.0, 0.0], [0.5, 0.4, 0.6], [-1.0, 0.0, 0.0]])
    assert (weights >= 0).all()
    assert (weights.sum(axis=1) <= 1 + 1e-9).all()
    np.testing.assert_allclose(weights[2], 0, atol=1e-9)


def test_the_weights_are_those_of_a_slow_search():
    rng = np.random.default_rng(0)
    levels, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    found = _mixture(torch.from_numpy(levels.T @ levels)[None], torch.from_numpy(levels.T @ y)[None])[0]
    grid = [(a, b) for a in np.linspace(0, 1, 201) for b in np.linspace(0, 1, 201) if a + b <= 1]
    losses = [((levels @ np.array(w) - y) ** 2).sum() for w in grid]
    np.testing.assert_allclose(found, grid[int(np.argmin(losses))], atol=0.004)


def test_a_blend_of_nothing_known_stays_at_the_mean():
    ends, told = around([1.0, 2.0, 0.0, 4.0], season=4)
    anchor = Anchor("blend", 2, 4, 1, False).double()
    anchor.solve(ends, Past(told), torch.full((1, 1, 2), torch.nan, dtype=torch.float64), torch.zeros(1, 1, 2))
    assert (anchor.weights == 0).all()


def test_a_blend_takes_the_week_where_days_differ():
    week = torch.tensor([9.0, 4, 1, 2, 7, 7, 3, 0, 5, 5, 2, 1, 6, 8], dtype=torch.float64)  # seven days of two values
    values = week.repeat(12)
    ends, days = around(values, season=2)
    _, weeks = around(values, season=14)
    past, targets = Past(days, weeks), torch.full((1, len(values) // 4, 5), torch.nan, dtype=torch.float64)
    for n in range(targets.shape[1] - 2):
        targets[0, n] = values[(n + 1) * 4 : (n + 1) * 4 + 5]
    counted = targets.isfinite().double()
    counted[:, :4] = 0  # the first week has none before it
    anchor = Anchor("blend", 5, 2, 14, False).double()
    anchor.solve(ends, past, targets.nan_to_num(), counted)
    assert anchor.levels[-2:] == ("week", "week_profile")
    error = ((anchor(ends, past) - targets).abs() * counted).nan_to_num().sum() / counted.sum()
    assert error < 0.05
    without = Anchor("blend", 5, 2, 1, False).double()
    without.solve(ends, past, targets.nan_to_num(), counted)
    assert ((without(ends, past) - targets).abs() * counted).nan_to_num().sum() / counted.sum() > 1
