"""Where a token stands, for operators that do not know by themselves.

Rotary positions turn queries and keys, so that scores depend on distances; absolute ones, sinusoidal or learned, are
added to tokens. B batch, N token, A attention head, K head size, D width, W window.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

_SLOWEST = 10_000.0  # ratio of the fastest wave or turn to the slowest


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Turn queries or keys (B, A, N, K), K even, by angles that grow with their positions, (B, N) or (1, N).

    Su et al. 2021, arXiv 2104.09864.
    Products of turned queries and keys then depend on the distance of their positions only. Angles are computed in
    float64: far out in a stream float32 would blur them.
    """
    half = x.shape[-1] // 2
    speeds = _SLOWEST ** (-torch.arange(half, dtype=torch.float64, device=x.device) / half)
    angles = positions.to(torch.float64).unsqueeze(-1) * speeds  # (B, N, K / 2)
    cos, sin = (turn.to(x.dtype).unsqueeze(1) for turn in (angles.cos(), angles.sin()))  # (B, 1, N, K / 2)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Give waves of many frequencies at positions (...,), sines and cosines in turn, (..., D), float64.

    Vaswani et al. 2017, arXiv 1706.03762. Wave i of D / 2 turns by 1 / 10,000^(2 i / D) from one position to the next.
    """
    waves = (width + 1) // 2
    speeds = _SLOWEST ** (-2 * torch.arange(waves, dtype=torch.float64, device=positions.device) / width)
    angles = positions.to(torch.float64).unsqueeze(-1) * speeds
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :width]


class AbsolutePositions(nn.Module):
    """Adds to each token an encoding of its position, `sinusoidal` or `learned`.

    A stream has no end, a table has, and what was never trained says nothing. So positions count modulo the window W,
    that is, the tokens of a context: every token in reach of an attention has a position of its own, and nothing grows.
    In training the count starts anywhere, at one random offset for a batch (from torch's global random state), so that
    the step from W - 1 to 0 is nothing new when a stream comes to it; else it starts at 0. Where it stands is the
    state: the rule is the same for a whole sequence and for a stream.
    """

    def __init__(self, kind: Literal["sinusoidal", "learned"], width: int, window: int):
        super().__init__()
        self.window = window
        if kind == "learned":
            self.table = nn.Parameter(0.02 * torch.randn(window, width))
        else:
            self.register_buffer("table", sinusoidal(torch.arange(window), width).float(), persistent=False)

    table: Tensor

    def init_state(self, batch: int) -> Tensor:
        """Give the position of the first token, (B,)."""
        start = torch.randint(self.window, (1,), device=self.table.device) if self.training else 0
        return torch.zeros(batch, dtype=torch.int64, device=self.table.device) + start

    def advance(self, x: Tensor, count: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Add their encodings to n more tokens (B, n, D); give them and the position of the next."""
        if count is None:
            count = self.init_state(x.shape[0])
        positions = count.unsqueeze(1) + torch.arange(x.shape[1], device=x.device)  # (B, n)
        return x + embedding(positions % self.window, self.table).to(x.dtype), (count + x.shape[1]) % self.window


def absolute_positions(kind: str, width: int, window: int) -> AbsolutePositions | None:
    """Give positions of a kind that is added to tokens; None for any other, such as rotary ones."""
    return AbsolutePositions(kind, width, window) if kind in ("sinusoidal", "learned") else None
