"""The Graph Transformer: attention across series is that of the definition, goes along edges only, and never ahead."""

import pytest
import torch

from forecast.nn import DECODERS, ForecastNetwork, GraphTransformer, Transformer
from forecast.nn.streaming import Streams

S, WIDTH, TOKENS = 4, 16, 9
CHAIN = ((0, 1), (1, 2))  # 0 reads 1, which reads 2; nobody reads 3


def module_of(edges=None, series=S, tokens=TOKENS, **changes):
    """A module as after some training: nothing is at its neutral start."""
    torch.manual_seed(2)
    config = GraphTransformer(**{"width": WIDTH, "heads": 2, "series": series, "edges": edges} | changes)
    module = config.build(tokens).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return module


def tokens_of(groups=2, series=S, tokens=TOKENS):
    generator = torch.Generator().manual_seed(7)
    return torch.randn(groups * series, tokens, WIDTH, generator=generator, dtype=torch.float64)


def network_of(edges=None, decoder="direct", patch_length=4, horizon=6, **changes):
    torch.manual_seed(4)
    backbone = GraphTransformer(width=WIDTH, heads=2, series=S, edges=edges, **changes)
    sizes = {"horizon": horizon, "quantile_levels": (0.1, 0.5, 0.9), "patch_length": patch_length, "context_length": 24}
    network = ForecastNetwork(backbone, DECODERS[decoder](), **sizes).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return network


def windows(groups=2, steps=24):
    generator = torch.Generator().manual_seed(5)
    return torch.randn(groups * S, steps, generator=generator, dtype=torch.float64).cumsum(1) + 20


def by_the_definition(block, x, readable):
    """What a block across series does to the tokens of one group at one time, (S, D), one reader and head at a time."""
    attention, seen = block.attention, block.attention_norm(x)
    q = attention.query(seen).unflatten(-1, (attention.heads, -1))
    k, v = attention.key_value(seen).unflatten(-1, (2, attention.heads, -1)).unbind(1)
    q, k = attention.query_norm(q), attention.key_norm(k)  # (S, A, K)
    answers = torch.zeros_like(q)
    for reader in range(len(x)):
        read = [other for other in range(len(x)) if readable(reader, other)]
        for head in range(attention.heads):
            scores = torch.stack([(q[reader, head] * k[other, head]).sum() for other in read]) / q.shape[-1] ** 0.5
            weights = scores.exp() / scores.exp().sum()
            answers[reader, head] = sum(w * v[other, head] for w, other in zip(weights, read, strict=True))
    x = x + attention.out(answers.flatten(1))
    return x + block.feed_forward(block.feed_forward_norm(x))


@pytest.mark.parametrize("edges", [None, (), CHAIN])
def test_attention_across_series_is_that_of_the_definition_at_each_token(edges):
    module, x = module_of(edges), tokens_of()
    expected = x + module.nodes.repeat(2, 1).unsqueeze(1)
    for layer in module.layers:
        along = layer.time.advance(expected, None)[0]
        expected = torch.empty_like(along)
        for group in (slice(0, S), slice(S, 2 * S)):
            for n in range(TOKENS):
                expected[group, n] = by_the_definition(
                    layer.series, along[group, n], lambda a, b: edges is None or a == b or (a, b) in edges
                )
    torch.testing.assert_close(module(x), expected, rtol=0, atol=1e-9)


def influence(module) -> list[list[bool]]:
    """Whether the last state of the row's series moves with the first token of the column's."""
    x = tokens_of(groups=1)
    before = module(x)[:, -1]
    moved = []
    for read in range(S):
        changed = x.clone()
        changed[read, 0] += 1.0
        moved.append((module(changed)[:, -1] != before).any(-1))
    return torch.stack(moved, dim=1).tolist()


@pytest.mark.parametrize("depth", [1, 2])
def test_what_a_series_tells_travels_one_edge_in_each_layer_and_no_other_way(depth):
    reads = torch.eye(S, dtype=torch.int64)
    for reader, read in CHAIN:
        reads[reader, read] = 1
    assert influence(module_of(CHAIN, depth=depth)) == (torch.linalg.matrix_power(reads, depth) > 0).tolist()


def test_without_a_graph_every_series_moves_every_other():
    assert influence(module_of(depth=1)) == [[True] * S] * S


def test_the_future_of_one_series_does_not_move_the_past_of_another():
    module, x = module_of(), tokens_of(groups=1)
    before = module(x)
    for size in (1e-2, 10.0, 1e6):
        changed = x.clone()
        changed[1, 5:] += size
        after = module(changed)
        assert torch.equal(after[:, :5], before[:, :5])
        assert (after[:, 5] != before[:, 5]).any(-1).all()


def test_the_other_groups_of_a_batch_do_not_matter():
    module, x = module_of(CHAIN), tokens_of(groups=3)
    alone = torch.cat([module(group) for group in x.split(S)])
    torch.testing.assert_close(module(x), alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("edges", [None, CHAIN])
def test_series_can_be_exchanged_only_while_their_embeddings_are_equal(edges):
    order = torch.tensor([2, 0, 3, 1])  # place i takes series order[i]
    place = {int(series): i for i, series in enumerate(order)}
    turned_edges = edges and tuple((place[reader], place[read]) for reader, read in edges)
    x = tokens_of(groups=1)
    module, turned = module_of(edges), module_of(turned_edges)
    assert not torch.allclose(turned(x[order]), module(x)[order], atol=1e-3)
    with torch.no_grad():
        turned.nodes.copy_(module.nodes[order])
    torch.testing.assert_close(turned(x[order]), module(x)[order], rtol=0, atol=1e-9)
    for one in (module, turned):
        torch.nn.init.ones_(one.nodes)
    torch.testing.assert_close(turned(x[order]), module(x)[order], rtol=0, atol=1e-9)


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("edges", [None, CHAIN])
def test_stepping_and_any_cut_equal_the_whole_pass(edges, window):
    module, x = module_of(edges, window=window, tokens=TOKENS - 3), tokens_of()
    whole = module(x)
    for cut in (0, 1, 5):
        first, state = module.advance(x[:, :cut]) if cut else (x[:, :0], module.init_state(2 * S))
        steps = [first]
        for n in range(cut, TOKENS):
            y, state = module.step(x[:, n], state)
            steps.append(y.unsqueeze(1))
        torch.testing.assert_close(torch.cat(steps, dim=1), whole, rtol=0, atol=1e-9)


def test_a_state_depends_on_just_the_tokens_of_its_receptive_field_in_every_series():
    module = module_of(window=3, depth=2, tokens=20)
    x = tokens_of(groups=1, tokens=20).requires_grad_()
    module(x)[0, -1].sum().backward()
    assert module.receptive_field == 5
    assert (x.grad != 0).any(-1).sum(1).tolist() == [5] * S


def test_one_series_alone_is_a_plain_transformer():
    modules = []
    for kind in (Transformer, GraphTransformer):
        torch.manual_seed(0)
        modules.append(kind(width=WIDTH, heads=2).build(TOKENS).double().eval())
    x = tokens_of()
    assert torch.equal(modules[0](x), modules[1](x))


def test_a_batch_that_is_not_made_of_whole_groups_is_refused():
    with pytest.raises(ValueError, match="`x` holds 7 sequences; allowed: a multiple of the 4 series"):
        module_of()(tokens_of()[:7])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": ((0, 4),)}, r"`edges` of GraphTransformer holds \(0, 4\); .* from 0 to 3, as `series` is 4"),
        ({"edges": ((-1, 0),)}, r"`edges` .* holds \(-1, 0\)"),
        ({"edges": ((0, 1, 2),)}, r"`edges` .* holds \(0, 1, 2\)"),
        ({"edges": (("a", "b"),)}, r"`edges` .* holds \('a', 'b'\)"),
        ({"series": 0}, "`series` of GraphTransformer is 0"),
        ({"width": 12, "heads": 4}, "`width` of GraphTransformer is 12; allowed: a multiple of twice its `heads`, 4"),
    ],
)
def test_hyper_parameters_that_make_no_sense_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        GraphTransformer(**{"series": S} | changes)


# -- in a network ----------------------------------------------------------------------------------------------------


def test_a_series_that_is_wholly_missing_leaves_everything_finite():
    network, values = network_of(), windows()
    values[1] = torch.nan
    cutoffs = torch.full((2 * S,), 23)
    quantiles = network(values, cutoffs)
    quantiles.sum().backward()
    assert quantiles.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in network.parameters())


def test_every_parameter_gets_a_gradient():
    network = network_of(CHAIN)
    network(windows(), torch.full((2 * S,), 23)).square().sum().backward()
    assert [name for name, parameter in network.named_parameters() if not (parameter.grad != 0).any()] == []


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # a slower kernel is all it means
def test_states_are_finite_in_half_precision():
    module = module_of(CHAIN).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module(tokens_of().float()).isfinite().all()


@pytest.mark.parametrize("edges", [None, CHAIN])
def test_sample_paths_keep_groups_together(edges, monkeypatch):
    network, values = network_of(edges, "recursive"), windows(groups=3)
    cutoffs = torch.full((3 * S,), 23)
    together = network(values, cutoffs, slice(-1, None))
    alone = [network(group, cutoffs[:S], slice(-1, None)) for group in values.split(S)]
    torch.testing.assert_close(together, torch.cat(alone), rtol=0, atol=1e-9)
    monkeypatch.setattr("forecast.nn.rollout._ROWS", 1)
    torch.testing.assert_close(network(values, cutoffs, slice(-1, None)), together, rtol=0, atol=1e-9)


@pytest.mark.parametrize("decoder", ["direct", "recursive"])
@pytest.mark.parametrize("patch_length", [1, 4])
def test_a_stream_of_all_series_equals_the_whole_pass(decoder, patch_length):
    network = network_of(CHAIN, decoder, patch_length)
    values = windows(groups=1, steps=38)
    values[2, :15] = torch.nan  # a series that begins later
    values[0, 34] = torch.nan
    streams, rows = Streams(network, S), torch.arange(S)
    begun = 31
    with torch.inference_mode():
        said = [streams.begin(rows, values[:, :begun], torch.full((S,), begun - 1))]
        said += [streams.step(rows, values[:, t]) for t in range(begun, 38)]
        for t, quantiles in zip(range(begun, 39), said, strict=True):
            filled = torch.nn.functional.pad(values[:, :t], (-t % patch_length, 0), value=torch.nan)
            whole = network(filled, torch.full((S,), t - 1), slice(-1, None)).squeeze(1)
            torch.testing.assert_close(quantiles, whole, rtol=1e-9, atol=1e-9)
