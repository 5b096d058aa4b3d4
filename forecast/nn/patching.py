"""From values to tokens: P consecutive values, their mask, the drift of the statistics and the place in the season.

B batch, T time step, P patch length, N token, D width.
"""

import math

import torch
from torch import Tensor, nn

from forecast.nn.scaling import Running

_HARMONICS = 3  # of the season: enough for a day with a morning and an evening peak


class PatchEmbedding(nn.Module):
    """Embed patches of `patch_length` values, each scaled by the running statistics at its own last value.

    Between patches the statistics move; their drift is given to the network too, so that nothing of the level is lost.
    So is the place of the patch's last step in the season (waves of `season_length` steps; 1 for none). A linear map
    plus a residual MLP (as in TimesFM, arXiv 2310.10688).
    """

    def __init__(self, patch_length: int, width: int, season_length: int):
        super().__init__()
        self.patch_length = patch_length
        self.season_length = season_length
        self.harmonics = min(_HARMONICS, season_length // 2)
        features = 2 * patch_length + 2 + 2 * self.harmonics
        self.linear = nn.Linear(features, width)
        self.hidden = nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width, bias=False))

    def forward(self, values: Tensor, readable: Tensor, ends: Running, cutoffs: Tensor) -> Tensor:
        """Give tokens (B, N, D) of values and mask (B, T), T = N P.

        `ends` are the statistics at the patches' ends (B, N), `cutoffs` (B,) the calendar ordinals of the last steps.
        """
        location, scale = ends.location.unsqueeze(-1), ends.divisor.unsqueeze(-1)  # (B, N, 1)
        patches = values.unflatten(1, (-1, self.patch_length))  # (B, N, P)
        mask = readable.unflatten(1, (-1, self.patch_length))
        scaled = torch.where(mask, (patches - location) / scale, 0.0)
        features = [scaled, mask.to(scaled.dtype), _drift(ends)]
        if self.harmonics:
            features.append(self._place(cutoffs, patches.shape[1]).to(scaled.dtype))
        x = torch.cat(features, dim=-1)
        return self.linear(x) + self.hidden(x)

    def _place(self, cutoffs: Tensor, tokens: int) -> Tensor:
        """Give sines and cosines of the place in the season at the end of each patch, (B, N, 2 harmonics)."""
        before = torch.arange(1 - tokens, 1, device=cutoffs.device) * self.patch_length
        places = (cutoffs.unsqueeze(1) + before) % self.season_length  # (B, N)
        waves = torch.arange(1, self.harmonics + 1, device=cutoffs.device) * (2 * math.pi / self.season_length)
        angles = places.unsqueeze(-1) * waves
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


def _drift(ends: Running) -> Tensor:
    """Give how location and scale moved since the patch before, (B, N, 2); zeros where there was none."""
    moved = (ends.location[:, 1:] - ends.location[:, :-1]) / ends.divisor[:, 1:]
    stretched = (ends.divisor[:, 1:] / ends.divisor[:, :-1]).log()
    known = (ends.scale[:, :-1] > 0) & (ends.scale[:, 1:] > 0)
    drift = torch.stack([moved.clamp(-10, 10), stretched.clamp(-10, 10)], dim=-1)
    return nn.functional.pad(torch.where(known.unsqueeze(-1), drift, 0.0), (0, 0, 1, 0))
