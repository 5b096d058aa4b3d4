"""The level from which each step of a forecast is counted: what is known without a network, blended step by step.

B batch, N token, H horizon, M season length, K levels that are blended, F faces of a simplex.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.nn.past import Past
from forecast.nn.scaling import Running

_LEVELS = {
    "blend": ("smooth", "last", "season", "profile", "week", "week_profile"),
    "last": ("last",),
    "season": ("season",),
    "mean": (),
    "none": (),
}
_STRENGTH = 0.01  # of the ridge, in mean squares of the levels
_ROUNDS = 6  # of least squares, each weighted by the errors of the one before: towards least absolute errors
_SMALL = 0.1  # error, in scaled units, below which all count alike
_FARTHEST = 50.0  # scaled values beyond it would decide for all others


class Anchor(nn.Module):
    """A level for each step: the running `"mean"`, the `"last"` value, that of the `"season"` before, or `"none"`, 0.

    A `"blend"` moves the mean, for each step, towards what exponential smoothing says (where it `smooths`), the last
    value, the value at its place in the last season, and the mean of the values at its place, by a weight of each; and
    so towards the value at its place in the last week, and the mean of those, where weeks count. The weights are solved
    in closed form (`solve`), and learned on where nothing is smoothed: a level that has smoothing in it stands on its
    own, as one of two forecasts that are averaged. A season or week of length 1 has no places.
    """

    weights: Tensor

    def __init__(self, kind: str, reach: int, season_length: int, week_length: int, smooths: bool):
        super().__init__()
        self.blended = kind == "blend"
        self.counted = kind != "none"
        levels = _LEVELS[kind]
        if self.blended:
            without = set() if smooths else {"smooth"}
            without |= set() if season_length > 1 else {"season", "profile"}
            without |= set() if week_length > 1 else {"week", "week_profile"}
            levels = tuple(level for level in levels if level not in without)
        self.levels = levels
        self.season_length = season_length
        self.week_length = week_length
        self.reach = reach
        weights = torch.full((reach, len(levels)), 1 / (1 + len(levels)) if self.blended else 1.0)
        if self.blended and not smooths:
            self.weights = nn.Parameter(weights)
        else:
            self.register_buffer("weights", weights)

    @property
    def smooths(self) -> bool:
        """Whether it reads what smoothing says."""
        return "smooth" in self.levels

    @property
    def seasonal(self) -> bool:
        """Whether it reads what the seasons say."""
        return bool({"season", "profile"} & set(self.levels))

    @property
    def weekly(self) -> bool:
        """Whether it reads what the weeks say."""
        return "week" in self.levels

    def forward(self, ends: Running, past: Past) -> Tensor:
        """Give the level of each step, (B, N, reach)."""
        if not self.counted:
            return torch.zeros_like(ends.location).unsqueeze(-1).expand(-1, -1, self.reach)
        levels = self._levels(ends, past)
        moved = ends.location.unsqueeze(-1).expand(-1, -1, self.reach)
        for level, weight in zip(levels, self.weights.unbind(-1), strict=True):
            moved = torch.addcmul(moved, weight, level)
        return moved

    @torch.no_grad()
    def solve(self, ends: Running, past: Past, targets: Tensor, weights: Tensor) -> None:
        """Take the weights of least absolute errors, nearly, for each step by itself, in scaled units.

        None is below 0, and together they are at most 1: free ones would extrapolate the trends that windows happen to
        have.

        `targets` (B, N, reach) came true after each position; `weights` say how much each counts, 0 for not at all.
        """
        if not self.blended:
            return
        location, divisor = ends.location.unsqueeze(-1), ends.divisor.unsqueeze(-1)
        levels = torch.stack([self._scaled(level, divisor) for level in self._levels(ends, past)], dim=-1)
        y = torch.where(weights > 0, self._scaled(targets - location, divisor), 0.0)
        counted = weights
        for _ in range(_ROUNDS):
            weighted = (levels * counted.unsqueeze(-1)).double()
            gram = torch.einsum("bnhk,bnhl->hkl", weighted, levels.double())
            cross = torch.einsum("bnhk,bnh->hk", weighted, y.double())
            # Where nothing is known of a step the ridge keeps it at the mean.
            strength = _STRENGTH * gram.diagonal(dim1=1, dim2=2).mean(1) + 1e-6
            ridge = strength[:, None, None] * torch.eye(len(self.levels), dtype=gram.dtype)
            self.weights.copy_(_mixture(gram + ridge, cross))
            counted = weights / ((y - (levels * self.weights).sum(-1)).abs() + _SMALL)

    def _levels(self, ends: Running, past: Past) -> list[Tensor]:
        """Give each level relative to the running mean, (B, N, reach) or (B, N, 1); 0 where it is not known."""
        step = torch.arange(self.reach, device=ends.location.device)
        location = ends.location.unsqueeze(-1)
        levels = []
        for name in self.levels:
            if name == "last":
                levels.append(ends.last.unsqueeze(-1) - location)
                continue
            if name == "smooth":
                assert past.smoothed is not None
                levels.append(past.smoothed.steps(self.reach) - location)
                continue
            weekly = name.startswith("week")
            told, length = (past.weeks, self.week_length) if weekly else (past.seasons, self.season_length)
            assert told is not None
            level = (told.profile if name.endswith("profile") else told.last) - location
            level = torch.where(level.isfinite(), level, 0.0)
            levels.append(level[..., step % length] if length < self.reach else level[..., : self.reach])
        return levels

    def _scaled(self, level: Tensor, divisor: Tensor) -> Tensor:
        return (level / divisor).clamp(-_FARTHEST, _FARTHEST).expand(-1, -1, self.reach)


def _mixture(gram: Tensor, cross: Tensor) -> Tensor:
    """Give the weights w (H, K) that make w' gram w - 2 w' cross least, none below 0 and at most 1 together.

    The rest to 1 is the weight of the mean, which is 0 here. The least lies inside a face of the simplex of all K + 1
    weights, where it solves a linear system: the best one that is allowed, of all faces.
    """
    levels = cross.shape[1] + 1
    gram, cross = pad(gram, (0, 1, 0, 1)), pad(cross, (0, 1))
    faces = torch.arange(1, 2**levels, device=cross.device).unsqueeze(1) >> torch.arange(levels, device=cross.device)
    inside = (faces & 1).bool()  # (F, K + 1), which weights may differ from 0
    both = (inside.unsqueeze(1) & inside.unsqueeze(2)).unsqueeze(1)
    alone = torch.eye(levels, dtype=gram.dtype, device=gram.device)
    system = pad(torch.where(both, gram, alone), (0, 1, 0, 1))  # (F, H, K + 2, K + 2)
    system[..., -1, :-1] = system[..., :-1, -1] = inside.unsqueeze(1).to(gram.dtype)  # their sum
    target = pad(torch.where(inside.unsqueeze(1), cross, 0.0), (0, 1), value=1.0)
    weights = torch.linalg.solve(system, target)[..., :-1]  # (F, H, K + 1)
    loss = torch.einsum("fhk,hkl,fhl->fh", weights, gram, weights) - 2 * (weights * cross).sum(-1)
    allowed = (weights > -1e-9).all(-1)
    best = torch.where(allowed, loss, torch.inf).argmin(0)
    return weights[best, torch.arange(len(cross), device=cross.device), :-1]
