"""What a network's sizes are where nobody says them: how far it reads, in which patches, and how long it is trained.

Rules for any frequency, length and number of series; the table of them is in docs/choosing-a-model.md.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from forecast.frame import Panel

Preset = Literal["fast", "balanced", "best"]

_SEASONS = 30  # of context
_VALUES = 720  # of context, if that holds
_LEAST_SEASONS = 2
_TOKENS = 15  # that a context is cut into
_ENOUGH = 5000  # observed values from which on all steps are made
_FEWEST = 100  # steps


@dataclass(frozen=True)
class Effort:
    """What a preset spends: optimiser steps of a network, and how many networks."""

    steps: int
    members: int = 1


PRESETS: dict[Preset, Effort] = {"fast": Effort(200), "balanced": Effort(600), "best": Effort(1000, members=3)}


def context_by_rule(panel: Panel, season: int, horizon: int) -> int:
    """Give 30 seasons but at most 720 values, at least two seasons, and at most half of the longest series."""
    seasons = max(_LEAST_SEASONS, min(_SEASONS, _VALUES // season))
    longest = int(panel.lengths.max())
    return max(1, min(seasons * season, (longest - horizon) // 2))


def patch_by_rule(season: int, context: int) -> int:
    """Give about a fifteenth of a context: a season, whole seasons, or a whole part of one."""
    wanted = max(1.0, context / _TOKENS)
    parts = [season // k for k in range(1, season + 1) if season % k == 0]
    whole = [season * k for k in range(2, int(wanted / season) + 2)]
    most = max(1, context // 2)
    return min((patch for patch in parts + whole if patch <= most), key=lambda patch: _apart(patch, wanted))


def steps_by_rule(panel: Panel, steps: int) -> int:
    """Give how many of the steps are made: fewer where the data are too few to learn for long."""
    observed = sum(int(observed.sum()) for _, observed in panel)
    return max(min(steps, _FEWEST), round(steps * min(1.0, (observed / _ENOUGH) ** 0.5)))


def member_seeds(seed: int, members: int) -> list[int]:
    """Give the seed of each of several networks; that of the first is the seed itself."""
    more = [int(np.random.SeedSequence([seed, member]).generate_state(1)[0]) for member in range(1, members)]
    return [seed, *more]


def _apart(patch: int, wanted: float) -> float:
    return abs(float(np.log(patch / wanted)))
