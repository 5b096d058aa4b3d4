"""Further than a decoder reaches: sample paths of the next patch, read as if they had been seen, and so on.

B batch, S here paths, P patch length, H horizon, Q quantile level.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from forecast.nn.covariates import Covariates
from forecast.nn.states import map_state

if TYPE_CHECKING:
    from forecast.nn.network import ForecastNetwork

_ROWS = 8192  # paths that are followed together: bounds memory
_POINTS = 8  # of each path's own distribution that the quantiles over all paths are taken of


def roll_out(
    network: "ForecastNetwork",
    first: Tensor,
    values: Tensor,
    ordinals: Tensor,
    state,
    covariates: Covariates | None,
    horizon: int,
) -> Tensor:
    """Give quantiles (B, H, Q) whose first patch, (B, P, Q) in the units of the data and in order, is known.

    `values` (B, reading) and `ordinals` (B,) lead to the origin; `state` is what the backbone carries on from it.
    `covariates` are those beside the values, and what is known of the steps ahead; past ones are missing there. Along a
    path all steps of a patch are drawn at one level; the levels of the paths are spread evenly, so that nothing of a
    forecast is left to chance, and mixed anew for each patch.
    """
    paths, group = network.decoder.paths, network.backbone.series
    size = max(1, _ROWS // (paths * group)) * group
    parts = []
    for low in range(0, len(first), size):
        which = slice(low, low + size)
        part = map_state(lambda x: x[which], state)  # noqa: B023 (called at once)
        beside = covariates and covariates.rows(which)
        parts.append(_roll_out(network, first[which], values[which], ordinals[which], part, beside, horizon))
    return torch.cat(parts)


def _roll_out(
    network: "ForecastNetwork",
    first: Tensor,
    values: Tensor,
    ordinals: Tensor,
    state,
    covariates: Covariates | None,
    horizon: int,
) -> Tensor:
    paths, P = network.decoder.paths, network.patch_length
    points = at_levels(_even(_POINTS, first), network.normal).T  # (Q, points)
    # Path after path, each with the whole batch: what belongs together in a batch stays together.
    quantiles, values, ordinals = (x.repeat(paths, *[1] * (x.ndim - 1)) for x in (first, values, ordinals))
    state = map_state(lambda x: x.repeat(paths, *[1] * (x.ndim - 1)), state)
    covariates = covariates and covariates.at_end().each(lambda x: x.repeat(paths, *[1] * (x.ndim - 1)))
    steps = [first]
    while P * len(steps) < horizon:
        order = torch.randperm(paths, generator=torch.Generator().manual_seed(len(steps)))
        drawn = at_levels(_even(paths, first)[order], network.normal).repeat_interleave(len(first), 0)  # (S B, Q)
        values = torch.cat([values[:, P:], _mixed(quantiles, drawn.unsqueeze(-1)).squeeze(-1)], dim=1)
        ordinals = ordinals + P
        covariates = covariates and covariates.later(P)
        patch = network.read_last(values, ordinals, covariates)
        states, state = network.backbone.advance(network.tokens(patch), state)
        quantiles = network.decode(patch, states, slice(-1, None)).in_units().squeeze(1)  # (S B, P, Q)
        pooled = _mixed(quantiles, points).unflatten(0, (paths, -1)).permute(1, 2, 0, 3).flatten(2)  # (B, P, S points)
        steps.append(torch.quantile(pooled, torch.special.ndtr(network.normal), dim=2).permute(1, 2, 0))
    return torch.cat(steps, dim=1)[:, :horizon]


def _even(count: int, like: Tensor) -> Tensor:
    """Give so many levels, spread evenly."""
    return ((torch.arange(count, device=like.device) + 0.5) / count).to(like.dtype)


def _mixed(quantiles: Tensor, weights: Tensor) -> Tensor:
    """Mix quantiles (..., Q) with weights (..., Q, L) that sum to one; what is all the same stays just that."""
    lowest = quantiles[..., :1]
    return lowest + (quantiles - lowest) @ weights


def at_levels(levels: Tensor, normal: Tensor) -> Tensor:
    """Give the weights (L, Q) with which known quantiles make up those at other levels (L,).

    The known levels are those of the normal quantiles `normal` (Q,): on their scale values are joined by straight
    lines, of which the outer ones go on.
    """
    if len(normal) == 1:
        return torch.ones_like(levels).unsqueeze(1)
    z = torch.special.ndtri(levels)
    right = torch.searchsorted(normal, z).clamp(1, len(normal) - 1)
    share = (z - normal[right - 1]) / (normal[right] - normal[right - 1])
    weights = torch.zeros(len(levels), len(normal), dtype=levels.dtype, device=levels.device)
    rows = torch.arange(len(levels), device=levels.device)
    weights[rows, right - 1] = 1 - share
    weights[rows, right] = share
    return weights
