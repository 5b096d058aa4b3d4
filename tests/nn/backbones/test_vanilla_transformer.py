"""The Transformer as first published, against PyTorch's own block."""

import math

import pytest
import torch
from torch import nn

from forecast.nn import CausalModule, Transformer, VanillaTransformer
from forecast.nn.backbones.vanilla_transformer import VanillaBlock
from forecast.nn.positions import sinusoidal

kinds = pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def tokens(n: int, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, n, 16, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def twins(dropout: float = 0.0) -> tuple[VanillaBlock, nn.TransformerEncoderLayer]:
    """Give our block, and PyTorch's with the same weights; none of them is at its neutral start."""
    torch.manual_seed(0)
    ours = VanillaBlock(VanillaTransformer(width=16, heads=4, dropout=dropout), window=20).double()
    theirs = nn.TransformerEncoderLayer(
        16, 4, 64, dropout=dropout, activation="relu", norm_first=False, batch_first=True
    ).double()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        attention = ours.attention.attention
        theirs.self_attn.in_proj_weight.copy_(torch.cat([attention.query.weight, attention.key_value.weight]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([attention.query.bias, attention.key_value.bias]))
        pairs = [
            (theirs.self_attn.out_proj, attention.out),
            (theirs.linear1, ours.feed_forward[0]),
            (theirs.linear2, ours.feed_forward[3]),
            (theirs.norm1, ours.attention_norm),
            (theirs.norm2, ours.feed_forward_norm),
        ]
        for to, of in pairs:
            to.load_state_dict(of.state_dict())
    return ours, theirs


def causal(n: int) -> torch.Tensor:
    return torch.ones(n, n).triu(1).bool()  # True where nothing may be read


@pytest.mark.parametrize("training", [True, False])
def test_a_block_equals_that_of_pytorch(training):
    ours, theirs = (block.train(training) for block in twins())
    x = tokens(20)
    torch.testing.assert_close(ours.advance(x, None)[0], theirs(x, src_mask=causal(20), is_causal=True))


def test_a_block_has_the_gradients_of_that_of_pytorch():
    ours, theirs = twins()
    x = tokens(20).requires_grad_()
    weights = torch.randn(2, 20, 16, dtype=torch.float64)
    # Parameters in their order: theirs holds queries, keys and values together.
    found = torch.autograd.grad((ours.advance(x, None)[0] * weights).sum(), [x, *ours.parameters()])
    expected = torch.autograd.grad((theirs(x, src_mask=causal(20)) * weights).sum(), [x, *theirs.parameters()])
    names = ["x", *dict(ours.named_parameters())]
    ours_by_name = dict(zip(names, found, strict=True))
    theirs_by_name = dict(zip(["x", *dict(theirs.named_parameters())], expected, strict=True))
    torch.testing.assert_close(ours_by_name["x"], theirs_by_name["x"])
    for kind in ("weight", "bias"):
        together = torch.cat([ours_by_name[f"attention.attention.{part}.{kind}"] for part in ("query", "key_value")])
        torch.testing.assert_close(together, theirs_by_name[f"self_attn.in_proj_{kind}"])
        for mine, other in {
            "attention.attention.out": "self_attn.out_proj",
            "feed_forward.0": "linear1",
            "feed_forward.3": "linear2",
            "attention_norm": "norm1",
            "feed_forward_norm": "norm2",
        }.items():
            torch.testing.assert_close(ours_by_name[f"{mine}.{kind}"], theirs_by_name[f"{other}.{kind}"])


@pytest.mark.parametrize("depth", [1, 3])
def test_it_equals_a_projection_plus_waves_under_a_stack_of_blocks(depth):
    module = VanillaTransformer(width=16, depth=depth).build(20).double().eval()
    x = tokens(20)
    expected = module.projection(x) + sinusoidal(torch.arange(20), 16).float()
    for block in module.stack.blocks:
        expected, _ = block.advance(expected, None)
    torch.testing.assert_close(module(x), expected)


@kinds
@pytest.mark.parametrize("cut", [0, 1, 7, 39, 40])
def test_reading_on_from_any_cut_equals_reading_the_whole(positions, cut):
    module = VanillaTransformer(width=16, positions=positions).build(7).double().eval()
    x = tokens(40)
    begin, state = module.advance(x[:, :cut], module.init_state(2))
    rest, _ = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-12)


@kinds
def test_one_block_knows_the_order_of_what_came_before_by_positions_alone(positions):
    module = VanillaTransformer(width=16, depth=1, positions=positions).build(8).double().eval()
    x, order = tokens(8), torch.tensor([4, 2, 6, 0, 5, 1, 3, 7])  # the last token stays where it is
    same = torch.allclose(module(x[:, order])[:, -1], module(x)[:, -1], rtol=0, atol=1e-9)
    assert same == (positions == "none")


@kinds
def test_the_receptive_field_is_just_what_gradients_reach(positions):
    module = VanillaTransformer(width=16, depth=3, positions=positions).build(5).double().eval()
    assert module.receptive_field == 1 + 3 * 4
    x = tokens(33).requires_grad_()
    (module(x)[:, -1] * torch.arange(16)).sum().backward()
    reached = (x.grad != 0).any(-1)
    assert reached[:, 20:].all()
    assert not reached[:, :20].any()


def test_training_starts_at_a_random_position_and_forecasting_at_the_first():
    module = VanillaTransformer(width=16, dropout=0.0).build(8).double()
    x = tokens(8)
    torch.manual_seed(0)
    passes = [module(x) for _ in range(40)]
    assert len({round(float(y[0, 0, 0].detach()), 9) for y in passes}) == 8
    torch.manual_seed(0)
    assert torch.equal(module(x), passes[0])
    module.eval()
    assert torch.equal(module(x), module(x))
    assert any(torch.allclose(module(x), y) for y in passes)


def gradient_norms(module: CausalModule, blocks: nn.ModuleList) -> list[float]:
    """Give the norm of the gradient in every block."""
    x = tokens(8, batch=16).float()
    (module(x) - x.cumsum(1) / 3).square().mean().backward()
    return [float(torch.stack([p.grad.norm() for p in block.parameters()]).norm()) for block in blocks]


def test_a_hundred_post_norm_blocks_hardly_reach_the_first_where_as_many_pre_norm_ones_do():
    deep, modern = VanillaTransformer(width=16, depth=100).build(8), Transformer(width=16, depth=100).build(8)
    first, *_, last = gradient_norms(deep, deep.stack.blocks)
    assert 0 < first < 0.1 * last < math.inf
    first, *_, last = gradient_norms(modern, modern.blocks)
    assert 0.3 * last < first < math.inf


def test_a_few_post_norm_blocks_reach_the_first():
    module = VanillaTransformer(width=16, depth=12).build(8)
    first, *_, last = gradient_norms(module, module.stack.blocks)
    assert 0.3 * last < first < math.inf


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="`width` of VanillaTransformer is 20; allowed: a multiple of its `heads`, 3"):
        VanillaTransformer(width=20, heads=3)
