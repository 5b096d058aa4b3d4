"""What every backbone under every decoder keeps, at several patch lengths: no leak, no blindness, no memory."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import nn

from forecast.nn import BACKBONES, DECODERS, LSTM, Backbone, CausalModule, ForecastNetwork
from forecast.nn.states import map_state, tensors_of

HORIZONS, LEVELS = {1: 5, 8: 12, 24: 30}, (0.1, 0.5, 0.9)  # longer than a patch: what is recursive has to recur
TOKENS = 7


def network_of(backbone: Backbone, decoder: str = "direct", patch_length: int = 8) -> ForecastNetwork:
    torch.manual_seed(3)
    network = ForecastNetwork(
        backbone,
        DECODERS[decoder](**{"paths": 4} if decoder == "recursive" else {}),
        horizon=HORIZONS[patch_length],
        quantile_levels=LEVELS,
        patch_length=patch_length,
        context_length=TOKENS * patch_length,
        season_length=24,
        week_length=35,  # no multiple of a season, so that no place is told twice
    ).eval()
    with torch.no_grad():  # as after some training: nothing is at its neutral start
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return network


def windows(patch_length: int, batch: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    values = torch.randn(batch, TOKENS * patch_length, generator=generator).cumsum(1) + 20
    values[0, 2] = torch.nan
    values[1, : patch_length + 1] = torch.nan  # a series that begins inside the window
    return values


def forecasts(network: ForecastNetwork, values: torch.Tensor) -> torch.Tensor:
    """Forecast from windows that begin at ordinals 100, 101, ..., however long they are."""
    return network(values, 99 + values.shape[1] + torch.arange(len(values)))


def combinations() -> Iterator:
    """Give every backbone under every decoder at every patch length; what is not told apart by others runs as slow."""
    for backbone, decoder, patch_length in product(BACKBONES, DECODERS, (1, 8, 24)):
        telling = (decoder == "direct" and patch_length == 8) or (backbone == "lstm" and patch_length != 8)
        marks = () if telling else pytest.mark.slow
        yield pytest.param((backbone, decoder, patch_length), marks=marks, id=f"{backbone}-{decoder}-P{patch_length}")


@pytest.fixture(params=BACKBONES, scope="module")
def backbone(request) -> Backbone:
    return BACKBONES[request.param](width=16)


@pytest.fixture(params=combinations(), scope="module")
def combination(request) -> tuple[str, str, int]:
    return request.param


@pytest.fixture
def patch_length(combination) -> int:
    return combination[2]


@pytest.fixture(scope="module")
def network(combination) -> ForecastNetwork:
    backbone, decoder, patch_length = combination
    return network_of(BACKBONES[backbone](width=16), decoder, patch_length)


def leaks_by_perturbation(network: ForecastNetwork, values: torch.Tensor) -> bool:
    """Whether an earlier forecast moves when everything after it changes, a little or beyond all measure."""
    P = network.patch_length
    before = forecasts(network, values)
    for token in range(1, TOKENS):
        for size in (1e-2, 10.0, 1e6):
            changed = values.clone()
            changed[:, token * P :] = changed[:, token * P :] * size + size
            if not torch.equal(forecasts(network, changed)[:, :token], before[:, :token]):
                return True
    return False


def module_leaks(module: CausalModule) -> bool:
    """Whether the bare module's earlier states move when later tokens change, a little or beyond all measure."""
    x = torch.randn(2, 12, 16)
    before = module(x)
    for size in (1e-2, 10.0, 1e6):
        changed = x.clone()
        changed[:, 5:] += size
        if not torch.equal(module(changed)[:, :5], before[:, :5]):
            return True
    return False


def leaks_in_training(network: ForecastNetwork, values: torch.Tensor) -> bool:
    """Whether an earlier forecast moves with its future when dropout draws the same and batches are normalised."""
    changed = values.clone()
    changed[:, 4 * network.patch_length :] += 1e5
    network.train()
    try:
        seen = []
        for window in (values, changed):
            torch.manual_seed(0)
            seen.append(forecasts(network, window)[:, :4])
    finally:
        network.eval()
    return not torch.equal(*seen)


def leaks_by_truncation(network: ForecastNetwork, values: torch.Tensor) -> bool:
    """Whether a forecast differs when what came after it was never there."""
    P = network.patch_length
    whole = forecasts(network, values)
    parts = [forecasts(network, values[:, : token * P])[:, -1] for token in range(1, TOKENS + 1)]
    return not torch.allclose(torch.stack(parts, dim=1), whole, rtol=1e-5, atol=1e-4)


def keeps_memory(network: ForecastNetwork, values: torch.Tensor) -> bool:
    """Whether a second call, after an unrelated one, gives something else."""
    first = forecasts(network, values)
    forecasts(network, values.flip(0) * 3)
    return not torch.equal(forecasts(network, values), first)


def test_it_gives_every_step_and_level_from_every_origin(network, patch_length):
    assert forecasts(network, windows(patch_length)).shape == (3, TOKENS, HORIZONS[patch_length], len(LEVELS))


def test_quantiles_never_cross(network, patch_length):
    assert (forecasts(network, windows(patch_length)).diff(dim=-1) >= 0).all()


def test_no_forecast_moves_when_the_future_moves(network, patch_length):
    assert not leaks_by_perturbation(network, windows(patch_length))


def test_no_forecast_moves_in_training_mode_either(network, patch_length):
    assert not leaks_in_training(network, windows(patch_length))


def test_a_forecast_is_the_same_when_what_follows_is_cut_off(network, patch_length):
    assert not leaks_by_truncation(network, windows(patch_length))


def test_no_gradient_reaches_a_forecast_from_its_future(network, patch_length):
    values = windows(patch_length).nan_to_num(20).requires_grad_()
    for token in (1, 4):
        forecasts(network, values)[:, :token].sum().backward()
        assert (values.grad[:, token * patch_length :] == 0).all()
        assert (values.grad[:, : token * patch_length] != 0).any()
        values.grad = None


def test_the_newest_value_moves_every_step_of_every_forecast(network, patch_length):
    values = windows(patch_length)
    before = forecasts(network, values)
    for token in range(2, TOKENS):
        changed = values.clone()
        newest = changed[:, (token + 1) * patch_length - 1]
        newest.copy_(newest.nan_to_num(20) + 0.5)
        assert (forecasts(network, changed)[:, token] != before[:, token]).all()


def test_a_second_call_gives_the_same(network, patch_length):
    assert not keeps_memory(network, windows(patch_length))


def test_the_other_windows_of_a_batch_do_not_matter(network, patch_length):
    values = windows(patch_length)
    alone = torch.cat([network(row[None], torch.tensor([99 + len(row) + b])) for b, row in enumerate(values)])
    torch.testing.assert_close(forecasts(network, values), alone, rtol=1e-5, atol=1e-4)


def test_every_parameter_gets_a_gradient(network, patch_length):
    network.zero_grad()
    network.scaled(windows(patch_length), torch.tensor([3, 4, 5])).quantiles.square().sum().backward(retain_graph=True)
    forecasts(network, windows(patch_length)).square().sum().backward()
    silent = [name for name, parameter in network.named_parameters() if not (parameter.grad != 0).any()]
    assert silent == []


def test_forecasts_shift_and_stretch_with_the_series(network, patch_length):
    values = windows(patch_length)[::2]  # where something can be read from the first origin on
    stretched, plain = forecasts(network, 8 * values - 64), forecasts(network, values)
    torch.testing.assert_close(stretched, 8 * plain - 64, rtol=1e-3, atol=1e-2)


def test_a_window_without_any_value_or_movement_gives_finite_forecasts(network, patch_length):
    values = windows(patch_length)
    values[0], values[1] = torch.nan, 7.0
    quantiles = forecasts(network, values)
    assert quantiles.isfinite().all()
    assert (quantiles[1] == 7.0).all()


def test_windows_that_do_not_divide_into_patches_are_refused():
    with pytest.raises(ValueError, match="9 steps do not divide into patches of 8"):
        forecasts(network_of(LSTM(width=8)), torch.zeros(1, 9))


# -- the backbone alone ---------------------------------------------------------------------------------------------


def deep(backbone: Backbone, depth: int) -> Backbone:
    """Give the backbone with so many layers, if it has layers."""
    return replace(backbone, depth=depth) if hasattr(backbone, "depth") else backbone


def module_of(backbone: Backbone, tokens: int, depth: int = 2) -> CausalModule:
    return deep(backbone, depth).build(tokens).double().eval()


def test_no_state_moves_when_later_tokens_move(backbone):
    assert not module_leaks(backbone.build(12).eval())


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("tokens", [20, 70, 100], ids="{}-tokens".format)
def test_stepping_from_any_cut_equals_the_whole_pass(backbone, depth, tokens):
    module = module_of(backbone, tokens, depth)
    x = torch.randn(2, 70, 16, dtype=torch.float64)
    whole = module(x)
    state = module.init_state(2)
    for n in range(70):
        y, state = module.step(x[:, n], state)
        torch.testing.assert_close(y, whole[:, n], rtol=0, atol=1e-9)


@pytest.mark.parametrize("cut", [1, 5, 33, 69])
def test_reading_on_in_one_go_equals_the_whole_pass(backbone, cut):
    module = module_of(backbone, 20)
    x = torch.randn(2, 70, 16, dtype=torch.float64)
    begin, state = module.advance(x[:, :cut])
    rest, _ = module.advance(x[:, cut:], state)
    torch.testing.assert_close(torch.cat([begin, rest], dim=1), module(x), rtol=0, atol=1e-9)


def test_no_state_and_the_first_state_are_the_same(backbone):
    module = module_of(backbone, 20)
    x = torch.randn(2, 9, 16, dtype=torch.float64)
    given = module.advance(x, module.init_state(2))
    for (_, a), (_, b) in zip(*(tensors_of(found).items() for found in (module.advance(x), given)), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


def test_a_state_holds_sequences_first_and_keeps_its_shapes_however_long_it_runs(backbone):
    module = module_of(backbone, 20)
    x = torch.randn(3, 50, 16, dtype=torch.float64)
    shapes = [{name: t.shape for name, t in tensors_of(module.init_state(3)).items()}]
    shapes += [{name: t.shape for name, t in tensors_of(module.advance(x[:, :n])[1]).items()} for n in (1, 19, 50)]
    assert all(shape[0] == 3 for shape in shapes[0].values())
    assert all(found == shapes[0] for found in shapes)


def test_sequences_of_a_state_can_be_taken_apart_and_put_together(backbone):
    module = module_of(backbone, 20)
    x = torch.randn(3, 31, 16, dtype=torch.float64)
    _, state = module.advance(x[:, :30])
    some = torch.tensor([2, 0])
    y, _ = module.step(x[some, 30], map_state(lambda t: t[some], state))
    torch.testing.assert_close(y, module(x)[some, 30], rtol=0, atol=1e-9)


def test_a_state_depends_on_just_the_tokens_of_its_receptive_field(backbone):
    module = module_of(backbone, 15)
    x = torch.randn(1, 60, 16, dtype=torch.float64, requires_grad=True)
    module(x)[0, -1].square().sum().backward()
    reached = int((x.grad[0] != 0).any(-1).flip(0).nonzero().max()) + 1
    assert reached == (module.receptive_field or 60)


@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # torch computes this norm in another way
def test_half_precision_gives_finite_states(backbone):
    module = backbone.build(12)
    x = torch.randn(2, 30, 16, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = module(x)
    y.float().square().sum().backward()
    assert y.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters())


def test_configs_build_the_same_module_from_the_same_random_state(backbone):
    torch.manual_seed(1)
    first = backbone.build(12).state_dict()
    torch.manual_seed(1)
    again = backbone.build(12).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert backbone.family in ("latent-state", "direct-prediction", "control")


# -- planted defects: the checks above must catch what they are for -------------------------------------------------


class Planted(CausalModule):
    """A module that keeps the contract's shape and breaks its promise."""

    receptive_field = None

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(16, 16, 3, padding=1)
        self.both = nn.LSTM(16, 8, bidirectional=True, batch_first=True)
        self.batch_norm = nn.BatchNorm1d(16)
        self.seen = None

    def init_state(self, batch):
        return ()

    def advance(self, x, state=None):
        return self.states(x), ()


class SymmetricPadding(Planted):
    def states(self, x):
        return self.conv(x.transpose(1, 2)).transpose(1, 2)


class BothDirections(Planted):
    def states(self, x):
        return self.both(x)[0]


class WholeWindowNorm(Planted):
    def states(self, x):
        return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)


class MaskOffByOne(Planted):
    def states(self, x):
        scores = (x @ x.transpose(1, 2) / 4).masked_fill(torch.ones(x.shape[1], x.shape[1]).triu(2) > 0, -torch.inf)
        return scores.softmax(-1) @ x


class BatchStatistics(Planted):
    def states(self, x):
        return self.batch_norm(x.transpose(1, 2)).transpose(1, 2)


class DetachedFuture(Planted):
    def states(self, x):
        return x + x.flip(1).cummax(1).values.flip(1).detach()


class RoundedFuture(Planted):
    def states(self, x):
        return x + x.detach().mean((1, 2), keepdim=True).div(100).round()


class PositionFromTheEnd(Planted):
    def states(self, x):
        return x + torch.arange(x.shape[1], 0, -1)[:, None]


class KeptState(Planted):
    def states(self, x):
        before, self.seen = self.seen, x.detach().mean()
        return x if before is None else x + before


def planted(module: type[Planted]) -> ForecastNetwork:
    network = network_of(LSTM(width=16))
    network.backbone = module()
    return network.eval()


@pytest.mark.parametrize("module", [SymmetricPadding, BothDirections, WholeWindowNorm, MaskOffByOne, DetachedFuture])
def test_a_network_whose_backbone_reads_the_future_is_caught(module):
    assert leaks_by_perturbation(planted(module), windows(8))


# In a network the running scale keeps tokens small; a leak that shows only under huge ones is seen on the bare module.
@pytest.mark.parametrize(
    "module", [SymmetricPadding, BothDirections, WholeWindowNorm, MaskOffByOne, DetachedFuture, RoundedFuture]
)
def test_a_backbone_that_reads_the_future_is_caught(module):
    assert module_leaks(module().eval())


def test_a_backbone_that_normalises_batches_is_caught():
    assert leaks_in_training(planted(BatchStatistics), windows(8))


def test_a_backbone_that_counts_from_the_end_is_caught():
    assert leaks_by_truncation(planted(PositionFromTheEnd), windows(8))


def test_a_backbone_that_remembers_the_last_call_is_caught():
    assert keeps_memory(planted(KeptState), windows(8))
