"""The network that all architectures share: running scale -> patches -> backbone -> decoder.

Only backbone and decoder are exchanged in a comparison; covariates are read beside the patches, and what is known ahead
reaches the forecast of each step beside the decoder, whichever these two are. B batch, T time step, P patch length,
N token, D width, H horizon, Q quantile level.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isclose

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.nn.anchor import Anchor
from forecast.nn.backbones import Backbone, State
from forecast.nn.covariates import CovariateReader, Covariates, KnownPath, Layout, Read
from forecast.nn.decoders import Decoder
from forecast.nn.past import Past
from forecast.nn.patching import PatchEmbedding
from forecast.nn.recipe import Recipe
from forecast.nn.rollout import roll_out
from forecast.nn.scaling import Running, of_windows, running
from forecast.nn.seasons import Seasons, seasons, seasons_of_windows
from forecast.nn.smoothing import smoothed, smoothed_windows
from forecast.nn.units import Units

_STEPS_AHEAD = 4096  # that are read of what is known, at all origins of a window together: bounds memory in training
_LONGEST_SMOOTHED = 256  # values: smoothing pays where series are short
_LEAST_STEP = 0.05  # of the standard deviation: a series that hardly ever moves from season to season may yet jump
ALL = slice(None)
LAST = slice(-1, None)


@dataclass(frozen=True)
class Patches:
    """What is known at the ends of patches, each from the values up to it.

    Values here are logarithms where the network reads those.

    Attributes
    ----------
    values, readable: (B, N, P).
    recent, recent_readable: (B, N, M), the last values that the linear path reads.
    ends, before: running statistics at the patches' ends and one patch earlier, (B, N).
    ordinals: calendar ordinals of the patches' last steps, (B, N).
    past: what all values up to the patches' ends say of the steps after them, as far as the recipe asks for it.
    covariates: what these say; None where the network reads none.

    """

    values: Tensor
    readable: Tensor
    recent: Tensor
    recent_readable: Tensor
    ends: Running
    before: Running
    ordinals: Tensor
    past: Past
    covariates: Read | None = None


@dataclass(frozen=True)
class Scaled:
    """Forecasts in units in which all series are alike; the forecast itself is `anchor + scale * quantiles`.

    Attributes
    ----------
    quantiles: (B, n origins, reach, Q), not yet in order.
    anchor: (B, n origins, reach), the level from which each step is counted.
    scale: (B, n origins, 1), of the recipe; 0 where the series has not moved.
    count: (B, n origins), values read up to each origin, of the last ones that scale it.
    units: of the data, in which forecasts are given back.

    """

    quantiles: Tensor
    anchor: Tensor
    scale: Tensor
    count: Tensor
    units: Units

    def in_units(self) -> Tensor:
        """Give the quantiles in the units of the data, in order."""
        return self.units.give((self.anchor.unsqueeze(-1) + self.scale.unsqueeze(-1) * self.quantiles).sort(-1).values)


class LinearPath(nn.Module):
    """A linear map from the last values, scaled at the origin, straight to all steps.

    What a linear model can say need not be learned by the backbone; the map starts at zero.
    """

    def __init__(self, length: int, steps: int):
        super().__init__()
        self.map = nn.Linear(length, steps, bias=False)
        nn.init.zeros_(self.map.weight)

    def forward(self, patches: Patches) -> Tensor:
        """Give shifts of the forecasts from every origin, (B, N, steps), in scaled units."""
        ends = patches.ends
        scaled = (patches.recent - ends.location.unsqueeze(-1)) / ends.divisor.unsqueeze(-1)
        return self.map(torch.where(patches.recent_readable, scaled, 0.0))


class ForecastNetwork(nn.Module):
    """Quantiles of all steps from every origin of a window; the origins are the ends of its patches.

    A step is counted from its anchor, in units of the scale of the series; both are of the `recipe`. To what the
    decoder says are added a linear map of the last patches, where the recipe asks for one, and a spread that starts as
    that of a normal distribution. Nothing that comes after an origin takes part in its forecast, neither in the states
    nor in the scale. Anchor and scale are of the last `context_length` values, which is as many as there are in a
    window of training: in a longer one, or a stream, they are the same from any origin. `season_length` is that of the
    calendar, and `week_length` that of a second season; 1 for none. `layout` says which covariates are read; None for
    none. `units` says how values are read, and forecasts given back.
    """

    def __init__(
        self,
        backbone: Backbone,
        decoder: Decoder,
        *,
        horizon: int,
        quantile_levels: Sequence[float],
        patch_length: int,
        context_length: int,
        season_length: int = 1,
        week_length: int = 1,
        layout: Layout | None = None,
        recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
        units: Units = Units(),  # noqa: B008 (frozen)
    ):
        super().__init__()
        self.horizon = horizon
        self.patch_length = patch_length
        self.context_length = context_length
        self.season_length = season_length
        self.week_length = week_length if recipe.week else 1
        self.recipe = recipe
        self.units = units
        self.recent = (recipe.linear_patches or 1) * patch_length
        self.median = min(range(len(quantile_levels)), key=lambda level: abs(quantile_levels[level] - 0.5))
        self.reader = None if layout is None else CovariateReader(layout, patch_length, context_length)
        beside = 0 if self.reader is None else self.reader.count
        self.embedding = PatchEmbedding(patch_length, backbone.width, (season_length, self.week_length), beside)
        self.backbone = backbone.build(-(-context_length // patch_length))
        self.decoder = decoder.build(backbone.width, horizon, quantile_levels, patch_length)
        reach = self.decoder.reach
        ahead = 0 if self.reader is None else self.reader.ahead_count
        self.known_path = KnownPath(backbone.width, ahead, reach, len(quantile_levels)) if ahead else None
        self.linear = LinearPath(self.recent, reach) if recipe.linear_patches else None
        smooths = context_length <= _LONGEST_SMOOTHED
        self.anchor = Anchor(recipe.anchor, reach, season_length, self.week_length, smooths)
        levels = torch.tensor(list(quantile_levels), dtype=torch.float64)  # in float32 the outermost may become 1
        normal = torch.special.ndtri(levels).to(torch.get_default_dtype())
        self.spread = nn.Parameter(normal.repeat(reach, 1))  # (reach, Q)
        self.register_buffer("normal", normal, persistent=False)
        # Once it is trained: of its medians, what is taken away, and of what it says beyond the anchor, what is kept.
        self.register_buffer("drift", torch.zeros(reach))
        self.register_buffer("trust", torch.ones(()))
        self.mirrored = all(isclose(sum(pair), 1) for pair in zip(quantile_levels, quantile_levels[::-1], strict=True))

    normal: Tensor
    drift: Tensor
    trust: Tensor

    @property
    def reading(self) -> int:
        """How many of the last values a forecast reads by itself, beside the state of the backbone."""
        return max(self.context_length + self.patch_length, self.recent)

    @property
    def trained_origins(self) -> int | None:
        """On how many origins of a window it is trained; None for all."""
        decoder = self.decoder.trained_origins
        if self.known_path is None:
            return decoder
        return min(decoder or _STEPS_AHEAD, max(8, _STEPS_AHEAD // self.decoder.reach))

    def shortcuts(self) -> list[nn.Parameter]:
        """Give the parameters that lead past backbone and decoder: spread, linear paths and weights of the anchor."""
        paths = [self.anchor, self.linear, None if self.known_path is None else self.known_path.linear]
        return [self.spread, *(p for path in paths if path is not None for p in path.parameters())]

    def scaled(
        self,
        values: Tensor,
        cutoffs: Tensor,
        origins: slice = ALL,
        targets: Tensor | None = None,
        covariates: Covariates | None = None,
    ) -> Scaled:
        """Forecast from the chosen origins of windows (B, T), T a multiple of P, NaN where a value cannot be read.

        `cutoffs` (B,) are the calendar ordinals of the windows' last steps. `targets` (B, n origins, reach), NaN where
        unknown, come true after each origin; in training they lead a decoder that asks for them. `covariates` are those
        of the windows' steps and, where known, of the steps after; of no effect for a network that reads none.
        """
        patches = self.read(values, cutoffs, covariates)
        return self.decode(patches, self.backbone(self.tokens(patches)), origins, targets)

    def forward(
        self,
        values: Tensor,
        cutoffs: Tensor,
        origins: slice = ALL,
        covariates: Covariates | None = None,
        horizon: int | None = None,
    ) -> Tensor:
        """Give the quantiles (B, n origins, H, Q) of windows (B, T) in the units of the data, in order.

        `horizon` is that of the network where none is given; another is for a decoder that feeds its forecasts back.
        """
        horizon = horizon or self.horizon
        if self.decoder.reach >= horizon:
            return self.scaled(values, cutoffs, origins, covariates=covariates).in_units()[:, :, :horizon]
        patches = self.read(values, cutoffs, covariates)
        tokens, state, begin, forecasts = self.tokens(patches), None, 0, []
        window = pad(values, (self.reading, 0), value=torch.nan)
        beside = covariates and covariates.padded(self.reading)
        for n in range(*origins.indices(tokens.shape[1])):
            states, state = self.backbone.advance(tokens[:, begin : n + 1], state)
            begin = n + 1
            end = begin * self.patch_length + self.reading
            ordinals = cutoffs - (tokens.shape[1] - begin) * self.patch_length
            last = beside and beside.until(end, horizon).last(self.reading)
            values = window[:, end - self.reading : end]
            forecasts.append(self.forecast(values, ordinals, states, state, covariates=last, horizon=horizon))
        return torch.stack(forecasts, dim=1)

    def forecast(
        self,
        values: Tensor,
        ordinals: Tensor,
        states: Tensor,
        state: State,
        patch: Patches | None = None,
        covariates: Covariates | None = None,
        horizon: int | None = None,
    ) -> Tensor:
        """Give the quantiles (B, H, Q) after the last of `values` (B, reading), at `ordinals` (B,).

        `states` (B, n, D) end with that of the last patch; `state` is what the backbone carries on from there. `patch`
        is that last one, where it was read already. `covariates` are those beside the values, and ahead.
        """
        horizon = horizon or self.horizon
        patch = patch or self.read_last(values, ordinals, covariates)
        first = self.decode(patch, states[:, -1:], LAST).in_units().squeeze(1)
        if first.shape[1] >= horizon:
            return first[:, :horizon]
        return roll_out(self, first, values, ordinals, state, covariates, horizon)

    def read(self, values: Tensor, cutoffs: Tensor, covariates: Covariates | None = None) -> Patches:
        """Cut windows (B, T) into patches."""
        P, L = self.patch_length, self.context_length
        if values.shape[1] % P:
            raise ValueError(f"windows of {values.shape[1]} steps do not divide into patches of {P}")
        readable = values.isfinite()
        values = self.units.read(torch.where(readable, values, 0.0))
        ends = running(values, readable, memory=L, every=P)
        told, weeks = (
            seasons(values, readable, season=length, memory=L, every=P, places=self.decoder.reach) if asked else None
            for length, asked in self._asked_seasons
        )
        ends = self._rescaled(ends, told)
        smooth = (
            smoothed(values, readable, season=self.season_length, memory=L, every=P) if self.anchor.smooths else None
        )
        past = Past(told, weeks, smooth)
        recent, recent_readable = (pad(x, (self.recent - P, 0)).unfold(1, self.recent, P) for x in (values, readable))
        tokens = values.shape[1] // P
        ordinals = cutoffs.unsqueeze(1) + torch.arange(1 - tokens, 1, device=cutoffs.device) * P
        patches, patches_readable = (x.unflatten(1, (tokens, P)) for x in (values, readable))
        beside = None if self.reader is None else self.reader.read(_given(covariates))
        parts = patches, patches_readable, recent, recent_readable, ends, ends.before(), ordinals, past, beside
        return Patches(*parts)

    def read_last(self, values: Tensor, ordinals: Tensor, covariates: Covariates | None = None) -> Patches:
        """Give the one patch that ends with the last of `values` (B, reading), at `ordinals` (B,)."""
        P, L = self.patch_length, self.context_length
        readable = values.isfinite()
        values = self.units.read(torch.where(readable, values, 0.0))
        patch, patch_readable = (x[:, -P:].unsqueeze(1) for x in (values, readable))
        recent, recent_readable = (x[:, -self.recent :].unsqueeze(1) for x in (values, readable))
        windows = [x[:, -L - P :].unfold(1, L, P) for x in (values, readable)]  # (B, 2, L)
        newest = [x[:, 1:] for x in windows]
        told, weeks = (
            seasons_of_windows(*of, season=length, places=self.decoder.reach) if asked else None
            for of, (length, asked) in zip((windows, newest), self._asked_seasons, strict=True)
        )
        both = self._rescaled(of_windows(*windows), told)
        ends, before = both.at(LAST), both.at(slice(1))
        smooth = smoothed_windows(*newest, season=self.season_length) if self.anchor.smooths else None
        past = Past(told and told.at(LAST), weeks, smooth)
        beside = None if self.reader is None else self.reader.read_last(_given(covariates))
        ordinals = ordinals.unsqueeze(1)
        return Patches(patch, patch_readable, recent, recent_readable, ends, before, ordinals, past, beside)

    @property
    def _asked_seasons(self) -> tuple[tuple[int, bool], ...]:
        """Give the lengths of season and week, and whether anything is asked of each."""
        seasonal = self.recipe.scale == "step" or self.anchor.seasonal
        return (self.season_length, seasonal), (self.week_length, self.anchor.weekly)

    def _rescaled(self, ends: Running, told: Seasons | None) -> Running:
        """Give the statistics with the location and scale of the recipe."""
        if self.recipe.scale == "none":
            return replace(ends, location=torch.zeros_like(ends.location), scale=torch.ones_like(ends.scale))
        if self.recipe.scale == "deviation" or told is None:
            return ends
        step = torch.where(told.step > 0, torch.maximum(told.step, _LEAST_STEP * ends.scale), ends.scale)
        return replace(ends, scale=torch.where(ends.scale > 0, step, 0.0))

    def tokens(self, patches: Patches) -> Tensor:
        """Give the tokens (B, N, D) that the backbone reads."""
        beside = None if patches.covariates is None else patches.covariates.tokens
        parts = patches.values, patches.readable, patches.ends, patches.before, patches.ordinals
        return self.embedding(*parts, beside=beside)

    def decode(self, patches: Patches, states: Tensor, origins: slice, targets: Tensor | None = None) -> Scaled:
        """Give the forecasts from the chosen origins of patches and their states (B, N, D)."""
        ends = patches.ends.at(origins)
        anchor = self.anchor(ends, patches.past.at(origins))
        shift = torch.zeros_like(anchor) if self.linear is None else self.linear(patches)[:, origins]
        shift = shift.unsqueeze(-1)  # (B, n, reach, 1), or with Q
        if self.known_path is not None and self.reader is not None and patches.covariates is not None:
            ahead = self.reader.ahead(patches.covariates, origins, self.decoder.reach)
            shift = shift + self.known_path(states[:, origins], ahead)
        if targets is not None:  # in the units of what the decoder gives
            said = shift[..., min(self.median, shift.shape[-1] - 1)]
            targets = ((self.units.read(targets) - anchor) / ends.divisor.unsqueeze(-1) - said).detach()
        quantiles = self.decoder(states, origins, targets=targets).to(anchor.dtype)
        quantiles = quantiles + shift + self.spread
        if not self.training:
            quantiles = self._trusted(quantiles - self.drift.unsqueeze(-1))
        return Scaled(quantiles, anchor, ends.scale.unsqueeze(-1), ends.count, self.units)

    def _trusted(self, quantiles: Tensor) -> Tensor:
        """Give quantiles whose median is heard as far as it is trusted, and so is how lopsided they lie around it."""
        median = quantiles[..., self.median, None]
        around = quantiles - median
        if self.mirrored:
            around = around - (1 - self.trust) * (around + around.flip(-1)) / 2
        return self.trust * median + around


def _given(covariates: Covariates | None) -> Covariates:
    if covariates is None:
        raise ValueError("`covariates` is None; this network reads some: give those of the windows")
    return covariates
