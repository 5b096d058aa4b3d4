"""Experiments of the house: each can be had as it stands, and the quick forms of those of minutes run through."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forecast.experiment.config import load_experiments
from forecast.experiment.faults import Source
from forecast.experiment.runner import check_can_be_had

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
COMPARISONS = [path for path in sorted(EXPERIMENTS.glob("*.yaml")) if "forecasters:" in path.read_text("utf-8")]
HOME = os.environ.get("FORECAST_DATA_HOME")  # before tests are kept from it

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HOME, reason="the data are read from FORECAST_DATA_HOME, which is not set"),
]


@pytest.mark.parametrize("path", COMPARISONS, ids=lambda path: path.stem)
def test_data_plan_and_regime_of_an_experiment_can_be_had(path, tmp_path, monkeypatch):
    monkeypatch.setenv("FORECAST_DATA_HOME", str(HOME))
    for label, experiment in load_experiments(Source.read(path)):
        check_can_be_had(experiment, tmp_path / label)
    assert not any(tmp_path.iterdir())  # nothing was begun


@pytest.mark.parametrize("name", ["context", "cost", "latent_vs_direct", "memory", "oracle"])
def test_a_quick_form_runs_through_and_writes_its_page(name, tmp_path):
    command = [
        sys.executable,
        "-c",
        "from forecast.cli import main; main()",
        "run",
        EXPERIMENTS / f"{name}.yaml",
        "--quick",
    ]
    done = subprocess.run(
        [*command, "--out", tmp_path / "out"],
        env={**os.environ, "FORECAST_DATA_HOME": str(HOME)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]  # 1 where a cell failed
    assert (tmp_path / "out" / "report.html").is_file()
