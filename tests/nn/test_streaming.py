"""Streams: whatever is read, in whatever strides, the forecasts are those of the whole sequence in one pass."""

from dataclasses import dataclass
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import pad

import forecast.nn.streaming
from forecast.nn import BACKBONES, DECODERS, LSTM, Backbone, ForecastNetwork
from forecast.nn.backbones import GraphTransformer
from forecast.nn.streaming import Streams

HORIZONS = {1: 3, 8: 12, 24: 30}  # longer than a patch: what is recursive has to recur
TOKENS = 4
ROWS = 3
STREAMING = [name for name, kind in DECODERS.items() if kind.streams]
TOLERANCES = {torch.float32: 1e-4, torch.float64: 1e-9}


def network_of(backbone: Backbone, decoder: str = "direct", patch_length: int = 8, dtype=torch.float32):
    torch.manual_seed(3)
    network = ForecastNetwork(
        backbone,
        DECODERS[decoder](**{"paths": 4} if decoder == "recursive" else {}),
        horizon=HORIZONS[patch_length],
        quantile_levels=(0.1, 0.5, 0.9),
        patch_length=patch_length,
        context_length=TOKENS * patch_length,
        season_length=24,
        week_length=14,
    )
    with torch.no_grad():  # as after some training: nothing is at its neutral start
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return network.to(dtype).eval()


def walks(length: int, rows: int = ROWS) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(rows, length, generator=generator, dtype=torch.float64).cumsum(1) + 20


def history(length: int, rows: int = ROWS) -> torch.Tensor:
    """Give random walks with missing values, one of them with a stretch of these longer than a context of 32."""
    values = walks(length, rows)
    values[torch.rand(values.shape, generator=torch.Generator().manual_seed(6)) < 0.1] = torch.nan
    values[0, length // 2 : length // 2 + 40] = torch.nan
    return values


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Whether states are equal to the bit, also in what is missing."""
    return all(torch.equal(one[name].nan_to_num(-7), tensor.nan_to_num(-7)) for name, tensor in other.items())


@dataclass
class Stride:
    """Some more values of some of the sequences."""

    rows: list[int]
    length: int
    through_disk: bool = False


@st.composite
def strides(draw) -> list[Stride]:
    some = st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=ROWS, unique=True).map(sorted)
    one = st.builds(Stride, some, st.integers(1, 30) | st.sampled_from([1, 24, 150]), st.booleans())
    return draw(st.lists(one, min_size=2, max_size=6))


def in_one_pass(network: ForecastNetwork, values: torch.Tensor) -> torch.Tensor:
    """Forecast from the end of whole sequences (B, T) that begin at ordinal 100, the first patch filled up."""
    fill = -values.shape[1] % network.patch_length
    cutoffs = torch.full((len(values),), 99 + values.shape[1])
    with torch.inference_mode():
        return network(pad(values, (fill, 0), value=torch.nan), cutoffs, slice(-1, None)).squeeze(1)


def difference(network: ForecastNetwork, plan: list[Stride], values: torch.Tensor) -> float:
    """Give how far streamed forecasts ever are from those of one pass; walks by 1 have scales of 1 or more."""
    streams = Streams(network, ROWS)
    streams.place(torch.arange(ROWS), torch.full((ROWS,), 100))
    read, worst = [0] * ROWS, 0.0
    for stride in plan:
        part = torch.stack([values[row, read[row] : read[row] + stride.length] for row in stride.rows])
        streams.advance(torch.tensor(stride.rows), part)
        for row in stride.rows:
            read[row] += stride.length
        if stride.through_disk:
            stored = {name: tensor.clone() for name, tensor in streams.tensors().items()}
            streams = Streams(network, ROWS)
            streams.restore(stored)
        forecasts = streams.forecast(torch.tensor(stride.rows))
        expected = torch.cat([in_one_pass(network, values[row : row + 1, : read[row]]) for row in stride.rows])
        assert forecasts.isfinite().all()
        worst = max(worst, float((forecasts - expected).abs().max()))
    return worst


def combinations():
    """Give all of them; what is not told apart by others runs as slow: in single precision, all but the backbone."""
    for backbone, decoder, patch_length, dtype in product(BACKBONES, STREAMING, (1, 8, 24), TOLERANCES):
        plain = decoder == "direct" and patch_length == 8
        telling = plain or (backbone in ("lstm", "transformer") and dtype == torch.float64)
        yield pytest.param(
            BACKBONES[backbone](width=16),
            decoder,
            patch_length,
            dtype,
            TOLERANCES[dtype],
            marks=() if telling else pytest.mark.slow,
            id=f"{backbone}-{decoder}-P{patch_length}-{dtype}",
        )


@pytest.mark.parametrize(("backbone", "decoder", "patch_length", "dtype", "tolerance"), list(combinations()))
def test_whatever_the_strides_the_forecasts_are_those_of_one_pass(backbone, decoder, patch_length, dtype, tolerance):
    network = network_of(backbone, decoder, patch_length, dtype)
    values = history(1000).to(dtype)

    @settings(max_examples=6, deadline=None, derandomize=True, database=None)
    @given(strides())
    def check(plan):
        assert difference(network, plan, values) < tolerance

    check()


@pytest.mark.parametrize("patch_length", [1, 8, 24])
def test_every_value_is_in_the_next_forecast(patch_length):
    network = network_of(LSTM(width=16), patch_length=patch_length)
    values = walks(60).float()
    one, other = Streams(network, ROWS), Streams(network, ROWS)
    rows, ordinals = torch.arange(ROWS), torch.full((ROWS,), 150)
    assert torch.equal(one.begin(rows, values[:, :50], ordinals), other.begin(rows, values[:, :50], ordinals))
    for step in range(50, 60):
        new = values[:, step]
        assert (one.step(rows, new) != other.step(rows, new + 0.5)).all()
        other = Streams(network, ROWS)
        other.restore(one.tensors())


def test_the_state_is_of_one_size_however_long_the_stream():
    streams = Streams(network_of(BACKBONES["transformer"](width=16)), ROWS)
    sizes = {name: tensor.shape for name, tensor in streams.tensors().items()}
    size = streams.nbytes
    streams.advance(torch.arange(ROWS), history(700))
    assert {name: tensor.shape for name, tensor in streams.tensors().items()} == sizes
    assert streams.nbytes == size == sum(tensor.nbytes for tensor in streams.tensors().values())


def test_what_is_read_at_a_time_does_not_matter(monkeypatch):
    network = network_of(BACKBONES["transformer"](width=16), dtype=torch.float64)
    values, rows = history(60), torch.arange(ROWS)
    whole = Streams(network, ROWS).begin(rows, values, rows)
    monkeypatch.setattr(forecast.nn.streaming, "_TOKENS", 2)
    monkeypatch.setattr(forecast.nn.streaming, "_TOKENS_OF_ONE", 1)
    streams = Streams(network, ROWS)
    torch.testing.assert_close(streams.begin(rows, values, rows), whole, rtol=0, atol=1e-9)
    torch.testing.assert_close(streams.forecast(rows.flip(0)), whole.flip(0), rtol=0, atol=1e-9)


def test_many_sequences_together_are_each_by_itself():
    network = network_of(BACKBONES["tcn"](width=16), "recursive", dtype=torch.float64)
    values, together = history(44, rows=6), Streams(network, 6)
    rows = torch.arange(6)
    together.begin(rows, values[:, :40], rows)
    alone = [Streams(network, 1) for _ in rows]
    for row, stream in enumerate(alone):
        stream.begin(torch.tensor([0]), values[row : row + 1, :40], rows[row : row + 1])
    for step in range(40, 44):
        forecasts = together.step(rows, values[:, step])
        for row, stream in enumerate(alone):
            expected = stream.step(torch.tensor([0]), values[row : row + 1, step])
            torch.testing.assert_close(forecasts[row : row + 1], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("decoder", STREAMING)
@pytest.mark.parametrize("patch_length", [1, 8])
def test_groups_of_series_are_carried_together(decoder, patch_length):
    network = network_of(GraphTransformer(width=16, series=ROWS), decoder, patch_length, torch.float64)
    values, rows, two = history(90, rows=2 * ROWS), torch.arange(2 * ROWS), torch.full((2 * ROWS,), 159)
    streams = Streams(network, 2 * ROWS)
    torch.testing.assert_close(streams.begin(rows, values[:, :60], two), in_one_pass(network, values[:, :60]))
    for step in range(60, 75):
        forecasts = streams.step(rows, values[:, step])
        expected = in_one_pass(network, values[:, : step + 1])
        torch.testing.assert_close(forecasts, expected, rtol=0, atol=1e-9)
    streams.advance(rows[ROWS:], values[ROWS:, 75:])  # one of the groups
    expected = in_one_pass(network, values[ROWS:])
    torch.testing.assert_close(streams.forecast(rows[ROWS:]), expected, rtol=0, atol=1e-9)


def test_sequences_may_come_later():
    network = network_of(LSTM(width=16))
    values, streams = history(50).float(), Streams(network, 1)
    streams.begin(torch.tensor([0]), values[:1, :40], torch.tensor([139]))
    before = {name: tensor.clone() for name, tensor in streams.tensors().items()}
    streams.grow(2)
    assert same({name: tensor[:1] for name, tensor in streams.tensors().items()}, before)
    forecasts = streams.begin(torch.tensor([1, 2]), values[1:], torch.tensor([149, 149]))
    torch.testing.assert_close(forecasts, in_one_pass(network, values[1:]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("grown", [0, 1])
def test_what_ends_in_an_error_leaves_the_state_as_it_was(grown):
    streams = Streams(network_of(BACKBONES["transformer"](width=16)), ROWS)
    rows, values = torch.arange(ROWS), history(100)
    streams.begin(rows, values[:, :50], rows)
    before = {name: tensor.clone() for name, tensor in streams.tensors().items()}

    def fail():
        with streams.all_or_nothing():
            streams.grow(grown)
            streams.advance(rows, values[:, 50:90])
            streams.step(rows[1:], values[1:, 90])
            raise KeyError("some error")

    with pytest.raises(KeyError, match="some error"):
        fail()
    assert same(streams.tensors(), before)
    with streams.all_or_nothing():
        streams.step(rows, values[:, 50])
    assert not torch.equal(streams.state["seen"], before["seen"])


def test_a_state_of_another_network_is_refused():
    streams = Streams(network_of(LSTM(width=16)), ROWS)
    with pytest.raises(ValueError, match="give that of the same network and as many sequences"):
        streams.restore(Streams(streams.network, ROWS + 1).tensors())


# -- planted defects: the checks above must catch what they are for --------------------------------------------------


def planted(change) -> ForecastNetwork:
    network = network_of(LSTM(width=16), dtype=torch.float64)
    right = network.backbone.advance
    network.backbone.advance = lambda x, state=None: change(right, x, state)
    return network


def counted_from_the_call(right, x, state):
    y, state = right(x, state)
    return y + 0.01 * torch.arange(x.shape[1])[:, None], state


def carried_nowhere(right, x, state):
    return right(x, state)[0], state


PLAN = [Stride([0, 1, 2], 30), Stride([0, 2], 1), Stride([0, 1], 20)]


@pytest.mark.parametrize("change", [counted_from_the_call, carried_nowhere])
def test_a_backbone_whose_steps_are_not_its_pass_is_caught(change):
    values = history(100)
    assert difference(planted(lambda right, x, state: right(x, state)), PLAN, values) < 1e-9
    assert difference(planted(change), PLAN, values) > 1e-4
