"""The attention decoder: what its alignments are, and that its memory is bounded without changing a number."""

import pytest
import torch

from forecast.nn import AttentionDecoder
from forecast.nn.decoders import attention_decoder

WIDTH, TOKENS, HORIZON = 8, 6, 4


def build(**changes):
    torch.manual_seed(1)
    module = AttentionDecoder(**changes).build(WIDTH, HORIZON, (0.5,), 3).double().eval()
    with torch.no_grad():  # as after some training: nothing is at its neutral start
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def states() -> torch.Tensor:
    return torch.randn(5, TOKENS, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.parametrize("score", ["additive", "dot"])
@pytest.mark.parametrize("origin", [0, 3, -2, -1])
def test_alignments_are_weights_of_the_states_up_to_the_origin(score, origin):
    weights = build(score=score).alignments(states(), origin)
    last = range(TOKENS)[origin]
    assert weights.shape == (5, HORIZON, TOKENS)
    torch.testing.assert_close(weights.sum(-1), torch.ones(5, HORIZON, dtype=torch.float64))
    assert (weights[..., : last + 1] > 0).all()
    assert (weights[..., last + 1 :] == 0).all()


def test_alignments_change_from_step_to_step():
    weights = build().alignments(states(), -1)
    assert (weights.diff(dim=1).abs().amax(-1) > 1e-6).all()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_scores_in_chunks_are_the_same_forward_and_backward(rows, monkeypatch):
    module, x = build(size=4), states().requires_grad_()
    whole = module(x, slice(None))
    gradients = torch.autograd.grad(whole.square().sum(), [x, *module.parameters()])
    monkeypatch.setattr(attention_decoder, "_MOST", rows * HORIZON * TOKENS * TOKENS * 4)
    asked = []
    module.stepper.reader.score.register_forward_hook(lambda *call: asked.append(len(call[1][0])))
    parts = module(x, slice(None))
    assert max(asked) == rows
    torch.testing.assert_close(parts, whole)
    again = torch.autograd.grad(parts.square().sum(), [x, *module.parameters()])
    for one, other in zip(again, gradients, strict=True):
        torch.testing.assert_close(one, other)
    with torch.inference_mode():
        torch.testing.assert_close(module(x, slice(None)), whole)


def test_training_keeps_no_more_of_the_scores_insides_than_allowed(monkeypatch):
    kept = []

    def pack(tensor):
        kept.append(tensor.numel())
        return tensor

    def largest() -> int:
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            module(states(), slice(None))
        return max(kept)

    module = build(size=64)
    insides = 5 * TOKENS * TOKENS * 64
    assert largest() >= insides
    monkeypatch.setattr(attention_decoder, "_MOST", HORIZON * insides // 5)
    assert largest() < insides // 5


def test_scores_there_are_not_are_refused():
    with pytest.raises(ValueError, match="`score` of AttentionDecoder is 'cosine'; allowed: 'additive', 'dot'"):
        AttentionDecoder(score="cosine")
    with pytest.raises(ValueError, match="`size` of AttentionDecoder is 0; allowed: a whole number of 1 or more"):
        AttentionDecoder(size=0)
