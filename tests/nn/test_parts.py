"""The parts of a network against their plain twins."""

import math
from dataclasses import fields

import pytest
import torch

from forecast.nn import BACKBONES, DECODERS, Recipe
from forecast.nn.losses import pinball, squared
from forecast.nn.scaling import running


def test_running_statistics_equal_those_of_each_prefix():
    values = torch.randn(4, 50, dtype=torch.float64).cumsum(1)
    readable = torch.rand(4, 50) > 0.3
    statistics = running(values, readable, memory=50)
    for b in range(4):
        for t in range(50):
            seen = values[b, : t + 1][readable[b, : t + 1]]
            assert statistics.count[b, t] == len(seen)
            if len(seen):
                assert math.isclose(statistics.location[b, t], seen.mean(), rel_tol=1e-9, abs_tol=1e-9)
                assert math.isclose(statistics.scale[b, t], seen.std(correction=0), rel_tol=1e-6, abs_tol=1e-6)
                assert statistics.last[b, t] == seen[-1]


@pytest.mark.parametrize("every", [1, 5, 8])
@pytest.mark.parametrize("memory", [7, 8, 20, 40])
def test_statistics_with_a_memory_equal_those_of_the_last_values(every, memory):
    values = torch.randn(3, 41, dtype=torch.float64).cumsum(1) + 100
    readable = torch.rand(3, 41) > 0.3
    statistics = running(values, readable, memory=memory, every=every)
    assert statistics.count.shape == (3, 41 // every)
    for b in range(3):
        for n in range(41 // every):
            which = slice(max(0, (n + 1) * every - memory), (n + 1) * every)
            seen = values[b, which][readable[b, which]]
            assert statistics.count[b, n] == len(seen)
            if len(seen):
                assert math.isclose(statistics.location[b, n], seen.mean(), rel_tol=1e-9)
                assert math.isclose(statistics.scale[b, n], seen.std(correction=0), rel_tol=1e-6, abs_tol=1e-6)
                assert statistics.last[b, n] == seen[-1]
            else:
                assert statistics.location[b, n] == statistics.scale[b, n] == 0


def test_a_small_spread_around_a_high_level_survives_float32():
    values = 1e5 + torch.randn(1, 300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    exact = running(values, torch.ones(1, 300, dtype=torch.bool), memory=300).scale
    rough = running(values.float(), torch.ones(1, 300, dtype=torch.bool), memory=300).scale
    torch.testing.assert_close(rough[:, 10:].double(), exact[:, 10:], rtol=0.02, atol=0)


def test_a_series_that_has_not_moved_has_no_scale():
    assert (running(torch.full((1, 20), 1e7 / 3), torch.ones(1, 20, dtype=torch.bool), memory=20).scale == 0).all()


def test_pinball_equals_the_loop_over_its_definition():
    levels = torch.tensor([0.1, 0.5, 0.8])
    quantiles, targets = torch.randn(2, 3, 4, 3), torch.randn(2, 3, 4)
    weights = (torch.rand(2, 3, 4) > 0.3).float()
    terms = [
        2 * (float(levels[q]) * max(float(e), 0) + (1 - float(levels[q])) * max(-float(e), 0))
        for index in torch.cartesian_prod(torch.arange(2), torch.arange(3), torch.arange(4))
        for q in range(3)
        if weights[tuple(index)] > 0
        for e in [targets[tuple(index)] - quantiles[(*index, q)]]
    ]
    assert math.isclose(pinball(quantiles, targets, weights, levels), sum(terms) / len(terms), rel_tol=1e-5)


def test_pinball_ignores_targets_that_do_not_count_even_nan():
    quantiles = torch.zeros(1, 2, 1, requires_grad=True)
    loss = pinball(quantiles, torch.tensor([[1.0, torch.nan]]), torch.tensor([[1.0, 0.0]]), torch.tensor([0.5]))
    loss.backward()
    assert loss == 1.0
    assert quantiles.grad.isfinite().all()


def test_pinball_is_zero_where_nothing_counts():
    assert pinball(torch.ones(1, 1, 1), torch.zeros(1, 1), torch.zeros(1, 1), torch.tensor([0.5])) == 0


@pytest.mark.parametrize("loss", [pinball, lambda *parts, total=None: squared(*parts, 1, total)])
def test_losses_of_parts_divided_by_what_counts_in_all_add_up_to_that_of_the_whole(loss):
    levels = torch.tensor([0.1, 0.5, 0.8])
    quantiles, targets = torch.randn(7, 4, 3), torch.randn(7, 4)
    weights = (torch.rand(7, 4) > 0.3).float()
    parts = [
        loss(quantiles[rows], targets[rows], weights[rows], levels, total=weights.sum())
        for rows in (slice(0, 3), slice(3, 7))
    ]
    assert float(sum(parts)) == pytest.approx(float(loss(quantiles, targets, weights, levels)), rel=1e-5)


def names(kind: type) -> set[str]:
    return {field.name for field in fields(kind)}


WRONG = [{"width": 0}, {"depth": -1}, {"width": 1.5}, {"depth": True}, {"dropout": 1.0}, {"heads": 0}]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(kind, wrong) for kind in [*BACKBONES.values(), *DECODERS.values()] for wrong in WRONG if {*wrong} <= names(kind)],
)
def test_hyperparameters_that_make_no_network_are_refused_when_a_config_is_made(kind, wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"`{name}` of {kind.__name__} is {value}; allowed: a"):
        kind(**wrong)


def test_a_switch_is_on_or_off():
    with pytest.raises(ValueError, match="`week` of Recipe is 1; allowed: True or False"):
        Recipe(week=1)
