"""Engines: the same numbers whoever computes them, whatever happens to who does."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest

from forecast.experiment import StoreError, rebuild, run_experiment
from forecast.experiment.engine import Engine, Local, run_cells
from forecast.experiment.engine.contract import Answer, Pool
from forecast.experiment.engine.worker import answer
from forecast.experiment.store import Store
from forecast.experiment.work import Progress, Work

NETWORK = "{type: NeuralForecaster, backbone: {type: lstm, width: 8}, training: {steps: 20, batch_size: 8}}"
MODELS = '''
import os, signal, time, warnings
from pathlib import Path
from forecast import Naive

HERE = Path(__file__).parent

class Killed(Naive):
    """Its process is killed so many times, as by a machine that is out of memory."""
    times = 1
    def _fit(self, panel):
        count = len(list(HERE.glob(f"{type(self).__name__}-*")))
        if count < self.times:
            (HERE / f"{type(self).__name__}-{count}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        super()._fit(panel)

class AlwaysKilled(Killed):
    times = 99

class Hanging(Naive):
    def _fit(self, panel):
        time.sleep(600)

class Warning_(Naive):
    def _fit(self, panel):
        warnings.warn("the lid is loose")
        super()._fit(panel)

class Slow(Naive):
    def _fit(self, panel):
        (HERE / f"slow-{os.getpid()}").touch()
        time.sleep(0.5)
        super()._fit(panel)
'''


@pytest.fixture
def own(own_module):
    return own_module("engine_models", MODELS)


class Noted(Progress):
    """Remembers which cells began and ended, and how."""

    def __init__(self):
        self.begun, self.ended = [], {}

    def at_work(self, cell):
        self.begun.append(str(cell))

    def finished(self, cell, outcome, seconds):
        self.ended[str(cell)] = outcome


def numbers(results):
    """Give all forecasts, and what was counted, without what was timed."""
    return results.ledger.forecasts, results.summary.drop(columns=["fit_seconds", "predict_seconds"])


@pytest.mark.slow
def test_two_workers_give_the_bits_of_none(config, tmp_path, undrawn):
    path = config(
        "seeds: [0, 1]",
        forecasters=f"{{SeasonalNaive: , NLinear: , Fast: {NETWORK}}}",
        plan="{n_folds: 2, refit: never}",
    )
    alone = run_experiment(path, tmp_path / "alone")
    beside = run_experiment(path, tmp_path / "beside", engine=Local(workers=2))
    for one, other in zip(numbers(alone), numbers(beside), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert beside.cells["status"].eq("done").all()
    assert beside.cells["key"].tolist() == alone.cells["key"].tolist()
    noted = Noted()
    run_experiment(path, tmp_path / "alone", noted, engine=Local(workers=2))
    assert set(noted.ended.values()) == {"stored"}  # whichever engine has computed a cell


@pytest.mark.slow
def test_workers_audit_too(config, tmp_path, undrawn):
    results = run_experiment(config("audit: true", plan="{n_folds: 1}"), tmp_path / "out", engine=Local(workers=2))
    assert all(one.passed for one in results.audits["series"].values())
    assert len(results.audits["series"]) == 2


def test_a_cell_whose_worker_is_killed_is_computed_again(config, tmp_path, own, undrawn):
    path = config(forecasters='{SeasonalNaive: , Naive: , killed: {type: "engine_models:Killed"}}')
    results = run_experiment(path, tmp_path / "out", noted := Noted(), engine=Local(workers=2))
    assert set(noted.ended.values()) == {"done"}
    assert len(noted.begun) == len(noted.ended) + 1
    table = results.ledger.forecasts.set_index("forecaster").drop(columns="seed")
    pd.testing.assert_frame_equal(
        table.loc["killed"].reset_index(drop=True), table.loc["Naive"].reset_index(drop=True), check_exact=True
    )


def test_a_cell_whose_workers_are_always_killed_has_failed_and_the_others_go_on(config, tmp_path, own, undrawn):
    path = config(forecasters='{SeasonalNaive: , killed: {type: "engine_models:AlwaysKilled"}}', plan="{n_folds: 1}")
    results = run_experiment(path, tmp_path / "out", engine=Local(workers=2))
    assert [row["forecaster"] for row in results.failures] == ["killed"]
    assert results.failures[0]["error"].startswith("WorkerLost: the process that computed it ended before")
    assert len(list(own.glob("AlwaysKilled-*"))) == 3
    assert results.ledger.forecasters == ("SeasonalNaive",)


@pytest.mark.slow  # since a busy machine may take seconds to start a worker
def test_a_cell_that_takes_too_long_has_failed_and_the_others_go_on(config, tmp_path, own, undrawn):
    path = config(forecasters='{hanging: {type: "engine_models:Hanging"}, SeasonalNaive: }', plan="{n_folds: 1}")
    results = run_experiment(path, tmp_path / "out", noted := Noted(), engine=Local(workers=1, timeout=25))
    assert noted.begun == ["hanging, seed 0, fold 1 of 1", "SeasonalNaive, seed 0, fold 1 of 1"]
    assert [row["error"] for row in results.failures] == [
        "TimeoutError: it took longer than 25 s, after which cells are given up here"
    ]
    assert results.ledger.forecasters == ("SeasonalNaive",)


def test_what_workers_warn_of_is_warned_of_here(config, tmp_path, own, undrawn):
    path = config(forecasters='{SeasonalNaive: , loose: {type: "engine_models:Warning_"}}', plan="{n_folds: 1}")
    with pytest.warns(UserWarning, match="the lid is loose"):
        run_experiment(path, tmp_path / "out", engine=Local(workers=2))


SCRIPT = """
    import sys
    from forecast import run_experiment
    from forecast.experiment.engine import Local

    sys.path.insert(0, sys.argv[3])
    run_experiment(sys.argv[1], sys.argv[2], engine=Local(workers=2))  # with no guard of a main module
"""


@pytest.mark.slow  # since an interpreter of its own takes seconds to start
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_leaves_no_worker_and_goes_on_where_it_was(config, tmp_path, own, undrawn, how):
    path = config(forecasters='{slow: {type: "engine_models:Slow"}, SeasonalNaive: }', plan="{n_folds: 8, refit: 1}")
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    command = [sys.executable, tmp_path / "script.py", path, tmp_path / "out", own]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=heard, start_new_session=True)
    wait_for(lambda: list((tmp_path / "out").glob("cells/*/done.json")))
    workers = [int(trace.name.removeprefix("slow-")) for trace in own.glob("slow-*")]
    assert run.pid not in workers
    run.send_signal(how)
    error = run.communicate(timeout=30)[1].decode()
    assert run.returncode
    assert how == signal.SIGKILL or "KeyboardInterrupt" in error
    wait_for(lambda: not any(map(is_there, workers)))
    done = len(list((tmp_path / "out").glob("cells/*/done.json")))
    results = run_experiment(path, tmp_path / "out", noted := Noted())
    assert list(noted.ended.values()).count("stored") >= done >= 1
    assert results.cells["status"].eq("done").all()
    fresh = run_experiment(path, tmp_path / "fresh")
    pd.testing.assert_frame_equal(results.ledger.forecasts, fresh.ledger.forecasts, check_exact=True)


def heard():
    """Let Ctrl-C be heard, also where the shell that started the tests leaves it unheard."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for(happens, seconds=60):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


def is_there(pid):
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
def test_a_full_disk_is_told_and_leaves_what_was_stored_whole(config, tmp_path):
    path = config(forecasters="{SeasonalNaive: , Naive: , NLinear: }", plan="{n_folds: 1}")
    script = """
        import resource, signal, sys
        from forecast import run_experiment
        from forecast.experiment import StoreError
        from forecast.experiment.engine import Local
        from forecast.experiment.work import Progress

        class Full(Progress):
            def finished(self, cell, outcome, seconds):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))

        try:
            run_experiment(sys.argv[1], sys.argv[2], Full())
        except StoreError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), path, tmp_path / "out"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "cannot be written to" in told
    assert "goes on from there" in told
    statuses = rebuild(tmp_path / "out").cells["status"].tolist()
    assert statuses == ["done", "unfinished", "unfinished"]


def test_a_worker_that_cannot_store_ends_the_run(config, tmp_path):
    path = config(plan="{n_folds: 1}")
    out = tmp_path / "out"

    class Blocked(Progress):
        def at_work(self, cell):
            if (out / "cells").is_dir():
                (out / "cells").rmdir()
                (out / "cells").touch()

    with pytest.raises(StoreError, match="cannot be written to"):
        run_experiment(path, out, Blocked(), engine=Local(workers=2))


# -- the dispatch alone ------------------------------------------------------------------------------------------------


class Said:
    """What a cell of these tests holds."""

    def write(self, folder):
        folder.mkdir()
        (folder / "said.txt").write_text("done")


@dataclass(frozen=True, eq=False)
class Cell(Work):
    key: str
    alone: bool = False
    needs: tuple = ()
    config: dict = field(default_factory=dict)

    def __str__(self):
        return self.key

    @property
    def after(self):
        return self.needs

    @property
    def kind(self):
        return "cell"

    def facts(self):
        return {"key": self.key}

    def compute(self):
        return Said()


class Hand(Pool, Engine):
    """Workers that finish when they are told to: the one that has been at it longest."""

    timeout = None

    def __init__(self, size):
        self.size, self.at_work, self.seen = size, [], []

    @contextmanager
    def pool(self, cells):
        yield self

    def submit(self, work, store):
        future = Future()
        self.at_work.append((work, future))
        self.seen.append({str(one) for one, _ in self.at_work})
        if len(self.at_work) == self.size or work.alone or str(work) == "last":
            self.finish(store)
        return future

    def finish(self, store):
        for work, future in self.at_work:
            future.set_result(Answer(answer(work, store).outcome, ()))
        self.at_work = []

    def release(self, future):
        assert future.done()


def test_cells_begin_in_their_order_beside_each_other(tmp_path):
    cells = [Cell(name) for name in ("a", "b", "c", "last")]
    run_cells(cells, Store(tmp_path), noted := Noted(), hand := Hand(2))
    assert noted.begun == ["a", "b", "c", "last"]
    assert hand.seen == [{"a"}, {"a", "b"}, {"c"}, {"c", "last"}]


def test_what_measures_the_machine_has_it_for_itself(tmp_path):
    cells = [Cell("a", alone=True), Cell("b"), Cell("c"), Cell("d", alone=True), Cell("last")]
    run_cells(cells, Store(tmp_path), noted := Noted(), hand := Hand(2))
    assert noted.ended == dict.fromkeys(map(str, cells), "done")
    assert [together for together in hand.seen if together & {"a", "d"}] == [{"a"}, {"d"}]


def test_a_cell_waits_for_those_it_depends_on_and_lets_others_begin_before_it(tmp_path):
    first, second = Cell("first"), Cell("second")
    cells = [first, Cell("third", needs=(first, second)), second, Cell("last")]
    run_cells(cells, Store(tmp_path), noted := Noted(), Hand(2))
    assert noted.begun.index("third") > 1
    assert set(noted.begun) == {"first", "second", "third", "last"}


class Silent(Hand):
    """Workers of which the last cell never hears."""

    timeout = 0.1

    def finish(self, store):
        if str(self.at_work[-1][0]) != "last":
            super().finish(store)


def test_a_cell_that_is_given_up_takes_no_answer_any_more(tmp_path):
    run_cells([Cell("a"), Cell("last")], Store(tmp_path), noted := Noted(), hand := Silent(1))
    assert noted.ended == {"a": "done", "last": "failed"}
    ((_, future),) = hand.at_work
    assert not future.set_running_or_notify_cancel()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"workers": 0}, "`workers` is 0"),
        ({"workers": "two"}, "`workers` is 'two'; allowed: a whole number of 1 or more"),
        ({"timeout": 0}, "`timeout` is 0; allowed: seconds above 0, or None"),
        ({"timeout": "long"}, "`timeout` is 'long'; allowed: seconds above 0, or None"),
    ],
)
def test_an_engine_refuses_options_that_are_not_allowed(options, told):
    with pytest.raises((TypeError, ValueError), match=told):
        Local(**options)


def test_there_are_no_more_workers_than_cells_are_worth():
    assert Local()._size(3) == 1
    assert Local()._size(4000) == Local(workers=os.cpu_count())._size(4000)
    assert Local(workers=8)._size(3) == 3
