"""The modern Transformer: its equations, its positions, and many blocks of it."""

import pytest
import torch
from torch.nn.functional import silu

from forecast.nn import Transformer

kinds = pytest.mark.parametrize("positions", ["rotary", "sinusoidal", "learned", "none"])


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def tokens(n: int, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, n, 16, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def rms(x: torch.Tensor) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).sqrt()


@pytest.mark.parametrize("window", [None, 3])
def test_it_equals_its_blocks_written_out(window):
    module = Transformer(width=16, depth=2, heads=2, window=window, positions="none").build(9).double().eval()
    x = tokens(9)
    expected = x
    for block in module.blocks:
        many, normed = block.attention.attention, rms(expected)
        q, k, v = (
            linear.unflatten(-1, (2, 8)).transpose(1, 2)
            for linear in (many.query(normed), *many.key_value(normed).chunk(2, dim=-1))
        )
        scores = rms(q) @ rms(k).transpose(-1, -2) / 8**0.5
        reach = torch.ones(9, 9).tril().triu(1 - (window or 9)).bool()
        answers = scores.masked_fill(~reach, -torch.inf).softmax(-1) @ v
        expected = expected + many.out(answers.transpose(1, 2).flatten(2))
        gate, value = block.feed_forward.gate(rms(expected)).chunk(2, dim=-1)
        expected = expected + block.feed_forward.out(silu(gate) * value)
    torch.testing.assert_close(module(x), expected)


@kinds
@pytest.mark.parametrize("cut", [0, 1, 7, 39, 40])
def test_reading_on_from_any_cut_equals_reading_the_whole(positions, cut):
    module = Transformer(width=16, positions=positions).build(7).double().eval()
    x = tokens(40)
    begin, state = module.advance(x[:, :cut], module.init_state(2))
    rest, _ = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-12)


@kinds
@pytest.mark.parametrize(("window", "tokens_of_context"), [(None, 4), (3, 20)])
def test_the_receptive_field_is_just_what_gradients_reach(positions, window, tokens_of_context):
    module = Transformer(width=16, depth=3, window=window, positions=positions).build(tokens_of_context).double().eval()
    assert module.receptive_field == 1 + 3 * ((window or tokens_of_context) - 1)
    x = tokens(module.receptive_field + 20).requires_grad_()
    module(x)[:, -1].square().sum().backward()
    reached = (x.grad != 0).any(-1)
    assert reached[:, 20:].all()
    assert not reached[:, :20].any()


@kinds
def test_one_block_knows_the_order_of_what_came_before_by_positions_alone(positions):
    module = Transformer(width=16, depth=1, positions=positions).build(8).double().eval()
    x, order = tokens(8), torch.tensor([4, 2, 6, 0, 5, 1, 3, 7])  # the last token stays where it is
    same = torch.allclose(module(x[:, order])[:, -1], module(x)[:, -1], rtol=0, atol=1e-9)
    assert same == (positions == "none")


@pytest.mark.parametrize("depth", [1, 12, 100])
def test_many_blocks_learn_with_finite_gradients(depth):
    module = Transformer(width=16, depth=depth, dropout=0.0).build(8)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    x = tokens(8, batch=32).float()
    targets = x.cumsum(1) / 3
    losses = []
    for _ in range(5):
        loss = (module(x) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        norms = torch.stack([p.grad.norm() for p in module.parameters()])
        assert norms.isfinite().all()
        assert (norms > 0).all()
        optimizer.step()
        losses.append(loss.detach())
    assert losses[-1] < 0.99 * losses[0]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_only_rotary_positions_ask_for_pairs(positions):
    assert Transformer(width=6, heads=2, positions=positions).build(5)(tokens(5)[..., :6].float()).shape == (2, 5, 6)
    with pytest.raises(
        ValueError, match="`width` of Transformer is 6; allowed: a multiple of twice its `heads`, 2, wh"
    ):
        Transformer(width=6, heads=2)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="`width` of Transformer is 20; allowed: a multiple of twice its `heads`, 4"):
        Transformer(width=20, heads=4)
    with pytest.raises(ValueError, match="`width` of Transformer is 20; allowed: a multiple of its `heads`, 3"):
        Transformer(width=20, heads=3, positions="none")


def test_positions_of_another_name_are_refused():
    with pytest.raises(ValueError, match="`positions` of Transformer is 'absolute'; allowed: 'rotary', 'sinusoidal'"):
        Transformer(positions="absolute")
