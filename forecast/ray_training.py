"""Training by Ray Train: the processes that share a fit are workers of a Ray cluster, and the weights come back.

Lightning trains there as anywhere else: Ray starts the processes and tells them of each other.
"""

import io
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import torch
from lightning.pytorch import Trainer

from forecast.borrowed import computing, quiet, seeded, switches
from forecast.clusters import cluster
from forecast.data import WindowDataModule
from forecast.network_training import NetworkTraining
from forecast.processes import Processes, check_trainer


def train_on_ray(
    arguments: Mapping[str, Any], module: NetworkTraining, data: WindowDataModule, processes: Processes
) -> None:
    """Train as `Trainer(**arguments).fit(module, data)` would, in `devices` x `num_nodes` workers of one core each.

    They run in the cluster that `ray.init` has joined, or in one on this machine that ends with the fit; with
    `accelerator="gpu"` each has a GPU. Callbacks and loggers live in the workers: the caller's stay as they were.

    Raises
    ------
    ModuleNotFoundError: without the extra `ray`.
    ValueError: numbers that are none; a cluster that is too small, which would wait for more forever.
    ray.train.TrainingFailedError: what a worker raised, or that it was lost.

    """
    for library in ("ray", "pyarrow"):
        if find_spec(library) is None:
            raise ModuleNotFoundError(
                f"`trainer` has the strategy 'ray', which needs {library}: pip install 'foretell[ray]'"
            )
    given = dict(arguments)
    del given["strategy"]
    workers = 1
    for name in ("devices", "num_nodes"):
        count = given.pop(name, 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"`trainer` has the strategy 'ray' and `{name}` {count!r}; allowed: 1 or more")
        workers *= count
    gpu = given.get("accelerator") in ("gpu", "cuda")
    given["accelerator"] = "gpu" if gpu else "cpu"
    with cluster(workers), TemporaryDirectory() as scratch:
        import ray
        from ray import cloudpickle
        from ray.train import RunConfig, ScalingConfig
        from ray.train.torch import TorchTrainer

        there = ray.cluster_resources()
        for resource in ("CPU", "GPU")[: 1 + gpu]:
            if there.get(resource, 0) < workers:
                raise ValueError(
                    f"`trainer` asks for {workers} workers of one {resource} each, and the Ray cluster has "
                    f"{there.get(resource, 0):g}: ask for fewer `devices`, or join a larger one with ray.init"
                )
        back = ray.remote(num_cpus=0)(_Mailbox).remote()
        dumps = cloudpickle.dumps  # pyright: ignore[reportPrivateImportUsage]  classes of one's own script go with it
        work = {"work": ray.put(dumps((given, module, data, processes))), "back": back, "path": list(sys.path)}
        run = RunConfig(name="fit", storage_path=scratch)  # by default it would write into the user's home
        scaling = ScalingConfig(num_workers=workers, use_gpu=gpu)
        with _staying():
            TorchTrainer(_train, train_loop_config=work, scaling_config=scaling, run_config=run).fit()
        module.load_state_dict(torch.load(io.BytesIO(ray.get(back.take.remote())), weights_only=True))


@contextmanager
def _staying() -> Iterator[None]:
    """Let workers stay in the folder in which they begin: those that callbacks write into are relative to it."""
    name = "RAY_CHDIR_TO_TRIAL_DIR"
    before = os.environ.get(name)
    os.environ[name] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


class _Mailbox:
    """Where the first worker leaves the weights: neither disk nor the version of Ray has to be the same for it."""

    def put(self, state: bytes) -> None:
        self.state = state

    def take(self) -> bytes:
        return self.state


def _train(work: Mapping[str, Any]) -> None:
    """Train in a worker."""
    import ray
    from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment, prepare_trainer

    sys.path += [one for one in work["path"] if one not in sys.path]
    given, module, data, processes = pickle.loads(ray.get(work["work"]))
    plugins = [*(given.pop("plugins", None) or ()), RayLightningEnvironment()]
    with seeded(processes.seed), computing(processes.threads), switches(), quiet(processes.verbose):
        trainer = Trainer(**given, devices="auto", strategy=RayDDPStrategy(), plugins=plugins)
        check_trainer(trainer)
        processes.join(trainer)
        prepare_trainer(trainer).fit(module, datamodule=data)
    if trainer.is_global_zero:
        state = io.BytesIO()
        torch.save(module.cpu().state_dict(), state)
        ray.get(work["back"].put.remote(state.getvalue()))
