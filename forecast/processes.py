"""Training that several processes share: which strategies may, what has to be alike in all of them, what may not be.

Lightning starts the processes, or finds that torchrun, SLURM or Ray has done so, and brings their gradients together.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy

from forecast.borrowed import interruptible, quiet
from forecast.data import WindowDataModule
from forecast.network_training import NetworkTraining

_FIRST = "MainProcess"  # what Python calls the process that it began with
_PROGRAMS = ("forecast", "pytest")  # which do much else
_LAUNCHED = ("spawn", "fork", "forkserver")  # by the process that fits, which trains nothing itself


class Processes(Callback):
    """Lets every process compute with the threads that were asked for, and draw dropout of its own.

    What a process draws depends on the seed, its rank and the epoch alone: also where a fit goes on that was stopped.

    Parameters
    ----------
    seed: of the fit.
    threads: for each process, None for what lightning gives it.
    verbose: 2 for lightning's messages.

    """

    def __init__(self, seed: int, threads: int | None, verbose: int):
        self.seed = seed
        self.threads = threads
        self.verbose = verbose
        self.fit: dict[str, str] = {}  # what is fitted on what, by name, where each process has read it itself

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Come to a process that was started for the fit, which is as silent as the one it came from."""
        self.__dict__.update(state)
        if multiprocessing.current_process().name != _FIRST:
            self.silence = quiet(self.verbose)
            self.silence.__enter__()

    def join(self, trainer: Trainer) -> None:
        """Come with a trainer under which several processes train."""
        if trainer.world_size > 1:
            trainer.callbacks.append(self)  # type: ignore[attr-defined]

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Take the threads, which lightning has set to a share of the cores; refuse to fit different things together.

        Raises
        ------
        ValueError: in all processes, if one of them fits something else than the first.

        """
        del pl_module, stage
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        told: list[Any] = [None] * trainer.world_size
        torch.distributed.all_gather_object(told, self.fit)
        for rank, fit in enumerate(told):
            for name in (name for name in fit if fit[name] != told[0][name]):
                raise ValueError(
                    f"`trainer` asks for {trainer.world_size} processes, and {name} of process {rank} differs from "
                    "that of process 0; all have to fit the same forecaster on the same frame, which they share "
                    "themselves. Read the same data in the same order everywhere, with the same seed"
                )

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Seed torch for this epoch."""
        del pl_module
        own = np.random.SeedSequence([self.seed % 2**32, trainer.global_rank, trainer.current_epoch])
        torch.manual_seed(int(own.generate_state(1)[0]))


def check_trainer(trainer: Trainer) -> None:
    """Refuse a trainer under which a network would not be what it seems to be.

    Raises
    ------
    ValueError: numbers of 16 bits whose gradients need a scale, which the clipping would not see; several processes
        under another strategy than data parallel training, or that start from a program that cannot be started again.

    """
    if getattr(trainer.precision_plugin, "scaler", None) is not None or trainer.precision == "16-true":
        raise ValueError(
            f"`trainer` has the precision {trainer.precision!r}, in which small gradients become zero; allowed: "
            "'32-true', '64-true', 'bf16-mixed', 'bf16-true'"
        )
    strategy = trainer.strategy
    if trainer.world_size == 1:
        return
    if not isinstance(strategy, DDPStrategy) or isinstance(strategy, DeepSpeedStrategy):
        raise ValueError(
            f"`trainer` asks for {trainer.world_size} processes under {type(strategy).__name__}; allowed: 'ddp', "
            "'ddp_spawn', 'ddp_fork', 'ray', or a DDPStrategy: each holds the whole network"
        )
    environment = strategy.cluster_environment
    by_script = strategy._start_method == "popen" and not (environment and environment.creates_processes_externally)
    if by_script and not _starts_again():
        raise ValueError(
            f"`trainer` asks for {trainer.world_size} processes under 'ddp', which starts the script of this program "
            "once more for each, and there is no script of yours. Take 'ddp_spawn' or, in a notebook, 'ddp_fork'; or "
            "start all processes yourself, with torchrun"
        )


def train(
    arguments: Mapping[str, Any],
    module: NetworkTraining,
    data: WindowDataModule,
    processes: Processes,
    fit: Callable[[], dict[str, str]],
) -> None:
    """Train with `Trainer(**arguments)`, in this process or in as many as it asks for; `fit` gives what they compare.

    The weights are in `module` afterwards, in every process that has called this. Raises as `check_trainer` does.
    """
    trainer = Trainer(**arguments)
    check_trainer(trainer)
    processes.join(trainer)
    if trainer.world_size > 1 and not _launched(trainer):
        processes.fit = fit()
    with interruptible(trainer), _shared(trainer):
        trainer.fit(module, datamodule=data)


def _launched(trainer: Trainer) -> bool:
    """Whether this process starts those that train, and waits for them."""
    return isinstance(trainer.strategy, DDPStrategy) and trainer.strategy._start_method in _LAUNCHED


def _starts_again() -> bool:
    """Whether lightning can start the program again by its name, and would come to this fit: no worker, no command."""
    spec = sys.modules["__main__"].__spec__  # of what was started by python -m
    name = spec.name.partition(".")[0] if spec else Path(sys.argv[0]).stem
    there = spec is not None or Path(sys.argv[0]).is_file()
    return there and name not in _PROGRAMS and multiprocessing.current_process().name == _FIRST


@contextmanager
def _shared(trainer: Trainer) -> Iterator[None]:
    """Leave no process behind that a fit has started, and the environment as it was, if they have all ended.

    Under 'ddp' it stays as lightning sets it: the next fit finds its processes by it.
    """
    before = dict(os.environ)
    try:
        yield
    except BaseException as error:
        if trainer.world_size > 1:
            _end(getattr(trainer.strategy.launcher, "procs", []))
            error.add_note(
                f"(in process {trainer.global_rank} of {trainer.world_size} that share the fit, counted from 0; where "
                "a connection was closed, another one has failed, whose own message says why)"
            )
        raise
    finally:
        if _launched(trainer):
            os.environ.clear()
            os.environ.update(before)


def _end(started: list[Any]) -> None:
    """Kill processes, which may wait for this one forever, and wait until they are gone."""
    for process in started:
        process.kill()
        process.wait() if isinstance(process, subprocess.Popen) else process.join()
    started.clear()  # a thread of lightning's watches them, and would end this process with them
