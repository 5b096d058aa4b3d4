"""The network that all architectures share: running scale -> patches -> backbone -> decoder.

Only backbone and decoder are exchanged in a comparison. B batch, T time step, P patch length, N token, D width,
H horizon, Q quantile level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.nn.backbones import Backbone
from forecast.nn.decoders import Decoder
from forecast.nn.patching import PatchEmbedding
from forecast.nn.scaling import Running, running

ALL = slice(None)
LAST = slice(-1, None)


@dataclass(frozen=True)
class Scaled:
    """Forecasts in units in which all series are alike; the forecast itself is `anchor + scale * quantiles`.

    Attributes
    ----------
    quantiles: (B, N, H, Q), not yet in order.
    anchor: (B, N, H), the level from which each step is counted.
    scale: (B, N, 1), running standard deviation; 0 where the series has not moved.
    count: (B, N), values read up to each origin.

    """

    quantiles: Tensor
    anchor: Tensor
    scale: Tensor
    count: Tensor


class LinearPath(nn.Module):
    """A linear map from the last `patches` patches, scaled at the origin, straight to all steps.

    What a linear model can say need not be learned by the backbone; the map starts at zero.
    """

    def __init__(self, patches: int, patch_length: int, horizon: int):
        super().__init__()
        self.patch_length = patch_length
        self.length = patches * patch_length
        self.map = nn.Linear(self.length, horizon, bias=False)
        nn.init.zeros_(self.map.weight)

    def forward(self, values: Tensor, readable: Tensor, ends: Running) -> Tensor:
        """Give shifts of the forecasts from every origin, (B, N, H), in scaled units."""
        before = (self.length - self.patch_length, 0)
        values, readable = (pad(x, before).unfold(1, self.length, self.patch_length) for x in (values, readable))
        scaled = (values - ends.location.unsqueeze(-1)) / ends.divisor.unsqueeze(-1)  # (B, N, length)
        return self.map(torch.where(readable, scaled, 0.0))


class ForecastNetwork(nn.Module):
    """Quantiles of all steps from every origin of a window; the origins are the ends of its patches.

    A step is counted from its anchor, a blend, learned for each step, of the running mean and the last value. To what
    the decoder says of it are added a linear map of the last `linear_patches` patches (0 for none) and a spread that
    starts as that of a normal distribution. Nothing that comes after an origin takes part in its forecast, neither in
    the states nor in the scale. `season_length` is that of the calendar; 1 for none.
    """

    def __init__(
        self,
        backbone: Backbone,
        decoder: Decoder,
        *,
        horizon: int,
        quantile_levels: Sequence[float],
        patch_length: int,
        season_length: int = 1,
        linear_patches: int = 2,
    ):
        super().__init__()
        self.patch_length = patch_length
        self.embedding = PatchEmbedding(patch_length, backbone.width, season_length)
        self.backbone = backbone.build()
        self.decoder = decoder.build(backbone.width, horizon, quantile_levels)
        self.linear = LinearPath(linear_patches, patch_length, horizon) if linear_patches else None
        self.blend = nn.Parameter(torch.zeros(horizon))  # half mean, half last value to begin with
        normal = torch.special.ndtri(torch.tensor(list(quantile_levels)))
        self.spread = nn.Parameter(normal.repeat(horizon, 1))  # (H, Q)

    def shortcuts(self) -> list[nn.Parameter]:
        """Give the parameters that lead past backbone and decoder: anchor, spread, linear path."""
        return [self.blend, self.spread, *(self.linear.parameters() if self.linear is not None else ())]

    def scaled(self, values: Tensor, cutoffs: Tensor, origins: slice = ALL) -> Scaled:
        """Forecast from the chosen origins of windows (B, T), T a multiple of P, NaN where a value cannot be read.

        `cutoffs` (B,) are the calendar ordinals of the windows' last steps.
        """
        if values.shape[1] % self.patch_length:
            raise ValueError(f"windows of {values.shape[1]} steps do not divide into patches of {self.patch_length}")
        readable = values.isfinite()
        values = torch.where(readable, values, 0.0)
        ends = running(values, readable).at(slice(self.patch_length - 1, None, self.patch_length))  # (B, N)
        states = self.backbone(self.embedding(values, readable, ends, cutoffs))  # (B, N, D)
        chosen = ends.at(origins)
        blend = self.blend.sigmoid()
        anchor = blend * chosen.last.unsqueeze(-1) + (1 - blend) * chosen.location.unsqueeze(-1)  # (B, n, H)
        quantiles = self.decoder(states, origins).float() + self.spread
        if self.linear is not None:
            quantiles = quantiles + self.linear(values, readable, ends)[:, origins].unsqueeze(-1)
        return Scaled(quantiles, anchor, chosen.scale.unsqueeze(-1), chosen.count)

    def forward(self, values: Tensor, cutoffs: Tensor, origins: slice = ALL) -> Tensor:
        """Give the quantiles (B, n origins, H, Q) of windows (B, T) in the units of the data, in order."""
        scaled = self.scaled(values, cutoffs, origins)
        quantiles = scaled.anchor.unsqueeze(-1) + scaled.scale.unsqueeze(-1) * scaled.quantiles
        return quantiles.sort(dim=-1).values
