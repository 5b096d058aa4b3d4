"""From values to tokens: P consecutive values, their mask and the drift of the running statistics become one token.

B batch, T time step, P patch length, N token, D width.
"""

import torch
from torch import Tensor, nn

from forecast.nn.scaling import Running


class PatchEmbedding(nn.Module):
    """Embed patches of `patch_length` values, each scaled by the running statistics at its own last value.

    Between patches the statistics move; their drift is given to the network too, so that nothing of the level is lost. A
    linear map plus a residual MLP (as in TimesFM, arXiv 2310.10688).
    """

    def __init__(self, patch_length: int, width: int):
        super().__init__()
        self.patch_length = patch_length
        self.linear = nn.Linear(2 * patch_length + 2, width)
        self.hidden = nn.Sequential(
            nn.Linear(2 * patch_length + 2, width), nn.SiLU(), nn.Linear(width, width, bias=False)
        )

    def forward(self, values: Tensor, readable: Tensor, ends: Running) -> Tensor:
        """Give tokens (B, N, D) of values and mask (B, T), T = N P; `ends` are the statistics at the patches' ends (B, N)."""
        location, scale = ends.location.unsqueeze(-1), ends.divisor.unsqueeze(-1)  # (B, N, 1)
        patches = values.unflatten(1, (-1, self.patch_length))  # (B, N, P)
        mask = readable.unflatten(1, (-1, self.patch_length))
        scaled = torch.where(mask, (patches - location) / scale, 0.0)
        features = torch.cat([scaled, mask.to(scaled.dtype), _drift(ends)], dim=-1)  # (B, N, 2 P + 2)
        return self.linear(features) + self.hidden(features)


def _drift(ends: Running) -> Tensor:
    """Give how location and scale moved since the patch before, (B, N, 2); zeros where there was none."""
    moved = (ends.location[:, 1:] - ends.location[:, :-1]) / ends.divisor[:, 1:]
    stretched = (ends.divisor[:, 1:] / ends.divisor[:, :-1]).log()
    known = (ends.scale[:, :-1] > 0) & (ends.scale[:, 1:] > 0)
    drift = torch.stack([moved.clamp(-10, 10), stretched.clamp(-10, 10)], dim=-1)
    return nn.functional.pad(torch.where(known.unsqueeze(-1), drift, 0.0), (0, 0, 1, 0))
