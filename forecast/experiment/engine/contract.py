"""What every engine keeps: workers, each a process that computes one cell at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import NamedTuple

from forecast.experiment.work import Keeper, Outcome, Work
from forecast.params import check_positive


class WorkerLost(RuntimeError):
    """A worker has ended before its cell was finished: killed, out of memory, or crashed."""


def check_limits(workers: int | None, timeout: float | None) -> None:
    """Refuse a number of workers or a timeout that is none. Raises TypeError, ValueError."""
    if workers is not None:
        check_positive(workers=workers)
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"`timeout` is {timeout!r}; allowed: seconds above 0, or None")
    if not timeout > 0:
        raise ValueError(f"`timeout` is {timeout!r}; allowed: seconds above 0, or None")


class Answer(NamedTuple):
    """What came of a cell that is stored, and what its worker warned of."""

    outcome: Outcome
    warnings: tuple[Warning, ...]


class Pool(ABC):
    """Workers that are started; `size` is how many cells they compute at once."""

    size: int

    @abstractmethod
    def submit(self, work: Work, store: Keeper) -> Future[Answer]:
        """Let a worker that is free compute a cell and store it.

        The future raises WorkerLost where the worker has ended, StoreError where the cell cannot be stored. Who
        cancels it gives the cell up, which can be done until its answer is there.
        """

    @abstractmethod
    def release(self, future: Future[Answer]) -> None:
        """Take back the worker of a cell: where that was given up, it is ended, and another takes its place."""


class Engine(ABC):
    """A frozen keyword-only dataclass of its options, which raises ValueError for those that are not allowed.

    Attributes
    ----------
    timeout: seconds after which a cell is given up, and kept as one that failed; None for never.

    """

    timeout: float | None

    @abstractmethod
    def pool(self, cells: int) -> AbstractContextManager[Pool | None]:
        """Start workers for so many cells beside each other, and end them all afterwards.

        None where cells are to be computed here, one after the other.
        """
