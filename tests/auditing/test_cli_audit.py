"""`forecast audit`: a table of findings, JSON, a certificate on disk, and an exit status that tells."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast.auditing import Certificate
from forecast.baselines import SeasonalNaive
from forecast.cli import app

MODELS = """
import numpy as np
from forecast import Naive


class Ahead(Naive):
    def _point(self, panel, origins, horizon):
        following = np.minimum(origins.ends, panel.stops[origins.series] - 1)
        return np.repeat(np.nan_to_num(panel.values[following])[:, None], horizon, axis=1)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with a table and a module of one's own."""
    days = pd.date_range("2024-01-01", periods=90)
    sold = 50 + 9 * np.sin(np.arange(90) / 7 * 2 * np.pi) + np.random.default_rng(0).normal(0, 1, 90)
    table = pd.DataFrame({"store": np.repeat(["x", "y"], 90), "date": [*days, *days], "sold": [*sold, *sold[::-1]]})
    table.to_csv(tmp_path / "sales.csv", index=False)
    (tmp_path / "audited_models.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("audited_models", None)


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments])


NAMES = ("--id", "store", "--time", "date", "--target", "sold")


def test_a_sound_model_passes_on_a_table_and_its_certificate_is_written(folder):
    asked = ("--horizon", "7", "--probes", "P0,P1", "--out", "a.json")
    result = run("SeasonalNaive", "--data", "sales.csv", *NAMES, *asked)
    assert result.exit_code == 0, result.output
    assert "SeasonalNaive(horizon=7): 2/2 probes passed." in result.stdout
    assert "Nothing moves when the future moves" in " ".join(result.stdout.split())
    found = Certificate.read(folder / "a.json")
    assert found.facts["data"] == "2 of 2 series, up to 90 rows of each"
    assert found.passed


@pytest.mark.usefixtures("folder")
def test_a_model_that_looks_ahead_fails_with_status_1_and_says_where():
    result = run("audited_models:Ahead", "--horizon", "7", "--probes", "P1,P15", "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (told["status"], told["passed"]) == (1, False)
    assert told["badge"] == "0/2 probes passed, failed: P1, P15"
    assert "predict: moved by up to" in told["findings"][0]["evidence"]


def test_a_saved_model_is_audited_on_a_table_as_it_was_fitted(folder):
    table = pd.read_csv("sales.csv", parse_dates=["date"])
    columns = {"unique_id": "store", "ds": "date", "y": "sold"}
    SeasonalNaive(7).fit(table, columns=columns).save("model")
    result = run("model", "--data", "sales.csv", "--probes", "P0", "--quiet")
    assert result.exit_code == 0, result.output
    assert (folder / "model").is_dir()
    assert run("model", "--probes", "P0", "--horizon", "3").exit_code == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("best",), "MODEL is 'best', which stands for several"),
        (("lsmt",), "MODEL 'lsmt' is no folder of a saved forecaster"),
        (("lstn",), "did you mean 'lstm'"),
        (("Naive", "--cutoff", "2024-02-01"), "`--cutoff` is for a table, and none is given"),
        (("Naive", "--data", "none.csv"), "there is no such file"),
        (("Naive", "--probes", "P99"), "`probes` is ['P99']; allowed: a list of some of P0"),
        (("Naive", "--out", "a.txt"), "allowed endings: .json"),
        (("Naive", "--data", "sales.csv", *NAMES, "--cutoff", "2025-01-01"), "at which no series is under way"),
    ],
)
def test_what_cannot_be_had_is_told_in_one_line_with_status_2(arguments, told):
    result = run(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
