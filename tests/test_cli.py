"""The command: quick help, answers a person can act on, exit statuses, and clean stops."""

import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast.cli import app

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
MODELS = """
import time
from forecast import Naive

class Slow(Naive):
    def _fit(self, panel):
        time.sleep(0.3)
        super()._fit(panel)

class Failing(Naive):
    def _fit(self, panel):
        raise RuntimeError("the lid is stuck")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with data, a module of one's own and a small experiment."""
    days = pd.date_range("2024-01-01", periods=80)
    pd.DataFrame({"unique_id": "a", "ds": days, "y": np.arange(80.0) % 7}).to_csv(tmp_path / "series.csv", index=False)
    (tmp_path / "cli_models.py").write_text(MODELS)
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def write(folder, horizon=3, forecasters="{SeasonalNaive: , Drift: }", plan="{n_folds: 3}", more=""):
    text = (
        f"datasets: {{file: series.csv, freq: D}}\nhorizon: {horizon}\nplan: {plan}\nforecasters: {forecasters}\n{more}"
    )
    (folder / "small.yaml").write_text(text)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the plots and the report, which take most of the time of a small run."""
    from forecast.experiment import pictures, report

    monkeypatch.setattr(pictures, "write_pictures", lambda *given: None)
    monkeypatch.setattr(report, "write_report", lambda path, chapters, title, together=None: path.write_text(title))


def forecast(*arguments):
    """Run the command here, and give its exit status and all that it said."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.output


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["predict", "--help"], ["--version"]])
def test_help_waits_for_no_heavy_import(arguments):
    script = (
        "import sys; from forecast.cli import main\n"
        f"sys.argv = ['forecast', *{arguments}]\n"
        "try: main()\n"
        "finally: print('heavy:', {name.split('.')[0] for name in sys.modules} & "
        "{'torch', 'lightning', 'sklearn', 'pandas', 'numpy', 'matplotlib', 'yaml'})"
    )
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert "heavy: set()" in done.stdout
    assert "forecast" in done.stdout or "foretell" in done.stdout


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("command", ["predict", "backtest", "run", "report", "inspect", "datasets"])
def test_help_fills_a_terminal_of_any_width(command, width, monkeypatch):
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)  # read from the environment when typer is imported
    result = CliRunner().invoke(app, [command, "--help"])
    lines = [line.strip() for line in result.output.split("╭")[0].splitlines()]
    assert max(map(len, lines)) > width / 2
    for line, following in pairwise(lines):
        assert not line or not following or len(f"{line} {following.split()[0]}") > width - 2, following


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--engine", "spark"], "error: `--engine` is 'spark'; allowed: local, ray"),
        (
            ["--address", "here:1"],
            "error: `--address` is 'here:1', for `--engine ray` alone: give that, or leave it out",
        ),
        (["--workers", "0"], "should be greater than or equal to 1"),
    ],
)
def test_an_engine_that_there_is_not_is_named(folder, options, told):
    status, said = forecast("run", "small.yaml", *options)
    assert status == 2
    assert told in " ".join(said.replace("│", " ").split())


def test_a_run_prints_its_cells_scores_and_where_the_report_is(folder, unlaid):
    status, said = forecast("run", "small.yaml", "--workers", "1")
    assert status == 0
    assert "[1/8] SeasonalNaive, seed 0, fold 1 of 3: done after" in said
    assert "[8/8] audit of Drift on series: done after" in said
    assert "On series (1 series, 3 cutoffs, horizon 3 steps" in said
    assert re.search(r"^SeasonalNaive +baseline", said, re.MULTILINE)
    assert said.rstrip().endswith("results/small/report.html")
    assert (folder / "results/small/report.html").is_file()
    status, said = forecast("report", "results/small")
    assert status == 0
    assert said.rstrip().endswith("results/small/report.html")


def test_a_quiet_run_says_where_the_report_is_and_no_more(folder, undrawn):
    assert forecast("run", "small.yaml", "--quiet", "--out", "here") == (0, "here/report.html\n")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"forecasters": "{SesonalNaive: }"},
            "small.yaml:4:15: forecasters.SesonalNaive: unknown forecaster 'SesonalNaive'; did",
        ),
        ({"horizon": 0}, "small.yaml:2:10: horizon: should be greater than or equal to 1; got 0"),
        (
            {"plan": "{cutoffs: [2031-01-01]}"},
            "small.yaml:3:17: plan.cutoffs: `cutoffs`: 2031-01-01 has nothing after it",
        ),
        ({"plan": "{n_folds: 500}"}, "small.yaml:3:17: plan.n_folds: `n_folds` is 500"),
        ({"more": "sedes: [0]\n"}, "small.yaml:5:1: sedes: unknown key; did you mean 'seeds'?"),
    ],
)
def test_a_config_that_cannot_be_used_is_told_and_ends_with_two(folder, given, told):
    write(folder, **given)
    status, said = forecast("run", "small.yaml")
    assert status == 2
    assert said.startswith(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["run", "nowhere.yaml"],
            "nowhere.yaml: there is no such file; shipped with the library, and run by name: ",
        ),
        (["run", "."], ".: this is a folder; give a YAML file"),
        (["run", "small.yaml", "--out", "series.csv"], "error: results cannot be written to series.csv"),
        (["run", "small.yaml", "--out", "series.csv/below"], "error: results cannot be written to series.csv/below"),
        (["run", "small.yaml", "--out", "/proc/none"], "error: results cannot be written to /proc/none"),
        (["run", "small.yaml", "--out", "."], "error: . holds other files and no experiment.json"),
        (["report", "nowhere"], "error: nowhere has no experiment.json: give a folder that `forecast run` has written"),
    ],
)
def test_a_place_that_cannot_be_used_is_told_and_ends_with_two(folder, arguments, told):
    status, said = forecast(*arguments)
    assert status == 2
    assert told in said


def test_a_folder_of_another_experiment_is_told_with_what_differs(folder, undrawn):
    assert forecast("run", "small.yaml", "-q")[0] == 0
    write(folder, horizon=2)
    status, said = forecast("run", "small.yaml")
    assert status == 2
    assert (
        "error: results/small holds the results of another experiment, which differs in `horizon` (3 there, 2 now)"
        in said
    )
    assert "--out FOLDER" in said


def test_a_failed_cell_is_told_and_ends_with_one(folder, undrawn):
    write(folder, forecasters='{SeasonalNaive: , bad: {type: "cli_models:Failing"}}')
    status, said = forecast("run", "small.yaml")
    assert status == 1
    assert "3 of 6 cells failed; the next run tries them again:" in said
    assert "series, bad, seed 0, fold 2: RuntimeError: the lid is stuck" in said
    assert "tracebacks: results/small/cells.csv" in said


def test_ctrl_c_stops_cleanly_and_the_same_command_goes_on(folder, undrawn, monkeypatch):
    # One version of the code in both processes, even if it is being worked on meanwhile.
    monkeypatch.setattr("forecast.experiment.runner.code_version", lambda: "tested")
    script = (
        "from forecast.experiment import runner; runner.code_version = lambda: 'tested'; from forecast.cli import main"
    )
    slow = '{SeasonalNaive: , slow: {type: "cli_models:Slow"}}'
    write(folder, forecasters=slow, plan="{n_folds: 8}", more="audit: false\n")
    command = [sys.executable, "-c", f"{script}; main()", "run", "small.yaml"]
    # A shell without job control lets its children ignore the signal.
    child = subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        restore_signals=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    end = time.monotonic() + 60
    while len(list(folder.glob("results/small/cells/*/done.json"))) < 10:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "Traceback" not in errors
    assert errors.rstrip().endswith("stopped; finished cells are stored, and the same command goes on from there")
    status, said = forecast("run", "small.yaml")
    assert status == 0
    assert said.count(": stored") >= 10
    assert ": done after" in said


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_while_a_network_is_trained(folder):
    network = "{type: NeuralForecaster, backbone: lstm, training: {steps: 1000000}}"
    write(folder, forecasters=f"{{SeasonalNaive: , net: {network}}}", plan="{n_folds: 2}", more="audit: false\n")
    command = [sys.executable, "-c", "from forecast.cli import main; main()", "run", "small.yaml"]
    child = subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert child.stderr is not None
    while "[2/4]" not in (line := child.stderr.readline()):
        assert line, "it ended, or told of none of four cells"
        assert "[2/" not in line
    time.sleep(3)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert errors.rstrip().endswith("stopped; finished cells are stored, and the same command goes on from there")
    assert "Traceback" not in errors


def test_the_data_sets_are_listed_with_where_they_come_from():
    status, said = forecast("datasets")
    assert status == 0
    assert re.search(r"^nyc_weather .*embedded", said, re.MULTILINE)


def test_the_version_is_told():
    from forecast import __version__

    assert forecast("--version") == (0, f"foretell {__version__}\n")


@pytest.mark.parametrize("command", [[], ["predict"], ["backtest"], ["run"], ["report"], ["inspect"], ["datasets"]])
def test_help_fits_into_eighty_columns_and_tells_the_exit_statuses(command):
    result = CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    if not command:
        assert "Exit status: 0 all well, 1 some cells or models failed, 2 something" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell):
    # What typer looks for in the environment of a shell that asks.
    asked = {
        **ENVIRONMENT,
        "_FORECAST_COMPLETE": f"source_{shell}",
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    script = "import sys; sys.argv = ['forecast']; from forecast.cli import app; app(prog_name='forecast')"
    done = subprocess.run([sys.executable, "-c", script], env=asked, capture_output=True, text=True)
    assert done.returncode == 0
    assert "_FORECAST_COMPLETE" in done.stdout


def test_a_command_is_completed():
    asked = {**ENVIRONMENT, "_FORECAST_COMPLETE": "complete_bash", "COMP_WORDS": "forecast pre", "COMP_CWORD": "1"}
    script = "import sys; sys.argv = ['forecast']; from forecast.cli import app; app(prog_name='forecast')"
    done = subprocess.run([sys.executable, "-c", script], env=asked, capture_output=True, text=True)
    assert done.stdout.split() == ["predict"]
