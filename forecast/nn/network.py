"""The network that all architectures share: running scale -> patches -> backbone -> decoder.

Only backbone and decoder are exchanged in a comparison. B batch, T time step, P patch length, N token, D width,
H horizon, Q quantile level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.nn.backbones import Backbone, State
from forecast.nn.decoders import Decoder
from forecast.nn.patching import PatchEmbedding
from forecast.nn.rollout import roll_out
from forecast.nn.scaling import Running, of_windows, running

ALL = slice(None)
LAST = slice(-1, None)


@dataclass(frozen=True)
class Patches:
    """What is known at the ends of patches, each from the values up to it.

    Attributes
    ----------
    values, readable: (B, N, P).
    recent, recent_readable: (B, N, M), the last values that the linear path reads.
    ends, before: running statistics at the patches' ends and one patch earlier, (B, N).
    ordinals: calendar ordinals of the patches' last steps, (B, N).

    """

    values: Tensor
    readable: Tensor
    recent: Tensor
    recent_readable: Tensor
    ends: Running
    before: Running
    ordinals: Tensor


@dataclass(frozen=True)
class Scaled:
    """Forecasts in units in which all series are alike; the forecast itself is `anchor + scale * quantiles`.

    Attributes
    ----------
    quantiles: (B, n origins, reach, Q), not yet in order.
    anchor: (B, n origins, reach), the level from which each step is counted.
    scale: (B, n origins, 1), running standard deviation; 0 where the series has not moved.
    count: (B, n origins), values read up to each origin, of the last ones that scale it.

    """

    quantiles: Tensor
    anchor: Tensor
    scale: Tensor
    count: Tensor

    def in_units(self) -> Tensor:
        """Give the quantiles in the units of the data, in order."""
        return (self.anchor.unsqueeze(-1) + self.scale.unsqueeze(-1) * self.quantiles).sort(dim=-1).values


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

    A step is counted from its anchor, a blend, learned for each step, of the running mean and the last value. To what
    the decoder says of it are added a linear map of the last `linear_patches` patches (0 for none) and a spread that
    starts as that of a normal distribution. Nothing that comes after an origin takes part in its forecast, neither in
    the states nor in the scale. Mean and scale are those of the last `context_length` values, which is as many as there
    are in a window of training: in a longer one, or a stream, they are the same from any origin. `season_length` is
    that of the calendar; 1 for none.
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
        linear_patches: int = 2,
    ):
        super().__init__()
        self.horizon = horizon
        self.patch_length = patch_length
        self.context_length = context_length
        self.recent = max(1, linear_patches) * patch_length
        self.embedding = PatchEmbedding(patch_length, backbone.width, season_length)
        self.backbone = backbone.build(-(-context_length // patch_length))
        self.decoder = decoder.build(backbone.width, horizon, quantile_levels, patch_length)
        reach = self.decoder.reach
        self.linear = LinearPath(self.recent, reach) if linear_patches else None
        self.blend = nn.Parameter(torch.zeros(reach))  # half mean, half last value to begin with
        normal = torch.special.ndtri(torch.tensor(list(quantile_levels)))
        self.spread = nn.Parameter(normal.repeat(reach, 1))  # (reach, Q)
        self.register_buffer("normal", normal, persistent=False)

    normal: Tensor

    @property
    def reading(self) -> int:
        """How many of the last values a forecast reads by itself, beside the state of the backbone."""
        return max(self.context_length + self.patch_length, self.recent)

    def shortcuts(self) -> list[nn.Parameter]:
        """Give the parameters that lead past backbone and decoder: anchor, spread, linear path."""
        return [self.blend, self.spread, *(self.linear.parameters() if self.linear is not None else ())]

    def scaled(self, values: Tensor, cutoffs: Tensor, origins: slice = ALL, targets: Tensor | None = None) -> Scaled:
        """Forecast from the chosen origins of windows (B, T), T a multiple of P, NaN where a value cannot be read.

        `cutoffs` (B,) are the calendar ordinals of the windows' last steps. `targets` (B, n origins, reach), NaN where
        unknown, come true after each origin; in training they lead a decoder that asks for them.
        """
        patches = self.read(values, cutoffs)
        return self.decode(patches, self.backbone(self.tokens(patches)), origins, targets)

    def forward(self, values: Tensor, cutoffs: Tensor, origins: slice = ALL) -> Tensor:
        """Give the quantiles (B, n origins, H, Q) of windows (B, T) in the units of the data, in order."""
        if self.decoder.reach >= self.horizon:
            return self.scaled(values, cutoffs, origins).in_units()
        patches = self.read(values, cutoffs)
        tokens, state, begin, forecasts = self.tokens(patches), None, 0, []
        window = pad(values, (self.reading, 0), value=torch.nan)
        for n in range(*origins.indices(tokens.shape[1])):
            states, state = self.backbone.advance(tokens[:, begin : n + 1], state)
            begin = n + 1
            last = window[:, begin * self.patch_length : begin * self.patch_length + self.reading]
            forecasts.append(
                self.forecast(last, cutoffs - (tokens.shape[1] - begin) * self.patch_length, states, state)
            )
        return torch.stack(forecasts, dim=1)

    def forecast(
        self, values: Tensor, ordinals: Tensor, states: Tensor, state: State, patch: Patches | None = None
    ) -> Tensor:
        """Give the quantiles (B, H, Q) after the last of `values` (B, reading), at `ordinals` (B,).

        `states` (B, n, D) end with that of the last patch; `state` is what the backbone carries on from there. `patch`
        is that last one, where it was read already.
        """
        patch = patch or self.read_last(values, ordinals)
        first = self.decode(patch, states[:, -1:], LAST).in_units().squeeze(1)
        return first if first.shape[1] >= self.horizon else roll_out(self, first, values, ordinals, state)

    def read(self, values: Tensor, cutoffs: Tensor) -> Patches:
        """Cut windows (B, T) into patches."""
        P = self.patch_length
        if values.shape[1] % P:
            raise ValueError(f"windows of {values.shape[1]} steps do not divide into patches of {P}")
        readable = values.isfinite()
        values = torch.where(readable, values, 0.0)
        ends = running(values, readable, memory=self.context_length, every=P)
        recent, recent_readable = (pad(x, (self.recent - P, 0)).unfold(1, self.recent, P) for x in (values, readable))
        tokens = values.shape[1] // P
        ordinals = cutoffs.unsqueeze(1) + torch.arange(1 - tokens, 1, device=cutoffs.device) * P
        patches, patches_readable = (x.unflatten(1, (tokens, P)) for x in (values, readable))
        return Patches(patches, patches_readable, recent, recent_readable, ends, ends.before(), ordinals)

    def read_last(self, values: Tensor, ordinals: Tensor) -> Patches:
        """Give the one patch that ends with the last of `values` (B, reading), at `ordinals` (B,)."""
        P, L = self.patch_length, self.context_length
        readable = values.isfinite()
        values = torch.where(readable, values, 0.0)

        patch, patch_readable = (x[:, -P:].unsqueeze(1) for x in (values, readable))
        recent, recent_readable = (x[:, -self.recent :].unsqueeze(1) for x in (values, readable))
        both = of_windows(*(x[:, -L - P :].unfold(1, L, P) for x in (values, readable)))  # (B, 2)
        ends, before = both.at(LAST), both.at(slice(1))
        return Patches(patch, patch_readable, recent, recent_readable, ends, before, ordinals.unsqueeze(1))

    def tokens(self, patches: Patches) -> Tensor:
        """Give the tokens (B, N, D) that the backbone reads."""
        return self.embedding(patches.values, patches.readable, patches.ends, patches.before, patches.ordinals)

    def decode(self, patches: Patches, states: Tensor, origins: slice, targets: Tensor | None = None) -> Scaled:
        """Give the forecasts from the chosen origins of patches and their states (B, N, D)."""
        ends = patches.ends.at(origins)
        blend = self.blend.sigmoid()
        anchor = blend * ends.last.unsqueeze(-1) + (1 - blend) * ends.location.unsqueeze(-1)  # (B, n, reach)
        shift = torch.zeros_like(anchor) if self.linear is None else self.linear(patches)[:, origins]
        if targets is not None:  # in the units of what the decoder gives
            targets = ((targets - anchor) / ends.divisor.unsqueeze(-1) - shift).detach()
        quantiles = self.decoder(states, origins, targets=targets).to(anchor.dtype)
        return Scaled(quantiles + shift.unsqueeze(-1) + self.spread, anchor, ends.scale.unsqueeze(-1), ends.count)
