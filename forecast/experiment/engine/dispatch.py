"""The dispatch of cells to workers: what may begin does, in its order; who loses a worker begins again."""

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from time import perf_counter

from forecast.experiment.engine.contract import Answer, Engine, Pool, WorkerLost
from forecast.experiment.store import Failure
from forecast.experiment.work import Keeper, Outcome, Progress, Work, compute, keep

_RETRIES = 2  # of a cell whose worker was lost


def run_cells(cells: Sequence[Work], store: Keeper, progress: Progress, engine: Engine) -> None:
    """Compute and store the cells that are not stored: in their order, as far as there are workers.

    A cell whose worker is lost is computed again, twice; after that it has failed, as has one that takes too long.

    Raises
    ------
    StoreError: a cell cannot be stored. The others that are finished are.
    KeyboardInterrupt: the user wants to stop; finished cells are stored.

    """
    progress.begin(cells)
    left: dict[str, Work] = {}
    twins = []  # of cells that are in two comparisons
    for cell in cells:
        if cell.key in left:
            twins.append(cell)
        elif store.is_done(cell.key):
            progress.finished(cell, "stored", 0.0)
        else:
            left[cell.key] = cell
    if left:
        with engine.pool(sum(not cell.alone for cell in left.values())) as pool:
            if pool is None:
                _one_by_one(list(left.values()), store, progress)
            else:
                progress.workers = pool.size
                _Dispatch(list(left.values()), store, progress, pool, engine.timeout).run()
    for cell in twins:
        progress.finished(cell, "stored" if store.is_done(cell.key) else "failed", 0.0)


def _one_by_one(cells: Sequence[Work], store: Keeper, progress: Progress) -> None:
    for cell in cells:
        progress.at_work(cell)
        began = perf_counter()
        outcome = keep(cell, compute(cell.ready(store)), store)
        progress.finished(cell, outcome, perf_counter() - began)


class _Dispatch:
    """One run of cells on a pool."""

    def __init__(self, cells: Sequence[Work], store: Keeper, progress: Progress, pool: Pool, timeout: float | None):
        self.waiting = list(cells)
        self.store = store
        self.progress = progress
        self.pool = pool
        self.timeout = math.inf if timeout is None else timeout
        self.running: dict[Future[Answer], tuple[Work, float]] = {}
        self.unfinished = {cell.key for cell in cells}
        self.lost: Counter[str] = Counter()

    def run(self) -> None:
        """Go on until all cells are finished."""
        while self.unfinished:
            while (cell := self._next()) is not None:
                self.waiting.remove(cell)
                self.progress.at_work(cell)
                self.running[self.pool.submit(cell.ready(self.store), self.store)] = cell, perf_counter()
            wait(self.running, timeout=self._patience(), return_when=FIRST_COMPLETED)
            for future, (cell, began) in list(self.running.items()):
                seconds = perf_counter() - began
                if future.done() or seconds > self.timeout:
                    del self.running[future]
                    self._end(future, cell, seconds)

    def _next(self) -> Work | None:
        """Give the first cell that may begin now; None where there is none, or no worker is free."""
        at_work = [cell for cell, _ in self.running.values()]
        if len(at_work) == self.pool.size or any(cell.alone for cell in at_work):
            return None
        may_begin = (
            cell
            for cell in self.waiting
            if not (cell.alone and at_work) and self.unfinished.isdisjoint(one.key for one in cell.after)
        )
        return next(may_begin, None)

    def _patience(self) -> float | None:
        """Give the seconds until the next cell has taken too long; None where none can."""
        if math.isinf(self.timeout):
            return None
        oldest = min(began for _, began in self.running.values())
        return max(0.0, oldest + self.timeout - perf_counter()) + 0.01

    def _end(self, future: Future[Answer], cell: Work, seconds: float) -> None:
        outcome: Outcome = "failed"
        late = future.cancel()
        self.pool.release(future)
        if late:
            error = TimeoutError(f"it took longer than {self.timeout:g} s, after which cells are given up here")
            self.store.write_error(cell.key, cell.config, Failure.of(error))
        else:
            try:
                outcome, said = future.result()
                for warning in said:
                    warnings.warn(warning, stacklevel=2)
            except WorkerLost as error:
                self.lost[cell.key] += 1
                if self.lost[cell.key] <= _RETRIES:
                    self.waiting.insert(0, cell)
                    return
                self.store.write_error(cell.key, cell.config, Failure.of(error))
        self.unfinished.remove(cell.key)
        self.progress.finished(cell, outcome, seconds)
