"""Losses over every origin, masked where nothing was observed."""

import torch
from torch import Tensor


def pinball(quantiles: Tensor, targets: Tensor, weights: Tensor, levels: Tensor, total: Tensor | None = None) -> Tensor:
    """Give twice the mean pinball loss; it tends to the CRPS as levels are added (Gneiting and Raftery 2007).

    `quantiles` (..., H, Q), `targets` and `weights` (..., H), `levels` (Q,). Targets with weight 0 may hold anything,
    NaN too. The loss is 0 where all weights are. `total` is what to divide by where these are a part of what counts,
    None for the sum of the weights.
    """
    errors = quantiles - torch.where(weights > 0, targets, 0.0).unsqueeze(-1)  # (..., H, Q)
    # Slopes are constants to the gradient: the larger of two lines would cost several times as much on the way back.
    slopes = ((errors > 0).to(errors.dtype) - levels) * weights.unsqueeze(-1)
    total = weights.sum().clamp(min=1) if total is None else total
    return 2 * (slopes * errors).sum() / (len(levels) * total)


def squared(
    quantiles: Tensor,
    targets: Tensor,
    weights: Tensor,
    levels: Tensor,
    middle: int,
    total: Tensor | None = None,
) -> Tensor:
    """Give the mean squared error of the level at place `middle`, plus the pinball loss of all others; as `pinball`."""
    targets = torch.where(weights > 0, targets, 0.0)
    errors = (targets - quantiles[..., middle]).square()
    total = weights.sum().clamp(min=1) if total is None else total
    loss = (errors * weights).sum() / total
    others = [place for place in range(len(levels)) if place != middle]
    return loss + pinball(quantiles[..., others], targets, weights, levels[others], total) if others else loss
