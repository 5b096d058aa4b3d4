"""WaveNet against its equations written out."""

import pytest
import torch
from torch.nn.functional import conv1d, linear, pad, relu

from forecast.nn import WaveNet

forms = pytest.mark.parametrize("options", [{}, {"depth": 1}, {"depth": 6}, {"kernel_size": 3, "depth": 3}], ids=str)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def tokens(n: int) -> torch.Tensor:
    return torch.randn(2, n, 8, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


@forms
def test_it_equals_its_equations_written_out(options):
    module = WaveNet(width=8, **options).build(1).double().eval()
    x = tokens(30)
    read, total = x.transpose(1, 2), torch.zeros(2, 8, 30, dtype=torch.float64)  # (B, D, N)
    for i, layer in enumerate(module.layers):
        weight = layer.convolution.linear.weight.unflatten(1, (-1, 8)).transpose(1, 2)  # (2 D, D, kernel)
        padded = pad(read, ((weight.shape[2] - 1) * 2**i, 0))
        both = conv1d(padded, weight, layer.convolution.linear.bias, dilation=2**i)
        gated = torch.tanh(both[:, :8]) * torch.sigmoid(both[:, 8:])
        total += conv1d(gated, layer.skip.weight.unsqueeze(2), layer.skip.bias)
        if i < len(module.layers) - 1:
            read = read + conv1d(gated, layer.residual.weight.unsqueeze(2), layer.residual.bias)
    assert module.layers[-1].residual is None
    first, second = module.out[1], module.out[3]
    expected = linear(relu(linear(relu(total.transpose(1, 2)), first.weight, first.bias)), second.weight, second.bias)
    torch.testing.assert_close(module(x), expected)


@forms
def test_the_receptive_field_is_just_what_gradients_reach(options):
    config = WaveNet(width=8, **options)
    module = config.build(1).double().eval()
    claimed = 1 + (config.kernel_size - 1) * (2**config.depth - 1)
    assert module.receptive_field == claimed
    x = tokens(claimed + 20).requires_grad_()
    module(x)[:, -1].square().sum().backward()
    reached = (x.grad != 0).any(-1)
    assert reached[:, -1].all()
    assert reached[:, 20].all()
    assert not reached[:, :20].any()


@forms
@pytest.mark.parametrize("cut", [0, 1, 7, 69, 70])
def test_reading_on_from_any_cut_equals_reading_the_whole(options, cut):
    module = WaveNet(width=8, **options).build(1).double().eval()
    x = tokens(70)
    begin, state = module.advance(x[:, :cut], module.init_state(2))
    rest, _ = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-12)


def test_a_step_reads_no_more_tokens_than_its_buffers_hold():
    module = WaveNet(width=8, depth=5).build(1)
    assert [buffer.shape for buffer in module.init_state(3)] == [(3, 2**i, 8) for i in range(5)]
