"""Several experiments in one file: which they are, that each is run once, and what is told of all of them together."""

import json
import textwrap

import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast.cli import app
from forecast.experiment import (
    ConfigError,
    StoreError,
    load_experiment,
    load_suite,
    rebuild_suite,
    run_experiment,
    run_suite,
    runner,
)

HORIZONS = """\
datasets: {{file: {data}/series.csv, freq: D}}
horizon: [2, 3]
plan: {{n_folds: 2}}
audit: false
quick: {{horizon: 2, forecasters: {{SeasonalNaive: }}}}
forecasters: {{SeasonalNaive: , Drift: }}
published:
  - {{name: theirs, source: a paper, horizon: 3, metrics: {{mase: 0.5}}}}
"""
LABELLED = """\
datasets: {{file: {data}/series.csv, freq: D}}
plan: {{n_folds: 2}}
audit: false
forecasters: {{SeasonalNaive: }}
experiments:
  short: {{horizon: [1, 2]}}
  long:
    horizon: 5
    plan: {{n_folds: 3, stride: 2}}
"""


@pytest.fixture
def write(data, tmp_path):
    def write(text):
        path = tmp_path / "many.yaml"
        path.write_text(textwrap.dedent(text).format(data=data))
        return path

    return write


@pytest.fixture
def found(write, tmp_path, undrawn):
    return run_suite(write(HORIZONS), tmp_path / "out")


def told_by(path, *, quick=False):
    with pytest.raises(ConfigError) as caught:
        load_suite(path, quick=quick)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]


def test_a_list_of_horizons_is_one_experiment_for_each(write):
    suite = load_suite(write(HORIZONS))
    assert suite.name == "many"
    named = {label: (one.name, one.horizon) for label, one in suite.experiments.items()}
    assert named == {"horizon-2": ("many horizon-2", 2), "horizon-3": ("many horizon-3", 3)}


def test_each_entry_replaces_keys_of_the_file(write):
    suite = load_suite(write(LABELLED))
    horizons = {label: one.horizon for label, one in suite.experiments.items()}
    assert horizons == {"short-1": 1, "short-2": 2, "long": 5}
    assert suite.experiments["long"].build_plan().n_folds == 3
    assert suite.experiments["short-2"].build_plan().n_folds == 2
    assert suite.experiments["short-2"].name == "many short-2"


def test_the_tables_of_a_suite_are_those_of_its_experiments(found, write, tmp_path):
    assert found.summary["experiment"].tolist() == ["horizon-2"] * 2 + ["horizon-3"] * 2
    for label, experiment in load_suite(write(HORIZONS)).experiments.items():
        alone = run_experiment(experiment, tmp_path / "alone" / label)
        own = found.summary[found.summary["experiment"] == label].drop(columns="experiment").reset_index(drop=True)
        costs = ["fit_seconds", "predict_seconds"]
        pd.testing.assert_frame_equal(own.drop(columns=costs), alone.summary.drop(columns=costs))
    assert pd.read_csv(found.folder / "cells.csv")["status"].tolist() == ["done"] * 8
    assert not found.failures


def test_a_cell_that_is_there_is_not_computed_again(found, write, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run_group", lambda *given: pytest.fail("a cell was computed again"))
    again = run_suite(write(HORIZONS), tmp_path / "out")
    pd.testing.assert_frame_equal(again.summary, found.summary)
    page = found.report.read_bytes()
    assert rebuild_suite(tmp_path / "out").report.read_bytes() == page


def test_the_page_has_a_table_for_each_with_published_figures_apart(found):
    page = found.report.read_text(encoding="utf-8")
    assert page.count('class="scores"') == 2
    for label in ("horizon-2", "horizon-3"):
        assert f'href="{label}/report.html"' in page
    assert page.count("Beside published figures") == 1  # at horizon 3 alone
    table = pd.read_csv(found.folder / "published.csv")
    assert table["name"].tolist() == ["SeasonalNaive", "Drift", "theirs"]
    assert table["ours"].tolist() == [True, True, False]
    assert table["source"].tolist() == ["here", "here", "a paper"]
    assert table["mase"].iloc[2] == 0.5


def test_quick_takes_its_keys_and_a_folder_of_its_own(write):
    quick = load_experiment(write(HORIZONS), quick=True)
    assert (quick.name, quick.horizon, list(quick.forecasters)) == ("many-quick", 2, ["SeasonalNaive"])
    with pytest.raises(ConfigError, match=r"many\.yaml:2:10: horizon: makes it a file of several experiments"):
        load_experiment(write(HORIZONS))


def test_quick_without_its_block_is_told(write):
    assert told_by(write(LABELLED), quick=True)[0].startswith("1:1: quick: this key is missing, and `--quick` takes it")


@pytest.mark.parametrize(
    ("sound", "faulty", "told"),
    [
        ("horizon: [1, 2]", "horizon: []", "6:20: experiments.short.horizon: should be one or more whole numbers"),
        ("horizon: [1, 2]", "horizon: [2, 2]", "6:20: experiments.short.horizon: should be one or more whole numbers"),
        ("horizon: [1, 2]", "horizon: [1, two]", "6:24: experiments.short.horizon.1: should be a whole number"),
        ("horizon: [1, 2]", "horzon: 3", "6:11: experiments.short.horzon: unknown key; did you mean 'horizon'?"),
        ("horizon: [1, 2]", "horizon: 1, name: b", "6:23: experiments.short.name: is a key of the file as a whole"),
        ("horizon: [1, 2]", "gaps: mask", "1:1: horizon: this key is missing"),
        ("stride: 2", "strid: 2", "9:24: experiments.long.plan.strid: unknown key; did you mean 'stride'?"),
        ("plan: {{n_folds: 2}}", "plan: {{n_folds: no}}", "2:17: plan.n_folds: should be a whole number, or null"),
        ("  short:", "  sh/rt:", "6:3: experiments.sh/rt: should be letters, digits and any of _ . + -"),
        ("{{horizon: [1, 2]}}", "3", "6:10: experiments.short: should be a mapping of keys that replace"),
        ("audit: false", "audit: false\nquick: 3", "4:8: quick: should be a mapping of keys that replace"),
    ],
)
def test_a_fault_is_told_once_where_it_stands(write, sound, faulty, told):
    assert sound in LABELLED
    lines = told_by(write(LABELLED.replace(sound, faulty, 1)))
    assert len([line for line in lines if line.startswith(told)]) == 1, lines


def test_nothing_is_computed_where_a_later_experiment_cannot_be_had(write, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run_group", lambda *given: pytest.fail("a cell was computed"))
    path = write(LABELLED.replace("n_folds: 3", "n_folds: 300"))
    with pytest.raises(ConfigError, match=r"many.yaml:9:21: experiments.long.plan.n_folds: `n_folds` is 300"):
        run_suite(path, tmp_path / "out")


def test_nothing_is_computed_where_networks_of_a_later_experiment_cannot_be_made_equal(write, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run_group", lambda *given: pytest.fail("a cell was computed"))
    networks = "{{lstm: {{type: NeuralForecaster, backbone: lstm}}, tcn: {{type: NeuralForecaster, backbone: tcn}}}}"
    text = LABELLED.replace("{{SeasonalNaive: }}", networks)
    with pytest.raises(ConfigError, match=r"many.yaml:4:\d+: forecasters.\w+: parameters cannot be matched within 0.0"):
        run_suite(write(text + "    regime: {{type: matched_parameters, within: 0.00001}}\n"), tmp_path / "out")


def test_a_folder_of_something_else_is_refused(write, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").touch()
    with pytest.raises(StoreError, match=r"holds other files and no suite\.json"):
        run_suite(write(HORIZONS), tmp_path / "out")


def test_the_command_runs_writes_anew_and_says_what_was_found(write, tmp_path, undrawn):
    path, out = str(write(HORIZONS)), str(tmp_path / "out")
    for command in (["run", path, "--out", out], ["report", out]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        assert "horizon-3: On series (2 series, 2 cutoffs" in " ".join(done.output.split())
        assert "beside published figures" in done.output
        assert ("horizon-3, 2 of 2: [4/4] Drift, seed 0, fold 2 of 2: done" in done.output) == (command[0] == "run")
    done = CliRunner().invoke(app, ["run", path, "--quick", "--out", str(tmp_path / "quick")])
    assert done.exit_code == 0, done.output
    note = json.loads((tmp_path / "quick" / "experiment.json").read_text())
    assert (note["config"]["name"], note["config"]["horizon"]) == ("many-quick", 2)
