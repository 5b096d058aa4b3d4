"""One network that several processes train: the same windows, steps and decisions as in one, and nobody left behind.

Real processes that talk over gloo, started in every way there is. Dropout is off where one process is compared with
two, since the two draw masks of their own.
"""

import contextlib
import importlib.util
import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.checkpoint import checksum_of
from forecast.data import Shard
from forecast.frame import check_frame
from forecast.processes import Processes, check_trainer
from forecast.ray_training import train_on_ray
from forecast.windows import GroupIndex

ROOT = Path(__file__).resolve().parents[1]

# What runs in every process: fits one after the other, each of which leaves what it has and what it was given.
SCRIPT = '''
import json, os, sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from lightning.pytorch import Callback

from forecast import NeuralForecaster, Training
from forecast.clusters import cluster
from forecast.nn import LSTM, Direct, GraphTransformer


def frame_of(series=5, length=120, seed=0):
    rng = np.random.default_rng(seed)
    ds = pd.date_range("2024-03-25", periods=length, freq="h")
    waves = {f"s{i}": 5 + i + np.sin(np.arange(length) / 4) + rng.normal(0, 0.2, length) for i in range(series)}
    return pd.concat([pd.DataFrame({"unique_id": name, "ds": ds, "y": y}) for name, y in waves.items()])


class Given(Callback):
    """Keeps the windows that this process is given; fails where it is told to."""

    def __init__(self, folder, fails=None):
        self.folder, self.fails = Path(folder), fails
        self.kept = {"train": [], "validate": []}

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.kept["train"] += [(*part[:3],) for part in batch.parts(pl_module.steps_per_batch)]
        if self.fails == [trainer.global_rank, trainer.current_epoch]:
            raise RuntimeError("the lid is stuck")
        if self.fails == ["kill", trainer.global_rank]:
            os.kill(os.getpid(), 9)
        if self.fails == ["all", trainer.current_epoch]:
            raise RuntimeError("the power is gone")

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.kept["validate"].append((*batch[:3],))

    def on_fit_end(self, trainer, pl_module):
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.save(self.kept, self.folder / f"given-{trainer.global_rank}.pt")


FITS = {
    "plain": (LSTM(width=8, dropout=0), {}),
    "masked": (LSTM(width=8), {}),
    "odd": (LSTM(width=8, dropout=0), {"batch_size": 7, "steps": 5}),
    "single": (LSTM(width=8, dropout=0), {"batch_size": 1, "steps": 4}),
    "groups": (GraphTransformer(width=8, dropout=0), {"batch_size": 15, "steps": 4, "validations": 2}),
    "patient": (LSTM(width=8), {"learning_rate": 1e-30, "patience": 1, "validations": 6}),
}


def fit(name, out, trainer=None, frame=None, fails=None, seed=0, callbacks=True, **options):
    backbone, training = FITS[name]
    training = Training(**{"steps": 12, "batch_size": 16, "validations": 3, **training})
    trainer = {"accelerator": "cpu", **(trainer or {})}
    if callbacks:
        trainer["callbacks"] = Given(Path(out) / name, fails)
    dropout = 0 if getattr(backbone, "dropout", 0) == 0 else 0.1
    forecaster = NeuralForecaster(
        backbone, 6, decoder=Direct(dropout=dropout), context_length=24, training=training, trainer=trainer, seed=seed
    )
    return forecaster.fit(frame_of() if frame is None else frame, **options)


def keep(forecaster, folder):
    """Write what a process has in the end, and what it forecasts."""
    rank = os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or "0"
    folder.mkdir(parents=True, exist_ok=True)
    told = {"loss": forecaster.validation_loss_, "curve": np.array(forecaster.losses_)}
    torch.save(forecaster.network_.state_dict(), folder / f"weights-{rank}.pt")
    pd.to_pickle((told, forecaster.predict()), folder / f"fitted-{rank}.pkl")


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    with cluster(2) if told["trainer"].get("strategy") == "ray" else nullcontext():
        for name in told["names"]:
            frame = frame_of(seed=int(os.environ["RANK"])) if told.get("apart") else None
            options = {"checkpoint": told["checkpoint"]} if "checkpoint" in told else {}
            fails = told.get("fails", {}).get(name)
            keep(fit(name, told["out"], told["trainer"], frame, fails, **options), Path(told["out"]) / name)
'''
ALL = ("plain", "masked", "odd", "single", "groups", "patient")
TWO = {"devices": 2}


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("script") / "shared_fits.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(scope="module")
def fits(script):
    """The script as a module of this process, which others that it starts find too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(script.parent))
        patch.setenv("PYTHONPATH", f"{script.parent}{os.pathsep}{ROOT}")
        spec = importlib.util.spec_from_file_location("shared_fits", script)
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "shared_fits", module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def alone(fits, tmp_path_factory):
    """All fits in one process."""
    out = tmp_path_factory.mktemp("alone")
    for name in ALL:
        fits.keep(fits.fit(name, out), out / name)
    return out


@pytest.fixture(scope="module")
def together(script, tmp_path_factory):
    """All fits in two processes of torchrun, one after the other."""
    out = tmp_path_factory.mktemp("together")
    code, said = run([*torchrun("--nproc-per-node=2"), str(script)], out=out, names=ALL, trainer=TWO)
    assert code == 0, said
    return out


def torchrun(*options):
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", *options]


def start(command, mark, **told):
    """Start a script; all processes that come of it carry its mark in their environment."""
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": os.environ["HOME"]}
    known["STARTED_AS"] = mark
    return subprocess.Popen(
        [*command, json.dumps({**told, "out": str(told["out"])})],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=known,
    )


def run(command, seconds=900, **told):
    """Run a script to its end, after which nothing of it may be left; give its exit status and what it said."""
    mark = uuid.uuid4().hex
    process = start(command, mark, **told)
    try:
        said = process.communicate(timeout=seconds)[0]
        wait_for(lambda: not marked(mark))
    finally:
        for left in marked(mark):
            os.kill(left, signal.SIGKILL)
    return process.returncode, said


def marked(mark):
    """Give the processes that carry a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"STARTED_AS={mark}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def wait_for(happens, seconds=60):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.1)


def given(out, name, rank):
    return torch.load(out / name / f"given-{rank}.pt")


def fitted(out, name, rank):
    return pd.read_pickle(out / name / f"fitted-{rank}.pkl")


def weights(out, name, rank):
    return torch.load(out / name / f"weights-{rank}.pt")


def assert_same(one, other):
    """Assert that two processes have the same weights, losses and forecasts, to the bit."""
    assert one[0].keys() == other[0].keys()
    assert all(torch.equal(one[0][name], other[0][name]) for name in one[0])
    assert one[1]["loss"] == other[1]["loss"]
    np.testing.assert_array_equal(one[1]["curve"], other[1]["curve"])
    pd.testing.assert_frame_equal(one[2], other[2], check_exact=True)


def all_of(out, name, rank):
    return weights(out, name, rank), *fitted(out, name, rank)


def rows_of(parts):
    """Give the windows of parts that count as rows in order, one window being its cutoff and all its values."""
    rows = [
        (float(cutoff), *np.nan_to_num(values.numpy(), nan=-1.0).tolist())
        for values, counted, cutoffs in parts
        for cutoff, values, counts in zip(cutoffs, values, counted.any(dim=1), strict=True)
        if counts
    ]
    return sorted(rows)


# -- the arithmetic --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world_size", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 5, 64])
def test_shards_are_the_whole_and_do_not_overlap(count, world_size):
    numbers = np.arange(3 * count).reshape(3, count)
    shards = [Shard(rank, world_size).of(numbers) for rank in range(world_size)]
    np.testing.assert_array_equal(np.concatenate(shards, axis=1), numbers)
    sizes = [shard.shape[1] for shard in shards]
    assert max(sizes) - min(sizes) <= 1


def test_a_process_for_which_no_window_is_left_reads_one_that_does_not_count():
    frame = pd.DataFrame({"unique_id": "a", "ds": np.arange(30), "y": np.arange(30.0)})
    panel = check_frame(frame)
    from forecast.windows import Windows

    windows, index = Windows(panel, 8, 2), GroupIndex(panel, 10, 5)
    batches = [Shard(rank, 3).gather(windows, index, np.array([[4], [2]])) for rank in range(3)]
    assert [float(batch.counted.sum()) for batch in batches] == [0.0, 0.0, 2 * 10.0]
    assert [len(batch.values) for batch in batches] == [2, 2, 2]


# -- what is refused -------------------------------------------------------------------------------------------------


def trainer_with(strategy):
    return SimpleNamespace(world_size=2, precision="32-true", precision_plugin=None, strategy=strategy)


def test_strategies_that_cut_the_network_are_refused():
    class FSDPStrategy:
        pass

    with pytest.raises(ValueError, match=r"asks for 2 processes under FSDPStrategy; allowed: 'ddp', 'ddp_spawn'"):
        check_trainer(trainer_with(FSDPStrategy()))


@pytest.mark.parametrize("program", ["-c", "", "bin/forecast"])
def test_ddp_without_a_script_to_start_again_is_refused(monkeypatch, tmp_path, program):
    from lightning.pytorch.strategies import DDPStrategy

    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/forecast").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    with pytest.raises(
        ValueError, match=r"there is no script of yours. Take 'ddp_spawn' or, in a notebook, 'ddp_fork'"
    ):
        check_trainer(trainer_with(DDPStrategy()))
    check_trainer(trainer_with(DDPStrategy(start_method="spawn")))


@pytest.mark.parametrize("wrong", [{"devices": "auto"}, {"devices": [0, 1]}, {"num_nodes": 0}])
def test_ray_wants_a_number_of_workers(wrong):
    pytest.importorskip("pyarrow")
    if find_spec("ray") is None:
        pytest.skip("Ray is an extra")
    with pytest.raises(
        ValueError, match=r"`trainer` has the strategy 'ray' and `(devices|num_nodes)` .*; allowed: 1 or"
    ):
        train_on_ray({"strategy": "ray", **wrong}, None, None, Processes(0, 1, 0))


def test_data_in_another_order_are_other_data():
    frame = pd.DataFrame({"unique_id": list("aabb"), "ds": [0, 1, 0, 1], "y": np.arange(4.0)})
    assert checksum_of(check_frame(frame)) == checksum_of(check_frame(frame.copy()))
    assert checksum_of(check_frame(frame)) != checksum_of(check_frame(frame.iloc[[2, 3, 0, 1]]))


# -- two processes ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_both_processes_have_the_same_in_the_end(together, name):
    assert_same(all_of(together, name, 0), all_of(together, name, 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_step_is_made_from_the_windows_of_one_process_none_twice_and_none_left_out(alone, together, name):
    one = given(alone, name, 0)["train"]
    two = [given(together, name, rank)["train"] for rank in (0, 1)]
    assert len(one) == len(two[0]) == len(two[1]) > 2
    for whole, *shards in zip(one, *two, strict=True):
        assert rows_of([whole]) == rows_of(shards)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_both_validate_on_the_rows_of_one_process_and_stop_at_the_same_time(alone, together, name):
    one = given(alone, name, 0)["validate"]
    two = [given(together, name, rank)["validate"] for rank in (0, 1)]
    assert len(one) == len(two[0]) == len(two[1]) > 1
    for whole, *shards in zip(one, *two, strict=True):
        assert rows_of([whole]) == rows_of(shards)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "odd", "single", "groups"])
def test_two_processes_forecast_what_one_does(alone, together, name):
    one, two = fitted(alone, name, 0), fitted(together, name, 0)
    np.testing.assert_allclose(one[0]["curve"], two[0]["curve"], rtol=1e-3)
    assert one[0]["loss"] == pytest.approx(two[0]["loss"], rel=1e-3)
    levels = [column for column in one[1] if column not in ("unique_id", "cutoff", "ds", "step")]
    np.testing.assert_allclose(one[1][levels], two[1][levels], rtol=1e-3)


@pytest.mark.slow
def test_dropout_differs_between_processes_but_not_what_they_learn(alone, together):
    one, two = fitted(alone, "masked", 0), fitted(together, "masked", 0)
    assert one[0]["loss"] != two[0]["loss"]
    np.testing.assert_allclose(one[1]["0.5"], two[1]["0.5"], atol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_each_process_forecasts_every_series_once_and_in_order(together, fits, rank):
    forecast = fitted(together, "plain", rank)[1]
    assert forecast["unique_id"].tolist() == np.repeat(fits.frame_of()["unique_id"].unique(), 6).tolist()
    assert not forecast.duplicated(["unique_id", "step"]).any()


# -- ways to start them ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_script_that_lightning_starts_once_more_gives_the_same(script, together, tmp_path):
    code, said = run([sys.executable, str(script)], out=tmp_path, names=["masked", "plain"], trainer=TWO)
    assert (code, said) == (0, "")
    for name in ("masked", "plain"):
        for rank in (0, 1):
            assert_same(all_of(tmp_path, name, rank), all_of(together, name, 0))


@pytest.mark.slow
def test_the_script_of_the_page_runs_and_its_first_process_tells_the_forecast(tmp_path):
    page = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
    block = next(
        block for block in re.findall(r"^```python\n(.*?)^```$", page, flags=re.S | re.M) if "# train.py" in block
    )
    (tmp_path / "train.py").write_text(
        re.sub(r"\bsteps=\d+", "steps=3", block).replace('"lstm")', f'"{tmp_path}/lstm")')
    )
    code, said = run([sys.executable, str(tmp_path / "train.py")], out=tmp_path)
    assert code == 0, said
    count, rows = map(int, said.split())
    assert rows == 24 * count
    assert (tmp_path / "lstm/forecaster.json").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of what forks while it has threads
@pytest.mark.parametrize("strategy", ["ddp_spawn", "ddp_fork"])
def test_processes_that_the_fit_starts_bring_the_fitted_forecaster_back(fits, together, tmp_path, capfd, strategy):
    before = dict(os.environ)
    forecaster = fits.fit("masked", tmp_path, {"devices": 2, "strategy": strategy})
    assert dict(os.environ) == before
    fits.keep(forecaster, tmp_path / "masked")
    assert_same(all_of(tmp_path, "masked", 0), all_of(together, "masked", 0))
    assert len(forecaster.learning_curve()) == 3
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_two_machines_on_the_loopback_give_the_same(script, together, tmp_path):
    nodes = ["--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=static", "--master-addr=127.0.0.1"]
    nodes += [f"--master-port={free_port()}"]
    command = [sys.executable, "-m", "torch.distributed.run", *nodes]
    told = {"out": tmp_path, "names": ["masked"], "trainer": {"devices": 1, "num_nodes": 2}}
    begun = [start([*command, f"--node-rank={rank}", str(script)], "node", **told) for rank in (0, 1)]
    for process in begun:
        said = process.communicate(timeout=900)[0]
        assert process.returncode == 0, said
    for rank in (0, 1):
        assert_same(all_of(tmp_path, "masked", rank), all_of(together, "masked", 0))


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is an extra")
def test_ray_brings_the_same_weights_back_and_tells_what_a_worker_raised(script, together, tmp_path):
    told = {"names": ["masked", "plain"], "trainer": {"devices": 2, "strategy": "ray"}, "fails": {"plain": [1, 1]}}
    code, said = run([sys.executable, str(script)], out=tmp_path, **told)
    assert_same(all_of(tmp_path, "masked", 0), all_of(together, "masked", 0))
    assert code != 0
    assert "RuntimeError: the lid is stuck" in said


# -- what fails ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("fails", [[0, 1], [1, 1], ["kill", 1]])
def test_a_script_one_of_whose_processes_fails_ends_and_leaves_none(script, tmp_path, fails):
    told = {"out": tmp_path, "names": ["plain"], "trainer": TWO, "fails": {"plain": fails}}
    code, said = run([sys.executable, str(script)], **told)
    assert code != 0
    said_why = "the lid is stuck" if fails[0] != "kill" else "another one has failed, whose own message says why"
    assert said_why in said or code == -signal.SIGKILL  # by lightning, which has seen the other one go


@pytest.mark.slow
def test_torchrun_ends_all_when_one_fails(script, tmp_path):
    told = {"out": tmp_path, "names": ["plain"], "trainer": TWO, "fails": {"plain": [1, 1]}}
    code, said = run([*torchrun("--nproc-per-node=2"), str(script)], **told)
    assert code != 0
    assert "the lid is stuck" in said


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fit_one_of_whose_processes_fails_raises_what_it_said_and_leaves_none(fits, tmp_path):
    with pytest.raises(Exception, match="the lid is stuck") as caught:
        fits.fit("plain", tmp_path, {"devices": 2, "strategy": "ddp_fork"}, fails=[1, 1])
    assert "share the fit" in caught.value.__notes__[0]
    assert not multiprocessing.active_children()
    fits.fit("single", tmp_path)  # and this process can go on


@pytest.mark.slow
def test_processes_that_read_other_data_are_told(script, tmp_path):
    told = {"out": tmp_path, "names": ["plain"], "trainer": TWO, "apart": True}
    code, said = run([*torchrun("--nproc-per-node=2"), str(script)], **told)
    assert code != 0
    assert "`trainer` asks for 2 processes, and the data of process 1 differs from that of process 0" in said


@pytest.mark.slow
def test_a_fit_that_was_stopped_goes_on_to_the_same_weights(script, together, tmp_path):
    told = {"out": tmp_path, "names": ["masked"], "trainer": TWO, "checkpoint": str(tmp_path / "state")}
    command = [*torchrun("--nproc-per-node=2"), str(script)]
    code, said = run(command, fails={"masked": ["all", 2]}, **told)
    assert code != 0
    assert "the power is gone" in said
    assert list((tmp_path / "state").glob("*.json"))
    code, said = run(command, **told)
    assert code == 0, said
    for rank in (0, 1):
        assert_same(all_of(tmp_path, "masked", rank), all_of(together, "masked", 0))
    assert not list((tmp_path / "state").glob("*.json"))
