"""The quick form of every experiment that has one of minutes, run as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
HOME = os.environ.get("FORECAST_DATA_HOME")  # before tests are kept from it

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HOME, reason="the data are read from FORECAST_DATA_HOME, which is not set"),
]


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
