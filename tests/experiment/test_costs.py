"""Experiments on costs: faults at their places, each point measured once, what is left of a run, and the command."""

import json
import textwrap

import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast.cli import app
from forecast.experiment import (
    ConfigError,
    CostExperiment,
    StoreError,
    load_costs,
    load_experiment,
    rebuild_costs,
    run_costs,
)
from forecast.experiment.cost_report import scaled, told
from forecast.experiment.curves import holds_kind, is_of_kind
from forecast.experiment.runner import Progress
from forecast.insight import cost
from forecast.nn import BACKBONES, LSTM, Transformer

SOUND = """\
name: costs
cost:
  backbones:
    lstm:
    small: {type: transformer, width: 16}
  patch_lengths: [1, 4]
  lengths: [16, 32]
"""
POINTS = 8


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
        path = tmp_path / "costs.yaml"
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def by_law(monkeypatch):
    """Give costs by a law instead of measuring them, and remember of what."""
    asked = []

    def cost_at(plan, name, patch_length, length, shorter=None):
        seen = [] if shorter is None else sorted(set(shorter["length"].tolist()))
        asked.append((name, patch_length, length, seen))
        rows = []
        for mode, powers in cost.expected_powers(plan.backbones[name]).items():
            costs = 1e-3 * (length / patch_length) ** powers.seconds, 100.0 * length**powers.bytes
            rows.append((name, plan.backbones[name].family, patch_length, length, mode, *costs, 10, *powers, ""))
        return pd.DataFrame(rows, columns=cost.COLUMNS)

    monkeypatch.setattr(cost, "cost_at", cost_at)
    return asked


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the plots, which take most of the time."""
    from forecast.experiment import cost_report

    monkeypatch.setattr(cost_report, "figures", lambda costs: [])


def run(path, out, stop=None):
    noted = Noted(stop)
    return run_costs(path, out, noted), noted


# -- configs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sound", "faulty", "told"),
    [
        ("lstm:", "lstn:", "4:5: cost.backbones.lstn: unknown backbone 'lstn'; did you mean 'lstm'?"),
        ("lstm:", "mine: lstn", "4:11: cost.backbones.mine: unknown backbone 'lstn'; did you mean 'lstm'?"),
        ("lstm:", "lstm: 3", "4:11: cost.backbones.lstm: should be {type: rnn, or lstm"),
        ("lstm:", "3: lstm", "4:5: cost.backbones.3: should be text; got 3"),
        (
            "lstm:",
            "graph_transformer:",
            "4:5: cost.backbones: `backbones` holds 'graph_transformer', which reads across",
        ),
        ("width: 16", "widht: 16", "5:32: cost.backbones.small.widht: unknown key; did you mean 'width'?"),
        ("width: 16", "width: 10", "5:39: cost.backbones.small.width: `width` of Transformer is 10"),
        (
            "[1, 4]",
            "[4, 1]",
            "6:18: cost.patch_lengths: `patch_lengths` is [4, 1]; allowed: whole numbers of 1 or more",
        ),
        ("[1, 4]", "1", "6:18: cost.patch_lengths: should be a list, each a whole number; got 1"),
        ("lengths: [16, 32]", "lenghts: [16, 32]", "7:3: cost.lenghts: unknown key; did you mean 'lengths'?"),
        ("lengths: [16, 32]", "horizon: 0", "7:12: cost.horizon: `horizon` is 0; allowed: a whole number of 1 or more"),
        ("name: costs", "nam: costs", "1:1: nam: unknown key; did you mean 'name'? allowed: name, cost"),
        ("name: costs", "name: a/b", "1:7: name: should be letters, digits, blanks"),
        ("name: costs", "horizon: 3", "1:1: horizon: unknown key"),
        ("  lengths", "  patch_lengths", "7:3: cost.patch_lengths: this key stands in line 6 already"),
    ],
)
def test_a_planted_fault_is_told_at_its_place(config, sound, faulty, told):
    assert sound in SOUND
    path = config(SOUND.replace(sound, faulty, 1))
    with pytest.raises(ConfigError) as caught:
        load_costs(path)
    lines = [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
    assert any(line.startswith(told) for line in lines), lines


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cost: 3\n", "1:7: cost: should be a mapping; got 3"),
        ("cost: {}\n", "1:7: cost.backbones: CostPlan needs this argument"),
        ("cost: {backbones: {}}\n", "1:19: cost.backbones: `backbones` is empty"),
        ("- cost\n", "1:1: file: an experiment on costs is a mapping with the key cost"),
    ],
)
def test_what_holds_no_plan_is_refused(config, text, told):
    path = config(text)
    with pytest.raises(ConfigError) as caught:
        load_costs(path)
    assert str(caught.value).startswith(f"{path}:{told}")


def test_arguments_reach_the_plan(config):
    plan = load_costs(config(SOUND + "  most_seconds: 2.5\n")).build_plan()
    assert plan.backbones == {"lstm": LSTM(), "small": Transformer(width=16)}
    assert (list(plan.patch_lengths), list(plan.lengths), plan.most_seconds) == ([1, 4], [16, 32], 2.5)


def test_the_canonical_form_spells_out_every_default(config):
    found = load_costs(config()).canonical()
    assert json.loads(json.dumps(found)) == found
    assert found["name"] == "costs"
    assert found["kind"] == "cost"
    assert found["horizon"] == cost.CostPlan(backbones={"lstm": LSTM()}).horizon
    assert found["backbones"]["lstm"]["width"] == LSTM().width


def test_the_two_kinds_of_experiments_are_told_apart(config):
    assert is_of_kind(CostExperiment, config())
    assert is_of_kind(CostExperiment, "cost")
    assert not is_of_kind(CostExperiment, "default")
    with pytest.raises(
        ConfigError, match=r"costs.yaml:2:1: cost: is what an experiment on costs has; `run_costs` runs it"
    ):
        load_experiment(config())
    with pytest.raises(ConfigError, match="cost: this key is missing"):
        load_costs("default")


def test_the_shipped_experiment_measures_every_backbone_of_the_lectures_from_64_to_8192_values():
    plan = load_costs("cost").build_plan()
    assert list(plan.lengths) == [2**power for power in range(6, 14)]
    single = {kind for name, kind in BACKBONES.items() if not kind.across_series}
    controls = {BACKBONES["identity"], BACKBONES["linear"]}
    assert {type(one) for one in plan.backbones.values()} == single - controls


# -- runs --------------------------------------------------------------------------------------------------------------


def test_a_small_run_measures_all_points_and_leaves_what_is_promised(config, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "_SPENT", 0.0)
    path = config()
    results, noted = run(path, tmp_path / "out")
    assert noted.outcomes == ["done"] * POINTS
    assert noted.told[0][0] == "lstm, patches of 1, 16 values"
    for name in ("cost.csv", "powers.csv", "cells.csv", "experiment.json", "protocol.json"):
        assert (results.folder / name).is_file(), name
    assert {one.stem for one in (results.folder / "plots").glob("*.png")} == {
        *("patches_of_1", "patches_of_4", "patches")
    }
    assert (results.folder / "experiment.yaml").read_text() == path.read_text()
    table = pd.read_csv(results.folder / "cost.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(table, results.costs, check_dtype=False)
    assert list(table.columns) == cost.COLUMNS
    assert len(table) == 4 * 3 + 4 * 4
    assert (table["seconds"] > 0).all()
    assert results.report is not None
    page = results.report.read_text()
    assert "small" in page
    assert "stored" not in page
    assert holds_kind(CostExperiment, results.folder)


def test_points_go_from_short_to_long_and_know_the_shorter_ones_of_their_curve(config, tmp_path, by_law, undrawn):
    run(config(SOUND.replace("[16, 32]", "[16, 32, 64]")), tmp_path / "out")
    assert by_law[:4] == [("lstm", 1, 16, []), ("lstm", 1, 32, [16]), ("lstm", 1, 64, [16, 32]), ("lstm", 4, 16, [])]


def test_a_run_that_was_stopped_goes_on_where_it_was(config, tmp_path, by_law, undrawn):
    path, out = config(), tmp_path / "out"
    whole, _ = run(path, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(path, out, stop=3)
    part = rebuild_costs(out)
    assert part.cells["status"].tolist() == ["done"] * 3 + ["unfinished"] * 5
    assert "not measured yet" in part.report.read_text()
    results, noted = run(path, out)
    assert noted.outcomes == ["stored"] * 3 + ["done"] * 5
    pd.testing.assert_frame_equal(results.costs, whole.costs)
    assert run(path, out)[1].outcomes == ["stored"] * POINTS


def test_results_are_rebuilt_from_the_store_alone(config, tmp_path, by_law):
    results, _ = run(config(SOUND.replace("[1, 4]", "[1]")), tmp_path / "out")
    names = ("cost.csv", "powers.csv", "cells.csv", "report.html")
    before = {name: (results.folder / name).read_bytes() for name in names}
    for name in names:
        (results.folder / name).unlink()
    by_law.clear()
    rebuild_costs(results.folder)
    assert not by_law
    assert {name: (results.folder / name).read_bytes() for name in names} == before


def test_backbones_and_lengths_may_be_added_and_taken_away_and_only_they_are_measured(
    config, tmp_path, by_law, undrawn
):
    out = tmp_path / "out"
    run(config(), out)
    results, noted = run(config(SOUND.replace("[16, 32]", "[16, 32, 64]").replace("    lstm:\n", "    gru:\n")), out)
    assert noted.outcomes == ["stored"] * 4 + ["done"] * 8
    assert set(results.costs["backbone"]) == {"gru", "small"}


def test_another_horizon_is_another_experiment(config, tmp_path, by_law, undrawn):
    run(config(), tmp_path / "out")
    with pytest.raises(StoreError, match=r"differs in `horizon` \(24 there, 12 now\)"):
        run(config(SOUND + "  horizon: 12\n"), tmp_path / "out")


@pytest.mark.parametrize("change", ["most_seconds: 1", "repeats: 4"])
def test_how_it_is_measured_belongs_to_the_experiment(config, tmp_path, by_law, undrawn, change):
    run(config(), tmp_path / "out")
    with pytest.raises(StoreError, match=f"differs in `{change.partition(':')[0]}`"):
        run(config(SOUND + f"  {change}\n"), tmp_path / "out")


def test_the_work_of_another_machine_is_not_taken_for_ones_own(config, tmp_path, by_law, undrawn, monkeypatch):
    run(config(), tmp_path / "out")
    monkeypatch.setattr("platform.platform", lambda: "another machine")
    assert run(config(), tmp_path / "out")[1].outcomes == ["done"] * POINTS


def test_a_point_that_fails_is_told_and_the_others_go_on(config, tmp_path, by_law, undrawn, monkeypatch):
    sound = cost.cost_at

    def failing(plan, name, patch_length, length, shorter=None):
        if (name, patch_length, length) == ("lstm", 4, 16):
            raise RuntimeError("the lid is stuck")
        return sound(plan, name, patch_length, length, shorter)

    monkeypatch.setattr(cost, "cost_at", failing)
    results, noted = run(config(), tmp_path / "out")
    assert noted.outcomes == ["done"] * 2 + ["failed"] + ["done"] * 5
    assert [row["length"] for row in results.failures] == [16]
    assert "lstm, patches of 4, 16 values: RuntimeError: the lid is stuck" in results.report.read_text()
    assert run(config(), tmp_path / "out")[1].outcomes.count("stored") == 7


def test_what_was_left_out_is_told_with_its_reason(config, tmp_path, monkeypatch, undrawn):
    monkeypatch.setattr(cost, "_SPENT", 0.0)
    results, _ = run(config(SOUND + "  most_bytes: 1000\n"), tmp_path / "out")
    assert results.costs["left_out"].str.contains("more than `most_bytes`, 1,000").any()
    page = results.report.read_text()
    assert "lstm, patches of 1, train, 32 values and more: a run would take about" in page


def test_an_experiment_made_in_python_needs_no_file(tmp_path, by_law, undrawn):
    experiment = CostExperiment(name="mine", cost={"backbones": {"gru": None}, "lengths": [8], "patch_lengths": [1]})
    assert run_costs(experiment, tmp_path / "out").costs["backbone"].tolist() == ["gru"] * 3
    with pytest.raises(ConfigError, match=r"^cost.backbones: CostPlan needs this argument"):
        CostExperiment(name="mine", cost={}).build_plan()


# -- what is told ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.00123456, "1.23 ms"), (12.0, "12 s"), (1e-6, "1 µs"), (999.9, "1 ks"), (0.0, "0 s"), (float("nan"), "–")],
)
def test_quantities_have_three_digits_and_a_prefix(value, shown):
    assert scaled(value, "s").replace("\N{NO-BREAK SPACE}", " ") == shown


def test_a_sentence_sets_recomputed_beside_streamed(config, tmp_path, by_law, undrawn):
    results, _ = run(config(), tmp_path / "out")
    first, second = (sentence.replace("\N{NO-BREAK SPACE}", " ") for sentence in told(results.costs))
    assert first.startswith(
        "One new prediction of lstm takes 32 ms recomputed from 32 values, 1 ms streamed with patches of 1 (32 to 1); "
    )
    assert second.startswith("One new prediction of small takes 1.02 s recomputed from 32 values, 1 ms streamed")


def test_the_command_runs_such_an_experiment_and_writes_its_report_anew(config, tmp_path, by_law, undrawn, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config()
    result = CliRunner().invoke(app, ["run", "costs.yaml"])
    assert result.exit_code == 0, result.output
    assert "[1/8] lstm, patches of 1, 16 values: done after" in result.output
    assert "One new prediction of lstm takes" in result.output
    assert result.output.rstrip().endswith("results/costs/report.html")
    (tmp_path / "results" / "costs" / "report.html").unlink()
    result = CliRunner().invoke(app, ["report", "results/costs"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "results" / "costs" / "report.html").is_file()


def test_the_command_tells_a_failed_point_and_ends_with_one(config, tmp_path, undrawn, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cost, "cost_at", lambda *given: 1 / 0)
    config()
    result = CliRunner().invoke(app, ["run", "costs.yaml"])
    assert result.exit_code == 1
    assert "8 of 8 cells failed; the next run tries them again:" in result.output
    assert "lstm, patches of 1, 16 values: ZeroDivisionError: division by zero" in result.output
