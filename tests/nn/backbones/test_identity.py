"""The controls: what they remember, and that it is linear."""

import pytest
import torch
from torch import Tensor

from forecast.nn import Identity, Linear

configs = pytest.mark.parametrize(
    ("config", "reads"), [(Identity(width=4), 1), (Linear(width=4), 7), (Linear(width=4, window=3), 3)], ids=str
)


def tokens(n: int, batch: int = 3) -> Tensor:
    return torch.randn(batch, n, 4, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def test_the_identity_gives_its_tokens_back_and_learns_nothing():
    module, x = Identity(width=4).build(7), tokens(9)
    assert torch.equal(module(x), x)
    assert list(module.parameters()) == []


def test_the_linear_control_equals_a_sum_over_the_last_tokens():
    module, x = Linear(width=4).build(7).double().eval(), tokens(12)
    W, b = module.filter.weight, module.filter.bias  # (D, D, tokens), the oldest token first
    expected = x + b
    for n in range(12):
        for lag in range(min(7, n + 1)):
            expected[:, n] = expected[:, n] + x[:, n - lag] @ W[:, :, 6 - lag].T
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-9)


def test_the_linear_control_is_linear_but_for_a_bias():
    module, x, y = Linear(width=4).build(7).double().eval(), tokens(12), tokens(11)[:, [0] * 12]
    torch.testing.assert_close(module(3 * x - 2 * y), 3 * module(x) - 2 * module(y))


@configs
def test_a_state_depends_on_just_the_tokens_of_its_receptive_field(config, reads):
    module, x = config.build(7).double().eval(), tokens(20).requires_grad_()
    assert module.receptive_field == reads
    module(x)[:, 14].sum().backward()
    reached = (x.grad != 0).any(-1)
    assert reached[:, 15 - reads : 15].all()
    assert int(reached.sum()) == 3 * reads


@configs
@pytest.mark.parametrize("cut", [1, 4, 11])
def test_reading_on_from_any_cut_equals_reading_the_whole(config, reads, cut):
    module, x = config.build(7).double().eval(), tokens(12)
    begin, state = module.advance(x[:, :cut])
    rest, after = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-9)
    torch.testing.assert_close(module.advance(x, module.init_state(3))[0], module(x), rtol=0, atol=1e-9)
    assert [part.shape for part in after] == [part.shape for part in module.init_state(3)]
    assert all(part.shape == (3, reads - 1, 4) for part in after)


def test_dropout_acts_in_training_alone():
    module, x = Linear(width=4, dropout=0.5).build(7), tokens(9).float()
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))


def test_a_fresh_linear_state_is_little_more_than_its_token():
    module, x = Linear(width=64).build(14).eval(), torch.randn(3, 20, 64)
    assert 0 < (module(x) - x).std() < 0.1


def test_the_linear_control_is_finite_in_bfloat16():
    module = Linear(width=4).build(7)
    with torch.autocast("cpu", torch.bfloat16):
        states, state = module.advance(tokens(30).float())
        more, _ = module.advance(tokens(1).float(), state)
    assert states.isfinite().all()
    assert more.isfinite().all()
