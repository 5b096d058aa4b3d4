"""M7: what is said moves with the newest and with the oldest that it claims to read, and with nothing older.

A network that reads nothing passes every other probe. B batch, N position, H step.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from forecast.auditing.module_network import ProbedNetwork
from forecast.auditing.module_probes import SIZES, Outcome
from forecast.auditing.module_subjects import LONGEST, Probed
from forecast.testing.trials import ALL, apart, gradient, largest, reach, stirred


def what_is_claimed_to_be_read_matters(variants: Sequence[Probed]) -> Outcome:
    """The newest and the oldest that is claimed to be read are changed, which has to matter, and what lies before."""
    for probed in variants:
        if blind := _blind_to_the_newest(probed):
            return False, blind
    passed, told = _field_is_true(variants)
    if passed and isinstance(variants[0], ProbedNetwork):
        backbones = [probed.backbone() for probed in variants if isinstance(probed, ProbedNetwork)]
        passed, of_backbone = _field_is_true(backbones)
        told = f"{told}; its backbone {of_backbone}"
    seen = "every step moves with the newest value" if variants[0].parts else "every position moves with the newest"
    return passed, f"{seen}; it {told}" if passed else told


def _blind_to_the_newest(probed: Probed) -> str:
    """Say where a position does not move with the newest that is read there; "" for nowhere."""
    x = probed.draw(6)
    before = probed.said(x)
    if not before.isfinite().all():
        return f"what is said is not finite (weights {probed.weights})"
    # A token that nothing comes before may be compared with nothing, as in a running scale; a patch holds several.
    first = 0 if probed.parts else 1
    for n in sorted({first, x.shape[1] // 2, x.shape[1] - 1}):
        axes = 2 if probed.parts else 1
        seen = torch.zeros_like(before[:, n].flatten(axes)[..., 0], dtype=torch.bool)  # (B,), or (B, H)
        for size in reversed(SIZES):
            moved = probed.said(stirred(x, size, slice(n, n + 1), probed.newest))[:, n] != before[:, n]
            seen |= moved.flatten(axes).any(-1)
            if seen.all():
                break
        else:
            step = f"step {int((~seen).any(0).nonzero()[0]) + 1} from " if probed.parts else ""
            return f"{step}position {n} does not move with what is newest there (weights {probed.weights})"
    return ""


def _field_is_true(variants: Sequence[Probed]) -> Outcome:
    """Give whether the last position hangs on the oldest that is claimed, and on none before it."""
    field, N = variants[0].field, min(variants[0].window, LONGEST)
    first = 0 if field is None or field == "unstated" else max(0, N - field)
    reached, matters = 0, False
    for probed in variants:
        x = probed.draw(7, positions=N)
        before = probed.said_last(x)
        found = gradient(lambda x, probed=probed: probed.said_last(x)[:, None], x, ALL)
        if found is not None:
            stated = isinstance(field, int)
            reached = max(reached, reach(found, probed.rounding * float(found.max()) if stated else 0.0))
            matters = matters or bool(found[first] > 0)
        for size in SIZES:
            if first and (moved := _moved(probed, stirred(x, size, slice(first)), before)) > (
                probed.rounding * max(size, largest(before))
            ):
                told = f"moves, by {moved:.2g}, when {size:g} times noise is added to positions older than that"
                return False, f"claims to read {field} positions and {told} (weights {probed.weights})"
            changed = stirred(x, size, slice(first, first + 1), probed.oldest)
            matters = matters or _moved(probed, changed, before) > 0
    unit = variants[0].unit
    if field == "unstated":
        return True, f"reads the last {reached} of {N} {unit}; no receptive field is stated"
    claims = f"all {N}" if field is None else f"{field}"
    if not matters:
        return False, f"claims to read {claims} {unit}, of which the oldest does not matter: it reads {reached}"
    return True, f"reads the last {reached} {unit} of {claims} that it claims"


def _moved(probed: Probed, changed: Tensor, before: Tensor) -> float:
    return float(apart(probed.said_last(changed)[:, None], before[:, None]).max())
