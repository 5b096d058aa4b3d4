"""What the seasons up to a position say: how far a value lies from the one a season before, and how each place looks.

As the running statistics, all of it comes from the last values up to the position alone, with a bounded memory. B
batch, T time step, P patch length, N token, M season length, K seasons, A places that are asked for.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True)
class Seasons:
    """The places of a season at some positions; place k is that of the (k+1)-th step after a position, A = M or less.

    Attributes
    ----------
    step: mean absolute difference of two values a season apart, (B, N); 0 where there are no two, or all are alike.
    last: values of the last season, (B, N, A), NaN where one could not be read.
    profile: mean of the values at each place, (B, N, A), NaN where none could be read.

    """

    step: Tensor
    last: Tensor
    profile: Tensor

    def at(self, positions) -> "Seasons":
        """Give those at some of the positions (slice or index along N)."""
        return Seasons(*(x[:, positions] for x in _parts(self)))

    def detach(self) -> "Seasons":
        """Give those through which no gradient flows."""
        return Seasons(*(x.detach() for x in _parts(self)))


def seasons(
    values: Tensor, readable: Tensor, *, season: int, memory: int, every: int = 1, places: int | None = None
) -> Seasons:
    """Give what the last `memory` values up to every `every`-th position of `values` (B, T) say, read where `readable`.

    A season is `season` steps long, and its first `places` are told; None for all. N = T / every, rounded down.
    """
    begin = _growing(values[:, :memory], readable[:, :memory], season, every, places)
    first = memory // every * every + every - 1  # the first position that has more than `memory` values before it
    if first >= values.shape[1]:
        return begin
    rest = slice(first + 1 - memory, None)
    cut = (x[:, rest].unfold(1, memory, every) for x in (values, readable))
    after = seasons_of_windows(*cut, season=season, places=places)
    return Seasons(*(torch.cat(part, dim=1) for part in zip(_parts(begin), _parts(after), strict=True)))


def _growing(values: Tensor, readable: Tensor, season: int, every: int, places: int | None) -> Seasons:
    """Give what all values up to each `every`-th position of (B, T) say."""
    steps, known = values.shape[1], readable.to(_sums(values))
    shifted, first = _shifted(values, readable, dim=1)
    apart, both = _apart(shifted, readable, season)
    ends = slice(every - 1, None, every)
    step = (apart.cumsum(1) / both.to(apart.dtype).cumsum(1).clamp(min=1))[:, ends]
    # Sums over the seasons at each place: whole seasons lie below each other, the first one filled up on the left.
    total, count = (
        pad(x, (-steps % season, 0)).unflatten(1, (-1, season)).cumsum(1).flatten(1)[:, -steps % season :]
        for x in (shifted, known)
    )
    # The places at a position are those of the last season up to it.
    total, count, last, there = (
        pad(x, (season - 1, 0)).unfold(1, season, 1)[:, ends, :places] for x in (total, count, shifted, readable)
    )
    return _in_place(step, total, count, last, there, first.unsqueeze(-1), values.dtype)


def seasons_of_windows(values: Tensor, readable: Tensor, *, season: int, places: int | None = None) -> Seasons:
    """Give what each window (B, N, memory) says, those of `seasons` at its end."""
    steps, known = values.shape[2], readable.to(_sums(values))
    shifted, first = _shifted(values, readable, dim=2)
    apart, both = _apart(shifted, readable, season)
    step = apart.sum(2) / both.to(apart.dtype).sum(2).clamp(min=1)
    total, count, last, there = (
        pad(x, (-steps % season, 0)).unflatten(2, (-1, season))[..., :places]
        for x in (shifted, known, shifted, readable)
    )  # (B, N, K, A)
    return _in_place(step, total.sum(2), count.sum(2), last[:, :, -1], there[:, :, -1], first, values.dtype)


def _in_place(step, total, count, last, there, first, dtype) -> Seasons:
    profile = torch.where(count > 0, first + total / count.clamp(min=1), torch.nan)
    return Seasons(step.to(dtype), torch.where(there, first + last, torch.nan).to(dtype), profile.to(dtype))


def _shifted(values: Tensor, readable: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Give values relative to the first one of each row, 0 where unread, and that first one: a small spread is kept."""
    precise = torch.where(readable, values, 0.0).to(_sums(values))
    first = precise.gather(dim, readable.int().argmax(dim=dim, keepdim=True))
    return torch.where(readable, precise - first, 0.0), first


def _apart(shifted: Tensor, readable: Tensor, season: int) -> tuple[Tensor, Tensor]:
    """Give how far each value lies from the one a season before, 0 where one of the two was not read, and where both
    were.
    """
    both = readable & pad(readable, (season, 0))[..., : readable.shape[-1]]
    before = pad(shifted, (season, 0))[..., : shifted.shape[-1]]
    return torch.where(both, (shifted - before).abs(), 0.0), both


def _sums(values: Tensor) -> torch.dtype:
    """Give the precision of sums: double, where the device has it."""
    return values.dtype if values.device.type == "mps" else torch.float64


def _parts(seasons: Seasons) -> tuple[Tensor, Tensor, Tensor]:
    return seasons.step, seasons.last, seasons.profile
