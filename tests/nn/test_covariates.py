"""Covariates under every backbone and decoder: read when they are known and not before, streamed as in one pass."""

from itertools import product

import pytest
import torch
from torch.nn.functional import pad

from forecast.nn import BACKBONES, DECODERS, LSTM, ForecastNetwork
from forecast.nn.covariates import Columns, CovariateReader, Covariates, Layout
from forecast.nn.network import LAST
from forecast.nn.streaming import Streams

P, TOKENS, HORIZON, ROWS = 4, 5, 6, 3
LAYOUT = Layout(
    past=Columns(location=(1.0,), scale=(2.0,), categories=(3,)),
    known=Columns(location=(0.0, 5.0), scale=(1.0, 4.0), plain=2, categories=(2,)),
    static=Columns(location=(0.0,), scale=(1.0,), categories=(4,)),
)
STREAMING = [name for name, kind in DECODERS.items() if kind.streams]


def combinations(decoders=tuple(DECODERS)):
    """Give every backbone under each decoder; what is not told apart by others runs as slow."""
    return [
        pytest.param(*both, id="-".join(both), marks=() if "lstm" in both or "direct" in both else pytest.mark.slow)
        for both in product(BACKBONES, decoders)
    ]


def network_of(backbone="lstm", decoder="direct", layout=LAYOUT) -> ForecastNetwork:
    torch.manual_seed(3)
    network = ForecastNetwork(
        BACKBONES[backbone](width=16),
        DECODERS[decoder](**{"paths": 4} if decoder == "recursive" else {}),
        horizon=HORIZON,
        quantile_levels=(0.1, 0.5, 0.9),
        patch_length=P,
        context_length=TOKENS * P,
        layout=layout,
    )
    with torch.no_grad():  # as after some training: nothing is at its neutral start
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return network.double().eval()


def walks(length=TOKENS * P, rows=ROWS) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(rows, length, generator=generator, dtype=torch.float64).cumsum(1) + 20
    values[0, 2] = torch.nan
    return values


def columns(layout: Columns, *shape: int, generator: torch.Generator) -> torch.Tensor:
    """Draw columns as a layout has them; some of the numbers and categories are missing."""
    numbers = torch.randn(*shape, len(layout.location) + layout.plain, generator=generator, dtype=torch.float64)
    places = [torch.randint(0, n, (*shape, 1), generator=generator).double() for n in layout.categories]
    x = torch.cat([numbers, *places], dim=-1)
    missing = torch.rand(x.shape, generator=generator) < 0.1
    missing[..., len(layout.location) : len(layout.location) + layout.plain] = False
    return torch.where(missing, torch.nan, x)


def beside(length=TOKENS * P, ahead=HORIZON, rows=ROWS) -> Covariates:
    generator = torch.Generator().manual_seed(6)
    return Covariates(
        columns(LAYOUT.past, rows, length, generator=generator),
        columns(LAYOUT.known, rows, length + ahead, generator=generator),
        columns(LAYOUT.static, rows, generator=generator),
    )


def forecasts(network, covariates, values=None, origins=slice(None)) -> torch.Tensor:
    values = walks() if values is None else values
    with torch.inference_mode():
        return network(values, 100 + torch.arange(len(values)), origins, covariates)


def changed(x: torch.Tensor, where, layout: Columns) -> torch.Tensor:
    """Give columns with other numbers, other categories, at some places."""
    x = x.clone()
    other = torch.where(x.isfinite(), -x, 0.5)
    places = slice(x.shape[-1] - len(layout.categories), None)
    other[..., places] = torch.where(x[..., places] == 0, 1.0, 0.0)
    x[where] = other[where]
    return x


# -- what may be read, and what has to be ----------------------------------------------------------------------------


@pytest.mark.parametrize(("backbone", "decoder"), combinations())
def test_no_forecast_reads_a_past_covariate_after_its_origin_or_a_known_one_after_its_horizon(backbone, decoder):
    network, given = network_of(backbone, decoder), beside()
    before = forecasts(network, given)
    for origin in range(TOKENS - 1):
        end = (origin + 1) * P
        past, known = given.past.clone(), given.known.clone()
        past[:, end:], known[:, end + HORIZON :] = 1e9, -1e9
        after = forecasts(network, given._replace(past=past, known=known))
        assert torch.equal(after[:, : origin + 1], before[:, : origin + 1])
        assert not torch.equal(after[:, origin + 1 :], before[:, origin + 1 :])


@pytest.mark.parametrize(("backbone", "decoder"), combinations())
def test_the_newest_past_covariate_and_what_is_static_move_every_step(backbone, decoder):
    network, given = network_of(backbone, decoder), beside()
    before = forecasts(network, given, origins=LAST)
    newest = given._replace(past=changed(given.past, (slice(None), -1), LAYOUT.past))
    static = given._replace(static=changed(given.static, slice(None), LAYOUT.static))
    for other in (newest, static):
        assert (forecasts(network, other, origins=LAST) != before).all()


@pytest.mark.parametrize(("backbone", "decoder"), combinations())
def test_what_is_known_of_a_step_moves_its_forecast_and_none_before(backbone, decoder):
    network, given = network_of(backbone, decoder), beside()
    before = forecasts(network, given, origins=LAST)
    for step in range(HORIZON):
        place = (slice(None), TOKENS * P + step)
        after = forecasts(network, given._replace(known=changed(given.known, place, LAYOUT.known)), origins=LAST)
        assert (after[:, 0, step] != before[:, 0, step]).any(dim=1).all()
        # What a rolled out patch has said is read by the next; within one every step is by itself.
        first = step if decoder != "recursive" else step // P * P
        assert torch.equal(after[:, 0, :first], before[:, 0, :first])


@pytest.mark.parametrize("part", ["past", "known", "static"])
def test_every_column_is_read(part):
    network, given, layout = network_of(), beside(), getattr(LAYOUT, part)
    before = forecasts(network, given, origins=LAST)
    for column in range(len(layout)):
        x = getattr(given, part)
        other = torch.where(torch.arange(x.shape[-1]) == column, changed(x, slice(None), layout), x)
        assert (forecasts(network, given._replace(**{part: other}), origins=LAST) != before).all()


def test_what_is_missing_or_was_not_there_at_the_fit_is_told_apart_from_what_is_zero():
    network, given = network_of(), beside()
    for part in ("past", "known", "static"):
        x = getattr(given, part)
        nothing, zero = (given._replace(**{part: torch.full_like(x, value)}) for value in (torch.nan, 0.0))
        found = forecasts(network, nothing), forecasts(network, zero)
        assert all(one.isfinite().all() for one in found)
        assert not torch.equal(*found)


def test_a_discount_looks_alike_at_every_price():
    reader = CovariateReader(Layout(known=Columns(location=(50.0,), scale=(400.0,))), P, TOKENS * P).double().eval()
    generator = torch.Generator().manual_seed(1)
    factors = (
        1 - 0.3 * (torch.rand(1, TOKENS * P + HORIZON, 1, generator=generator, dtype=torch.float64) < 0.3).double()
    )
    levels = torch.tensor([1.0, 1000.0], dtype=torch.float64)[:, None, None]
    empty = torch.empty(2, TOKENS * P, 0, dtype=torch.float64)
    read = reader.read(Covariates(empty, levels * factors, empty[:, 0]))
    ahead = reader.ahead(read, LAST, HORIZON)[..., -1]  # relative to the last context
    assert ahead.std() > 0.5
    torch.testing.assert_close(ahead[0], ahead[1])


def test_a_huge_number_does_no_harm():
    network, given = network_of(), beside()
    huge = given._replace(known=given.known * 1e30, past=given.past * 1e30, static=given.static * 1e30)
    assert forecasts(network, huge).isfinite().all()


def test_a_network_that_reads_covariates_asks_for_them_and_one_that_reads_none_ignores_them():
    with pytest.raises(ValueError, match="`covariates` is None"):
        forecasts(network_of(), None)
    network = network_of(layout=None)
    assert torch.equal(forecasts(network, None), forecasts(network, beside()))


def test_columns_are_hidden_at_times_in_training_only_and_the_calendar_never():
    reader = network_of().reader
    given = Covariates(*(torch.nan_to_num(x).repeat(500, *[1] * (x.ndim - 1)) for x in beside()[:3]))
    parts = (reader.past, reader.known, reader.static)
    for part, layout, x in zip(parts, vars(LAYOUT).values(), given[:3], strict=True):
        hidden = part.hidden(x).isnan()
        assert torch.equal(hidden, hidden[:, :1].expand_as(hidden)) or x.ndim == 2  # a whole sequence at a time
        plain = slice(len(layout.location), len(layout.location) + layout.plain)
        assert not hidden[..., plain].any()
        share = hidden.double().mean(dim=tuple(range(hidden.ndim - 1)))
        assert ((share - 0.05).abs() < 0.02)[
            [c not in range(*plain.indices(len(layout))) for c in range(len(layout))]
        ].all()
    first = reader.eval().read(given).tokens
    assert torch.equal(first, reader.read(given).tokens)
    assert not torch.equal(first, reader.train().read(given).tokens)


# -- streams ---------------------------------------------------------------------------------------------------------


def in_one_pass(network, values, covariates) -> torch.Tensor:
    fill = -values.shape[1] % P
    cutoffs = torch.full((len(values),), 99 + values.shape[1])
    with torch.inference_mode():
        return network(
            pad(values, (fill, 0), value=torch.nan), cutoffs, LAST, covariates.padded(fill) if fill else covariates
        ).squeeze(1)


def between(covariates: Covariates, begin: int, end: int, ahead: int = 0) -> Covariates:
    return covariates.until(end, ahead).last(end - begin)


@pytest.mark.parametrize(("backbone", "decoder"), combinations(STREAMING))
def test_streams_carry_covariates_to_the_forecasts_of_one_pass(backbone, decoder):
    network = network_of(backbone, decoder)
    values, given, rows = walks(40), beside(40), torch.arange(ROWS)
    streams, read = Streams(network, ROWS), 0
    streams.place(rows, torch.full((ROWS,), 100), given.static)
    for length in (3, 1, 7, 14, 1, 1, 6):
        if length == 1:
            found = streams.step(rows, values[:, read], between(given, read, read + 1, HORIZON))
        else:
            streams.advance(rows, values[:, read : read + length], between(given, read, read + length))
            found = streams.forecast(rows, given.known[:, read + length : read + length + HORIZON])
        read += length
        expected = in_one_pass(network, values[:, :read], between(given, 0, read, HORIZON))
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_streams_of_some_of_the_sequences_and_from_disk_go_on_with_their_own_covariates():
    network, values, given = network_of(), walks(30), beside(30)
    streams = Streams(network, ROWS)
    streams.place(torch.arange(ROWS), torch.full((ROWS,), 100), given.static)
    streams.advance(torch.arange(ROWS), values[:, :10], between(given, 0, 10))
    stored = {name: tensor.clone() for name, tensor in streams.tensors().items()}
    streams = Streams(network, ROWS)
    streams.restore(stored)
    some = torch.tensor([2, 0])
    streams.advance(some, values[some, 10:25], between(given.rows(some), 10, 25))
    for row, end in ((0, 25), (1, 10), (2, 25)):
        found = streams.forecast(torch.tensor([row]), given.known[row : row + 1, end : end + HORIZON])
        own = slice(row, row + 1)
        expected = in_one_pass(network, values[own, :end], between(given.rows(own), 0, end, HORIZON))
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_a_decoder_that_goes_on_reads_what_is_known_beyond_its_horizon():
    network, given = network_of("lstm", "recursive"), beside(ahead=17)
    with torch.inference_mode():
        further = network(walks(), torch.arange(ROWS), LAST, given, 17)
        assert further.shape == (ROWS, 1, 17, 3)
        torch.testing.assert_close(
            network(walks(), torch.arange(ROWS), LAST, given._replace(known=given.known[:, : TOKENS * P + HORIZON])),
            further[:, :, :HORIZON],
        )
        other = given._replace(known=changed(given.known, (slice(None), TOKENS * P + 15), LAYOUT.known))
        moved = network(walks(), torch.arange(ROWS), LAST, other, 17)
    assert torch.equal(moved[:, :, :12], further[:, :, :12])
    assert (moved[:, :, 15] != further[:, :, 15]).any(dim=-1).all()


def test_what_is_known_ahead_bounds_the_origins_that_are_trained_together():
    network = ForecastNetwork(
        LSTM(width=16), DECODERS["direct"](), horizon=720, quantile_levels=(0.5,), patch_length=24, context_length=720,
        layout=LAYOUT,
    )  # fmt: skip
    assert network.trained_origins == 8
    assert network_of(layout=None).trained_origins is None
