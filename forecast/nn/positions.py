"""Where a token stands, for operators that do not know by themselves. N token, A attention head, K head size."""

import torch
from torch import Tensor


def rotary(x: Tensor, positions: Tensor) -> Tensor:
    """Turn queries or keys (B, A, N, K), K even, by angles that grow with their positions (N,).

    Su et al. 2021, arXiv 2104.09864.
    Products of turned queries and keys then depend on the distance of their positions only. Angles are computed in
    float64: far out in a stream float32 would blur them.
    """
    half = x.shape[-1] // 2
    speeds = 10_000.0 ** (-torch.arange(half, dtype=torch.float64, device=x.device) / half)
    angles = positions.to(torch.float64).unsqueeze(-1) * speeds  # (N, K / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
