"""The temporal convolutional network against plain convolutions, and its options."""

import pytest
import torch
from torch import nn
from torch.nn.functional import conv1d, gelu, pad

from forecast.nn import TCN
from forecast.nn.convolution import CausalConvolution, causal_mean

forms = pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel_size": 1},
        {"kernel_size": 2, "depth": 4},
        {"dilation": 1},
        {"dilation": 3, "kernel_size": 2},
        {"pooling": 1},
        {"pooling": 3},
        {"pooling": 2, "dilation": 3, "kernel_size": 4, "depth": 2},
    ],
    ids=str,
)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def tokens(n: int, width: int = 8) -> torch.Tensor:
    return torch.randn(2, n, width, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def convolved(module: CausalConvolution, x: torch.Tensor) -> torch.Tensor:
    """The same by PyTorch's convolution, (B, N, D) -> (B, N, D)."""
    weight = module.linear.weight.unflatten(1, (-1, module.width)).transpose(1, 2)  # (out, in, kernel)
    padded = pad(x.transpose(1, 2), (module.past, 0))
    return conv1d(padded, weight, module.linear.bias, dilation=module.dilation).transpose(1, 2)


@pytest.mark.parametrize(("kernel_size", "dilation"), [(1, 1), (2, 1), (3, 4), (5, 9)])
def test_a_causal_convolution_equals_that_of_pytorch_padded_on_the_left(kernel_size, dilation):
    module = CausalConvolution(8, 6, kernel_size=kernel_size, dilation=dilation).double()
    x = tokens(20)
    torch.testing.assert_close(module.advance(x)[0], convolved(module, x))


def test_fresh_convolutions_are_drawn_as_those_of_pytorch():
    ours = CausalConvolution(64, 64, kernel_size=3, dilation=1).linear
    theirs = nn.Conv1d(64, 64, 3)
    for mine, other in ((ours.weight, theirs.weight), (ours.bias, theirs.bias)):
        assert mine.abs().max() <= (64 * 3) ** -0.5
        torch.testing.assert_close(mine.std(), other.std(), rtol=0.3, atol=0)


@pytest.mark.parametrize("length", [1, 2, 5, 30])
def test_pooling_is_the_mean_of_the_last_tokens_with_zeros_before_the_first(length):
    x = tokens(20)
    found, _ = causal_mean(x, None, length)
    for n in range(20):
        torch.testing.assert_close(found[:, n], x[:, max(0, n + 1 - length) : n + 1].sum(1) / length)


@forms
def test_the_network_equals_its_blocks_written_out(options):
    config = TCN(width=8, **options)
    module = config.build(1).double().eval()
    x = tokens(25)
    expected = x
    for level, block in enumerate(module.blocks):
        assert block.first.dilation == block.second.dilation == config.dilation**level
        normed = expected / (expected.square().mean(-1, keepdim=True) + torch.finfo(torch.float64).eps).sqrt()
        added = convolved(block.second, gelu(convolved(block.first, normed)))
        if config.pooling:
            added = causal_mean(added, None, config.pooling)[0]
        expected = expected + added
    torch.testing.assert_close(module(x), expected)


@forms
def test_the_receptive_field_is_just_what_gradients_reach(options):
    config = TCN(width=8, **options)
    module = config.build(1).double().eval()
    spans = sum(config.dilation**level for level in range(config.depth))
    claimed = 1 + 2 * (config.kernel_size - 1) * spans + config.depth * ((config.pooling or 1) - 1)
    assert module.receptive_field == claimed
    x = tokens(claimed + 20).requires_grad_()
    module(x)[:, -1].square().sum().backward()
    reached = (x.grad != 0).any(-1)
    assert reached[:, -1].all()
    assert reached[:, 20].all()
    assert not reached[:, :20].any()


@forms
@pytest.mark.parametrize("cut", [0, 1, 7, 39, 40])
def test_reading_on_from_any_cut_equals_reading_the_whole(options, cut):
    module = TCN(width=8, **options).build(1).double().eval()
    x = tokens(40)
    begin, state = module.advance(x[:, :cut], module.init_state(2))
    rest, _ = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-12)


def test_pooling_keeps_the_newest_token_in_every_state():
    module = TCN(width=8, pooling=4).build(1).double().eval()
    x = tokens(30)
    before = module(x)
    for n in range(30):
        changed = x.clone()
        changed[:, n] += 1.0
        moved = (module(changed) - before).abs().amax((0, 2))
        assert moved[n] > 0.5  # as much as the token itself, which pooling by strides would hide from most states
        assert (moved[:n] == 0).all()


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # torch computes this norm in another way
def test_half_precision_gives_finite_states_with_pooling_too():
    module = TCN(width=8, pooling=3).build(1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = module(tokens(30).bfloat16())
    y.float().square().sum().backward()
    assert y.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())


@pytest.mark.parametrize("name", ["kernel_size", "dilation", "pooling"])
def test_options_that_make_no_network_are_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` of TCN is 0; allowed: a whole number of 1 or more"):
        TCN(**{name: 0})
