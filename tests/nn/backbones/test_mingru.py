"""minGRU: scan, loop and equations give the same, and so do their gradients."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import gelu, rms_norm

from forecast.nn import MinGRU
from forecast.nn.backbones import mingru
from forecast.nn.backbones.mingru import LinearRecurrence, MinGRUModule, by_loop, by_scan

paths = pytest.mark.parametrize("path", [by_loop, by_scan])


@pytest.fixture
def scanning(monkeypatch):
    """Let the processor take the way of an accelerator."""
    monkeypatch.setattr(mingru, "by_loop", by_scan)


def gates(n: int, dtype=torch.float64) -> tuple[Tensor, Tensor]:
    """Give what is kept, from nothing to all, and what comes in."""
    generator = torch.Generator().manual_seed(n)
    keep = torch.randn(2, n, 5, generator=generator, dtype=dtype).mul(5).sigmoid()
    return keep, torch.randn(2, n, 5, generator=generator, dtype=dtype)


def tokens(n: int) -> Tensor:
    return torch.randn(3, n, 8, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def built(depth: int = 2) -> MinGRUModule:
    """Give a module in float64, none of whose weights is at its neutral start."""
    torch.manual_seed(0)
    module = MinGRU(width=8, depth=depth).build(1).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def sensitivities(path, keep: Tensor, new: Tensor, weights: Tensor) -> tuple[Tensor, ...]:
    """Give the gradients of a weighted sum of a path's states."""
    keep, new = keep.clone().requires_grad_(), new.clone().requires_grad_()
    return torch.autograd.grad((path(keep, new) * weights).sum(), (keep, new))


def naive(keep: Tensor, new: Tensor) -> Tensor:
    states = [torch.zeros_like(new[:, 0])]
    for n in range(new.shape[1]):
        states.append(keep[:, n] * states[-1] + new[:, n])
    return torch.stack(states[1:], dim=1)


@paths
@pytest.mark.parametrize("n", [1, 2, 3, 64, 100, 257])
def test_a_path_equals_the_recurrence_as_it_is_written(path, n):
    keep, new = gates(n)
    torch.testing.assert_close(path(keep, new), naive(keep, new), rtol=0, atol=1e-9)


def test_scan_and_loop_agree_over_a_long_sequence_in_float32():
    keep, new = gates(4096, torch.float32)
    scanned = by_scan(keep, new)
    assert scanned.isfinite().all()
    torch.testing.assert_close(scanned, by_loop(keep, new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kept", [0.0, 1e-30, 1.0])
def test_a_scan_bears_gates_that_are_shut_or_open_for_thousands_of_tokens(kept):
    _, new = gates(4096, torch.float32)
    keep = torch.full_like(new, kept)
    scanned = by_scan(keep, new)
    assert scanned.isfinite().all()
    torch.testing.assert_close(scanned, by_loop(keep, new), rtol=1e-4, atol=1e-3)


@paths
@pytest.mark.parametrize("n", [1, 5, 100])
def test_gradients_are_those_of_the_recurrence_as_it_is_written(monkeypatch, path, n):
    monkeypatch.setattr(mingru, "by_loop", path)
    (keep, new), weights = gates(n), torch.randn(2, n, 5, dtype=torch.float64)
    found = sensitivities(LinearRecurrence.apply, keep, new, weights)
    for ours, expected in zip(found, sensitivities(naive, keep, new, weights), strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-9)


def test_second_gradients_are_right_too():
    keep, new = (x[:, :6].requires_grad_() for x in gates(6))
    assert torch.autograd.gradgradcheck(LinearRecurrence.apply, (keep, new))


@pytest.mark.parametrize("depth", [1, 3])
def test_it_equals_its_equations_token_by_token(depth):
    module = built(depth)
    x = tokens(12)
    expected = x
    for layer in module.layers:
        normed = rms_norm(expected, (8,), layer.recurrence_norm.weight)
        state, states = torch.zeros(3, 8, dtype=x.dtype), []
        for n in range(12):
            z = torch.sigmoid(normed[:, n] @ layer.update.weight.T + layer.update.bias)
            state = (1 - z) * state + z * (normed[:, n] @ layer.candidate.weight.T + layer.candidate.bias)
            states.append(state)
        expected = expected + torch.stack(states, dim=1)
        first, last = layer.feed_forward[0], layer.feed_forward[2]
        hidden = gelu(rms_norm(expected, (8,), layer.feed_forward_norm.weight) @ first.weight.T + first.bias)
        expected = expected + hidden @ last.weight.T + last.bias
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-9)


def test_an_accelerators_way_gives_the_same_states_and_gradients(monkeypatch):
    def run() -> tuple[Tensor, ...]:
        module, x = built(), tokens(70)
        states = module(x)
        return states, *torch.autograd.grad(states.square().sum(), [*module.parameters()])

    looped = run()
    monkeypatch.setattr(mingru, "by_loop", by_scan)
    for ours, expected in zip(run(), looped, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-9)


def cut_equals_whole(cut: int) -> bool:
    module, x = built(), tokens(50)
    begin, state = module.advance(x[:, :cut])
    rest, after = module.advance(x[:, cut:], state)
    whole, _ = module.advance(x, module.init_state(3))
    assert [part.shape for part in after] == [part.shape for part in module.init_state(3)]
    return all(torch.allclose(y, whole, rtol=0, atol=1e-9) for y in (torch.cat([begin, rest], dim=1), module(x)))


@pytest.mark.parametrize("cut", [1, 7, 49])
def test_reading_on_from_any_cut_equals_reading_the_whole(cut):
    assert cut_equals_whole(cut)


@pytest.mark.usefixtures("scanning")
@pytest.mark.parametrize("cut", [1, 7, 49])
def test_so_it_does_an_accelerators_way(cut):
    assert cut_equals_whole(cut)


def test_a_state_depends_on_all_tokens_up_to_its_own_and_on_none_after():
    module, x = built(), tokens(30).requires_grad_()
    module(x)[:, 19].sum().backward()
    reached = (x.grad != 0).any(-1)
    assert module.receptive_field is None
    assert reached[:, :20].all()
    assert not reached[:, 20:].any()


def test_a_recurrent_state_stays_within_what_came_in():
    module = built(depth=1)
    layer, x = module.layers[0], 1e3 * tokens(2000)
    candidates = layer.candidate(layer.recurrence_norm(x))
    assert (module.advance(x)[1][0].abs() <= candidates.abs().amax(1)).all()


def test_dropout_acts_in_training_alone():
    module, x = MinGRU(width=8, dropout=0.5).build(1), tokens(9).float()
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))


def test_a_gate_that_hardly_lets_anything_in_still_forgets_in_bfloat16():
    module = MinGRU(width=8, depth=1).build(1).eval()
    with torch.no_grad():
        module.layers[0].update.weight.zero_()
        module.layers[0].update.bias.fill_(-7.0)  # 1 - 0.0009, which bfloat16 rounds to 1
        module.layers[0].candidate.weight.zero_()
        module.layers[0].candidate.bias.fill_(1.0)
    with torch.autocast("cpu", torch.bfloat16):
        states, (state,) = module.advance(torch.randn(1, 4000, 8))
        states.sum().backward()
    assert states.isfinite().all()
    kept = torch.tensor(7.0).sigmoid().item() ** 4000
    torch.testing.assert_close(state, torch.full((1, 8), 1 - kept), rtol=1e-3, atol=0)
    assert all(p.grad.isfinite().all() for p in module.parameters())
