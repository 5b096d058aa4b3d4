"""Causal self-attention: whole sequences against the definition, caches against whole sequences."""

import pytest
import torch

from forecast.nn.attention import causal_mask
from forecast.nn.positions import rotary
from forecast.nn.self_attention import CausalSelfAttention

windows = pytest.mark.parametrize("window", [1, 2, 5, 40])
positions = pytest.mark.parametrize("positions", ["rotary", "none"])


def attention_of(window: int, positions: str, **kwargs) -> CausalSelfAttention:
    torch.manual_seed(window)
    return CausalSelfAttention(16, heads=2, window=window, dropout=0.0, positions=positions, **kwargs).double().eval()


def tokens(n: int, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, n, 16, generator=torch.Generator().manual_seed(n), dtype=torch.float64)


@windows
@positions
def test_it_equals_its_definition_head_by_head(window, positions):
    module, x = attention_of(window, positions), tokens(12)
    places = torch.arange(12)
    q, (k, v) = module.attention.queries(x), module.attention.data(x)
    if positions == "rotary":
        q, k = rotary(q, places.unsqueeze(0)), rotary(k, places.unsqueeze(0))
    weights, merged = module.weights(x), []
    for head in range(2):
        scores = q[:, head] @ k[:, head].transpose(1, 2) / 8**0.5
        scores[:, ~causal_mask(places, places, window)] = -torch.inf
        torch.testing.assert_close(weights[:, head], scores.softmax(-1))
        merged.append(scores.softmax(-1) @ v[:, head])
    torch.testing.assert_close(module.advance(x)[0], module.attention.out(torch.cat(merged, dim=-1)))


@windows
@positions
@pytest.mark.parametrize("cut", [0, 1, 4, 11, 29, 30])
def test_reading_on_from_a_cache_equals_reading_the_whole(window, positions, cut):
    module, x = attention_of(window, positions), tokens(30)
    whole, left = module.advance(x)
    begin, cache = module.advance(x[:, :cut], module.init_state(2))
    rest, cache = module.advance(x[:, cut:], cache)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), whole, rtol=0, atol=1e-12)
    # Where nothing was, nobody reads: what stands there does not matter.
    filled = min(window - 1, 30)
    for found, expected in zip(cache[:2], left[:2], strict=True):
        assert found.shape == expected.shape == (2, 2, window - 1, 8)
        torch.testing.assert_close(found[:, :, window - 1 - filled :], expected[:, :, window - 1 - filled :])
    assert (cache[2] == 30).all()
    assert (left[2] == 30).all()


def test_sequences_of_different_lengths_read_on_side_by_side():
    module, x = attention_of(4, "rotary"), tokens(10)
    caches = [module.advance(x[row : row + 1, :seen])[1] for row, seen in enumerate((2, 9))]
    together = tuple(torch.cat(parts) for parts in zip(*caches, strict=True))
    y, _ = module.advance(torch.stack([x[0, 2], x[1, 9]]).unsqueeze(1), together)
    whole = module.advance(x)[0]
    torch.testing.assert_close(y[:, 0], torch.stack([whole[0, 2], whole[1, 9]]))


@positions
def test_far_out_in_a_stream_it_answers_as_at_the_beginning(positions):
    module, x = attention_of(5, positions), tokens(30)
    keys, values, seen = module.advance(x[:, :20])[1]
    here, _ = module.advance(x[:, 20:], (keys, values, seen))
    if positions == "rotary":  # the keys as they would stand there
        back = rotary(keys, torch.arange(16, 20).unsqueeze(0).neg())
        keys = rotary(back, torch.arange(16, 20).unsqueeze(0) + 1_000_000)
    there, _ = module.advance(x[:, 20:], (keys, values, seen + 1_000_000))
    torch.testing.assert_close(here, there, rtol=0, atol=1e-8)
