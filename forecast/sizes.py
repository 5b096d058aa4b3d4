"""What a network's sizes are where nobody says them: how far it reads, in which patches, and how long it is trained.

Rules for any frequency, length and number of series; the table of them is in docs/choosing-a-model.md.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from forecast.frame import Panel
from forecast.frame.steps import Months

Preset = Literal["fast", "balanced", "best"]

_SEASONS = 30  # of context
_VALUES = 720  # of context, if that holds
_LEAST_SEASONS = 2
_YEARS = 10  # seasons of context, where a step is a month or longer
_LEAST_YEARS = 16  # values of it, where a step is a year
_TOKENS = 15  # that a context is cut into
_LONG = 24  # steps of a season: a day of hours is read at once
_ENOUGH = 5_000  # observed values from which on all steps are made
_MUCH = 100_000  # from which on more are
_MOST = 1.25  # times as many: each of a wide network takes long, and teaches much
_FEWEST = 100  # steps
_MANY = 200_000  # observed values that a network is made wider for
_WIDE = 128


@dataclass(frozen=True)
class Effort:
    """What a preset spends: optimiser steps of a network, and how many networks."""

    steps: int
    members: int = 1


PRESETS: dict[Preset, Effort] = {"fast": Effort(200), "balanced": Effort(600), "best": Effort(1000, members=3)}


def context_by_rule(panel: Panel, season: int, horizon: int) -> int:
    """Give 30 seasons, of at most 720 values but at least two seasons, and at most half of the longest series.

    Of months and longer steps, which know no cycle above the year and have short series: 10 seasons, at least 16
    values, and at most the longest series.
    """
    room = int(panel.lengths.max()) - horizon
    if isinstance(panel.calendar.steps, Months):
        return max(1, min(max(_YEARS * season, _LEAST_YEARS), room))
    seasons = max(_LEAST_SEASONS, min(_SEASONS, _VALUES // season))
    return max(1, min(seasons * season, room // 2))


def patch_by_rule(season: int, context: int) -> int:
    """Give about a fifteenth of a context: whole seasons, or a whole part of one that is long or hardly in it."""
    wanted = context / _TOKENS
    divided = season > _LONG or 2 * season > context
    parts = [season // k for k in range(2, season + 1) if season % k == 0] if divided else []
    whole = [season * k for k in range(1, max(1, round(wanted / season)) + 1)]
    fitting = [patch for patch in parts + whole if patch <= max(1, context // 2)]
    return min(fitting, key=lambda patch: abs(log(patch / wanted)), default=1)


def width_by_rule(panel: Panel) -> int | None:
    """Give the width of a network for very many values; None where that of its config will do."""
    return _WIDE if _observed(panel) > _MANY else None


def steps_by_rule(panel: Panel, steps: int) -> int:
    """Give how many steps are made: fewer where data are too few to learn for long, somewhat more for many."""
    observed = _observed(panel)
    share = min(1.0, (observed / _ENOUGH) ** 0.5) * min(_MOST, max(1.0, (observed / _MUCH) ** (1 / 3)))
    return max(min(steps, _FEWEST), round(steps * share))


def _observed(panel: Panel) -> int:
    return sum(int(observed.sum()) for _, observed in panel)


def member_seeds(seed: int, members: int) -> list[int]:
    """Give the seed of each of several networks; that of the first is the seed itself."""
    more = [int(np.random.SeedSequence([seed, member]).generate_state(1)[0]) for member in range(1, members)]
    return [seed, *more]
