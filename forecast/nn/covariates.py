"""Covariates as a network reads them: numbers scaled, categories embedded, what is missing said.

B batch, T time step, A steps ahead, P patch length, N token, C column, F feature, D width, H horizon, Q quantile level.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.nn.decoders.readout import Readout
from forecast.nn.scaling import Running, of_windows, running

_FARTHEST = 10.0  # scaled numbers beyond it say no more than this
_HIDDEN = 0.05  # share of the sequences in which a column is hidden in training, so that its absence is learned too
_WIDEST = 16  # of what a category is embedded in


class Covariates(NamedTuple):
    """What is known of sequences beside their values; NaN is missing, a category is its place, from 0.

    Attributes
    ----------
    past: (B, T, C), what was known at each step of the sequences.
    known: (B, T + A, C), at these and at A steps after them; where it was not known by its own step, what came then.
    static: (B, C).
    late: (B, T + A, C) whole numbers, how many steps after its own one a known value may be read; below 0 for one that
        may be read before, least of all for one that always may. None if all always may.

    """

    past: Tensor
    known: Tensor
    static: Tensor
    late: Tensor | None = None

    def last(self, steps: int) -> "Covariates":
        """Give the last steps of the sequences, with what is known after them."""
        ahead = self.known.shape[1] - self.past.shape[1]
        known, late = (x if x is None else x[:, -(steps + ahead) :] for x in (self.known, self.late))
        return self._replace(past=self.past[:, -steps:], known=known, late=late)

    def until(self, step: int, ahead: int) -> "Covariates":
        """Give the steps before a place, and so many after it as far as they are there."""
        known, late = (x if x is None else x[:, : step + ahead] for x in (self.known, self.late))
        return self._replace(past=self.past[:, :step], known=known, late=late)

    def padded(self, steps: int) -> "Covariates":
        """Give the sequences begun so many steps earlier, where nothing was known."""
        past, known = (pad(x, (0, 0, steps, 0), value=torch.nan) for x in (self.past, self.known))
        late = None if self.late is None else pad(self.late, (0, 0, steps, 0))  # of what is missing: any number
        return self._replace(past=past, known=known, late=late)

    def later(self, steps: int) -> "Covariates":
        """Give sequences as long that end so many steps later, where past ones are missing; nothing else came then."""
        told = self.at_end()
        past = pad(told.past[:, steps:], (0, 0, 0, steps), value=torch.nan)
        return told._replace(past=past, known=told.known[:, steps:])

    def at_end(self) -> "Covariates":
        """Give what may be read where the sequences end: what is ahead and comes later is missing."""
        if self.late is None:
            return self
        steps = self.past.shape[1]
        ahead = _in_time(self.known[:, steps:], self.late[:, steps:])
        return self._replace(known=torch.cat([self.known[:, :steps], ahead], dim=1), late=None)

    def rows(self, which) -> "Covariates":
        """Give those of some sequences."""
        return self.each(lambda x: x[which])

    def each(self, change: Callable[[Tensor], Tensor]) -> "Covariates":
        """Give what a change makes of each part."""
        late = None if self.late is None else change(self.late)
        return Covariates(change(self.past), change(self.known), change(self.static), late)


def _in_time(ahead: Tensor, late: Tensor) -> Tensor:
    """Give columns (..., A, C) at the steps after an origin, missing where they come after it."""
    steps = torch.arange(1, ahead.shape[-2] + 1, device=late.device).unsqueeze(-1)
    return torch.where(late <= -steps, ahead, torch.nan)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What columns hold: first numbers, then numbers that are taken as they are, then categories.

    Attributes
    ----------
    location, scale: of each number, over all that was there at the fit.
    plain: how many numbers are taken as they are.
    categories: how many categories each of the others knows.

    """

    location: Sequence[float] = ()
    scale: Sequence[float] = ()
    plain: int = 0
    categories: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.location) + self.plain + len(self.categories)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The columns of covariates, by when they are known."""

    past: Columns = Columns()
    known: Columns = Columns()
    static: Columns = Columns()


class Features(nn.Module):
    """From columns to features.

    Of a number: its value in units of the fit and whether it is missing; of a category: an embedding, of which one
    stands for those that are missing or were not there at the fit.
    """

    location: Tensor
    scale: Tensor

    def __init__(self, columns: Columns):
        super().__init__()
        self.numbers = len(columns.location)
        self.plain = columns.plain
        self.register_buffer("location", torch.tensor(list(columns.location)), persistent=False)
        self.register_buffer("scale", torch.tensor(list(columns.scale)), persistent=False)
        embeddings = [nn.Embedding(count + 1, min(_WIDEST, 1 + round(count**0.5))) for count in columns.categories]
        self.embeddings = cast("list[nn.Embedding]", nn.ModuleList(embeddings))
        embedded = sum(embedding.embedding_dim for embedding in embeddings)
        self.count = 2 * self.numbers + self.plain + embedded

    def forward(self, x: Tensor) -> Tensor:
        """(..., C) -> (..., F)."""
        numbers, plain, categories = x.split([self.numbers, self.plain, len(self.embeddings)], dim=-1)
        scaled = ((numbers - self.location) / self.scale).clamp(-_FARTHEST, _FARTHEST)
        missing = ~numbers.isfinite()
        features = [torch.where(missing, 0.0, scaled), missing.to(x.dtype), plain.nan_to_num()]
        for column, embedding in enumerate(self.embeddings):  # by index: an export cannot unbind what has no column
            places = categories[..., column]
            there = (places >= 0) & (places < embedding.num_embeddings - 1)
            features.append(embedding(torch.where(there, places + 1, 0.0).long()))
        return torch.cat(features, dim=-1)

    def hidden(self, x: Tensor) -> Tensor:
        """Give columns (B, ..., C) of which some are missing, for some of the sequences; never those taken as is."""
        hidden = torch.rand(x.shape[0], *[1] * (x.ndim - 2), x.shape[-1], device=x.device) < _HIDDEN
        hidden[..., self.numbers : self.numbers + self.plain] = False
        return torch.where(hidden, torch.nan, x)


@dataclass(frozen=True)
class Read:
    """What covariates say at the ends of patches.

    Attributes
    ----------
    tokens: (B, N, F), features of the patches.
    ahead: (B, N, A, C), known columns at the steps after each patch.
    level: statistics of the known numbers up to each patch's end, (B, N, C); those of `context_length` steps.
    late: (B, N, A, C), of `ahead`, how many steps after its own one each may be read; None if all may be.

    """

    tokens: Tensor
    ahead: Tensor
    level: Running
    late: Tensor | None = None


class CovariateReader(nn.Module):
    """Reads covariates beside patches of values.

    A number is told twice: in units of the whole fit, and relative to its own last `memory` steps up to the end of the
    patch, or to the origin where it lies ahead. The first tells a flag that is seldom set; the second a discount, of
    dear and of cheap things alike.
    """

    def __init__(self, layout: Layout, patch_length: int, memory: int):
        super().__init__()
        self.layout = layout
        self.patch_length = patch_length
        self.memory = memory
        self.past = Features(layout.past)
        self.known = Features(layout.known)
        self.static = Features(layout.static)
        numbers = self.past.numbers + self.known.numbers
        self.count = patch_length * (self.past.count + self.known.count + numbers) + self.static.count
        self.ahead_count = self.known.count + self.known.numbers if len(layout.known) else 0

    def read(self, covariates: Covariates) -> Read:
        """Read beside all patches of sequences (B, T), T a multiple of P."""
        covariates = self._hidden(covariates)
        steps, P = covariates.past.shape[1], self.patch_length
        past, known = (x[:, :steps].unflatten(1, (-1, P)) for x in (covariates.past, covariates.known))  # (B, N, P, C)
        past_level, known_level = (
            _running(x[:, :steps, : part.numbers], self.memory, P)
            for x, part in ((covariates.past, self.past), (covariates.known, self.known))
        )
        return self._read(covariates, past, known, past_level, known_level)

    def read_last(self, covariates: Covariates) -> Read:
        """Read beside the one patch that ends with the last step of sequences."""
        covariates = self._hidden(covariates)
        steps, P = covariates.past.shape[1], self.patch_length
        past, known = (x[:, steps - P : steps].unsqueeze(1) for x in (covariates.past, covariates.known))
        past_level, known_level = (
            _of_last(x[:, max(steps - self.memory, 0) : steps, : part.numbers])
            for x, part in ((covariates.past, self.past), (covariates.known, self.known))
        )
        return self._read(covariates, past, known, past_level, known_level)

    def ahead(self, read: Read, origins: slice, reach: int) -> Tensor:
        """Give features of the `reach` steps after the chosen origins, (B, n origins, reach, F)."""
        ahead = read.ahead[:, origins, :reach]
        if read.late is not None:
            ahead = _in_time(ahead, read.late[:, origins, :reach])
        ahead = pad(ahead, (0, 0, 0, reach - ahead.shape[2]), value=torch.nan)
        return self._known_features(ahead, read.level.at(origins))

    def _read(
        self, covariates: Covariates, past: Tensor, known: Tensor, past_level: Running, known_level: Running
    ) -> Read:
        beside = torch.cat([_with_relative(self.past, past, past_level), self._known_features(known, known_level)], -1)
        static = self.static(covariates.static).unsqueeze(1).expand(-1, past.shape[1], -1)
        ahead, late = (
            x if x is None else self._after(x, past.shape[1], covariates.past.shape[1])
            for x in (covariates.known, covariates.late)
        )
        assert ahead is not None
        return Read(torch.cat([beside.flatten(2), static], dim=-1), ahead, known_level, late)

    def _after(self, known: Tensor, tokens: int, steps: int) -> Tensor:
        """Give the steps after each of the last patches of sequences (B, steps + A, C), (B, N, A, C)."""
        if not (ahead := known.shape[1] - steps):
            return known.new_zeros(known.shape[0], tokens, 0, known.shape[2])
        first = steps - (tokens - 1) * self.patch_length
        return known[:, first:].unfold(1, ahead, self.patch_length).transpose(2, 3)

    def _known_features(self, known: Tensor, level: Running) -> Tensor:
        return _with_relative(self.known, known, level)

    def _hidden(self, covariates: Covariates) -> Covariates:
        if not self.training:
            return covariates
        parts = zip((self.past, self.known, self.static), covariates[:3], strict=True)
        past, known, static = (part.hidden(x) for part, x in parts)
        return covariates._replace(past=past, known=known, static=static)


class KnownPath(nn.Module):
    """From what is known of a step ahead to its forecast, the same way from every decoder's states.

    A linear map, and a gated network (Shazeer 2020, arXiv 2002.05202) that reads the state at the origin too: what a
    discount does depends on what is sold. Both start at or near zero.
    """

    def __init__(self, width: int, features: int, reach: int, levels: int, hidden: int = 32):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.state = nn.Linear(width, 2 * hidden)
        self.step = nn.Linear(features, 2 * hidden, bias=False)
        self.place = nn.Parameter(torch.zeros(reach, 2 * hidden))
        self.readout = Readout(hidden, 1, levels)
        self.linear = nn.Linear(features, 1, bias=False)
        nn.init.zeros_(self.linear.weight)

    def forward(self, states: Tensor, ahead: Tensor) -> Tensor:
        """Give shifts (B, n, reach, Q), in scaled units, from states (B, n, D) and features (B, n, reach, F)."""
        gate, value = (self.state(self.norm(states)).unsqueeze(2) + self.step(ahead) + self.place).chunk(2, dim=-1)
        return self.linear(ahead) + self.readout(nn.functional.silu(gate) * value).squeeze(3)


def _with_relative(part: Features, x: Tensor, level: Running) -> Tensor:
    """Give the features of columns (B, N, steps, C), and of their numbers what they are beside a level (B, N, C)."""
    numbers = x[..., : part.numbers]
    there = (level.scale.unsqueeze(2) > 0) & numbers.isfinite()
    # Before the division: what is missing would make the gradient of the level NaN.
    distance = torch.where(there, numbers - level.location.unsqueeze(2), 0.0)
    relative = (distance / level.divisor.unsqueeze(2)).clamp(-_FARTHEST, _FARTHEST)
    return torch.cat([part(x), relative], dim=-1)


def _running(x: Tensor, memory: int, every: int) -> Running:
    """Give the running statistics of columns (B, T, C), (B, N, C)."""
    series = x.transpose(1, 2).flatten(0, 1)  # (B C, T)
    return _by_column(running(series, series.isfinite(), memory=memory, every=every), x)


def _of_last(x: Tensor) -> Running:
    """Give the statistics of columns (B, T, C) at their last step, (B, 1, C)."""
    series = x.transpose(1, 2).flatten(0, 1).unsqueeze(1)  # (B C, 1, T)
    return _by_column(of_windows(series, series.isfinite()), x)


def _by_column(statistics: Running, like: Tensor) -> Running:
    shape = like.shape[0], like.shape[2]
    return Running(*(x.unflatten(0, shape).transpose(1, 2) for x in vars(statistics).values()))
