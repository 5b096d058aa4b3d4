"""Recurrent decoders against a plain loop, and what they hear of the step before in training and in a forecast."""

from itertools import product

import pytest
import torch
from torch import nn

from forecast.nn import AttentionDecoder, ContextVector
from forecast.nn.decoders.recurrent import GatedCell

WIDTH, TOKENS, HORIZON, LEVELS = 8, 5, 6, (0.1, 0.5, 0.9)
BOTH = {"context_vector": ContextVector, "attention": AttentionDecoder}


@pytest.fixture(params=BOTH)
def kind(request):
    return BOTH[request.param]


def build(config, levels=LEVELS, horizon=HORIZON):
    torch.manual_seed(1)
    module = config.build(WIDTH, horizon, levels, 4).double().eval()
    with torch.no_grad():  # as after some training: nothing is at its neutral start
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def states(batch=3) -> torch.Tensor:
    return torch.randn(batch, TOKENS, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def truths(batch=3, origins=TOKENS) -> torch.Tensor:
    return torch.randn(batch, origins, HORIZON, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def naive(module, x, origin, told=None):
    """Decode one window (N, D) from one origin, number by number; `told` (H,) leads where it is not NaN."""
    stepper, reader = module.stepper, module.stepper.reader
    eps = torch.finfo(x.dtype).eps
    x = torch.stack([stepper.norm.weight * row / (row.square().mean() + eps).sqrt() for row in x])
    cell = nn.GRUCell(3 * WIDTH, WIDTH).double()  # its inputs are the gates
    cell.weight_ih.data, cell.bias_ih.data = torch.eye(3 * WIDTH).double(), torch.zeros(3 * WIDTH).double()
    cell.weight_hh, cell.bias_hh = stepper.cell.recurrent.weight, stepper.cell.recurrent.bias
    hidden = torch.zeros(WIDTH).double() if stepper.blank else x[origin]
    hidden = stepper.start(hidden) if stepper.start is not None else hidden
    said, steps, alignments = torch.zeros(()), [], []
    for step in range(HORIZON):
        if hasattr(reader, "score"):
            score = reader.score
            scores = [
                score.score.weight[0] @ torch.tanh(score.query.weight @ hidden + score.key(x[n]))
                if hasattr(score, "score")
                else score.query(hidden) @ score.key(x[n]) / score.key.out_features**0.5
                for n in range(origin + 1)
            ]
            weights = torch.stack(scores).exp() / torch.stack(scores).exp().sum()
            context = sum(weight * x[n] for n, weight in enumerate(weights))
            alignments.append(nn.functional.pad(weights, (0, TOKENS - len(weights))))
        else:
            context = x[origin]
        gates = reader.value(context) + said * stepper.said
        if stepper.positions is not None:
            gates = gates + stepper.positions[step]
        hidden = cell(gates[None], hidden[None])[0]
        steps.append(stepper.readout(hidden)[0])
        said = steps[-1][1]
        if told is not None and not told[step].isnan():
            said = told[step]
    return torch.stack(steps), torch.stack(alignments) if alignments else None


CONFIGS = [
    *(
        ContextVector(start=start, positions=p)
        for start, p in product(("last", "linear", "zeros"), ("learned", "none"))
    ),
    *(
        AttentionDecoder(score=score, size=5, start=start)
        for score, start in product(("additive", "dot"), ("last", "zeros"))
    ),
]


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_it_equals_a_plain_loop_over_steps(config):
    module, x = build(config), states()
    forecasts = module(x, slice(None))
    for origin in (0, 3):
        expected, alignments = naive(module, x[1], origin)
        torch.testing.assert_close(forecasts[1, origin], expected)
        if alignments is not None:
            torch.testing.assert_close(module.alignments(x, origin)[1], alignments)


def test_the_cell_equals_torch_s_own():
    ours, theirs = GatedCell(WIDTH), nn.GRUCell(4, WIDTH)
    theirs.weight_hh, theirs.bias_hh = ours.recurrent.weight, ours.recurrent.bias
    x, hidden = torch.randn(3, 4), torch.randn(3, WIDTH)
    torch.testing.assert_close(ours(x @ theirs.weight_ih.T + theirs.bias_ih, hidden), theirs(x, hidden))


# -- what a step hears of the one before -----------------------------------------------------------------------------


def in_training(module, progress=0.0):
    module.train()
    module.stepper.dropout.eval()
    module.progress = progress
    return module


def test_under_teacher_forcing_each_step_hears_the_truth_of_the_one_before(kind):
    module, x, targets = in_training(build(kind(feedback="teacher")), 0.9), states(), truths()
    targets[1, 3, 2:4] = torch.nan  # unknown: it hears what it said itself
    forecasts = module(x, slice(None), targets=targets)
    for row, origin in ((1, 3), (2, 4)):
        expected, _ = naive(module, x[row], origin, targets[row, origin])
        torch.testing.assert_close(forecasts[row, origin], expected)


@pytest.mark.parametrize("feedback", ["teacher", "scheduled"])
def test_no_step_reads_its_own_truth_or_a_later_one(kind, feedback):
    module, x, targets = in_training(build(kind(feedback=feedback))), states(), truths()
    before = module(x, slice(None), targets=targets)
    for step in range(HORIZON):
        changed = targets.clone()
        changed[..., step] += 1.0
        moved = (module(x, slice(None), targets=changed) != before).any(-1)
        assert not moved[..., : step + 1].any()
        assert moved[..., step + 1 :].all(), "the truth leads the steps after it"


def test_no_gradient_reaches_a_step_from_its_own_truth_or_a_later_one(kind):
    module, targets = in_training(build(kind(feedback="teacher"))), truths().requires_grad_()
    for step in range(HORIZON):
        forecasts = module(states(), slice(None), targets=targets)
        (gradient,) = torch.autograd.grad(forecasts[:, :, step].sum(), targets, allow_unused=step == 0)
        if step == 0:
            assert gradient is None or not gradient.any()
            continue
        assert (gradient[..., step:] == 0).all()
        assert (gradient[..., :step] != 0).all()


@pytest.mark.parametrize("feedback", ["teacher", "scheduled", "free"])
def test_in_a_forecast_truths_are_not_listened_to(kind, feedback):
    module, x = build(kind(feedback=feedback)), states()
    module.progress = 0.0
    assert torch.equal(module(x, slice(None), targets=truths()), module(x, slice(None)))


def test_free_running_hears_no_truth_in_training_either(kind):
    module, x = in_training(build(kind(feedback="free"))), states()
    assert torch.equal(module(x, slice(None), targets=truths()), module(x, slice(None)))


@pytest.mark.parametrize("progress", [0.0, 0.25, 0.75, 1.0])
def test_under_scheduled_sampling_truths_are_heard_ever_more_seldom(progress):
    module = in_training(build(ContextVector()), progress)
    targets = torch.zeros(50, 40, HORIZON)
    led = module.stepper._led(targets, progress)
    assert abs(float(led.isfinite().double().mean()) - (1 - progress)) < 0.02
    shares = led.isfinite().double().mean((0, 1))
    assert (shares - (1 - progress)).abs().max() < 0.05, "at every step alike"


def test_scheduled_sampling_goes_from_teacher_forcing_to_free_running(kind):
    x, targets = states(), truths()
    scheduled, teacher, free = (in_training(build(kind(feedback=name))) for name in ("scheduled", "teacher", "free"))
    assert torch.equal(scheduled(x, slice(None), targets=targets), teacher(x, slice(None), targets=targets))
    scheduled.progress = 1.0
    assert torch.equal(scheduled(x, slice(None), targets=targets), free(x, slice(None)))


def test_a_wild_truth_leads_no_further_than_ten_units(kind):
    module, x = in_training(build(kind(feedback="teacher"))), states()
    far, farthest = truths(), truths()
    far[..., 1], farthest[..., 1] = -1e30, -10.0
    assert torch.equal(module(x, slice(None), targets=far), module(x, slice(None), targets=farthest))


def test_what_is_heard_is_the_level_nearest_the_median():
    assert build(ContextVector(), levels=(0.05, 0.3, 0.6, 0.95)).stepper.median == 2
    assert build(ContextVector(), levels=(0.9,)).stepper.median == 0


def test_in_training_no_gradient_goes_through_what_was_said(kind):
    module = in_training(build(kind(feedback="free")))
    forecasts = module(states(), slice(None))
    told = forecasts[..., module.stepper.median].detach()
    module.stepper.feedback = "teacher"
    led = module(states(), slice(None), targets=told)
    torch.testing.assert_close(led, forecasts)
    gradients = (torch.autograd.grad(y.square().sum(), list(module.parameters())) for y in (led, forecasts))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"start": "first"}, "`start` of ContextVector is 'first'; allowed: 'last', 'linear', 'zeros'"),
        ({"feedback": "never"}, "`feedback` of ContextVector is 'never'; allowed: 'scheduled', 'teacher', 'free'"),
        ({"dropout": 1.0}, "`dropout` of ContextVector is 1.0; allowed: a number from 0"),
    ],
)
def test_choices_there_are_not_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        ContextVector(**wrong)
