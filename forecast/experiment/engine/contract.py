"""What every engine keeps: workers, each a process that computes one cell at a time and stores it itself."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import NamedTuple

from forecast.experiment.store import Store
from forecast.experiment.work import Outcome, Work, compute


class WorkerLost(RuntimeError):
    """A worker has ended before its cell was finished: killed, out of memory, or crashed."""


class Answer(NamedTuple):
    """What a worker says of a cell: what came of it, and what it warned of."""

    outcome: Outcome
    warnings: tuple[Warning, ...]


def answer(work: Work, store: Store) -> Answer:
    """Compute a cell and store it, in a worker: whoever runs the experiment is to see the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        outcome = compute(work, store)
    said = (one.message for one in caught)
    return Answer(outcome, tuple(one for one in said if isinstance(one, Warning)))


class Pool(ABC):
    """Workers that are started; `size` is how many cells they compute at once."""

    size: int

    @abstractmethod
    def submit(self, work: Work, store: Store) -> Future[Answer]:
        """Let a worker that is free compute a cell and store it.

        The future raises WorkerLost where the worker has ended, StoreError where the cell cannot be stored.
        """

    @abstractmethod
    def release(self, future: Future[Answer]) -> None:
        """Take back the worker of a cell: one that is still at it is ended, and another takes its place."""


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
