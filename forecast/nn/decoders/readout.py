"""The last map of every decoder. D width, H horizon, Q quantile level."""

import torch
from torch import Tensor, nn


class Readout(nn.Module):
    """A linear map to `steps` steps and `levels` quantile levels.

    It starts small: a fresh network says little, and its loss begins near that of the network's anchor and spread.
    """

    def __init__(self, width: int, steps: int, levels: int):
        super().__init__()
        self.steps = steps
        self.linear = nn.Linear(width, steps * levels)
        with torch.no_grad():
            self.linear.weight.mul_(0.1)
            self.linear.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., H, Q)."""
        return self.linear(x).unflatten(-1, (self.steps, -1))
