"""Causal running location and scale: the statistics at a position come from the last values up to it alone.

Statistics of a whole window would leak its later part into every origin but the last as soon as all origins are
trained; nothing fails then, the forecasts only get worse. The memory is bounded, so that a stream's statistics go on
adapting however long it runs. B batch, T time step, N token.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

# A spread below this share of the level is rounding noise of float32, not movement of the series.
_NOISE = 1e-6


@dataclass(frozen=True)
class Running:
    """Statistics of the values up to some positions, all (B, N).

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
        """Give the statistics at some of the positions (slice or index along N)."""
        return Running(*(x[:, positions] for x in (self.location, self.scale, self.last, self.count)))

    def before(self) -> "Running":
        """Give at each position the statistics at the one before it; those of nothing at the first."""
        return Running(*(pad(x[:, :-1], (1, 0)) for x in (self.location, self.scale, self.last, self.count)))

    @property
    def divisor(self) -> Tensor:
        """Scale to divide by: 1 where the series has not moved, whose deviations are 0 anyway."""
        return torch.where(self.scale > 0, self.scale, 1.0)


def running(values: Tensor, readable: Tensor, *, memory: int, every: int = 1) -> Running:
    """Give statistics of the last `memory` values up to every `every`-th position of `values` (B, T), read where
    `readable`.

    N = T / every, rounded down. Before the first value all is 0.
    """
    begin = _growing(values[:, :memory], readable[:, :memory], every)
    first = memory // every * every + every - 1  # the first position that has more than `memory` values before it
    if first >= values.shape[1]:
        return begin
    rest = slice(first + 1 - memory, None)
    after = of_windows(values[:, rest].unfold(1, memory, every), readable[:, rest].unfold(1, memory, every))
    parts = zip(vars(begin).values(), vars(after).values(), strict=True)
    return Running(*(torch.cat(part, dim=1) for part in parts))


def _growing(values: Tensor, readable: Tensor, every: int) -> Running:
    """Give the statistics of all values up to each `every`-th position of (B, T).

    Sums are taken of differences to the first value, so that a small spread around a high level is kept.
    """
    values = torch.where(readable, values, 0.0)
    exact = precise(values)
    first = exact.gather(1, readable.int().argmax(dim=1, keepdim=True))  # (B, 1)
    shifted = torch.where(readable, exact - first, 0.0)
    ends = slice(every - 1, None, every)
    count, total, squares = (x.cumsum(1)[:, ends] for x in (readable.to(exact.dtype), shifted, shifted * shifted))
    some = count.clamp(min=1)
    mean = total / some
    variance = squares / some - mean * mean
    source = torch.where(readable, torch.arange(values.shape[1], device=values.device), 0).cummax(1).values[:, ends]
    return _statistics(count, first + mean, variance, values.gather(1, source))


def of_windows(values: Tensor, readable: Tensor) -> Running:
    """Give the statistics of each window (B, N, memory), those of `running` at its end."""
    values = torch.where(readable, values, 0.0)
    exact = precise(values)
    first = exact.gather(2, readable.int().argmax(dim=2, keepdim=True))  # (B, N, 1)
    count = readable.to(exact.dtype).sum(2)
    some = count.clamp(min=1)
    mean = torch.where(readable, exact - first, 0.0).sum(2) / some
    location = first.squeeze(2) + mean
    variance = torch.where(readable, exact - location.unsqueeze(2), 0.0).square().sum(2) / some
    newest = values.shape[2] - 1 - readable.int().flip(2).argmax(dim=2, keepdim=True)
    return _statistics(count, location, variance, values.gather(2, newest).squeeze(2))


def precise(values: Tensor) -> Tensor:
    """Give values in double precision, where their squares do not overflow; as they are where there is no such."""
    return values if values.device.type == "mps" else values.double()


def _statistics(count: Tensor, location: Tensor, variance: Tensor, last: Tensor) -> Running:
    """Give statistics in the precision of the values."""
    moves = variance > (_NOISE * location) ** 2
    # The root of an inner 1 where nothing moves: the derivative of a root at 0 is infinite.
    scale = torch.where(moves, torch.where(moves, variance, 1.0).sqrt(), 0.0)
    location = torch.where(count > 0, location, 0.0)
    return Running(location.to(last.dtype), scale.to(last.dtype), last, count.to(last.dtype))
