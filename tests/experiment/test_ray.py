"""The engine of a cluster, on real processes of Ray: the same numbers, whoever is lost."""

import os
import secrets
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from forecast.experiment import Ray, rebuild, run_experiment
from forecast.experiment.store import Store

pytestmark = [
    pytest.mark.slow,
    # Not imported here: it reads what is in the environment when it is.
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is an extra"),
    # Of no concern here: Ray leaves files and sockets to its own processes.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]

NETWORK = "{type: NeuralForecaster, backbone: {type: lstm, width: 8}, training: {steps: 20, batch_size: 8}}"
MODELS = """
import os, signal
from pathlib import Path
from forecast import Naive

HERE = Path(__file__).parent

class Killed(Naive):
    def _fit(self, panel):
        if not (HERE / "killed").exists():
            (HERE / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        super()._fit(panel)

class Failing(Naive):
    def _fit(self, panel):
        raise RuntimeError("the lid is stuck")
"""


@pytest.fixture
def own(own_module):
    return own_module("ray_models", MODELS)


def numbers(results):
    return results.ledger.forecasts, results.summary.drop(columns=["fit_seconds", "predict_seconds"])


def test_a_cluster_gives_the_bits_of_one_process_and_leaves_no_process(config, tmp_path, own, undrawn):
    forecasters = f'{{SeasonalNaive: , NLinear: , Fast: {NETWORK}, killed: {{type: "ray_models:Killed"}}}}'
    path = config("seeds: [0, 1]", forecasters=forecasters)
    before = processes_of_ray()
    beside = run_experiment(path, tmp_path / "beside", engine=Ray(workers=2))
    assert (own / "killed").exists()
    assert beside.cells["status"].eq("done").all()
    wait_for(lambda: processes_of_ray() <= before)
    alone = run_experiment(path, tmp_path / "alone")
    for one, other in zip(numbers(alone), numbers(beside), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_an_answer_that_comes_after_its_cell_was_given_up_is_not_stored(tmp_path):
    from forecast.experiment.engine.ray import _keep

    done, future = Future(), Future()
    done.set_result(None)  # which cannot be stored
    assert future.cancel()
    _keep(None, Store(tmp_path), done, future)
    assert future.cancelled()
    assert not list(tmp_path.rglob("*"))


def test_a_cell_that_raises_is_kept_with_its_traceback(config, tmp_path, own, undrawn):
    path = config(forecasters='{SeasonalNaive: , bad: {type: "ray_models:Failing"}}', plan="{n_folds: 1}")
    results = run_experiment(path, tmp_path / "out", engine=Ray(workers=1))
    assert [row["error"] for row in results.failures] == ["RuntimeError: the lid is stuck"]
    assert "ray_models.py" in results.failures[0]["traceback"]


def test_a_node_of_two_may_die(config, tmp_path):
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    path = config("seeds: [0, 1]", forecasters=f"{{SeasonalNaive: , Fast: {NETWORK}}}", plan="{n_folds: 6, refit: 1}")
    out, before = tmp_path / "out", processes_of_ray()
    sizes = ["--num-cpus=1", "--object-store-memory=100000000", "--block"]
    ray, forecast = (str(Path(sys.executable).with_name(name)) for name in ("ray", "forecast"))
    begun = [start(token, ray, "start", "--head", "--port=6399", "--include-dashboard=false", *sizes)]
    try:
        address = address_of(begun[0])
        begun.append(start(token, ray, "start", f"--address={address}", *sizes))
        options = ["--engine", "ray", "--address", address, "--workers", "2", "--out", str(out)]
        begun.append(start(token, forecast, "run", str(path), *options))
        wait_for(lambda: len(list(out.glob("cells/*/done.json"))) > 3, seconds=120)
        os.killpg(begun[1].pid, signal.SIGKILL)
        told = begun[2].communicate(timeout=180)[0]
        assert begun[2].returncode == 0, told
        assert told.count("done after") == 18
        assert rebuild(out).cells["status"].eq("done").all()
    finally:
        for process in begun:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)
        wait_for(lambda: processes_of_ray() <= before)


def start(more, *command):
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def address_of(head):
    """Read the address from what the head says: it need not be that of the loopback."""
    for line in head.stdout:
        if "--address=" in line:
            return line.split("--address=")[1].strip().strip("'")
    raise AssertionError("the head names no address")


def processes_of_ray():
    """Give the processes that run something of Ray."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if "/ray/" in text or text.startswith("ray::"):
            found.add(int(path.parent.name))
    return found


def wait_for(happens, seconds=30):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.1)
