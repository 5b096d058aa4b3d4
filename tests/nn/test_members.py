"""Several networks as one: the forecast is the mean of theirs, whole or as a stream."""

import pytest
import torch

from forecast.nn import LSTM, TCN, Direct, ForecastNetwork, Recursive, Transformer
from forecast.nn.covariates import Columns, Covariates, Layout
from forecast.nn.members import together
from forecast.nn.network import LAST
from forecast.nn.streaming import Streams

LEVELS = (0.1, 0.5, 0.9)
LAYOUT = Layout(
    past=Columns(location=(1.0,), scale=(2.0,)),
    known=Columns(location=(0.0,), scale=(1.0,), categories=(3,)),
    static=Columns(categories=(2,)),
)


def networks(backbone, decoder=Direct(), layout=None):  # noqa: B008 (frozen)
    found = []
    for seed in range(3):
        torch.manual_seed(seed)
        network = ForecastNetwork(
            backbone,
            decoder,
            horizon=5,
            quantile_levels=LEVELS,
            patch_length=4,
            context_length=24,
            season_length=6,
            week_length=14,
            layout=layout,
        )
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
        found.append(network.double().eval())
    return found


def windows():
    values = torch.randn(2, 24, generator=torch.Generator().manual_seed(9), dtype=torch.float64).cumsum(1)
    return torch.where(torch.rand(2, 24, generator=torch.Generator().manual_seed(8)) < 0.1, torch.nan, values)


def covariates():
    generator = torch.Generator().manual_seed(7)
    number = torch.randn(2, 29, 1, generator=generator, dtype=torch.float64)
    place = torch.randint(0, 3, (2, 29, 1), generator=generator).double()
    return Covariates(number[:, :24], torch.cat([number, place], dim=2), torch.tensor([[0.0], [1.0]]).double())


@pytest.mark.parametrize("layout", [None, LAYOUT], ids=["alone", "beside covariates"])
@pytest.mark.parametrize("backbone", [LSTM(width=8), TCN(width=8, depth=2), Transformer(width=16, heads=2)], ids=repr)
def test_the_forecast_is_the_mean_of_those_of_the_members(backbone, layout):
    members = networks(backbone, layout=layout)
    beside = None if layout is None else covariates()
    cutoffs = torch.tensor([23, 40])
    told = [one.scaled(windows(), cutoffs, covariates=beside) for one in members]
    units = [one.anchor.unsqueeze(-1) + one.scale.unsqueeze(-1) * one.quantiles for one in told]
    whole = together(members)(windows(), cutoffs, covariates=beside)
    torch.testing.assert_close(whole, torch.stack(units).mean(0).sort(-1).values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("decoder", [Direct(), Recursive(paths=4)], ids=repr)
def test_a_stream_of_several_equals_their_whole_pass(decoder):
    whole, values = together(networks(LSTM(width=8), decoder)), windows()
    streams, rows = Streams(whole, 2), torch.arange(2)
    streams.begin(rows, values[:, :20], torch.tensor([19, 36]))
    for step in range(20, 24):
        forecast = streams.step(rows, values[:, step])
    torch.testing.assert_close(forecast, whole(values, torch.tensor([23, 40]), LAST)[:, 0], rtol=1e-8, atol=1e-8)


def test_one_alone_is_itself():
    (one, *_) = networks(LSTM(width=8))
    assert together([one]) is one
