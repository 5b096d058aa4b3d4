"""The cross-attention decoder against a plain loop; what its queries read."""

import math

import pytest
import torch
from torch.nn.functional import silu

from forecast.nn import CrossAttention
from forecast.nn.positions import rotary

WIDTH, TOKENS = 8, 6


def build(horizon=7, patch_length=3, **changes):
    torch.manual_seed(1)
    module = CrossAttention(heads=2, **changes).build(WIDTH, horizon, (0.1, 0.5, 0.9), patch_length).double().eval()
    with torch.no_grad():  # as after some training: nothing is at its neutral start
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def states(batch=3) -> torch.Tensor:
    return torch.randn(batch, TOKENS, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def turned(x: torch.Tensor, position: int) -> torch.Tensor:
    return rotary(x.view(1, 1, 1, -1), torch.tensor([[position]])).view(-1)


def normalised(x: torch.Tensor, norm) -> torch.Tensor:
    return norm.weight * x / (x.square().mean() + torch.finfo(x.dtype).eps).sqrt()


def naive(module, x, origin):
    """Decode one window (N, D) from one origin: query by query, head by head, token by token."""
    x = [normalised(row, module.states_norm) for row in x[: origin + 1]]
    steps, maps = [], []
    for j, query in enumerate(module.queries):
        h = x[origin] + query
        for block in module.blocks:
            attention, size = block.attention, WIDTH // 2
            q_all, keys_values = (
                attention.query(normalised(h, block.attention_norm)),
                [attention.key_value(s) for s in x],
            )
            answers, weights = [], []
            for head in range(2):
                part = slice(head * size, (head + 1) * size)
                q = turned(normalised(q_all[part], attention.query_norm), origin + 1 + j)
                keys = [turned(normalised(kv[:WIDTH][part], attention.key_norm), i) for i, kv in enumerate(keys_values)]
                scores = torch.stack([q @ key / math.sqrt(size) for key in keys]).exp()
                weights.append(scores / scores.sum())
                answers.append(sum(w * kv[WIDTH:][part] for w, kv in zip(weights[-1], keys_values, strict=True)))
            h = h + attention.out(torch.cat(answers))
            gate, value = block.feed_forward.gate(normalised(h, block.feed_forward_norm)).chunk(2)
            h = h + block.feed_forward.out(silu(gate) * value)
            maps.append(torch.stack(weights))
        steps.append(module.readout(normalised(h, module.norm)))
    return torch.cat(steps)[: module.reach], maps


@pytest.mark.parametrize("depth", [1, 2])
def test_it_equals_a_plain_loop_over_queries_heads_and_tokens(depth):
    module, x = build(depth=depth), states()
    forecasts = module(x, slice(None))
    for origin in (0, 3, 5):
        expected, maps = naive(module, x[1], origin)
        torch.testing.assert_close(forecasts[1, origin], expected)
        weights = module.weights(x, origin)  # (blocks, B, A, J, N)
        for j in range(3):
            for level in range(depth):
                torch.testing.assert_close(weights[level, 1, :, j, : origin + 1], maps[depth * j + level])


def test_weights_sum_to_one_over_the_states_up_to_the_origin():
    module = build(depth=2)
    for origin in (0, 2, -1):
        weights, last = module.weights(states(), origin), range(TOKENS)[origin]
        assert weights.shape == (2, 3, 2, 3, TOKENS)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 2, 3, dtype=torch.float64))
        assert (weights[..., last + 1 :] == 0).all()


def test_alignments_give_each_step_the_mean_weights_of_its_patch():
    module = build(depth=2)
    alignments = module.alignments(states(), -1)
    patches = module.weights(states(), -1).mean((0, 2))
    assert alignments.shape == (3, 7, TOKENS)
    for step in range(7):
        torch.testing.assert_close(alignments[:, step], patches[:, step // 3])


def test_what_a_query_reads_depends_on_the_distance_not_on_the_place_in_the_window():
    module, x = build(), states()
    longer = torch.cat([torch.zeros(3, 4, WIDTH, dtype=torch.float64), x], dim=1)
    weights, shifted = module.weights(x, -1), module.weights(longer, -1)[..., 4:]
    ratio = shifted / shifted.sum(-1, keepdim=True)  # beside what the zeros before take
    torch.testing.assert_close(ratio, weights)


def test_queries_of_later_patches_look_from_further_away():
    module = build()
    with torch.no_grad():  # the same query for every patch
        module.queries.copy_(module.queries[:1].expand_as(module.queries))
    same = states()[:, :1].expand(-1, TOKENS, -1)  # only distance tells these states apart
    scores = module.weights(same, -1)[0].log()  # (B, A, J, N), up to a constant in each row
    torch.testing.assert_close(scores[:, :, 0, :-2].diff(dim=-1), scores[:, :, 2, 2:].diff(dim=-1))
    assert not torch.allclose(scores[:, :, 0].diff(dim=-1), scores[:, :, 2].diff(dim=-1), atol=1e-3)


def test_heads_that_do_not_fit_the_width_are_refused():
    with pytest.raises(ValueError, match=r"`heads` of CrossAttention is 3.*divides the backbone's `width`, 16"):
        CrossAttention(heads=3).build(16, 5, (0.5,), 4)
