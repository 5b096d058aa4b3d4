"""A recurrent network that asks its own hidden states, against a loop with the softmax written out."""

import math

import pytest
import torch
from torch import Tensor

from forecast.nn import AttentiveRNN
from forecast.nn.backbones import attentive_rnn
from forecast.nn.backbones.attentive_rnn import AttentiveRNNModule

scores = pytest.mark.parametrize("score", ["dot", "additive"])
windows = pytest.mark.parametrize("window", [None, 1, 5])

CONTEXT = 20


def built(score: str, window: int | None = None, **options) -> AttentiveRNNModule:
    """Give a module in float64, none of whose weights is at its neutral start."""
    torch.manual_seed(0)
    config = AttentiveRNN(width=8, score=score, window=window, **options)
    module = config.build(CONTEXT).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


def tokens(n: int) -> Tensor:
    return torch.randn(3, n, 8, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


def dot(module: AttentiveRNNModule, asking: Tensor, asked: Tensor) -> float:
    attention = module.attention.attention
    query, key = attention.query.weight @ asking, attention.key_value.weight[:8] @ asked
    return (query @ key).item() / math.sqrt(8)


def additive(module: AttentiveRNNModule, asking: Tensor, asked: Tensor) -> float:
    score = module.attention.score
    hidden = torch.tanh(score.query.weight @ asking + score.key.weight @ asked + score.key.bias)
    return (score.score.weight[0] @ hidden).item()


def value(module: AttentiveRNNModule, state: Tensor) -> Tensor:
    """Give what a state answers, if it is asked alone."""
    attention = module.attention
    if isinstance(attention, attentive_rnn.AdditiveSelfAttention):
        return attention.out.weight @ state
    return attention.attention.out.weight @ attention.attention.key_value.weight[8:] @ state


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("score", [dot, additive])
@windows
def test_it_equals_a_loop_with_the_softmax_written_out(cell, score, window):
    module, x = built(score.__name__, window, cell=cell), tokens(12)
    states = module.recurrence(x)
    normed = states * (states.square().mean(-1, keepdim=True) + torch.finfo(x.dtype).eps).rsqrt() * module.norm.weight
    expected, weights = states.clone(), torch.zeros(3, 12, 12, dtype=x.dtype)
    for b in range(3):
        for n in range(12):
            read = range(max(0, n + 1 - (window or CONTEXT)), n + 1)
            heights = [math.exp(score(module, normed[b, n], normed[b, m])) for m in read]
            for m, height in zip(read, heights, strict=True):
                weights[b, n, m] = height / sum(heights)
                expected[b, n] += weights[b, n, m] * value(module, normed[b, m])
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-9)
    torch.testing.assert_close(module.weights(x), weights.unsqueeze(1), rtol=0, atol=1e-9)


@scores
@windows
@pytest.mark.parametrize("cut", [1, 3, 7, 49])
def test_reading_on_from_any_cut_equals_reading_the_whole(score, window, cut):
    module, x = built(score, window), tokens(50)
    begin, state = module.advance(x[:, :cut])
    rest, _ = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-9)
    torch.testing.assert_close(module.advance(x, module.init_state(3))[0], module(x), rtol=0, atol=1e-9)


@scores
@windows
def test_sequences_of_different_age_can_be_carried_on_together(score, window):
    module, x = built(score, window), tokens(40)
    old, young = module.advance(x[:1, :30])[1], module.advance(x[1:2, :2])[1]

    def side_by_side(a, b):
        return torch.cat([a, b]) if isinstance(a, Tensor) else tuple(map(side_by_side, a, b))

    following = torch.stack([x[0, 30:34], x[1, 2:6]])
    states, _ = module.advance(following, side_by_side(old, young))
    expected = torch.stack([module(x[:1, :34])[0, 30:], module(x[1:2, :6])[0, 2:]])
    torch.testing.assert_close(states, expected, rtol=0, atol=1e-9)


@scores
@windows
def test_what_is_carried_keeps_its_shape(score, window):
    module = built(score, window)

    def shapes(state) -> list:
        return [state.shape] if isinstance(state, Tensor) else [shape for part in state for shape in shapes(part)]

    assert shapes(module.init_state(3)) == shapes(module.advance(tokens(2))[1]) == shapes(module.advance(tokens(60))[1])


@scores
def test_a_state_depends_on_all_tokens_up_to_its_own_and_on_none_after(score):
    module, x = built(score, window=4), tokens(30).requires_grad_()
    module(x)[:, 19].sum().backward()
    reached = (x.grad != 0).any(-1)
    assert module.receptive_field is None
    assert reached[:, :20].all()
    assert not reached[:, 20:].any()


@pytest.mark.parametrize("window", [None, 3, 100])
@pytest.mark.parametrize("at_once", [1, 1000, 4000])
def test_asking_for_some_tokens_at_a_time_changes_neither_states_nor_gradients(monkeypatch, window, at_once):
    def run() -> tuple[Tensor, ...]:
        module, x = built("additive", window), tokens(45).requires_grad_()
        begin, state = module.advance(x[:, :25])
        rest, _ = module.advance(x[:, 25:], state)
        states = torch.cat([begin, rest], dim=1)
        return states, *torch.autograd.grad(states.square().sum(), [x, *module.parameters()])

    whole = run()
    monkeypatch.setattr(attentive_rnn, "_AT_ONCE", at_once)
    for ours, expected in zip(run(), whole, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-9)


def test_asking_for_some_tokens_at_a_time_keeps_few_scores_for_the_gradient(monkeypatch):
    module, x = built("additive", window=100), tokens(100)

    def kept() -> int:
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            module(x)
        return max(sizes)

    assert kept() == 3 * 100 * 100 * 32
    monkeypatch.setattr(attentive_rnn, "_AT_ONCE", 3 * 100 * 32 * 5)  # five tokens
    assert kept() <= 3 * 100 * 100


@scores
def test_weights_sum_to_one_and_are_nothing_outside_the_window(score):
    weights = built(score, window=4).weights(tokens(15))
    lag = torch.arange(15).unsqueeze(1) - torch.arange(15)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 1, 15, dtype=weights.dtype))
    assert (weights[..., (lag < 0) | (lag >= 4)] == 0).all()
    assert (weights[..., (lag >= 0) & (lag < 4)] > 0).all()


@scores
def test_its_recurrent_part_tells_the_attention_in_which_order_tokens_came(score):
    module, x = built(score), tokens(10)
    exchanged = x[:, [1, 0, *range(2, 10)]]
    assert not torch.allclose(module(x)[:, -1], module(exchanged)[:, -1], rtol=0, atol=1e-6)


@scores
def test_dropout_acts_in_training_alone(score):
    module, x = AttentiveRNN(width=8, score=score, dropout=0.5).build(CONTEXT), tokens(9).float()
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))


@scores
def test_it_stays_finite_in_bfloat16_from_batch_to_stream(score):
    module = AttentiveRNN(width=8, score=score, window=6).build(CONTEXT)
    with torch.autocast("cpu", torch.bfloat16):
        begin, state = module.advance(100 * tokens(200).float())
        more, _ = module.advance(tokens(1).float(), state)
        more.sum().backward()
    assert begin.isfinite().all()
    assert more.isfinite().all()
    # To the newest state alone a gradient flows through all of the network.
    assert all(p.grad.isfinite().all() for p in module.parameters())


def test_choices_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="`cell` of AttentiveRNN is 'elman'; allowed: 'rnn', 'lstm', 'gru'"):
        AttentiveRNN(cell="elman")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`window` of AttentiveRNN is 0; allowed: a whole number of 1 or more"):
        AttentiveRNN(window=0)
