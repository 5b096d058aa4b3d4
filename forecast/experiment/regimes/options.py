"""What options of several regimes have in common: how they are checked, and what apart means."""

import math
from collections.abc import Iterable, Mapping

from forecast.experiment.faults import nearest
from forecast.experiment.regimes.networks import networks
from forecast.forecaster import Forecaster


def check_within(within: float) -> None:
    """Refuse what is no share. Raises ValueError."""
    if isinstance(within, bool) or not isinstance(within, int | float) or not 0 < within < math.inf:
        raise ValueError(f"`within` is {within!r}; allowed: a number above 0, such as 0.05 for 5 %")


def check_of(of: str | None, forecasters: Mapping[str, Forecaster]) -> None:
    """Refuse fewer than two networks, and a reference that is none of them. Raises ValueError."""
    known = list(networks(forecasters))
    if of is not None and of not in known:
        raise ValueError(
            f"`of` is {of!r}, which is no network of this experiment; {nearest(of, known)}"
            f"allowed: {', '.join(known) or 'none, since there is no network'}"
        )
    if len(known) < 2:
        raise ValueError(
            f"there {'is one' if known else 'are no'} network{'s' * (not known)} to match; a regime that matches needs "
            "two or more: add one, or leave the regime out"
        )


def spread(values: Iterable[float]) -> float:
    """Give by how much the largest exceeds the smallest, as a share of it."""
    values = list(values)
    return max(values) / min(values) - 1
