"""What is tried on a pass over sequences, and how far it then moves: the one place for contracts and probes alike.

A pass takes tokens (B, N, D) and says something at each position, (B, N, ...). Nothing here judges: checks and probes
do. B batch, N token, D width.
"""

from collections.abc import Callable

import torch
from torch import Tensor

Say = Callable[[Tensor], Tensor]  # (B, N, D) -> (B, N, ...)
ALL = slice(None)


def noise(like: Tensor, seed: int) -> Tensor:
    """Give standard normal numbers of the shape and type of a tensor."""
    drawn = torch.randn(like.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn.to(like)


def stirred(x: Tensor, size: float, tokens: slice, columns: slice = ALL, seed: int = 11) -> Tensor:
    """Give tokens (B, N, D) of which some have `size` times noise added: a shift, all alike, is lost on a norm."""
    changed = x.clone()
    some = changed[:, tokens, columns]
    some += size * noise(some, seed)
    return changed


def apart(one: Tensor, other: Tensor) -> Tensor:
    """Give the largest difference at each position, (N,), of two (B, N, ...); infinite where one is not finite."""
    difference = (one.detach() - other.detach()).abs().double()
    return difference.transpose(0, 1).flatten(1).nan_to_num(nan=torch.inf).amax(1)


def largest(said: Tensor) -> float:
    """Give the largest of what is said, in absolute terms."""
    return float(said.detach().abs().max())


def gradient(say: Say, x: Tensor, positions: slice, seed: int = 12) -> Tensor | None:
    """Give the largest gradient at each token, (N,), of a random sum of what is said at some positions.

    None where no gradient flows. Random weights: the sum of squares of what was normalised, say, never changes.
    """
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        said = say(leaf)[:, positions]
        if not said.requires_grad:
            return None
        found = torch.autograd.grad((said * noise(said, seed)).sum(), leaf, allow_unused=True)[0]
    return x.new_zeros(x.shape[1]) if found is None else found.abs().transpose(0, 1).flatten(1).amax(1)


def reach(found: Tensor, least: float = 0.0) -> int:
    """Give how many of the last tokens there are up to the oldest whose gradient, of (N,), is more than `least`."""
    there = (found > least).nonzero()
    return len(found) - int(there.min()) if len(there) else 0


def moved_by_what_follows(say: Say, x: Tensor, cut: int, size: float, before: Tensor | None = None) -> Tensor:
    """Give how far positions 0..cut-1 move, (cut,), when the tokens from `cut` on are stirred.

    `before` is what was said of the tokens as they are, if that is known.
    """
    before = say(x) if before is None else before
    return apart(say(stirred(x, size, slice(cut, None)))[:, :cut], before[:, :cut])


def moved_by_cutting_off(say: Say, x: Tensor, cut: int, before: Tensor) -> Tensor:
    """Give how far positions 0..cut-1 move, (cut,), when the tokens from `cut` on are not there."""
    return apart(say(x[:, :cut]), before[:, :cut])


def moved_by_others(say: Say, x: Tensor, group: int, before: Tensor) -> dict[str, float]:
    """Give how far what is said of sequences moves, by what is done to the rest of the batch.

    Sequences are read in groups of `group`; other groups become wild, are not there, or change places.
    """
    wild = x.clone()
    wild[group:] = 1e6 * noise(wild[group:], 13)
    parts, backwards = x.split(group), torch.arange(len(x)).view(-1, group).flip(0).flatten()
    return {
        "beside wild ones": float(apart(say(wild)[:group], before[:group]).max()),
        "alone": float(apart(torch.cat([say(part) for part in parts]), before).max()),
        "beside fewer others": float(apart(say(x[: 2 * group]), before[: 2 * group]).max()),
        "among twice as many": float(apart(say(torch.cat([x, x.flip(1)]))[: len(x)], before).max()),
        "in another order": float(apart(say(x[backwards]), before[backwards]).max()),
    }
