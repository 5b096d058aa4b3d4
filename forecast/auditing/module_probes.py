"""M1 to M6: what is said at a position hangs on no later position, no other sequence, and no call before.

Each probe is given the network twice: with its weights as they are, and moved a little. B batch, N position.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from forecast.auditing.module_subjects import Probed, draw_anew
from forecast.testing.trials import (
    Say,
    apart,
    gradient,
    largest,
    moved_by_cutting_off,
    moved_by_others,
    moved_by_what_follows,
)

SIZES = (1e-3, 1.0, 1e3, 1e6)  # of the noise that is added: from hardly any to beyond all measure
_SEEDS = (1, 2)
Outcome = tuple[bool | None, str]


@dataclass
class Tally:
    """What trials found: how many there were, which moved what they should not, and which of them moved it most."""

    trials: int = 0
    moved: list[tuple[float, str]] = field(default_factory=list)
    rounding: float = 0.0

    def count(self, moved: float, allowed: float, what: str) -> None:
        """Take one more trial in: how far something moved, what is rounding, and the words for it."""
        self.trials += 1
        if not moved <= allowed:
            self.moved.append((moved, what))
        else:
            self.rounding = max(self.rounding, moved)

    def outcome(self, same: str) -> Outcome:
        """Give whether nothing moved, and the evidence; `same` are the words for it."""
        if not self.moved:
            how = "to the last bit" if not self.rounding else f"up to rounding, {self.rounding:.1g}"
            return True, f"{same} {how}, in {self.trials} trials"
        worst, what = max(self.moved)
        first = self.moved[0][1]
        told = f"; first {first}" if first != what else ""
        return False, f"{what}, by {worst:.2g}{told}; {len(self.moved)} of {self.trials} trials moved something"


def no_output_moves_with_what_follows(variants: Sequence[Probed]) -> Outcome:
    """From a position on noise is added, hardly any to beyond all measure, or zero is read; earlier ones stay."""
    tally = Tally()
    for probed, seed in product(variants, _SEEDS):
        count_leaks(tally, probed, probed.said, probed.draw(seed), SIZES, f"weights {probed.weights}")
        _count_padding(tally, probed, probed.draw(seed))
    cuts = ", ".join(map(str, cuts_of(variants[0].positions)))
    sizes = f"{SIZES[0]:g} to {SIZES[-1]:g} times noise from positions {cuts} on"
    return tally.outcome(f"added {sizes}, or zeros there: earlier ones stay the same")


def _count_padding(tally: Tally, probed: Probed, x: Tensor) -> None:
    """Take in how far earlier positions move where later ones are zero, which may be read as padding."""
    before = probed.said(x)
    for cut in cuts_of(x.shape[1]):
        empty = x.clone()
        empty[:, cut:] = 0
        moved = apart(probed.said(empty)[:, :cut], before[:, :cut])
        what = f"position {int(moved.argmax())} moves when all is zero from {cut} on (weights {probed.weights})"
        tally.count(float(moved.max()), probed.rounding * max(1.0, largest(before[:, :cut])), what)


def count_leaks(tally: Tally, probed: Probed, say: Say, x: Tensor, sizes: Sequence[float], where: str) -> None:
    """Take in how far earlier positions move, for some cuts and sizes of what is added from there on."""
    before = say(x)
    for cut, size in product(cuts_of(x.shape[1]), sizes):
        moved = moved_by_what_follows(say, x, cut, size, before)
        what = f"position {int(moved.argmax())} moves when {size:g} times noise is added from {cut} on ({where})"
        tally.count(float(moved.max()), probed.rounding * max(size, largest(before[:, :cut])), what)


def cuts_of(positions: int) -> list[int]:
    """Give the positions before which sequences are cut: after the first, in the middle, before the last."""
    return sorted({1, positions // 2, positions - 1} - {0})


def no_gradient_comes_from_what_follows(variants: Sequence[Probed]) -> Outcome:
    """What is said up to a position is differentiated by what is read after it: zero, or what rounding leaves."""
    tally, flows = Tally(), False
    for (probed, seed), cut in product(zip(variants, _SEEDS, strict=True), cuts_of(variants[0].positions)):
        found = gradient(probed.said, probed.draw(seed), slice(cut))
        if found is None:
            continue
        flows = True
        later = found[cut:].nan_to_num(nan=torch.inf)
        what = f"position {cut + int(later.argmax())} has a gradient for those before {cut} (weights {probed.weights})"
        tally.count(float(later.max()), probed.rounding * float(found[:cut].max()), what)
    if not flows:
        return None, "no gradient flows through it: there is nothing to look at"
    passed, told = tally.outcome("the gradient is zero")
    return passed, told


def nothing_moves_when_what_follows_is_cut_off(variants: Sequence[Probed]) -> Outcome:
    """Sequences are cut off after a position; what is said up to it stays."""
    if variants[0].anchored:
        return None, "it is declared to be anchored at the end: what it says of a position depends on where it ends"
    tally = Tally()
    for probed, seed in zip(variants, _SEEDS, strict=True):
        x = probed.draw(seed)
        whole = probed.said(x)
        allowed = probed.tolerance * largest(whole)
        for n in sorted({1, 2, *cuts_of(x.shape[1])}):
            moved = moved_by_cutting_off(probed.said, x, n, whole)
            what = f"position {int(moved.argmax())} moves when only {n} positions are there (weights {probed.weights})"
            tally.count(float(moved.max()), allowed, what)
            alone = apart(probed.said_last(x[:, :n])[:, None], whole[:, n - 1 : n])
            tally.count(float(alone.max()), allowed, f"position {n - 1} moves when it is the last")
    return tally.outcome("what is said of the first positions alone is the same")


def no_sequence_moves_with_its_batch(variants: Sequence[Probed]) -> Outcome:
    """The rest of a batch becomes wild, more, fewer or none, and changes places; what is said of a sequence stays."""
    tally = Tally()
    for probed in variants:
        x = probed.draw(3, groups=4)
        whole = probed.said(x)
        allowed = probed.tolerance * largest(whole)
        for how, moved in moved_by_others(probed.said, x, probed.group, whole).items():
            tally.count(moved, allowed, f"a sequence is read otherwise {how} (weights {probed.weights})")
    return tally.outcome("a sequence is read the same alone, beside wild ones, in any number and order,")


def no_call_leaves_anything(variants: Sequence[Probed]) -> Outcome:
    """The same is read again, after another batch and after a stream."""
    tally = Tally()
    for probed in variants:
        x, other = probed.draw(4), probed.draw(5, groups=3) * 3
        other = other if probed.anchored else other[:, 1:]
        module = probed.fresh()
        draw_anew()
        first = probed.read(module, x)
        allowed = probed.rounding * largest(first)
        for what in ("second call", "call after another batch", "call after a stream"):
            if what.endswith("batch"):
                probed.read(module, other)
            elif what.endswith("stream") and not probed.why_not_carried():
                list(probed.carried(module, x))
            moved = float(apart(probed.read(module, x), first).max())
            tally.count(moved, allowed, f"a {what} says something else (weights {probed.weights})")
    return tally.outcome("a call says the same again, after another batch and after a stream too,")


def streaming_equals_the_whole_pass(variants: Sequence[Probed]) -> Outcome:
    """Sequences are read one by one and in pieces, with what is carried between; it says what it says at once."""
    if why := variants[0].why_not_carried():
        return None, why
    tally = Tally()
    for probed, seed in zip(variants, _SEEDS, strict=True):
        x = probed.draw(seed, positions=probed.stream)
        draw_anew()
        for how, said, expected in probed.carried(probed.fresh(), x):
            moved = float(apart(said, expected).max())
            what = f"read {how} it says something else (weights {probed.weights})"
            tally.count(moved, probed.tolerance * largest(expected), what)
    return tally.outcome("read on from a state it says the same")
