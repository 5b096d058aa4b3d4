"""From values to tokens: P consecutive values, their mask, the drift of the statistics and the place in its seasons.

B batch, P patch length, N token, D width.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from forecast.nn.scaling import Running

_HARMONICS = 3  # of each season: enough for a day with a morning and an evening peak


class PatchEmbedding(nn.Module):
    """Embed patches of `patch_length` values, each scaled by the running statistics at its own last value.

    Between patches the statistics move; their drift is given to the network too, so that nothing of the level is lost.
    So is the place of the patch's last step in each season (waves of as many steps; 1 for none), and what is told
    beside the patches, `beside` features each. A linear map plus a residual MLP (as in TimesFM, arXiv 2310.10688).
    """

    def __init__(self, patch_length: int, width: int, season_lengths: Sequence[int], beside: int = 0):
        super().__init__()
        self.width = width
        self.waves = [(harmonic, length) for length in season_lengths for harmonic in _harmonics(length)]
        features = 2 * patch_length + 2 + 2 * len(self.waves) + beside
        self.linear = nn.Linear(features, width)
        self.hidden = nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width, bias=False))

    def forward(
        self,
        patches: Tensor,
        readable: Tensor,
        ends: Running,
        before: Running,
        ordinals: Tensor,
        beside: Tensor | None = None,
    ) -> Tensor:
        """Give tokens (B, N, D) of patches and their mask (B, N, P).

        `ends` are the statistics at the patches' ends, `before` those one patch earlier; `ordinals` (B, N) are the
        calendar ordinals of the patches' last steps; `beside` (B, N, F) is what is told beside them.
        """
        scaled = (patches - ends.location.unsqueeze(-1)) / ends.divisor.unsqueeze(-1)
        features = [torch.where(readable, scaled, 0.0), readable.to(scaled.dtype), _drift(before, ends)]
        if self.waves:
            features.append(self._place(ordinals).to(scaled.dtype))
        if beside is not None:
            features.append(beside)
        x = torch.cat(features, dim=-1)
        return self.linear(x) + self.hidden(x)

    def _place(self, ordinals: Tensor) -> Tensor:
        """Give sines and cosines of the place in the seasons, (B, N, 2 waves)."""
        angles = [ordinals % length * (harmonic * 2 * math.pi / length) for harmonic, length in self.waves]
        waves = torch.stack(angles, dim=-1)
        return torch.cat([waves.sin(), waves.cos()], dim=-1)


def _harmonics(length: int) -> range:
    return range(1, 1 + min(_HARMONICS, length // 2))


def _drift(before: Running, ends: Running) -> Tensor:
    """Give how location and scale moved over each patch, (B, N, 2); zeros where there was nothing before."""
    moved = (ends.location - before.location) / ends.divisor
    stretched = (ends.divisor / before.divisor).log()
    known = (before.scale > 0) & (ends.scale > 0)
    drift = torch.stack([moved.clamp(-10, 10), stretched.clamp(-10, 10)], dim=-1)
    return torch.where(known.unsqueeze(-1), drift, 0.0)
