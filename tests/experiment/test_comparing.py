"""`forecast backtest`: models compared on a table of one's own, by the engine of experiments."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast.cli import app
from forecast.experiment import plan_options, run_experiment
from forecast.experiment.config import Experiment
from forecast.experiment.runner import rebuild

ROOT = Path(__file__).parents[2]
DAYS = pd.date_range("2024-01-01", periods=100)
NAMES = ["--id", "Shop", "--time", "Day", "--target", "Units"]
QUICK = ["--no-audit", "--horizon", 5]
OWN = """
import os, time
from forecast import Naive

class Stuck(Naive):
    def _fit(self, panel):
        raise RuntimeError("stuck")

class StuckLate(Naive):
    def _fit(self, panel):
        if len(panel.values) > 2 * 85:
            raise RuntimeError("stuck")
        super()._fit(panel)

class Across(Naive):
    across_series = True

class Slow(Naive):
    def _fit(self, panel):
        time.sleep(0.3)
        super()._fit(panel)
"""


def shop(name, seed, rows=100):
    noise = np.random.default_rng(seed).normal(0, 1, rows)
    values = np.round(20 + 5 * (np.arange(rows) % 7 > 4) + noise, 2)
    return pd.DataFrame({"Day": DAYS[:rows], "Shop": name, "Units": values, "Price": (np.arange(rows) % 9 == 0) + 1})


def shops():
    return pd.concat([shop("b", 0), shop("NA", 1)], ignore_index=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with tables, plain and odd, and models of one's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "compared_models", raising=False)
    table = shops()
    table.to_csv("shops.csv", index=False)
    comma = table["Units"].map("{:.2f}".format).str.replace(".", ",")
    table.assign(Day=table["Day"].dt.strftime("%d/%m/%Y"), Units=comma).to_csv("german.csv", sep=";", index=False)
    table.drop(index=[40, 41]).to_csv("gappy.csv", index=False)
    table[table["Shop"] == "b"].rename(columns={"Day": "ds", "Units": "y"})[["ds", "y"]].to_csv("one.csv", index=False)
    pd.DataFrame({"ds": np.arange(100), "y": np.arange(100) % 7 + 1.0}).to_csv("counted.csv", index=False)
    pd.concat([shop("b", 0), shop("NA", 1, 90)]).to_csv("uneven.csv", index=False)
    (tmp_path / "compared_models.py").write_text(OWN)
    return tmp_path


def forecast(*arguments):
    """Run the command here; give its status, and what it said on stdout and on stderr."""
    result = CliRunner().invoke(app, ["backtest", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


def told(*arguments):
    """Run the command for a program, and give what it is told."""
    status, out, err = forecast(*arguments, "--json")
    assert err == ""
    return {**json.loads(out), "exit": status}


def test_a_table_of_ones_own_gets_the_results_of_an_experiment(folder, undrawn):
    arguments = ["--data", "shops.csv", *NAMES, *QUICK, "--model", "nlinear,Naive", "--out", "bt"]
    status, out, err = forecast(*arguments)
    assert status == 0, err
    assert out.startswith("On shops (2 series, 5 cutoffs, horizon 5 steps)")
    assert re.search(r"^NLinear +linear +\d", out, re.MULTILINE)
    assert err.splitlines()[0].startswith("5 folds of horizon 5, 5 fits: cutoffs counted back from the end of the data")
    assert re.search(r"^\[1/15\] \w+, seed 0, fold \d of 5: done after", err, re.MULTILINE)
    assert err.index("fold 4: fit on 2024-01-01 to 2024-04-04, cutoff 2024-04-04, scored on") < err.index("[1/15]")
    for name in ("report.html", "summary.csv", "comparison.csv", "pairs.csv", "forecasts.csv", "cells.csv"):
        assert f"bt/{name}" in out.splitlines()
    forecasts = pd.read_csv("bt/forecasts.csv", keep_default_na=False)
    assert set(forecasts["Shop"]) == {"b", "NA"}
    assert {"Shop", "Day", "Units", "cutoff", "step", "0.9"} <= set(forecasts.columns)
    assert len(forecasts) == 3 * 2 * 5 * 5
    again = rebuild("bt")  # of the same store as that of any other experiment
    assert again.verdicts["shops"] == out.splitlines()[0]
    _, _, err = forecast(*arguments)
    assert err.count(": stored") == 15


def test_the_command_and_a_config_give_the_same_numbers(folder):
    """The options stand for an experiment; a file of one says the same."""
    shops().replace("NA", "c").to_csv("named.csv", index=False)
    here = told("--data", "named.csv", *NAMES, *QUICK, "--model", "NLinear", "--folds", 3, "--refit", "never")
    experiment = Experiment(
        name="same",
        datasets=[{"file": "named.csv", "columns": {"unique_id": "Shop", "ds": "Day", "y": "Units"}}],
        horizon=5,
        plan={"n_folds": 3, "refit": "never"},
        forecasters={"SeasonalNaive": {}, "NLinear": {}},
        audit=False,
    )
    summary = run_experiment(experiment, "same", page=False).summary.set_index("forecaster")
    for row in here["scores"]:
        for name in ("skill", "mase", "wql", "mae", "coverage"):
            assert row[name] == pytest.approx(summary[name][row["model"]], rel=1e-12)


def test_a_program_is_told_scores_with_intervals_plan_and_audits(folder):
    found = told("--data", "one.csv", "--horizon", 5, "--model", "NLinear", "--folds", 6, "--baseline", "SeasonalNaive")
    assert found["exit"] == found["status"] == 0
    scores = {row["model"]: row for row in found["scores"]}
    assert scores["NLinear"]["low"] < scores["NLinear"]["skill"] < scores["NLinear"]["high"]
    assert [row["model"] for row in found["scores"]] == sorted(scores, key=lambda name: -scores[name]["skill"])
    assert [row["fold"] for row in found["plan"]["folds"]] == [0, 1, 2, 3, 4, 5]
    assert found["audits"]["NLinear"]["passed"] is True
    assert found["verdict"].startswith("On one (1 series, 6 cutoffs")
    assert found["files"] == []


def test_without_a_folder_nothing_is_left_behind(folder, monkeypatch, tmp_path_factory):
    monkeypatch.setattr("tempfile.tempdir", str(place := tmp_path_factory.mktemp("temporary")))
    before = sorted(folder.iterdir())
    status, out, err = forecast("--data", "one.csv", *QUICK, "--model", "Naive", "-q")
    assert (status, err) == (0, "")
    assert "SeasonalNaive is ahead" in out
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before
    assert list(place.iterdir()) == []


def test_stamps_and_marks_of_the_table_are_read_and_written(folder, undrawn):
    options = ["--decimal", ",", "--time-format", "%d/%m/%Y", "--start", "01/03/2024", "--end", "21/03/2024"]
    arguments = ["--data", "german.csv", *NAMES, *QUICK, "--model", "Naive", *options, "--stride", "10D", "--out", "bt"]
    status, _, err = forecast(*arguments)
    assert status == 0, err
    assert "3 folds of horizon 5, 3 fits: cutoffs counted from 2024-03-01, 10 days apart" in err
    table = pd.read_csv("bt/forecasts.csv")
    assert sorted(set(table["cutoff"])) == ["01/03/2024", "11/03/2024", "21/03/2024"]
    assert set(table["fit_cutoff"]) == set(table["cutoff"])
    assert table["Day"].iloc[0] == "02/03/2024"


@pytest.mark.parametrize(
    ("options", "cutoffs"),
    [
        (["--folds", 3], [84, 89, 94]),
        (["--folds", 2, "--stride", 20], [74, 94]),
        (["--cutoffs", "50,60"], [50, 60]),
        (["--start", 60, "--folds", 2], [60, 65]),
        (["--end", 60, "--folds", 2], [55, 60]),
        (["--start", 80], [80, 85, 90]),
        (["--gap", 4, "--folds", 1], [90]),
        (["--horizon", 40], [59]),  # one more would leave less than a horizon before the first
        (["--horizon", 30], [39, 69]),
    ],
)
def test_cutoffs_are_where_the_options_say(folder, options, cutoffs):
    found = told("--data", "counted.csv", *QUICK, "--model", "Naive", *options)
    assert [row["cutoff"] for row in found["plan"]["folds"]] == cutoffs


def test_every_option_of_the_plan_reaches_the_folds(folder):
    spans = ["--gap", 1, "--window", 50, "--refit", 2, "--validation", 6, "--embargo", 2, "--context", 20]
    arguments = [*QUICK, "--model", "NLinear", "--folds", 3, "--season", 4, *spans, "--seeds", "3,4"]
    first, second, _ = told("--data", "counted.csv", *arguments)["plan"]["folds"]
    assert (first["cutoff"], first["gap"], first["test_start"], first["context_start"]) == (83, 1, 85, 64)
    assert (first["train_start"], first["train_end"], first["validation_start"]) == (34, 75, 78)
    assert (second["fit_fold"], second["cutoff"]) == (0, 88)


def test_rows_that_are_still_to_come_are_not_scored(folder):
    table = shops()
    table["Units"] = table["Units"].where(table["Day"] < "2024-04-01")
    table.to_csv("emptied.csv", index=False)
    table.dropna().to_csv("history.csv", index=False)
    arguments = [*NAMES, *QUICK, "--model", "Naive", "--folds", 2, "--known", "Price"]
    one, other = (told("--data", name, *arguments) for name in ("emptied.csv", "history.csv"))
    assert one["plan"] == other["plan"]
    assert "18 rows without a value at the ends of series are taken as the future" in one["notes"]


def test_a_network_with_several_seeds_and_covariates_is_one_row(folder):
    arguments = [
        "--known",
        "Price",
        "--model",
        "lstm",
        "--steps",
        2,
        "--seeds",
        "0,1",
        "--folds",
        2,
        "--refit",
        "never",
    ]
    found = told("--data", "shops.csv", *NAMES, *QUICK, *arguments)
    row = next(row for row in found["scores"] if row["model"] == "lstm")
    assert (row["seeds"], row["family"]) == (2, "latent-state")
    assert row["parameters"] > 0


def test_models_are_calibrated_and_baselines_are_not(folder):
    found = told("--data", "one.csv", *QUICK, "--model", "SeasonalNaive", "--calibrate", "--folds", 2)
    assert sorted(row["model"] for row in found["scores"]) == ["SeasonalNaive", "SeasonalNaive calibrated"]
    one, other = found["scores"]
    assert one["mae"] == pytest.approx(other["mae"], rel=1e-6)
    assert one["wql"] != other["wql"]


def test_a_model_that_fails_is_told_once_and_ends_with_one(folder):
    arguments = [
        "--data",
        "one.csv",
        *QUICK,
        "--folds",
        2,
        "--model",
        "Naive",
        "--model",
        "compared_models:Stuck",
        "-q",
    ]
    status, out, err = forecast(*arguments)
    assert status == 1
    assert err == "compared_models:Stuck failed, and is left out: RuntimeError: stuck\n"
    assert "Naive" in out
    found = told("--data", "one.csv", *QUICK, "--baseline", "none", "--model", "compared_models:Stuck")
    assert found["exit"] == 1
    assert found["verdict"] == "There is no verdict: no model was fitted at every cutoff."


def test_a_fallback_is_scored_where_a_model_fails_and_counted(folder, undrawn):
    models = ["--model", "compared_models:StuckLate", "--folds", 3, "--out", "bt"]
    arguments = ["--data", "shops.csv", *NAMES, *QUICK, *models]
    assert told(*arguments)["failed"] == {"compared_models:StuckLate": "RuntimeError: stuck"}
    found = told(*arguments, "--fallback", "drift")  # into the same folder: the way out of a failure
    assert found["exit"] == 0
    rows = {row["model"]: row["fallbacks"] for row in found["scores"]}
    assert rows == {"SeasonalNaive": 0, "compared_models:StuckLate": 4}
    assert any("2 of 2 forecasts are those of the fallback Drift" in note for note in found["notes"])


def test_series_aligned_by_their_ends_are_refused_to_what_learns_across_them_unless_allowed(folder):
    arguments = ["--data", "uneven.csv", *NAMES, *QUICK, "--folds", 2, "--align", "ends"]
    across = [*arguments, "--model", "compared_models:Across"]
    refused = told(*across)
    assert refused["exit"] == 2
    assert "`--align` is 'ends' and series end at different dates" in refused["error"]
    assert "`--lookahead`" in refused["error"]
    assert told(*across, "--lookahead")["exit"] == 0
    assert told(*arguments, "--model", "Naive")["exit"] == 0


def test_another_comparison_does_not_go_into_the_same_folder(folder, undrawn):
    arguments = ["--data", "one.csv", "--no-audit", "--model", "Naive", "--folds", 2, "--out", "bt", "-q"]
    assert forecast(*arguments, "--horizon", 5)[0] == 0
    before = {path: path.stat().st_mtime_ns for path in Path("bt").rglob("*")}
    status, _, err = forecast(*arguments, "--horizon", 4)
    assert status == 2
    assert "bt holds the results of another experiment, which differs in `horizon` (5 there, 4 now)" in err
    assert {path: path.stat().st_mtime_ns for path in Path("bt").rglob("*")} == before


WRONG = {
    "lsmt": (["--model", "lsmt"], "`--model` 'lsmt': no model of that name is known; did you mean 'lstm'?"),
    "baseline": (["--baseline", "Naiv"], "`--baseline` 'Naiv': no model of that name is known; did you mean 'Naive'?"),
    "fallback": (["--fallback", "Naiv"], "`--fallback` 'Naiv': no model of that name is known"),
    "saved": (["--model", "."], "`--model` '.' is a folder: a saved forecaster is fitted already"),
    "own": (["--model", "no.where:Model"], "cannot be imported"),
    "seeds": (["--seeds", "a"], "`--seeds` is 'a'; allowed: whole numbers of 0 or more, each once"),
    "seeds twice": (["--seeds", "1,01"], "`--seeds` is '1,01'; allowed"),
    "too late": (["--cutoffs", "2031-01-01"], "`--cutoffs`: 2031-01-01 has nothing after it to score; the data run"),
    "not rising": (["--cutoffs", "2024-02-02,2024-02-01"], "`--cutoffs`: 2024-02-01 "),
    "soon": (["--cutoffs", "soon"], "`--cutoffs` soon: not of the format %Y-%m-%d of the data"),
    "told twice": (["--cutoffs", "2024-02-02", "--folds", 2], "and `--folds` is 2; give one of the two"),
    "stride beside": (["--cutoffs", "2024-02-02", "--stride", 2], "`--stride` belongs to `--folds`"),
    "start": (["--start", "2031-01-01"], "`--start`: 2031-01-01 has nothing after it"),
    "end": (["--end", "2001-01-01"], "`--end`: 2001-01-01 has no history before it"),
    "backwards": (["--start", "2024-03-01", "--end", "2024-02-01"], "`--start`: 2024-03-01 comes after `--end`"),
    "folds": (["--folds", 90], "`--folds` is 90 with a stride of 5"),
    "stride": (["--stride", "x"], "`--stride` is 'x'; allowed: a number of steps, or a time"),
    "stride of hours": (["--stride", "5h"], "not the same number of steps of freq 'D' everywhere"),
    "horizon": (["--horizon", 100], "`--horizon` is 100, and the longest series has 100 values: ask for fewer steps"),
    "gap": (["--gap", 95], "`--horizon` is 5 after a `--gap` of 95, and the longest series has 100 values"),
    "window": (["--window", 0], "`--window` is 0; allowed"),
    "short window": (
        ["--window", 5, "--model", "tcn"],
        "`--window` of 5 leaves 5 steps up to 2024-03-15, and tcn needs 6",
    ),
    "short start": (["--start", "2024-01-03", "--model", "tcn"], "the first fit has 3 steps up to 2024-01-03"),
    "refit": (["--refit", 0], "`--refit` is 0; allowed: a whole number of 1 or more"),
    "sometimes": (["--refit", "sometimes"], "`--refit` is 'sometimes'; allowed: 'every' or 'never'"),
    "validation": (["--validation", 3], "`--validation` keeps 3 steps for validation; a forecast reaches 5"),
    "all held back": (["--validation", 9, "--window", 9], "`--window` is 9, of which `--validation` of 9"),
    "embargo": (["--embargo", 99], "`--embargo` of 99 steps leave fold 0"),
    "align": (["--align", "middle"], "`--align` is 'middle'; allowed: 'calendar' or 'ends'"),
    "ends": (["--align", "ends", "--start", "2024-02-01"], "a time that all series share, and `--align` is 'ends'"),
    "file": (["--out", "one.csv"], "results cannot be written to one.csv"),
    "folder": (["--out", "."], ". holds other files and no experiment.json"),
    "gaps": (["--data", "gappy.csv"], "`--gaps mask`"),
    "column": (["--target", "Unit"], "there is no column 'Unit' (--target); did you mean 'Units'?"),
    "name": (["--target", "Units", "--time", "Day", "--data", "status.csv", "--id", "status"], "a column `status` of"),
    "no horizon": (["--horizon", None], "`--horizon` is missing"),
    "no data": (["--data", None], "`--data` is missing"),
}
PYTHON = r"\w\(|\w=[\"'(\d]|\bNone\b|`(n_folds|min_history|season_length|lookahead_across_series)`"


def wrong(name):
    """Give the arguments of a mistake: those of a sound call, replaced by its own."""
    options, said = WRONG[name]
    given = dict(zip(options[::2], options[1::2], strict=True))
    sound = {
        "--data": "shops.csv",
        **dict(zip(NAMES[::2], NAMES[1::2], strict=True)),
        "--horizon": 5,
        "--model": "Naive",
    }
    merged = {**sound, **given}
    return [part for pair in merged.items() if pair[1] is not None for part in pair], said


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_had_is_one_line_before_anything_is_fitted(folder, name, monkeypatch):
    monkeypatch.setattr("forecast.forecaster.Forecaster.fit", lambda *given, **options: pytest.fail("it was fitted"))
    shops().rename(columns={"Shop": "status"}).to_csv("status.csv", index=False)
    arguments, said = wrong(name)
    before = sorted(folder.iterdir())
    status, out, err = forecast(*arguments, "-q")
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert not re.search(PYTHON, err), "a person cannot do this with the command"
    assert sorted(folder.iterdir()) == before


def test_what_a_plan_says_in_other_words_is_still_said_by_the_library(folder, monkeypatch):
    said, put = [], plan_options.in_words
    monkeypatch.setattr(plan_options, "in_words", lambda message: said.append(message) or put(message))
    for name in WRONG:
        forecast(*wrong(name)[0], "-q")
    forecast("--data", "uneven.csv", *NAMES, *QUICK, "--align", "ends", "--model", "compared_models:Across")
    assert [pattern for pattern in plan_options.TO_OPTIONS if not any(re.search(pattern, one) for one in said)] == []


def test_ctrl_c_leaves_whole_cells_and_says_how_to_go_on(folder, undrawn, monkeypatch):
    # One version of the code in both processes, even if it is being worked on meanwhile.
    monkeypatch.setattr("forecast.experiment.runner.code_version", lambda: "tested")
    arguments = ["--data", "one.csv", *QUICK, "--folds", 6, "--model", "compared_models:Slow", "--out", "bt"]
    script = (
        "from forecast.experiment import runner; runner.code_version = lambda: 'tested'\n"
        "from forecast.cli import main; main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, "backtest", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        # A shell without job control lets its children ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    end = time.monotonic() + 60
    while len(list(folder.glob("bt/cells/*/done.json"))) < 8:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert child.returncode == 130
    assert errors.endswith("stopped; finished cells are stored, and the same command goes on from there\n")
    status, _, err = forecast(*arguments)
    assert status == 0
    assert err.count(": stored") >= 8


def test_a_stop_without_a_folder_says_what_would_be_kept(folder, monkeypatch):
    def stopped(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("forecast.experiment.comparing.run_experiment", stopped)
    status, out, err = forecast("--data", "one.csv", *QUICK, "--model", "Naive", "-q")
    assert (status, out) == (130, "")
    assert err.startswith("stopped; nothing was kept: with `--out FOLDER` finished cells are")
