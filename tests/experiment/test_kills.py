"""Runs and workers that are killed at random moments, many times: nothing is lost, and nothing is done twice."""

import multiprocessing
import os
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from forecast.experiment.engine import Local, run_cells
from forecast.experiment.store import Store
from forecast.experiment.work import Progress, Work

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Numbers:
    """Two files, so that one can be there without the other."""

    of: int

    def write(self, folder):
        folder.mkdir()
        for name in ("first.npy", "second.npy"):
            np.save(folder / name, np.random.default_rng(self.of).normal(size=500))

    def are_in(self, folder):
        arrays = [np.load(folder / name) for name in ("first.npy", "second.npy")]
        return all(np.array_equal(one, np.random.default_rng(self.of).normal(size=500)) for one in arrays)


@dataclass(frozen=True, eq=False)
class Cell(Work):
    """Leaves a trace of its process whenever it is computed; every other one fails at its first time.

    One that `dies` is killed at its first time, at some moment.
    """

    number: int
    traces: Path
    dies: bool = False

    @property
    def key(self):
        return f"cell-{self.number}"

    @property
    def config(self):
        return {"number": self.number}

    @property
    def kind(self):
        return "cell"

    def facts(self):
        return {"key": self.key}

    def compute(self):
        trace = self.traces / self.key
        first = not trace.exists()
        with trace.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if first and self.dies:
            time.sleep(np.random.default_rng(self.number).exponential(0.1))
            os.kill(os.getpid(), signal.SIGKILL)
        if first and self.number % 2:
            raise RuntimeError("the lid is stuck")
        return Numbers(self.number)


def begin(folder):
    """Make a store, and cells for it."""
    traces = folder / "traces"
    traces.mkdir(parents=True)
    return Store(folder / "out"), [Cell(number, traces) for number in range(30)]


def run(store, cells):
    store.folder.mkdir(exist_ok=True)
    with store.locked():
        run_cells(cells, store, Progress(), Local(workers=1))


def computed_by(pid, cells):
    traces = {cell.key: cell.traces / cell.key for cell in cells}
    return {key for key, trace in traces.items() if trace.exists() and f"{pid}" in trace.read_text().split()}


def test_two_hundred_runs_that_are_killed_lose_nothing_and_do_nothing_twice(tmp_path):
    fork, rng = multiprocessing.get_context("fork"), np.random.default_rng(0)
    store, cells = begin(tmp_path / "0")
    done, kills, finished = set(), 0, 0
    while kills < 200:
        process = fork.Process(target=run, args=(store, cells))
        process.start()
        process.join(rng.exponential(0.02))
        kills += process.is_alive()
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        assert not computed_by(process.pid, cells) & done
        now = {cell.key for cell in cells if store.is_done(cell.key)}
        assert now >= done
        assert all(Numbers(cell.number).are_in(store.folder_of(cell.key)) for cell in cells if cell.key in now)
        done = now
        if len(done) == len(cells):
            finished += 1
            assert sorted(path.name for path in store.folder.glob("cells/*")) == sorted(done)
            (store, cells), done = begin(tmp_path / f"{finished}"), set()
    assert finished  # of killed runs alone


class Ended(Progress):
    """Remembers how cells ended."""

    def __init__(self):
        self.outcomes = {}

    def finished(self, cell, outcome, seconds):
        self.outcomes[cell.number] = outcome


def test_workers_that_are_killed_all_the_time_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))  # by which workers find the class of cells
    store, cells = begin(tmp_path)
    cells = [replace(cell, dies=cell.number % 3 == 0) for cell in cells]
    run_cells(cells, store, ended := Ended(), Local(workers=2))
    expected = {cell.number: "failed" if cell.number % 2 and not cell.dies else "done" for cell in cells}
    assert ended.outcomes == expected
    for cell in cells:
        workers = (cell.traces / cell.key).read_text().split()
        assert len(set(workers)) == len(workers) == 1 + cell.dies
    run_cells(cells, store, Progress(), Local(workers=1))  # what failed of its own
    assert all(Numbers(cell.number).are_in(store.folder_of(cell.key)) for cell in cells)
