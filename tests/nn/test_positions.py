"""Positions against their formulas, and absolute ones in a stream that has no end."""

import math

import pytest
import torch

from forecast.nn.attention import MultiHeadAttention
from forecast.nn.positions import AbsolutePositions, absolute_positions, rotary, sinusoidal

kinds = pytest.mark.parametrize("kind", ["sinusoidal", "learned"])


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_rotary_products_depend_on_distance_alone():
    q, k = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def product(at_q, at_k):
        return float((rotary(q, torch.tensor([[at_q]])) * rotary(k, torch.tensor([[at_k]]))).sum())

    assert math.isclose(product(7, 3), product(100_007, 100_003), rel_tol=1e-9)
    assert not math.isclose(product(7, 3), product(7, 4), rel_tol=1e-3)


def test_rotary_turns_pairs_at_their_speeds_and_leaves_position_zero_as_it_is():
    x = torch.randn(2, 3, 5, 6, dtype=torch.float64)
    turned = rotary(x, torch.arange(5).unsqueeze(0))
    for position in range(5):
        for pair in range(3):
            angle = position * 10_000 ** (-pair / 3)
            turn = torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]).double()
            before, after = (t[:, :, position, [pair, pair + 3]] for t in (x, turned))
            torch.testing.assert_close(after, before @ turn.T, rtol=0, atol=1e-6)
    assert torch.equal(turned[:, :, 0], x[:, :, 0])


@pytest.mark.parametrize("width", [1, 6, 7])
def test_sinusoidal_positions_equal_their_formula(width):
    found = sinusoidal(torch.arange(50), width)
    assert found.shape == (50, width)
    for position in range(50):
        for channel in range(width):
            angle = position / 10_000 ** (2 * (channel // 2) / width)
            wave = math.sin(angle) if channel % 2 == 0 else math.cos(angle)
            assert math.isclose(found[position, channel], wave, abs_tol=1e-12)


@kinds
def test_every_token_in_reach_has_a_position_of_its_own(kind):
    table = AbsolutePositions(kind, 16, 300).table
    assert table.shape == (300, 16)
    assert torch.cdist(table, table).fill_diagonal_(1.0).min() > 1e-3


@kinds
def test_positions_count_modulo_the_window_in_a_sequence_and_in_a_stream(kind):
    positions = AbsolutePositions(kind, 4, 5).eval()
    x = torch.randn(2, 13, 4)
    whole, count = positions.advance(x)
    torch.testing.assert_close(whole, x + positions.table[[n % 5 for n in range(13)]])
    assert count.tolist() == [3, 3]
    state = positions.init_state(2)
    for n in range(13):
        y, state = positions.advance(x[:, n : n + 1], state)
        assert torch.equal(y[:, 0], whole[:, n])
    assert torch.equal(state, count)


@kinds
def test_in_training_the_count_starts_anywhere_once_for_a_batch(kind):
    positions = AbsolutePositions(kind, 4, 5).train()
    torch.manual_seed(0)
    starts = [positions.init_state(3) for _ in range(100)]
    assert all((start == start[0]).all() for start in starts)
    assert {int(start[0]) for start in starts} == set(range(5))
    x = torch.randn(2, 8, 4)
    torch.manual_seed(1)
    found, _ = positions.advance(x)
    torch.manual_seed(1)
    given, _ = positions.advance(x, positions.init_state(2))
    assert torch.equal(found, given)
    assert positions.eval().init_state(2).tolist() == [0, 0]


@kinds
def test_with_positions_attention_knows_order_and_without_it_does_not(kind):
    attention, positions = MultiHeadAttention(8, heads=2).double(), AbsolutePositions(kind, 8, 6).double().eval()
    torch.nn.init.normal_(positions.table)
    x = torch.randn(2, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(attention(x[:, order], x[:, order]), attention(x, x)[:, order])
    here, there = positions.advance(x)[0], positions.advance(x[:, order])[0]
    assert not torch.allclose(attention(there, there), attention(here, here)[:, order], atol=1e-2)


@pytest.mark.parametrize("kind", ["rotary", "none"])
def test_kinds_that_are_not_added_to_tokens_have_no_table(kind):
    assert absolute_positions(kind, 8, 5) is None
