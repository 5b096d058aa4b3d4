"""Experiments on memory: faults at their places, each length trained once, what is left of a run, and the command."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast.cli import app
from forecast.experiment import (
    ConfigError,
    Local,
    RecallExperiment,
    StoreError,
    load_experiment,
    load_recalls,
    rebuild_recalls,
    run_recalls,
)
from forecast.experiment.curves import holds_kind, is_of_kind
from forecast.experiment.recall_report import told
from forecast.experiment.recall_results import quoted
from forecast.experiment.work import Progress
from forecast.insight import recall
from forecast.nn import LSTM

SOUND = """\
name: lengths
recall:
  backbones:
    lstm:
    small: {type: tcn, width: 8}
  tasks: [adding]
  lengths: [4, 6]
  steps: 2
published:
  - {name: theirs, source: a table, task: copy, length: 1000, loss: 0.0204, parameters: 16000}
quick: {recall: {backbones: {lstm: }, tasks: [copy], lengths: [3], steps: 1}}
"""


class Noted(Progress):
    """Remembers what it was told; stops before the cell of a number."""

    def __init__(self, stop=None):
        self.told, self.stop = [], stop

    def at_work(self, cell):
        if len(self.told) == self.stop:
            raise KeyboardInterrupt

    def finished(self, cell, outcome, seconds):
        self.told.append((str(cell), outcome))

    @property
    def outcomes(self):
        return [outcome for _, outcome in self.told]


@pytest.fixture
def config(tmp_path):
    def write(text=SOUND):
        path = tmp_path / "lengths.yaml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def by_law(monkeypatch):
    """Solve all that is shorter than 6, and train nothing; remember what was asked."""
    asked = []

    def recall_at(plan, task, name, seed, length, shorter=None):
        seen = [] if shorter is None else sorted(set(shorter["length"].tolist()))
        asked.append((task, name, seed, length, seen))
        error = 0.01 if length < 6 else 1.02
        row = (
            task,
            name,
            plan.backbones[name].family,
            length,
            seed,
            error / 6,
            error,
            length < 6,
            300,
            1.5,
            99,
            None,
            "",
        )
        return pd.DataFrame([row], columns=recall.COLUMNS)

    monkeypatch.setattr(recall, "recall_at", recall_at)
    return asked


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the plot, which takes most of the time."""
    from forecast.experiment import recall_report

    monkeypatch.setattr(recall_report, "figures", lambda *given: [])


def run(path, out, stop=None, **given):
    noted = Noted(stop)
    return run_recalls(path, out, noted, **given), noted


# -- configs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sound", "faulty", "told"),
    [
        ("lstm:", "lstn:", "4:5: recall.backbones.lstn: unknown backbone 'lstn'; did you mean 'lstm'?"),
        ("width: 8", "widht: 8", "5:24: recall.backbones.small.widht: unknown key; did you mean 'width'?"),
        ("[adding]", "[ading]", "6:10: recall.tasks: `tasks` is ['ading']; allowed: one or more of adding, copy"),
        ("[4, 6]", "[6, 4]", "7:12: recall.lengths: `lengths` is [6, 4]; allowed: whole numbers of 2 or more"),
        ("steps: 2", "step: 2", "8:3: recall.step: unknown key; did you mean 'steps'?"),
        ("steps: 2", "steps: two", "8:10: recall.steps: should be a whole number; got 'two'"),
        ("task: copy", "task: copi", "10:43: published.0.task: should be 'adding' or 'copy'; got 'copi'"),
        ("task: copy", "tsk: copy", "10:37: published.0.tsk: unknown key; did you mean 'task'?"),
        ("name: lengths", "nam: lengths", "1:1: nam: unknown key; did you mean 'name'? allowed: name, recall, publi"),
        ("name: lengths", "horizons: 3", "1:1: horizons: unknown key"),
    ],
)
def test_a_planted_fault_is_told_at_its_place(config, sound, faulty, told):
    assert sound in SOUND
    path = config(SOUND.replace(sound, faulty, 1))
    with pytest.raises(ConfigError) as caught:
        load_recalls(path)
    lines = [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
    assert any(line.startswith(told) for line in lines), lines


def test_a_quick_run_has_the_keys_under_quick(config):
    experiment = load_recalls(config(), quick=True)
    assert experiment.name == "lengths-quick"
    assert experiment.build_plan().tasks == ["copy"]
    path = config(SOUND.replace("lengths: [3]", "lengths: [1]"))
    with pytest.raises(ConfigError, match=r"lengths.yaml:11:\d+: quick.recall.lengths: `lengths` is \[1\]"):
        load_recalls(path, quick=True)


def test_the_kinds_of_experiments_are_told_apart(config):
    assert is_of_kind(RecallExperiment, config())
    assert is_of_kind(RecallExperiment, "memory")
    assert not is_of_kind(RecallExperiment, "default")
    assert not is_of_kind(RecallExperiment, "cost")
    with pytest.raises(ConfigError, match=r"lengths.yaml:2:1: recall: is what an experiment on memory has"):
        load_experiment(config())
    with pytest.raises(ConfigError, match="recall: this key is missing"):
        load_recalls("default")


def test_the_canonical_form_spells_out_every_default(config):
    found = load_recalls(config()).canonical()
    assert json.loads(json.dumps(found)) == found
    assert found["kind"] == "recall"
    assert found["batch_size"] == recall.RecallPlan(backbones={"lstm": LSTM()}).batch_size
    assert found["backbones"]["lstm"]["width"] == LSTM().width


@pytest.mark.parametrize("quick", [False, True])
def test_the_shipped_experiment_compares_backbones_of_one_size_that_reach_over_the_longest_task(quick):
    plan = load_recalls("memory", quick=quick).build_plan()
    assert list(plan.backbones) == ["rnn", "lstm", "gru", "mingru", "tcn", "wavenet", "transformer"]
    sizes = []
    for backbone in plan.backbones.values():
        reader = recall.Reader(backbone, recall.TASKS["copy"], max(plan.lengths))
        field = reader.backbone.receptive_field
        assert field is None or field >= max(plan.lengths) + 11
        sizes.append(sum(parameter.numel() for parameter in reader.parameters()))
    assert max(sizes) < 1.15 * min(sizes)


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_small_run_leaves_what_is_promised(config, tmp_path):
    path = config()
    results, noted = run(path, tmp_path / "out")
    assert noted.outcomes == ["done"] * 4
    assert noted.told[0][0] == "lstm, adding, seed 0, length 4"
    assert (results.folder / "experiment.yaml").read_text() == path.read_text()
    for name in ("solved.csv", "published.csv", "cells.csv", "protocol.json", "plots/recall.png"):
        assert (results.folder / name).is_file(), name
    table = pd.read_csv(results.folder / "recall.csv", keep_default_na=False, na_values={"reach": [""]})
    pd.testing.assert_frame_equal(table, results.recalls, check_dtype=False)
    assert list(table.columns) == recall.COLUMNS
    page = results.report.read_text()
    assert "theirs" in page
    assert "2 steps" in page
    assert holds_kind(RecallExperiment, results.folder)
    before = {name: (results.folder / name).read_bytes() for name in ("recall.csv", "solved.csv", "report.html")}
    for name in before:
        (results.folder / name).unlink()
    rebuild_recalls(results.folder)
    assert {name: (results.folder / name).read_bytes() for name in before} == before


def test_a_run_that_was_stopped_goes_on_and_lengths_know_the_shorter_ones(config, tmp_path, by_law, undrawn):
    path, out = config(), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run(path, out, stop=3)
    assert by_law == [("adding", "lstm", 0, 4, []), ("adding", "small", 0, 4, []), ("adding", "lstm", 0, 6, [4])]
    part = rebuild_recalls(out)
    assert part.cells["status"].tolist() == ["done"] * 3 + ["unfinished"]
    assert "small, adding problem, seed 0, length 6: not trained yet" in part.report.read_text()
    results, noted = run(path, out)
    assert noted.outcomes == ["stored"] * 3 + ["done"]
    assert results.solved["by_all"].tolist() == [4, 4]
    assert told(results.solved) == ["Adding problem, asked up to a length of 6: solved by lstm, small up to 4."]


def test_backbones_lengths_tasks_and_seeds_may_change_in_a_folder_and_the_budget_may_not(
    config, tmp_path, by_law, undrawn
):
    out = tmp_path / "out"
    run(config(), out)
    more = SOUND.replace("lengths: [4, 6]", "lengths: [4, 6]\n  seeds: [0, 1]").replace("[adding]", "[adding, copy]")
    assert run(config(more), out)[1].outcomes.count("stored") == 4
    with pytest.raises(StoreError, match=r"differs in `steps` \(2 there, 3 now\)"):
        run(config(SOUND.replace("steps: 2", "steps: 3")), out)


def test_a_length_that_fails_is_told_and_the_others_go_on(config, tmp_path, by_law, undrawn, monkeypatch):
    sound = recall.recall_at

    def failing(plan, task, name, seed, length, shorter=None):
        if (name, length) == ("small", 4):
            raise RuntimeError("the lid is stuck")
        return sound(plan, task, name, seed, length, shorter)

    monkeypatch.setattr(recall, "recall_at", failing)
    monkeypatch.chdir(tmp_path)
    config()
    result = CliRunner().invoke(app, ["run", "lengths.yaml", "--workers", "1"])
    assert result.exit_code == 1
    assert "1 of 4 cells failed; the next run tries them again:" in result.output
    assert "small, adding, seed 0, length 4: RuntimeError: the lid is stuck" in result.output


def test_the_command_runs_such_an_experiment_quickly_and_writes_its_report_anew(
    config, tmp_path, by_law, undrawn, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    config()
    result = CliRunner().invoke(app, ["run", "lengths.yaml", "--quick", "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "[1/1] lstm, copy, seed 0, length 3: done after" in result.output
    assert "Copy memory, asked up to a length of 3: solved by lstm up to 3." in result.output
    assert result.output.rstrip().endswith("results/lengths-quick/report.html")
    (tmp_path / "results" / "lengths-quick" / "report.html").unlink()
    result = CliRunner().invoke(app, ["report", "results/lengths-quick"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "results" / "lengths-quick" / "report.html").is_file()


@pytest.mark.slow
def test_workers_beside_each_other_find_the_same(config, tmp_path):
    alone, beside = (
        run(config(), tmp_path / name, engine=Local(workers=workers))[0].recalls.drop(columns="seconds")
        for name, workers in (("one", 1), ("two", 2))
    )
    pd.testing.assert_frame_equal(alone, beside)


def test_an_experiment_made_in_python_needs_no_file(tmp_path, by_law, undrawn):
    experiment = RecallExperiment(name="mine", recall={"backbones": {"gru": None}, "lengths": [5], "tasks": ["copy"]})
    assert run_recalls(experiment, tmp_path / "out").recalls["backbone"].tolist() == ["gru"]
    with pytest.raises(ConfigError, match=r"^recall.backbones: RecallPlan needs this argument"):
        RecallExperiment(name="mine", recall={}).build_plan()


def test_published_losses_are_told_as_shares_of_that_without_memory():
    rows = [
        {"task": "adding", "length": 600, "name": "a", "parameters": None, "loss": 1 / 6, "source": ""},
        {"task": "copy", "length": 1000, "name": "b", "parameters": 7, "loss": 0.0204, "source": ""},
    ]
    assert quoted(rows)["error"].tolist() == pytest.approx([1.0, 1.0], abs=0.01)  # 10 ln 8 / 1020 is 0.0204
