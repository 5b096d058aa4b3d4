"""The engine of one machine: processes of loky, one cell each at a time, so that it is known whose worker is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast.experiment.engine.contract import Answer, Engine, Pool, WorkerLost, check_limits
from forecast.experiment.engine.worker import answer
from forecast.experiment.work import Keeper, Work

if TYPE_CHECKING:
    from joblib.externals.loky import ProcessPoolExecutor

_CELLS = 6  # to each worker, at least: to start one takes seconds
_LOOKS = 1.0  # seconds from one look to the next whether the run is still there
# Cells are computed beside each other: each has one thread for its numbers.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1")


@dataclass(frozen=True, kw_only=True)
class Local(Engine):
    """Worker processes on this machine.

    Attributes
    ----------
    workers: how many; with 1, and without a timeout, cells are computed in this process. None: as many as there are
        processor cores, and no more than one for every six cells.
    timeout: as of every engine.

    """

    workers: int | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_limits(self.workers, self.timeout)

    @contextlib.contextmanager
    def pool(self, cells: int) -> Iterator[Pool | None]:
        """Start the workers as they are needed, and end them all afterwards."""
        size = self._size(cells)
        if size == 1 and self.timeout is None:
            yield None
            return
        slots = _Slots(size)
        try:
            yield slots
        finally:
            slots.end()

    def _size(self, cells: int) -> int:
        if self.workers is not None:
            return max(1, min(self.workers, cells))
        from joblib.externals.loky import cpu_count

        return max(1, min(cpu_count(), cells // _CELLS))


class _Slots(Pool):
    """Pools of one process each."""

    def __init__(self, size: int):
        self.size = size
        self.free: list[ProcessPoolExecutor] = []
        self.busy: dict[Future[Answer], tuple[ProcessPoolExecutor, Future]] = {}

    def submit(self, work: Work, store: Keeper) -> Future[Answer]:
        worker = self.free.pop() if self.free else _worker()
        inner = worker.submit(answer, work, store)
        future: Future[Answer] = Future()
        inner.add_done_callback(lambda done: _pass_on(done, future))
        self.busy[future] = worker, inner
        return future

    def release(self, future: Future[Answer]) -> None:
        worker, inner = self.busy.pop(future)
        if future.cancelled() or isinstance(future.exception(), WorkerLost):
            worker.shutdown(wait=inner.done(), kill_workers=True)
        else:
            self.free.append(worker)

    def end(self) -> None:
        """End all workers, those at work too."""
        for worker in [*self.free, *(worker for worker, _ in self.busy.values())]:
            worker.shutdown(wait=True, kill_workers=True)


def _worker() -> ProcessPoolExecutor:
    """Start one process, which imports no main module, so that a script needs no guard."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(1, initializer=_begin, initargs=(os.getpid(),), env=_ONE_THREAD)


def _begin(run: int) -> None:
    """Make a process a worker: it leaves Ctrl-C to the run, and ends when that has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == run:
            time.sleep(_LOOKS)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


def _pass_on(done: Future, future: Future[Answer]) -> None:
    """Pass on what a process has answered, or that it has ended."""
    from concurrent.futures.process import BrokenProcessPool

    if not future.set_running_or_notify_cancel():  # given up
        return
    error = done.exception()
    if isinstance(error, BrokenProcessPool):
        future.set_exception(WorkerLost(f"the process that computed it ended before it was finished: {error}"))
    elif error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())
