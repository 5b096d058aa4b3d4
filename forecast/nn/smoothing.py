"""Exponential smoothing of the values up to a position: level, half the trend, and the season as far as it is sure.

This is the Theta method (Assimakopoulos and Nikolopoulos 2000, in the form of Hyndman and Billah 2003), made causal: at
every position it rests on the last values up to it alone. Places of a season are told by how values lie to the mean of
their last season; their differences are shrunk by how sure they are. Levels by several smoothing parameters are
weighted by their one-step errors so far. B batch, T time step, N token, M season length, A smoothing parameters.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from forecast.nn.scaling import precise

SMOOTHING = (0.1, 0.3, 0.6, 1.0)  # share of a new value in the level
_DRIFT = 0.5  # of the slope of the straight line through all values
_CHUNK = 16  # values smoothed at once
_LEAST_LOSS = 1e-9  # of the largest: no smoothing is believed in beyond all measure
_LEAST_SEASONS = 1.5  # at a place, before a season is believed in


@dataclass(frozen=True)
class Smoothed:
    """What smoothing says of the steps after some positions: `level + slope (h - 1) + season[(h - 1) % M]` for step h.

    Attributes
    ----------
    level, slope: (B, N).
    season: (B, N, M).

    """

    level: Tensor
    slope: Tensor
    season: Tensor

    def at(self, positions) -> "Smoothed":
        """Give those at some of the positions (slice or index along N)."""
        return Smoothed(self.level[:, positions], self.slope[:, positions], self.season[:, positions])

    def detach(self) -> "Smoothed":
        """Give those through which no gradient flows."""
        return Smoothed(*(x.detach() for x in _parts(self)))

    def steps(self, count: int) -> Tensor:
        """Give the next so many steps, (B, N, count)."""
        step = torch.arange(count, device=self.level.device)
        line = self.level.unsqueeze(-1) + self.slope.unsqueeze(-1) * step
        return line + self.season[..., step % self.season.shape[-1]]


def smoothed(values: Tensor, readable: Tensor, *, season: int, memory: int, every: int = 1) -> Smoothed:
    """Give what the last `memory` values up to every `every`-th position of `values` (B, T) say, read where `readable`.

    N = T / every, rounded down.
    """
    begin = _smoothed(values[:, :memory], readable[:, :memory], season, every)
    first = memory // every * every + every - 1  # the first position that has more than `memory` values before it
    if first >= values.shape[1]:
        return begin
    rest = slice(first + 1 - memory, None)
    after = smoothed_windows(*(x[:, rest].unfold(1, memory, every) for x in (values, readable)), season=season)
    return Smoothed(*(torch.cat(part, dim=1) for part in zip(_parts(begin), _parts(after), strict=True)))


def smoothed_windows(values: Tensor, readable: Tensor, *, season: int) -> Smoothed:
    """Give what each window (B, N, memory) says, that of `smoothed` at its end."""
    rows, length = values.shape[:2], values.shape[2]
    told = _smoothed(values.flatten(0, 1), readable.flatten(0, 1), season, length)
    return Smoothed(*(x.squeeze(1).unflatten(0, rows) for x in _parts(told)))


def _smoothed(values: Tensor, readable: Tensor, season: int, every: int) -> Smoothed:
    exact = precise(torch.where(readable, values, 0.0))
    first = exact.gather(1, readable.int().argmax(1, keepdim=True))  # (B, 1)
    known = readable.to(exact.dtype)
    shifted = torch.where(readable, exact - first, 0.0)
    ends = slice(every - 1, None, every)
    own, places = _season(shifted, readable, season, ends)
    adjusted = torch.where(readable, shifted - own, 0.0)
    level, lag = _level(adjusted, known, ends)
    slope = _DRIFT * _slope(adjusted, known)[:, ends]
    # A smoothed level is the older, the less of a new value it takes.
    level = torch.where(readable.cummax(1).values[:, ends], first, 0.0) + level + slope * lag
    return Smoothed(*(x.to(values.dtype) for x in (level, slope, places)))


def _season(shifted: Tensor, readable: Tensor, season: int, ends: slice) -> tuple[Tensor, Tensor]:
    """Give what the season adds to each value, (B, T), and at each place after the positions `ends`, (B, N, M)."""
    if season == 1:
        return torch.zeros_like(shifted), torch.zeros_like(shifted[:, ends]).unsqueeze(-1)
    count = _last(readable.to(shifted.dtype), season)
    whole = readable & (count >= season)
    apart = torch.where(whole, shifted - _last(shifted, season) / count.clamp(min=1), 0.0)
    counted = whole.to(shifted.dtype)
    counts, sums = _at_place(counted, season), _at_place(apart, season)
    seen, means = (counts > 0).to(shifted.dtype), sums / counts.clamp(min=1)
    # A value changes the mean of its own place alone, so that sums over all places are running sums of such changes.
    some = _over_places(seen, season).clamp(min=1)
    centre = _over_places(means, season) / some
    between = _over_places(means.square(), season) / some - centre.square()
    rest = apart.square().cumsum(1) - _over_places(counts * means.square(), season)
    total = counted.cumsum(1)
    within, each = rest.clamp(min=0) / (total - some).clamp(min=1), total / some
    # A mean of `each` values varies by chance alone by within / each.
    differing = between > 0
    sure = (1 - within / (each.clamp(min=1) * torch.where(differing, between, 1.0))).clamp(0, 1)
    sure = torch.where(differing & (each > 1) & (each >= _LEAST_SEASONS), sure, 0.0)
    own = sure * seen * (means - centre)
    last_means, last_seen = (pad(x, (season - 1, 0)).unfold(1, season, 1)[:, ends] for x in (means, seen))
    return own, sure[:, ends, None] * last_seen * (last_means - centre[:, ends, None])


def _level(adjusted: Tensor, known: Tensor, ends: slice) -> tuple[Tensor, Tensor]:
    """Give smoothed levels at the positions `ends`, (B, N), and how many steps old they are on average."""
    levels, losses = [], []
    step = torch.arange(adjusted.shape[1], device=adjusted.device)
    newest = torch.where(known > 0, step, 0).cummax(1).values  # a value that is missing leaves the level where it was
    for share in SMOOTHING:
        total = _decayed(known, 1 - share)
        level = (_decayed(adjusted, 1 - share) / torch.where(total > 0, total, 1.0)).gather(1, newest)
        error = torch.where(known[:, :-1].cumsum(1) > 0, known[:, 1:] * (adjusted[:, 1:] - level[:, :-1]), 0.0)
        losses.append(pad(error.square().cumsum(1), (1, 0))[:, ends])
        levels.append(level[:, ends])
    loss, level = torch.stack(losses, dim=-1), torch.stack(levels, dim=-1)
    count = (known.cumsum(1)[:, ends] - 1).clamp(min=0).unsqueeze(-1)
    most = loss.amax(-1, keepdim=True)
    # As likely as the errors of a normal distribution make each of them.
    share = (loss / torch.where(most > 0, most, 1.0)).clamp(min=_LEAST_LOSS)
    weights = (-0.5 * count * share.log()).softmax(-1)
    ages = 1 / level.new_tensor(SMOOTHING)
    return (weights * level).sum(-1), weights @ ages


def _slope(values: Tensor, known: Tensor) -> Tensor:
    """Give the slope of the straight line through the values up to each position, (B, T)."""
    time = torch.arange(values.shape[1], dtype=values.dtype, device=values.device) * known
    n, t, tt, z, tz = (x.cumsum(1) for x in (known, time, time * time, values, time * values))
    spread = n * tt - t * t
    return torch.where(spread > 0.5, (n * tz - t * z) / spread.clamp(min=0.5), 0.0)


def _decayed(x: Tensor, kept: float) -> Tensor:
    """Give the sums of all values so far, (B, T), each times `kept` for every step since: in chunks, and over them."""
    length = x.shape[1]
    count = -(-length // _CHUNK)
    step = torch.arange(max(_CHUNK, count) + 1, device=x.device)
    age = step - step.unsqueeze(1)
    within, over = (torch.where(age >= 0, k ** age.clamp(min=0).to(x.dtype), 0.0) for k in (kept, kept**_CHUNK))
    sums = pad(x, (0, count * _CHUNK - length)).unflatten(1, (count, _CHUNK)) @ within[:_CHUNK, :_CHUNK]
    before = pad(sums[..., -1] @ over[:count, :count], (1, -1))
    return (sums + before.unsqueeze(-1) * within[0, 1 : _CHUNK + 1]).flatten(1)[:, :length]


def _last(x: Tensor, count: int) -> Tensor:
    """Give the sum of the last so many values at each position of (B, T)."""
    total = pad(x.cumsum(1), (count, 0))
    return total[:, count:] - total[:, :-count]


def _at_place(x: Tensor, season: int) -> Tensor:
    """Give the sums over all seasons so far at the place of each position, (B, T)."""
    fill = -x.shape[1] % season
    return pad(x, (fill, 0)).unflatten(1, (-1, season)).cumsum(1).flatten(1)[:, fill:]


def _over_places(x: Tensor, season: int) -> Tensor:
    """Give the sums over all places, (B, T), of what holds at each from a position on to the next season, (B, T)."""
    return (x - pad(x, (season, 0))[:, : x.shape[1]]).cumsum(1)


def _parts(told: Smoothed) -> tuple[Tensor, Tensor, Tensor]:
    return told.level, told.slope, told.season
