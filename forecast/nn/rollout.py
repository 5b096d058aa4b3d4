"""Further than a decoder reaches: sample paths of the next patch, read as if they had been seen, and so on.

B batch, S here paths, P patch length, H horizon, Q quantile level.
"""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from forecast.nn.states import map_state

if TYPE_CHECKING:
    from forecast.nn.network import ForecastNetwork

_ROWS = 8192  # paths that are followed together: bounds memory
_POINTS = 8  # of each path's own distribution that the quantiles over all paths are taken of


def roll_out(network: "ForecastNetwork", first: Tensor, values: Tensor, ordinals: Tensor, state) -> Tensor:
    """Give quantiles (B, H, Q) whose first patch, (B, P, Q) in the units of the data and in order, is known.

    `values` (B, reading) and `ordinals` (B,) lead to the origin; `state` is what the backbone carries on from it. Along
    a path all steps of a patch are drawn at one level; the levels of the paths are spread evenly, so that nothing of a
    forecast is left to chance, and mixed anew for each patch.
    """
    paths, group = network.decoder.paths, getattr(network.backbone, "series", 1)
    size = max(1, _ROWS // (paths * group)) * group
    parts = []
    for low in range(0, len(first), size):
        which = slice(low, low + size)
        part = map_state(lambda x: x[which], state)  # noqa: B023 (called at once)
        parts.append(_roll_out(network, first[which], values[which], ordinals[which], part))
    return torch.cat(parts)


def _roll_out(network: "ForecastNetwork", first: Tensor, values: Tensor, ordinals: Tensor, state) -> Tensor:
    paths, P = network.decoder.paths, network.patch_length
    points = ((torch.arange(_POINTS, device=first.device) + 0.5) / _POINTS).to(first.dtype)
    # Path after path, each with the whole batch: what belongs together in a batch stays together.
    quantiles, values, ordinals = (x.repeat(paths, *[1] * (x.ndim - 1)) for x in (first, values, ordinals))
    state = map_state(lambda x: x.repeat(paths, *[1] * (x.ndim - 1)), state)
    steps = [first]
    while P * len(steps) < network.horizon:
        drawn = at_levels(quantiles, _levels(paths, len(steps), first), network.normal)  # (S B, P)
        values = torch.cat([values[:, P:], drawn], dim=1)
        ordinals = ordinals + P
        patch = network.read_last(values, ordinals)
        states, state = network.backbone.advance(network.tokens(patch), state)
        quantiles = network.decode(patch, states, slice(-1, None)).in_units().squeeze(1)  # (S B, P, Q)
        spread = torch.stack([at_levels(quantiles, point.expand(len(quantiles)), network.normal) for point in points])
        pooled = spread.unflatten(1, (paths, -1)).flatten(0, 1)  # (points S, B, P)
        steps.append(torch.quantile(pooled, torch.special.ndtr(network.normal), dim=0).permute(1, 2, 0))
    return torch.cat(steps, dim=1)[:, : network.horizon]


def _levels(paths: int, patch: int, like: Tensor) -> Tensor:
    """Give a level for each row, (S B,): evenly spread over paths, in an order that depends on the patch alone."""
    order = torch.randperm(paths, generator=torch.Generator().manual_seed(patch))
    return ((order + 0.5) / paths).to(like).repeat_interleave(like.shape[0])


def at_levels(quantiles: Tensor, levels: Tensor, normal: Tensor) -> Tensor:
    """Give each row's value at a level (R,) of its quantiles (R, P, Q), whose own levels are those of `normal` (Q,).

    On the scale of normal quantiles the values are joined by straight lines, and the outer ones go on.
    """
    if quantiles.shape[-1] == 1:
        return quantiles.squeeze(-1)
    z = torch.special.ndtri(levels)
    right = torch.searchsorted(normal, z).clamp(1, len(normal) - 1)  # (R,)
    share = ((z - normal[right - 1]) / (normal[right] - normal[right - 1])).unsqueeze(-1)  # (R, 1)
    index = right.view(-1, 1, 1).expand(-1, quantiles.shape[1], 1)
    low, high = (quantiles.gather(2, index - back).squeeze(-1) for back in (1, 0))
    return low + share * (high - low)
