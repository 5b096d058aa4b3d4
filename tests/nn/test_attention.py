"""The attention operator against its definition and against PyTorch's own modules."""

import math

import pytest
import torch
from torch import nn

from forecast.nn.attention import (
    AdditiveScore,
    DotProductAttention,
    MultiHeadAttention,
    causal_mask,
    dot_product_attention,
    dot_product_weights,
    graph_mask,
    masked_softmax,
)

PLACES = torch.arange(7)
MASKS = {
    "none": None,
    "causal": causal_mask(PLACES, PLACES),
    "band": causal_mask(PLACES, PLACES, 3),
    "graph": graph_mask([(0, 1), (2, 6), (2, 5), (4, 0)], 7),
}
masked = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def vectors(*shape: int, dtype=torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64).to(dtype)


def queries_keys_values() -> tuple[torch.Tensor, ...]:
    """Give (B, A, n, K) each; all draws differ."""
    return tuple(vectors(3 * 2, 3, 7, 4).unflatten(0, (3, 2)))


def reference(q, k, v, mask):
    """softmax(Q K^T / sqrt(K)) V for one set of queries (n, K) and data (m, K)."""
    scores = torch.stack([torch.stack([query @ key / math.sqrt(len(key)) for key in k]) for query in q])
    if mask is not None:
        scores[~mask] = -math.inf
    weights = scores.exp() / scores.exp().sum(1, keepdim=True)
    return weights @ v, weights


# -- the definition -------------------------------------------------------------------------------------------------


@masked
def test_the_operator_equals_its_definition_written_out(mask):
    q, k, v = queries_keys_values()
    answers, weights = dot_product_attention(q, k, v, mask), dot_product_weights(q, k, mask)
    for b in range(2):
        for a in range(3):
            expected, expected_weights = reference(q[b, a], k[b, a], v[b, a], mask)
            torch.testing.assert_close(answers[b, a], expected)
            torch.testing.assert_close(weights[b, a], expected_weights)


@masked
def test_the_fast_path_and_the_definition_have_the_same_gradients(mask):
    given = [x.requires_grad_() for x in queries_keys_values()]
    q, k, v = given
    fast = torch.autograd.grad(dot_product_attention(q, k, v, mask).square().sum(), given)
    plain = torch.autograd.grad((dot_product_weights(q, k, mask) @ v).square().sum(), given)
    torch.testing.assert_close(fast, plain)


@masked
def test_the_weights_of_a_query_sum_to_one_and_are_nothing_where_it_may_not_read(mask):
    weights = dot_product_weights(*queries_keys_values()[:2], mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 7, dtype=torch.float64))
    assert mask is None or (weights[..., ~mask] == 0).all()


def test_causal_stands_for_the_causal_mask():
    q, k, v = queries_keys_values()
    torch.testing.assert_close(
        dot_product_attention(q, k, v, causal=True), dot_product_attention(q, k, v, MASKS["causal"])
    )
    torch.testing.assert_close(dot_product_weights(q, k, causal=True), dot_product_weights(q, k, MASKS["causal"]))


def test_a_mask_beside_causal_is_refused_as_one_of_them_would_be_ignored():
    q, k, v = queries_keys_values()
    for ask in (
        lambda: dot_product_attention(q, k, v, MASKS["band"], causal=True),
        lambda: dot_product_weights(q, k, MASKS["band"], causal=True),
    ):
        with pytest.raises(ValueError, match="`causal` is True and `mask` is given"):
            ask()


# -- masks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [None, 1, 3, 50])
def test_a_causal_mask_lets_a_query_read_itself_and_the_window_before_it(window):
    queries, keys = torch.tensor([4, 5, 6]), torch.arange(-2, 9)
    mask = causal_mask(queries, keys, window)
    for i, query in enumerate(queries.tolist()):
        for j, key in enumerate(keys.tolist()):
            assert mask[i, j] == (0 <= key <= query and (window is None or key > query - window))


def test_a_graph_mask_lets_nodes_read_themselves_and_along_the_direction_of_edges():
    mask = graph_mask([(0, 2)], 3)
    assert mask.tolist() == [[True, False, True], [False, True, False], [False, False, True]]


def test_a_mask_after_the_softmax_would_come_too_late():
    q, k, _ = queries_keys_values()
    k.requires_grad_()
    before, after = dot_product_weights(q, k, MASKS["causal"]), dot_product_weights(q, k) * MASKS["causal"]
    assert (after.sum(-1)[..., :-1] < 1).all()  # what the future took away is missing
    first = 0  # query, which may read key 0 alone
    assert (before[..., first, 0] == 1).all()
    (said,) = torch.autograd.grad(after[..., first, 0].sum(), k)
    assert (said[..., 1:, :] != 0).any()  # later keys still have a say
    (said,) = torch.autograd.grad(before.square()[..., :4, :].sum(), k)
    assert (said[..., 4:, :] == 0).all()
    assert (said[..., :4, :] != 0).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(
    "answer",
    [dot_product_attention, lambda q, k, v, mask: dot_product_weights(q, k, mask) @ v],
    ids=["fast", "definition"],
)
def test_a_query_that_may_read_nothing_gets_zeros_and_sends_no_gradient(answer, dtype):
    q, k, v = (x.to(dtype).requires_grad_() for x in queries_keys_values())
    mask = MASKS["causal"].clone()
    mask[3] = False
    answers = answer(q, k, v, mask)
    assert (answers[..., 3, :] == 0).all()
    assert answers.isfinite().all()
    answers.float().square().sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))
    assert (q.grad[..., 3, :] == 0).all()
    assert (q.grad[..., 4, :] != 0).any()


def test_queries_of_which_none_may_read_anything_get_zeros():
    attention = MultiHeadAttention(8, heads=2, bias=True)
    x = vectors(2, 5, 8, dtype=torch.float32).requires_grad_()
    answers = attention(x, x, torch.zeros(5, 5, dtype=torch.bool))
    answers.sum().backward()
    torch.testing.assert_close(answers, attention.out.bias.expand(2, 5, 8))
    assert (x.grad == 0).all()


# -- order ----------------------------------------------------------------------------------------------------------


def test_the_order_of_data_does_not_matter_and_answers_follow_the_order_of_queries():
    attention = MultiHeadAttention(8, heads=2).double()
    queries, data, order = vectors(2, 5, 8), vectors(2, 9, 8), torch.randperm(9)
    torch.testing.assert_close(attention(queries, data[:, order]), attention(queries, data))
    order = torch.randperm(5)
    torch.testing.assert_close(attention(queries[:, order], data), attention(queries, data)[:, order])


def test_self_attention_without_a_mask_follows_any_exchange_of_tokens_and_with_one_does_not():
    attention = MultiHeadAttention(8, heads=2).double()
    x, order = vectors(2, 7, 8), torch.tensor([3, 0, 6, 1, 5, 2, 4])
    torch.testing.assert_close(attention(x[:, order], x[:, order]), attention(x, x)[:, order])
    causal = attention(x[:, order], x[:, order], MASKS["causal"])
    assert not torch.allclose(causal, attention(x, x, MASKS["causal"])[:, order], atol=1e-2)


# -- many heads -----------------------------------------------------------------------------------------------------


def twins(width: int = 12, heads: int = 3) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Give our attention, and PyTorch's with the same weights."""
    ours = MultiHeadAttention(width, heads=heads, bias=True, norm=False).double()
    theirs = nn.MultiheadAttention(width, heads, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key_value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key_value.bias]))
        theirs.out_proj.load_state_dict(ours.out.state_dict())
    return ours, theirs


@masked
def test_many_heads_equal_those_of_pytorch(mask):
    ours, theirs = twins()
    x = vectors(2, 7, 12)
    # Their mask is True where nothing may be read.
    expected, weights = theirs(x, x, x, attn_mask=None if mask is None else ~mask, average_attn_weights=False)
    torch.testing.assert_close(ours(x, x, mask), expected)
    torch.testing.assert_close(ours.weights(x, x, mask), weights)


def test_cross_attention_equals_that_of_pytorch_with_the_same_gradients():
    ours, theirs = twins()
    queries, data = vectors(2, 5, 12).requires_grad_(), vectors(2, 9, 12).requires_grad_()
    torch.testing.assert_close(ours(queries, data), theirs(queries, data, data)[0])
    found = torch.autograd.grad(ours(queries, data).square().sum(), [queries, data, *ours.parameters()])
    named = dict(theirs.named_parameters())
    asked = [queries, data, *(named[n] for n in ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"))]
    expected = torch.autograd.grad(theirs(queries, data, data)[0].square().sum(), asked)
    torch.testing.assert_close(found[:2], expected[:2])
    torch.testing.assert_close(torch.cat([found[2], found[4]]), expected[2])
    torch.testing.assert_close(torch.cat([found[3], found[5]]), expected[3])
    torch.testing.assert_close(found[6:], expected[4:])


def test_normalised_queries_and_keys_keep_weights_as_they_are_however_large_the_data_become():
    attention = MultiHeadAttention(8, heads=2).double()
    x = vectors(2, 7, 8)
    torch.testing.assert_close(attention.weights(1000 * x, 1000 * x), attention.weights(x, x), rtol=1e-4, atol=1e-6)
    plain = MultiHeadAttention(8, heads=2, norm=False).double()
    assert plain.weights(1000 * x, 1000 * x).amax(-1).min() > 0.999


def test_a_hook_on_the_operator_sees_what_the_weights_are_made_of():
    attention, seen = MultiHeadAttention(8, heads=2), []

    def look(module, args, kwargs, output):
        q, k, _, mask = args
        seen.append(dot_product_weights(q, k, mask, **kwargs))

    operators = [module for module in attention.modules() if isinstance(module, DotProductAttention)]
    for operator in operators:
        operator.register_forward_hook(look, with_kwargs=True)
    x = vectors(2, 7, 8, dtype=torch.float32)
    attention(x, x, MASKS["band"])
    attention(x, x, causal=True)
    torch.testing.assert_close(seen[0], attention.weights(x, x, MASKS["band"]))
    torch.testing.assert_close(seen[1], attention.weights(x, x, MASKS["causal"]))


def test_weights_are_dropped_in_training_alone():
    attention = MultiHeadAttention(8, heads=2, dropout=0.5)
    x = vectors(2, 7, 8, dtype=torch.float32)
    torch.manual_seed(0)
    dropped = attention(x, x)
    torch.testing.assert_close(attention.eval()(x, x), attention(x, x))
    assert not torch.allclose(dropped, attention(x, x), atol=1e-3)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="`heads` is 3; allowed: a divisor of the width, 8"):
        MultiHeadAttention(8, heads=3)


# -- half precision -------------------------------------------------------------------------------------------------


@masked
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_half_precision_is_finite_and_near_even_for_huge_scores(mask, size):
    q, k, v = queries_keys_values()
    q = (size * q).bfloat16().requires_grad_()
    answers = dot_product_attention(q, k.bfloat16(), v.bfloat16(), mask)
    exact = dot_product_attention(q.double(), k.bfloat16().double(), v.bfloat16().double(), mask)
    assert answers.dtype == torch.bfloat16
    answers.float().sum().backward()
    assert q.grad.isfinite().all()
    assert answers.isfinite().all()
    if size == 1.0:
        torch.testing.assert_close(answers.double(), exact, rtol=0.05, atol=0.05)


@masked
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # torch computes this norm in another way
def test_many_heads_under_autocast_are_near_those_of_full_precision(mask):
    attention = MultiHeadAttention(8, heads=2)
    x = vectors(2, 7, 8, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        answers = attention(x, x, mask)
    answers.float().square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())
    torch.testing.assert_close(answers.float(), attention(x, x, mask), rtol=0.05, atol=0.05)


# -- learned scores -------------------------------------------------------------------------------------------------


def test_additive_scores_equal_the_loop_over_their_definition():
    score = AdditiveScore(6, size=4).double()
    queries, data = vectors(2, 3, 6), vectors(2, 5, 6)
    scores = score(queries, score.key(data))
    for b in range(2):
        for i in range(3):
            for j in range(5):
                hidden = torch.tanh(score.query.weight @ queries[b, i] + score.key(data[b, j]))
                torch.testing.assert_close(scores[b, i, j], score.score.weight[0] @ hidden)
    mask = torch.tensor([[True, False, True, True, False], [False] * 5, [True] * 5])
    weights = masked_softmax(scores, mask)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([[1.0, 0.0, 1.0]] * 2, dtype=torch.float64))
    assert (weights[:, ~mask] == 0).all()
