"""Which quantile levels an experiment may have, and which of its scores they allow."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from forecast.quantiles import check_levels

INTERVALS = {"coverage": (0.1, 0.9), "coverage_90": (0.05, 0.95)}  # of which tables tell the coverage
_DIGITS = 9


def check_with_interval(levels: Sequence[float]) -> None:
    """Refuse levels by which tables cannot be scored. Raises ValueError."""
    check_levels(levels)
    lacking = [level for level in INTERVALS["coverage"] if level not in levels]
    if lacking:
        raise ValueError(
            f"{lacking[0]} is missing: all tables have coverage and score of the interval from 0.1 to 0.9; add it"
        )


def check_scored_at(metrics: Collection[str], levels: Sequence[float]) -> None:
    """Refuse metrics that are not defined at these levels. Raises ValueError."""
    gaps = {round(right - left, _DIGITS) for left, right in pairwise(levels)}
    even = len(gaps) == 1 and round(levels[0] + levels[-1], _DIGITS) == 1
    if "quantile_crps" in metrics and not even:
        raise ValueError(
            "'quantile_crps' takes equally spaced levels about 0.5, which `quantile_levels` are not; leave it out: "
            "`wql`, which tables always have, takes all"
        )
