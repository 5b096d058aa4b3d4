"""The engine of a cluster: tasks of Ray that answer with what a cell holds, which is stored here.

Ray's own retries are off: a cell whose worker is lost is dispatched again, as by every engine.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from forecast.clusters import keep_to_oneself
from forecast.experiment.engine.contract import Answer, Engine, Pool, WorkerLost, check_limits
from forecast.experiment.engine.worker import heard
from forecast.experiment.store import Content, Failure
from forecast.experiment.work import Keeper, Work, keep


@dataclass(frozen=True, kw_only=True)
class Ray(Engine):
    """Workers of a Ray cluster.

    Attributes
    ----------
    address: of the head of a cluster that runs, `host:port`; None for one on this machine that ends with the run.
    workers: how many cells are computed at once; None: as many as the cluster has processor cores.
    timeout: as of every engine.

    """

    address: str | None = None
    workers: int | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_limits(self.workers, self.timeout)
        if find_spec("ray") is None:
            raise ValueError("`engine` is 'ray', which is not installed: pip install 'foretell[ray]'; or take 'local'")

    @contextlib.contextmanager
    def pool(self, cells: int) -> Iterator[Pool | None]:
        """Join the cluster, or start one, and leave or end it afterwards."""
        options: dict[str, Any] = {"address": self.address or "local", "log_to_driver": False, "logging_level": "ERROR"}
        if self.address is None:
            options |= {"num_cpus": self.workers, "include_dashboard": False}
            keep_to_oneself()
        import ray

        ray.init(**options)
        try:
            cores = int(ray.cluster_resources().get("CPU", 1))
            yield _Tasks(max(1, min(self.workers or cores, cells)))
        finally:
            ray.shutdown()


class _Tasks(Pool):
    """Tasks of one core each."""

    def __init__(self, size: int):
        import ray
        from ray import cloudpickle

        self.size = size
        self.task = ray.remote(num_cpus=1, max_retries=0)(_compute)
        self.pickled = cloudpickle.dumps  # pyright: ignore[reportPrivateImportUsage]
        self.busy: dict[Future[Answer], Any] = {}

    def submit(self, work: Work, store: Keeper) -> Future[Answer]:
        reference = self.task.remote(self.pickled(work), sys.path)
        future: Future[Answer] = Future()
        reference.future().add_done_callback(lambda done: _keep(work, store, done, future))
        self.busy[future] = reference
        return future

    def release(self, future: Future[Answer]) -> None:
        import ray

        reference = self.busy.pop(future)
        if future.cancelled():
            ray.cancel(reference, force=True)


def _compute(work: bytes, path: Sequence[str]) -> tuple[Content | Failure, tuple[Warning, ...]]:
    """Compute a cell where classes of the user's own are found as they are by the run."""
    sys.path += [one for one in path if one not in sys.path]
    return heard(pickle.loads(work))


def _keep(work: Work, store: Keeper, done: Future, future: Future[Answer]) -> None:
    """Store what a task has answered, or pass on that its worker has ended."""
    from ray.exceptions import RayError, RayTaskError

    if not future.set_running_or_notify_cancel():  # given up
        return
    try:
        found, said = done.result()
        future.set_result(Answer(keep(work, found, store), said))
    except RayTaskError as error:  # what `_compute` itself raises, such as a wish to stop
        future.set_exception(error.cause if isinstance(error.cause, BaseException) else error)
    except RayError as error:
        told = " ".join(str(error).split())
        future.set_exception(WorkerLost(f"the worker that computed it ended before it was finished: {told}"))
    except BaseException as error:
        future.set_exception(error)
