"""Recurrent networks against their equations, one token after the other."""

import pytest
import torch
from torch import Tensor

from forecast.nn import GRU, LSTM, RNN
from forecast.nn.backbones.rnn import RecurrentModule

kinds = pytest.mark.parametrize("kind", [RNN, LSTM, GRU])


def built(kind, depth: int = 2) -> RecurrentModule:
    """Give a module in float64, none of whose weights is at its neutral start."""
    torch.manual_seed(0)
    module = kind(width=8, depth=depth).build(1).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def tokens(n: int, batch: int = 3) -> Tensor:
    return torch.randn(batch, n, 8, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def elman(gates_x: Tensor, gates_h: Tensor, state: list[Tensor]) -> list[Tensor]:
    return [torch.tanh(gates_x + gates_h)]


def lstm(gates_x: Tensor, gates_h: Tensor, state: list[Tensor]) -> list[Tensor]:
    i, f, g, o = (gates_x + gates_h).chunk(4, dim=-1)
    cell = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    return [torch.sigmoid(o) * torch.tanh(cell), cell]


def gru(gates_x: Tensor, gates_h: Tensor, state: list[Tensor]) -> list[Tensor]:
    (r_x, z_x, n_x), (r_h, z_h, n_h) = gates_x.chunk(3, dim=-1), gates_h.chunk(3, dim=-1)
    z = torch.sigmoid(z_x + z_h)
    return [z * state[0] + (1 - z) * torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)]


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(("kind", "equations"), [(RNN, elman), (LSTM, lstm), (GRU, gru)])
def test_it_equals_its_equations_token_by_token(kind, equations, depth):
    module = built(kind, depth)
    x = tokens(12)
    expected = x
    for layer in module.layers:
        W, U, b, c = (p for _, p in layer.cell.named_parameters())
        normed = expected * (expected.square().mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).rsqrt()
        normed = normed * layer.norm.weight
        state, states = [torch.zeros(3, 8, dtype=x.dtype)] * 2, []
        for n in range(12):
            state = equations(normed[:, n] @ W.T + b, state[0] @ U.T + c, state)
            states.append(state[0])
        expected = expected + torch.stack(states, dim=1)
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-9)


@kinds
@pytest.mark.parametrize("cut", [1, 7, 49])
def test_reading_on_from_any_cut_equals_reading_the_whole(kind, cut):
    module, x = built(kind), tokens(50)
    begin, state = module.advance(x[:, :cut])
    rest, _ = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-9)
    torch.testing.assert_close(module.advance(x, module.init_state(3))[0], module(x), rtol=0, atol=1e-9)


@kinds
def test_a_state_depends_on_all_tokens_up_to_its_own_and_on_none_after(kind):
    module, x = built(kind), tokens(30).requires_grad_()
    module(x)[:, 19].sum().backward()
    reached = (x.grad != 0).any(-1)
    assert module.receptive_field is None
    assert reached[:, :20].all()
    assert not reached[:, 20:].any()


@kinds
def test_what_is_carried_keeps_its_shape(kind):
    module = built(kind)
    before, after = module.init_state(3), module.advance(tokens(5))[1]
    assert [[part.shape for part in layer] for layer in before] == [[part.shape for part in layer] for layer in after]
    assert {len(layer) for layer in before} == ({2} if kind is LSTM else {1})


@kinds
def test_a_fresh_recurrent_matrix_neither_stretches_nor_shrinks(kind):
    U = kind(width=16).build(1).layers[0].cell.weight_hh_l0
    torch.testing.assert_close(U.T @ U, torch.eye(16), atol=1e-5, rtol=0)


def test_a_fresh_lstm_remembers_by_default():
    cell = LSTM(width=4).build(1).layers[0].cell
    assert (cell.bias_ih_l0 + cell.bias_hh_l0).tolist() == [0] * 4 + [1] * 4 + [0] * 8


@kinds
def test_dropout_acts_in_training_alone(kind):
    module, x = kind(width=8, dropout=0.5).build(1), tokens(9).float()
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))


@kinds
def test_it_stays_finite_in_bfloat16_from_batch_to_stream(kind):
    module = kind(width=8).build(1)
    with torch.autocast("cpu", torch.bfloat16):
        begin, state = module.advance(100 * tokens(200).float())
        more, _ = module.advance(tokens(1).float(), state)
        more.sum().backward()
    assert begin.isfinite().all()
    assert more.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in module.parameters())
