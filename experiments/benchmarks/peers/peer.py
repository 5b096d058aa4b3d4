"""What a script of a library has to say of itself, and the one command line under which all are measured.

    PYTHON SCRIPT --data etth1 --family lstm --setting defaults

The last line it prints is one row of the comparison, as JSON. Nothing is imported here that would make the import of a
library look faster than it is.
"""

import argparse
import json
import os
import resource
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.metadata import version
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tasks import Forecasts, Task

FAMILIES = ("lstm", "tcn", "transformer")


class Peer(ABC):
    """A library that is measured: one model of it, fitted once.

    Attributes
    ----------
    library: name of the distribution.
    models: which of its models stands for a family.
    settings: how it can be run.
    batch: windows of an optimiser step, where the library tells.
    every: models so slow that they forecast from each so many origins only, on tasks that have more than one.

    """

    library: ClassVar[str]
    models: ClassVar[Mapping[str, str]]
    settings: ClassVar[tuple[str, ...]] = ("defaults", "equal steps")
    every: ClassVar[Mapping[str, int]] = {}

    def __init__(self, asked: argparse.Namespace):
        self.asked = asked
        self.model = self.models[asked.family]
        self.steps = 0  # optimiser steps that were made
        self.parameters: int | None = None

    @abstractmethod
    def _load(self) -> None:
        """Import what the model needs."""

    @abstractmethod
    def _fit(self, task: "Task") -> None:
        """Fit the model on the rows of a task that come before its test rows."""

    @abstractmethod
    def _forecast(self, task: "Task", every: int) -> "Forecasts":
        """Forecast all windows from every so many origins on: series by series, within these by time."""

    def watch(self, callback: type) -> Any:
        """Give a callback of Lightning that counts steps and ends training when the time is up.

        `callback` is its base class, since there are two Lightnings. Time counts from now on.
        """
        peer, ends = self, perf_counter() + self.asked.cap

        class Watch(callback):
            def on_train_batch_end(self, trainer, *_):
                peer.steps = trainer.global_step
                if perf_counter() > ends:
                    trainer.should_stop = True

            def __deepcopy__(self, memo):
                return self

        return Watch()


def measure(kind: type[Peer]) -> None:
    """Run the command line for one library, and print its row."""
    asked = _parser(kind).parse_args()
    if asked.setting == "equal steps" and asked.steps is None:
        raise SystemExit("`--setting 'equal steps'` needs `--steps`: how many")
    peer = kind(asked)
    began = perf_counter()
    peer._load()
    imported = perf_counter()
    from tasks import task_of

    task = task_of(asked.data)
    every = asked.every or (peer.every.get(peer.model, 1) if task.test_rows > task.horizon else 1)
    row: dict[str, Any] = {
        "library": kind.library,
        "version": version(kind.library),
        "data": task.name,
        "family": asked.family,
        "model": peer.model,
        "setting": asked.setting,
        "seed": asked.seed,
        "import_seconds": imported - began,
    }
    home = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)  # for those that leave files behind
        began = perf_counter()
        peer._fit(task)
        fitted = perf_counter()
        forecasts = peer._forecast(task, every)
        ended = perf_counter()
        os.chdir(home)
    row |= {
        "steps": peer.steps,
        "parameters": peer.parameters,
        "fit_seconds": fitted - began,
        "predict_seconds": ended - fitted,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
        "windows": len(forecasts.means),
        "all_windows": len(task.actuals(1)),
        **task.errors(forecasts, every),
    }
    print(json.dumps(row), flush=True)


def _parser(kind: type[Peer]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=f"Measure {kind.library}: one fit, all forecasts, one row.")
    parser.add_argument("--data", choices=("etth1", "m4_hourly"), default="etth1")
    parser.add_argument("--family", choices=kind.models, default=next(iter(kind.models)))
    parser.add_argument("--setting", choices=kind.settings, default=kind.settings[0])
    parser.add_argument("--steps", type=int, help="optimiser steps; without it those of the library's defaults")
    parser.add_argument("--cap", type=float, default=90.0, help="seconds of a fit after which training is ended")
    parser.add_argument("--every", type=int, help="forecast from every so many origins; 1 for all")
    parser.add_argument("--seed", type=int, default=0)
    return parser
