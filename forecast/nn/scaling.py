"""Causal running location and scale: the statistics at a position come from the values up to it alone.

Statistics of a whole window would leak its later part into every origin but the last as soon as all origins are
trained; nothing fails then, the forecasts only get worse. B batch, T time step.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

# A spread below this share of the level is rounding noise of float32, not movement of the series.
_NOISE = 1e-6


@dataclass(frozen=True)
class Running:
    """Statistics of the values up to each position, all (B, T).

    Attributes
    ----------
    location: mean.
    scale: standard deviation; 0 while the series has not moved.
    last: last value that could be read.
    count: how many values could be read.

    """

    location: Tensor
    scale: Tensor
    last: Tensor
    count: Tensor

    def at(self, positions) -> "Running":
        """Give the statistics at some positions (slice or index along T)."""
        return Running(*(x[:, positions] for x in (self.location, self.scale, self.last, self.count)))

    @property
    def divisor(self) -> Tensor:
        """Scale to divide by: 1 where the series has not moved, whose deviations are 0 anyway."""
        return torch.where(self.scale > 0, self.scale, 1.0)


def running(values: Tensor, readable: Tensor) -> Running:
    """Give the running statistics of `values` (B, T), read only where `readable` (B, T); zeros before the first value.

    Sums are taken of differences to the first value, so that float32 keeps a small spread around a high level.
    """
    values = torch.where(readable, values, 0.0)
    begun = readable.int().argmax(dim=1, keepdim=True)
    first = values.gather(1, begun)  # (B, 1)
    shifted = torch.where(readable, values - first, 0.0)
    count = readable.to(values.dtype).cumsum(1)
    some = count.clamp(min=1)
    mean = shifted.cumsum(1) / some
    variance = (shifted * shifted).cumsum(1) / some - mean * mean
    location = first + mean
    moves = variance > (_NOISE * location) ** 2
    # The root of an inner 1 where nothing moves: the derivative of a root at 0 is infinite.
    scale = torch.where(moves, torch.where(moves, variance, 1.0).sqrt(), 0.0)
    source = torch.where(readable, torch.arange(values.shape[1], device=values.device), 0).cummax(1).values
    return Running(torch.where(count > 0, location, 0.0), scale, values.gather(1, source), count)
