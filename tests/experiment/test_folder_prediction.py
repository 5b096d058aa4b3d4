"""A folder of Parquet files forecast into another: the numbers of `predict`, whatever ends a run, whoever does it."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast import Drift, NeuralForecaster, Roles, SeasonalNaive, Training, predict_folder
from forecast.cli import app
from forecast.experiment import Local, StoreError
from forecast.experiment.faults import ConfigError
from forecast.experiment.predicted_files import note_of
from forecast.experiment.work import Progress
from forecast.frame import FrameError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FILES = {"one.parquet": ("b", "a"), "two.parquet": ("d",), "three.parquet": ("c", "e")}
HERE = Local(workers=1)
ROOT = Path(__file__).resolve().parents[2]


def make(length=40, names="badce", freq="D"):
    """Give a long frame: a weekly wave for each name."""
    t = np.arange(length)
    parts = [
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2024-01-01", periods=length, freq=freq, unit="us"),
                "y": 10 + place + np.sin(2 * np.pi * t / 7) + np.random.default_rng(place).normal(0, 0.1, length),
            }
        )
        for place, name in enumerate(names)
    ]
    return pd.concat(parts, ignore_index=True)


def rolled(frame, lists=("y",)):
    """Give a row for each series of a long frame."""
    ways = {name: list if name in lists else "first" for name in frame.columns if name != "unique_id"}
    return frame.groupby("unique_id", sort=False).agg(ways).reset_index()


def write(folder, frame, layout="long", id_="unique_id", lists=("y",)):
    folder.mkdir(exist_ok=True)
    for name, some in FILES.items():
        part = frame[frame[id_].isin(some)]
        part = rolled(part, lists) if layout == "rows" else part
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / name)
    return folder


def read(out):
    """Give all forecasts, by file."""
    return pd.concat([pq.read_table(out / name).to_pandas() for name in FILES], ignore_index=True)


def asked(frame, id_="unique_id"):
    """Give a frame in the order of the files."""
    return pd.concat([frame[frame[id_].isin(some)] for some in FILES.values()], ignore_index=True)


class Noted(Progress):
    """Remembers what became of each file."""

    def __init__(self):
        self.ended = {}

    def finished(self, cell, outcome, seconds):
        self.ended[str(cell)] = outcome


@pytest.fixture
def fitted():
    return SeasonalNaive(3).fit(make())


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "series", make(33))


# -- what is forecast --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["long", "rows"])
def test_forecasts_are_those_of_predict_by_file(tmp_path, layout):
    network = NeuralForecaster("lstm", 3, context_length=14, training=Training(steps=1)).fit(make())
    network.save(tmp_path / "model")
    folder = write(tmp_path / "series", make(33), layout)
    found = predict_folder(tmp_path / "model", folder, tmp_path / "out", engine=HERE)
    assert (found.files, found.series, found.forecasts, found.failures) == (3, 5, 15, ())
    expected = network.predict(asked(make(33)))
    pd.testing.assert_frame_equal(read(tmp_path / "out"), expected, check_dtype=False, rtol=1e-5)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {".lock", *FILES}
    assert pq.read_schema(tmp_path / "out" / "one.parquet").names == list(expected.columns)


def test_names_horizon_and_levels_are_those_asked_for(tmp_path, fitted):
    names = {"unique_id": "store", "ds": "day", "y": "sold"}
    folder = write(tmp_path / "series", make(33).rename(columns=names), id_="store")
    given = {"horizon": 2, "quantile_levels": (0.25, 0.5), "columns": names}
    predict_folder(fitted, folder, tmp_path / "out", engine=HERE, **given)
    expected = fitted.predict(asked(make(33)), horizon=2, quantile_levels=(0.25, 0.5))
    expected = expected.rename(columns={"unique_id": "store", "ds": "day"})
    pd.testing.assert_frame_equal(read(tmp_path / "out"), expected, check_dtype=False)


@pytest.mark.parametrize("layout", ["long", "rows"])
def test_what_is_known_ahead_stands_after_the_last_value(tmp_path, layout):
    frame = make(43)
    frame["price"] = np.arange(len(frame)) % 4.0
    frame["size"] = frame["unique_id"].map({name: float(ord(name)) for name in "badce"})
    history = frame.groupby("unique_id", sort=False).head(40)
    network = NeuralForecaster("lstm", 3, context_length=14, training=Training(steps=1))
    network.fit(history, roles=Roles(known=("price",), static=("size",)))
    emptied = frame.assign(y=frame["y"].where(frame.index.isin(history.index)))
    folder = write(tmp_path / "series", emptied, layout, lists=("y", "price"))
    found = predict_folder(network, folder, tmp_path / "out", engine=HERE)
    assert not found.failures
    ahead = frame.drop(history.index).drop(columns="y")
    expected = network.predict(asked(history), future=asked(ahead))
    pd.testing.assert_frame_equal(read(tmp_path / "out"), expected, check_dtype=False, rtol=1e-5)
    missing = write(tmp_path / "missing", history, layout, lists=("y", "price"))
    found = predict_folder(network, missing, tmp_path / "nothing", engine=HERE)
    assert len(found.failures) == 3
    assert "series 'b': `price` is not known at" in found.failures[0]["error"]


def test_gaps_are_what_they_are_asked_to_be(tmp_path, fitted):
    folder = write(tmp_path / "series", make(33).drop(index=[4, 5]))
    found = predict_folder(fitted, folder, tmp_path / "out", engine=HERE)
    assert [Path(failure["file"]).name for failure in found.failures] == ["one.parquet"]
    found = predict_folder(fitted, folder, tmp_path / "masked", engine=HERE, gaps="mask")
    assert not found.failures


# -- a restart ---------------------------------------------------------------------------------------------------------


def test_finished_files_are_left_as_they_are(tmp_path, fitted, folder):
    predict_folder(fitted, folder, tmp_path / "out", engine=HERE)
    before = {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in FILES}
    (tmp_path / "out" / "two.parquet").unlink()
    found = predict_folder(fitted, folder, tmp_path / "out", engine=HERE, progress=(noted := Noted()))
    assert noted.ended == {"one.parquet": "stored", "two.parquet": "done", "three.parquet": "stored"}
    assert found.files == 3
    assert (tmp_path / "out" / "one.parquet").stat().st_mtime_ns == before["one.parquet"]


def test_forecasts_of_a_file_that_has_changed_or_that_are_torn_are_made_anew(tmp_path, fitted, folder):
    out = tmp_path / "out"
    predict_folder(fitted, folder, out, engine=HERE)
    write(folder, make(34))
    (out / "two.parquet").write_bytes((out / "two.parquet").read_bytes()[:-9])
    (folder / "three.parquet").rename(tmp_path / "three.parquet")
    found = predict_folder(fitted, folder, out, engine=HERE, progress=(noted := Noted()))
    assert set(noted.ended.values()) == {"done"}
    assert found.notes == (
        "one.parquet: the file of series has changed since; its forecasts are made anew",
        "two.parquet: the file of forecasts cannot be read, and is made anew",
        "three.parquet: forecasts of a file that is not among the series; 1 such, left as they are",
    )
    assert pq.read_table(out / "one.parquet")["cutoff"][0].as_py().day == 3  # of February


def test_forecasts_of_another_question_are_refused(tmp_path, fitted, folder):
    out = tmp_path / "out"
    predict_folder(fitted, folder, out, engine=HERE)
    refusals = [
        (fitted, {"horizon": 2}, r"one.parquet: holds .* differs in `horizon` \(3 there, 2 now\). Name another folder"),
        (Drift(3).fit(make()), {}, r"one.parquet: holds forecasts of another question, which differs in `model`. Name"),
    ]
    for model, given, told in refusals:
        with pytest.raises(StoreError, match=told):
            predict_folder(model, folder, out, engine=HERE, **given)
    predict_folder(fitted, folder, out, engine=HERE, horizon=3)  # the one of the fit
    pq.write_table(pa.table({"a": [1]}), out / "one.parquet")
    with pytest.raises(StoreError, match=r"one.parquet: is no file of forecasts of ours"):
        predict_folder(fitted, folder, out, engine=HERE)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_file_that_fails_is_told_and_the_others_go_on(tmp_path, fitted, folder):
    out = tmp_path / "out"
    frame = make(33)
    frame.loc[[2, 3], "ds"] = frame.loc[[3, 2], "ds"].to_numpy()
    write(folder, frame)
    torn = (folder / "two.parquet").read_bytes()
    (folder / "two.parquet").write_bytes(torn[:-5])
    found = predict_folder(fitted, folder, out, engine=HERE)
    told = {Path(failure["file"]).name: failure["error"] for failure in found.failures}
    assert set(told) == {"one.parquet", "two.parquet"}
    assert f"{folder.resolve()}/one.parquet: column `ds`: series 'b' at 2024-01-03" in told["one.parquet"]
    assert "two.parquet: cannot be read as Parquet" in told["two.parquet"]
    assert json.loads((out / "_failed" / "one.parquet.json").read_text())["type"] == "FrameError"
    write(folder, make(33))
    found = predict_folder(fitted, folder, out, engine=HERE, progress=(noted := Noted()))
    assert not found.failures
    assert noted.ended["three.parquet"] == "done"  # its file was written again
    assert not (out / "_failed").exists()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"columns": {"y": "sold"}}, (FrameError, "column `sold` is not there; it has unique_id, ds, y")),
        ({"horizon": 0}, (ValueError, "`horizon` is 0")),
        ({"quantile_levels": (2,)}, (ValueError, "`quantile_levels`")),
    ],
)
def test_what_cannot_be_asked_is_refused_before_a_folder_is_made(tmp_path, fitted, folder, changed, told):
    with pytest.raises(told[0], match=told[1]):
        predict_folder(fitted, folder, tmp_path / "out", engine=HERE, **changed)
    assert not (tmp_path / "out").exists()


def test_another_frequency_than_that_of_the_fit_is_refused(tmp_path, fitted):
    folder = write(tmp_path / "hours", make(33, freq="h"))
    found = predict_folder(fitted, folder, tmp_path / "out", engine=HERE)
    assert len(found.failures) == 3
    assert "is not on the grid of frequency 'D'" in found.failures[0]["error"]
    folder = write(tmp_path / "rows", make(33), "rows")
    for file in folder.iterdir():
        pq.write_table(pq.read_table(file).replace_schema_metadata({"freq": "h"}), file)
    with pytest.raises(ValueError, match=r"metadata of its files name the frequency 'h'; this SeasonalNaive .* 'D'"):
        predict_folder(fitted, folder, tmp_path / "out2", engine=HERE)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("W", "W-SUN", True), ("W-MON", "W-SUN", False), ("2D", "D", False), ("7", "7", True), ("7", "D", False)],
)
def test_frequencies_are_the_same_as_far_as_both_say(one, other, same):
    from forecast.experiment.folder_prediction import _same

    assert _same(one, other) == _same(other, one) == same


def test_a_folder_of_its_own_and_networks_across_series_are_refused(tmp_path, fitted, folder):
    with pytest.raises(ValueError, match="is the folder of the series; give another one"):
        predict_folder(fitted, folder, folder, engine=HERE)
    across = NeuralForecaster("graph_transformer", 3, context_length=14, training=Training(steps=1))
    with pytest.raises(ValueError, match="GraphTransformer reads across series"):
        predict_folder(across.fit(make()), folder, tmp_path / "out", engine=HERE)
    frame = make(33).rename(columns={"unique_id": "cutoff"})
    write(tmp_path / "named", frame, id_="cutoff")
    with pytest.raises(ConfigError, match="forecasts have a column `cutoff` of their own"):
        predict_folder(fitted, tmp_path / "named", tmp_path / "out", engine=HERE, columns={"unique_id": "cutoff"})


# -- the command -------------------------------------------------------------------------------------------------------


def command(*arguments):
    result = CliRunner().invoke(app, ["predict", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_command_forecasts_a_folder_and_goes_on(tmp_path, fitted, folder):
    fitted.save(tmp_path / "model")
    given = ["--model", tmp_path / "model", "--data", folder, "--out", tmp_path / "out"]
    status, said, err = command(*given)
    assert (status, said) == (0, "")
    assert "[1/3] one.parquet: done after" in err
    assert f"15 forecasts of 5 series in 3 files: {tmp_path / 'out'}" in err
    (folder / "one.parquet").write_bytes(b"PAR1")
    status, said, err = command(*given)
    assert status == 1
    assert "one.parquet: the file of series has changed since" in err
    assert f"failed: {folder}/one.parquet: cannot be read as Parquet" in err
    status, said, err = command(*given, "--json")
    told = json.loads(said)
    assert (status, told["status"], told["files"], len(told["failed"])) == (1, 1, 2, 1)
    assert not (tmp_path / "out" / "one.parquet").exists()  # they were of another file


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (["--out", "-"], "error: `--out` is missing: "),
        (["--model", "lstm"], "error: `--model` is 'lstm'; a folder is forecast by a saved model"),
        (["--plot", "a.png"], "error: `--plot` is for a table, and"),
        (["--engine", "spark"], "error: `--engine` is 'spark'; allowed: local, ray"),
        (["--id", "store"], "column `store` is not there; it has unique_id, ds, y"),
    ],
)
def test_the_command_refuses_what_does_not_go_with_a_folder(tmp_path, fitted, folder, changed, told):
    fitted.save(tmp_path / "model")
    status, _, err = command("--model", tmp_path / "model", "--data", folder, "--out", tmp_path / "out", *changed)
    assert status == 2
    assert told in err
    assert not (tmp_path / "out").exists()


def test_options_of_a_folder_are_refused_for_a_table(tmp_path, fitted):
    fitted.save(tmp_path / "model")
    status, _, err = command("--model", tmp_path / "model", "--workers", "2")
    assert status == 2
    assert "error: `--workers` is for a folder of Parquet files" in err


# -- real processes ----------------------------------------------------------------------------------------------------

OWN = """
import os, signal, time
from pathlib import Path
from forecast import SeasonalNaive

HERE = Path(__file__).parent

class Killed(SeasonalNaive):
    def _forecast(self, panel, origins):
        if not (HERE / "killed").exists():
            (HERE / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._forecast(panel, origins)

class Slow(SeasonalNaive):
    def _forecast(self, panel, origins):
        (HERE / f"begun-{panel.ids[0]}").touch()
        time.sleep(0.5 if len(list(HERE.glob("begun-*"))) < 2 else 60)
        return super()._forecast(panel, origins)
"""


@pytest.mark.slow  # since a worker takes seconds to start
def test_two_workers_write_what_one_does_though_one_is_killed(tmp_path, fitted, folder, own_module):
    own = own_module("folder_models", OWN)
    import folder_models  # pyright: ignore[reportMissingImports]

    predict_folder(fitted, folder, tmp_path / "alone", engine=HERE)
    killed = folder_models.Killed(3).fit(make())
    found = predict_folder(killed, folder, tmp_path / "beside", engine=Local(workers=2))
    assert (own / "killed").exists()
    assert not found.failures
    pd.testing.assert_frame_equal(read(tmp_path / "alone"), read(tmp_path / "beside"))
    assert {path.name for path in (tmp_path / "beside").iterdir()} == {".lock", *FILES}


@pytest.mark.slow
def test_a_cluster_writes_what_one_process_does_and_goes_on(tmp_path, fitted, folder):
    if find_spec("ray") is None:
        pytest.skip("Ray is an extra")
    predict_folder(fitted, folder, tmp_path / "alone", engine=HERE)
    fitted.save(tmp_path / "model")
    script = (
        "import sys\nfrom forecast import predict_folder\nfrom forecast.experiment import Ray\n"
        "found = predict_folder(*sys.argv[1:], engine=Ray(workers=2), say=print)\n"
        "print(found.files, found.series, len(found.failures))\n"
    )
    paths = [str(tmp_path / name) for name in ("model", "series", "beside")]
    for _ in range(2):  # the second goes on from what the first has left
        done = subprocess.run(
            [sys.executable, "-c", script, *paths],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.split() == ["3", "5", "0"], done.stderr
        pd.testing.assert_frame_equal(read(tmp_path / "beside"), read(tmp_path / "alone"))
        (tmp_path / "beside" / "one.parquet").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("workers", [1, 2])
def test_whoever_ends_a_run_leaves_whole_files_and_the_next_one_goes_on(tmp_path, folder, own_module, how, workers):
    own = own_module("folder_models", OWN)
    script = (
        "import sys\nsys.path.insert(0, sys.argv[1])\nimport folder_models\nimport pandas as pd\n"
        "from forecast import predict_folder\nfrom forecast.experiment import Local\n"
        "fitted = folder_models.Slow(3).fit(pd.read_parquet(sys.argv[2]))\n"
        "predict_folder(fitted, *sys.argv[2:4], engine=Local(workers=int(sys.argv[4])))\n"
    )
    out = tmp_path / "out"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-c", script, str(own), str(folder), str(out), str(workers)]
    run = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (len(list(own.glob("begun-*"))) < 2 or not list(out.glob("*.parquet"))):
        time.sleep(0.05)
    run.send_signal(how)
    run.wait(timeout=60)
    whole = list(out.glob("*.parquet"))
    assert whole
    assert all(note_of(file) for file in whole)
    if how == signal.SIGINT:
        assert {path.name for path in out.iterdir()} == {".lock", *(file.name for file in whole)}
    for file in own.glob("begun-*"):
        file.unlink()
    sys.path.insert(0, str(own))
    import folder_models  # pyright: ignore[reportMissingImports]

    folder_models.time.sleep = lambda seconds: None  # type: ignore[attr-defined]
    try:
        fitted = folder_models.Slow(3).fit(pd.read_parquet(folder))
        found = predict_folder(fitted, folder, out, engine=HERE, progress=(noted := Noted()))
    finally:
        folder_models.time.sleep = time.sleep
    assert found.files == 3
    assert sorted(noted.ended.values()) == sorted(["stored"] * len(whole) + ["done"] * (3 - len(whole)))
    assert {path.name for path in out.iterdir()} == {".lock", *FILES}


def test_two_runs_on_one_folder_are_told_of_each_other(tmp_path, fitted, folder):
    from forecast.experiment.store import Store

    out = tmp_path / "out"
    out.mkdir()
    (out / ".lock").touch()
    with Store(out).locked(), pytest.raises(StoreError, match="another run is writing to"):
        predict_folder(fitted, folder, out, engine=HERE)
