"""The shipped experiment on real data: it runs through, and its result makes sense."""

import subprocess
import sys

import pandas as pd
import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("results") / "default"
    command = [sys.executable, "-c", "from forecast.cli import main; main()", "run", "default", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_every_network_beats_the_seasonal_naive_clearly_and_is_no_worse_than_the_linear_model(folder):
    mase = pd.read_csv(folder / "summary.csv").set_index("forecaster")["mase"]
    for network in ("LSTM", "TCN", "Transformer"):
        assert mase[network] < 0.9 * mase["SeasonalNaive"]
        assert mase[network] < 1.03 * mase["NLinear"]


@pytest.mark.slow
def test_eight_forecasters_are_compared_at_eight_or_more_cutoffs_with_two_seeds(folder):
    summary = pd.read_csv(folder / "summary.csv")
    assert len(summary) == 8
    assert summary.loc[summary["decoder"] == "direct", "seeds"].tolist() == [2, 2, 2]
    assert pd.read_csv(folder / "folds.csv")["cutoff"].nunique() >= 8
    assert set(pd.read_csv(folder / "cells.csv")["status"]) == {"done"}


@pytest.mark.slow
def test_a_report_is_left_with_every_forecaster(folder):
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in pd.read_csv(folder / "summary.csv")["forecaster"]:
        assert name in page
