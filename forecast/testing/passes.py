"""Checks of a pass over sequences: what a position may and has to depend on, finite numbers, learning."""

import copy
import warnings
from functools import partial

import torch
from torch import Tensor, nn

from forecast.borrowed import seeded
from forecast.testing.checks import Check, demand
from forecast.testing.networks import TOKENS, Subject, allowed, demand_close, weights_can_be_saved
from forecast.testing.trials import gradient, moved_by_others, moved_by_what_follows, stirred

_CUT = 5  # tokens before it have to be left alone by those after it
_SIZES = (1e-2, 10.0, 1e6)  # a small change, a large one, one beyond all measure
_CAUSAL = "let position n read positions 0..n only: pad on the left, mask the future, normalise over the width alone"


def a_second_call_gives_the_same(subject: Subject) -> None:
    """Nothing is kept from a call to the next."""
    x = subject.x()
    first = subject.call(subject.module, x)
    subject.call(subject.module, x.flip(0) * 3 + 1)
    demand(
        torch.equal(subject.call(subject.module, x), first),
        expected="the same from a second call, after another one",
        came="something else",
        mend="keep no tensor of forward on self, and draw nothing outside training",
    )


def nothing_moves_when_later_tokens_move(subject: Subject) -> None:
    """What is said at a position is the same to the last bit, however later tokens change."""
    x = subject.x()
    before = subject.call(subject.module, x)
    for size in _SIZES:
        moved = moved_by_what_follows(partial(subject.call, subject.module), x, _CUT, size, before)
        demand(
            not moved.any(),
            expected=f"positions 0..{_CUT - 1} as they were when {size:g} x noise is added to tokens {_CUT} and later",
            came=f"others at {moved.nonzero().flatten().tolist()}",
            mend=_CAUSAL,
        )


def nothing_moves_in_training_either(subject: Subject) -> None:
    """The same holds in training mode, for the same draw of dropout."""
    with seeded(3):
        module = subject.build().double().train()
    x = subject.x()
    said = []
    for tokens in (x, stirred(x, 1e5, slice(_CUT, None))):
        with seeded(0):
            said.append(subject.call(module, tokens)[:, :_CUT])
    demand(
        torch.equal(*said),
        expected=f"positions 0..{_CUT - 1} as they were in training, when later tokens change",
        came="something else",
        mend="use no batch normalisation: its statistics hold the future of every position",
    )


def no_gradient_comes_from_later_tokens(subject: Subject) -> None:
    """The gradient of what is said at a position is zero for later tokens, and not for all before it."""
    found = gradient(partial(subject.call, subject.module), subject.x(), slice(_CUT))
    demand(
        found is None or not found[_CUT:].any(),
        expected="no gradient from later tokens",
        came="none at all" if found is None else f"{float(found[_CUT:].max()):.3g}",
        mend=_CAUSAL,
    )
    demand(
        found is not None and found[:_CUT].any(),
        expected="a gradient from the tokens before",
        came="none",
        mend="detach nothing on the way from tokens to what is said of them",
    )


def it_is_the_same_when_what_follows_is_cut_off(subject: Subject) -> None:
    """What is said at a position is the same when later tokens are not there."""
    x = subject.x()
    whole = subject.call(subject.module, x)
    for n in (1, _CUT, TOKENS - 1):
        demand_close(
            subject.call(subject.module, x[:, :n]),
            whole[:, :n],
            expected=f"the same from the first {n} tokens alone",
            mend="count positions from the first token, and scale by nothing that is taken over all tokens",
        )


def it_moves_with_the_newest_token(subject: Subject) -> None:
    """What is said at a position moves when the token there moves."""
    x = subject.x()
    before = subject.call(subject.module, x)
    for n in (0, _CUT, TOKENS - 1):
        changed = x.clone()
        changed[:, n] += 0.5
        still = (subject.call(subject.module, changed)[:, n] == before[:, n]).flatten(1).all(1)
        demand(
            not still.any(),
            expected=f"something else at position {n} when the token there moves",
            came="the same",
            mend="let position n read token n too: shift nothing by one",
        )


def other_sequences_do_not_matter(subject: Subject) -> None:
    """What is said of a sequence, or a group of them, does not depend on the rest of the batch."""
    x = subject.x(groups=3)
    whole = subject.call(subject.module, x)
    for how, moved in moved_by_others(partial(subject.call, subject.module), x, subject.group, whole).items():
        demand(
            moved <= allowed(whole),
            expected=f"a sequence to be read the same {how}",
            came=f"numbers that are {moved:.3g} apart",
            mend="mix nothing over axis 0, that of sequences",
        )


def every_parameter_gets_a_gradient(subject: Subject) -> str | None:
    """Each parameter takes part, and no gradient is missing or infinite."""
    module = copy.deepcopy(subject.module)
    if not any(True for _ in module.parameters()):
        return "it has no parameters"
    subject.call(module, subject.x()).square().sum().backward()
    silent = [name for name, p in module.named_parameters() if p.grad is None or not (p.grad != 0).any()]
    demand(
        not silent, expected="a gradient for each parameter", came=f"none for {silent}", mend="leave it out, or use it"
    )
    broken = [name for name, p in module.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
    demand(not broken, expected="finite gradients", came=f"none for {broken}", mend="divide by no zero, root no zero")
    return None


def it_is_finite(subject: Subject) -> None:
    """Zeros, a constant and huge tokens give finite numbers, and so does half precision."""
    x = subject.x()
    for what, tokens in (("zeros", x * 0), ("ones", x * 0 + 1), ("huge tokens", x * 1e4)):
        demand(
            bool(subject.call(subject.module, tokens).isfinite().all()),
            expected=f"finite numbers for {what}",
            came="others",
            mend="add an epsilon where you divide, and mask with what is finite in every precision",
        )
    single = copy.deepcopy(subject.module).float()
    with torch.autocast("cpu", dtype=torch.bfloat16), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Mismatch dtype")  # torch takes another way to the same norm
        said = subject.call(single, x.float())
    demand(
        bool(said.isfinite().all()),
        expected="finite numbers under torch.autocast in bfloat16",
        came="others",
        mend="mask with torch.finfo(x.dtype).min or -torch.inf, not with a constant of your own",
    )


def it_learns(subject: Subject) -> None:
    """In forty steps a linear map of what it says comes nearer to a mean of the tokens so far."""
    with seeded(3):
        module = subject.build()
        x = subject.x(groups=8).float()
        target = x.cumsum(1)[..., :1] / torch.arange(1, x.shape[1] + 1).view(1, -1, 1)
        said = subject.call(module, x).flatten(2)
        readout = nn.Linear(said.shape[-1], 1)
        optimiser = torch.optim.Adam([*module.parameters(), *readout.parameters()], lr=1e-2)

        def loss() -> Tensor:
            return (readout(subject.call(module, x).flatten(2)) - target).square().mean()

        before = float(loss().detach())
        for _ in range(40):
            optimiser.zero_grad()
            current = loss()
            current.backward()
            optimiser.step()
        module.eval()
        after = float(loss().detach())
    demand(
        after < 0.8 * before,
        expected=f"a loss of less than {0.8 * before:.3g}, four fifths of that before training",
        came=f"{after:.3g}",
        mend="see that the gradient reaches the tokens, and that outputs do not saturate at the start",
    )


PASSES: tuple[Check, ...] = (
    it_is_finite,
    a_second_call_gives_the_same,
    weights_can_be_saved,
    nothing_moves_when_later_tokens_move,
    nothing_moves_in_training_either,
    no_gradient_comes_from_later_tokens,
    it_is_the_same_when_what_follows_is_cut_off,
    it_moves_with_the_newest_token,
    other_sequences_do_not_matter,
    every_parameter_gets_a_gradient,
    it_learns,
)
