"""What plans of curves have in common: backbones by name, rising lengths, and a random state for each point."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch

from forecast.nn import Backbone


def check_backbones(backbones: Mapping[str, Backbone]) -> None:
    """Raise ValueError where there is none, or one that reads across series."""
    if not backbones:
        raise ValueError("`backbones` is empty; allowed: one or more, by name")
    for name, backbone in backbones.items():
        if backbone.across_series:
            raise ValueError(
                f"`backbones` holds {name!r}, which reads across series; allowed: those that read each by itself"
            )


def check_rising(name: str, given: Sequence[int], least: int = 1) -> None:
    """Raise ValueError where numbers are not whole, below the least, or do not rise."""
    values = list(given)
    whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= least for one in values)
    if not values or not whole or values != sorted(set(values)):
        raise ValueError(f"`{name}` is {values}; allowed: whole numbers of {least} or more, each larger than the last")


@contextmanager
def alone(seed: int = 0) -> Iterator[None]:
    """Run on one thread, with a random state of its own."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
