"""Runs: every cell once, whatever ends a run; failures kept; results the same however they came about."""

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from forecast import backtest, check_frame, score
from forecast.evaluation import DEFAULTS, Ledger
from forecast.experiment import ConfigError, StoreError, load_experiment, rebuild, run_experiment, runner
from forecast.experiment.runner import Progress

ROOT = Path(__file__).parents[2]
COSTS = ["fit_seconds", "predict_seconds"]
NETWORK = "{type: NeuralForecaster, backbone: {type: lstm, width: 8}, training: {steps: 20, batch_size: 8}}"
TINY = f"{{SeasonalNaive: , NLinear: {{context_length: 14}}, Fast: {NETWORK}}}"


class Noted(Progress):
    """Remembers what it was told."""

    def __init__(self):
        self.told = []

    def finished(self, cell, outcome, seconds):
        self.told.append((str(cell), outcome))

    @property
    def outcomes(self):
        return [outcome for _, outcome in self.told]


@pytest.fixture(scope="module")
def tiny(data, tmp_path_factory):
    """The path of a config with baselines and a small network."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.yaml"
    path.write_text(
        f"datasets: {{file: {data}/series.csv, freq: D}}\nhorizon: 3\nplan: {{n_folds: 4, refit: 2}}\n"
        f"seeds: [0, 1]\naudit: false\nforecasters: {TINY}\n"
    )
    return path


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory):
    """The results of a run that nothing has disturbed."""
    return run_experiment(tiny, tmp_path_factory.mktemp("whole") / "out")


def run(path, out, **given):
    noted = Noted()
    return run_experiment(path, out, noted, **given), noted


def stable(table):
    return table.drop(columns=COSTS)


def test_the_summary_has_a_row_for_each_forecaster_with_all_its_columns(whole):
    summary = pd.read_csv(whole.folder / "summary.csv", keep_default_na=False, na_values={"skill": [""]})
    assert list(summary.columns) == [
        *("dataset", "horizon", "forecaster", "family", "backbone", "decoder", "seeds"),
        *(*DEFAULTS, "skill"),
        *(*COSTS, "parameters"),
    ]
    assert summary["forecaster"].tolist() == ["SeasonalNaive", "NLinear", "Fast"]
    assert summary["family"].tolist() == ["baseline", "linear", "latent-state"]
    assert summary["backbone"].tolist() == ["", "", "lstm"]
    assert summary["decoder"].tolist() == ["", "", "direct"]
    assert summary["seeds"].tolist() == [1, 1, 2]
    assert (summary["dataset"] == "series").all()
    assert (summary["horizon"] == 3).all()
    assert summary["parameters"].tolist()[0] == 0
    assert (summary["parameters"][1:] > 0).all()
    assert (summary["fit_seconds"] > 0).all()
    pd.testing.assert_frame_equal(stable(summary), stable(whole.summary), check_dtype=False)


def test_the_numbers_are_those_of_a_backtest_without_a_store(whole, tiny):
    experiment = load_experiment(tiny)
    frame = experiment.datasets[0].read(experiment.folder)
    ledger = backtest(check_frame(frame), experiment.build_forecasters(), experiment.build_plan(), seeds=[0, 1])
    pd.testing.assert_frame_equal(ledger.forecasts, Ledger.read(whole.folder / "ledger" / "series").forecasts)
    expected = score(ledger, ["mase", "wql"])
    pd.testing.assert_frame_equal(expected[["mase", "wql"]], whole.summary[["mase", "wql"]])


def test_the_folder_holds_all_that_is_promised(whole, tiny):
    folder = whole.folder
    for name in ("report.html", "cells.csv", "folds.csv", "protocol.json", "experiment.json", "history/series.csv.gz"):
        assert (folder / name).is_file(), name
    assert {path.stem for path in (folder / "plots" / "series").glob("*.png")} == {
        *("skill", "skill_by_step", "skill_by_staleness", "win_rates", "forecasts", "error_by_step"),
        *("error_by_cutoff", "calibration", "coverage_by_step", "pit", "folds"),
    }
    assert (folder / "experiment.yaml").read_text() == tiny.read_text()
    assert pd.read_csv(folder / "folds.csv")["fold"].tolist() == [0, 1, 2, 3]
    cells = pd.read_csv(folder / "cells.csv")
    assert cells["status"].tolist() == ["done"] * 8
    assert cells["folds"].tolist()[:2] == ["1 to 2", "3 to 4"]
    assert not list(folder.glob(".writing-*"))
    assert whole.report == folder / "report.html"
    assert "Fast" in whole.report.read_text()


def test_a_second_run_computes_nothing_and_gives_the_same(whole, tiny, unplotted):
    before = {name: (whole.folder / name).read_bytes() for name in ("summary.csv", "report.html", "folds.csv")}
    results, noted = run(tiny, whole.folder)
    assert noted.outcomes == ["stored"] * 8
    assert noted.told[0][0] == "SeasonalNaive, seed 0, folds 1 to 2 of 4"
    assert noted.told[-1][0] == "Fast, seed 1, folds 3 to 4 of 4"
    for name, content in before.items():
        assert (whole.folder / name).read_bytes() == content, name
    pd.testing.assert_frame_equal(results.summary, whole.summary)


def test_results_are_rebuilt_from_the_store_alone(whole, tmp_path, unplotted):
    before = {name: (whole.folder / name).read_bytes() for name in ("summary.csv", "report.html", "cells.csv")}
    for name in before:
        (whole.folder / name).unlink()
    rebuild(whole.folder)
    for name, content in before.items():
        assert (whole.folder / name).read_bytes() == content, name
    with pytest.raises(StoreError, match="give a folder that `forecast run` has written"):
        rebuild(tmp_path)


def test_networks_that_are_crossed_are_told_by_family_and_decoder(config, tmp_path, own_models):
    pairs = [(backbone, decoder) for backbone in ("lstm", "tcn") for decoder in ("direct", "recursive")]
    networks = ", ".join(
        f'"{backbone} {decoder}": {{type: "lab_models:LikeANetwork", backbone: {backbone}, decoder: {decoder}}}'
        for backbone, decoder in pairs
    )
    results = run_experiment(config(forecasters=f"{{SeasonalNaive: , {networks}}}"), tmp_path / "out")
    summary = pd.read_csv(results.folder / "summary.csv", keep_default_na=False)
    assert summary[["backbone", "decoder"]].to_numpy().tolist() == [["", ""], *map(list, pairs)]
    assert (results.folder / "plots" / "series" / "effects.png").stat().st_size > 10_000
    page = results.report.read_text()
    assert "By family and decoder" in page
    assert "latent-state networks have the same error as direct-prediction networks" in page


def test_the_runner_script_gives_the_numbers_of_the_command(whole, tiny, tmp_path, undrawn, capsys):
    main = runpy.run_path(str(ROOT / "experiments" / "run.py"))["main"]
    main(tiny, tmp_path / "out")
    pd.testing.assert_frame_equal(
        stable(pd.read_csv(tmp_path / "out" / "summary.csv")), stable(pd.read_csv(whole.folder / "summary.csv"))
    )
    assert "NeuralForecaster(" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_killed_in_the_middle_goes_on_where_it_was(whole, tiny, tmp_path, undrawn, monkeypatch):
    out = tmp_path / "out"
    # One version of the code in both processes, even if it is being worked on meanwhile.
    monkeypatch.setattr(runner, "code_version", lambda: "tested")
    script = (
        "from forecast.experiment import runner; runner.code_version = lambda: 'tested'; "
        f"runner.run_experiment({str(tiny)!r}, {str(out)!r})"
    )
    child = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        wait_until(lambda: len(list(out.glob("cells/*/done.json"))) >= 3, child)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert not (out / "summary.csv").exists()
    finished = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/done.json")}
    results, noted = run(tiny, out)
    assert noted.outcomes.count("stored") == len(finished)
    assert noted.outcomes.count("done") == 8 - len(finished) > 0
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    pd.testing.assert_frame_equal(stable(results.summary), stable(whole.summary))


def wait_until(true, child):
    end = time.monotonic() + 60
    while not true():
        assert child.poll() is None, "the run ended by itself"
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_truncated_cell_is_computed_again_and_no_other(config, tmp_path, undrawn):
    path, out = config(), tmp_path / "out"
    first, _ = run(path, out)
    cell = sorted(out.glob("cells/*"))[0]
    os.truncate(next(cell.glob("forecasts.*")), 100)
    again, noted = run(path, out)
    assert sorted(noted.outcomes) == ["done", "stored", "stored", "stored"]
    pd.testing.assert_frame_equal(stable(again.summary), stable(first.summary))


def test_only_the_cells_of_a_new_forecaster_are_computed(config, tmp_path, undrawn):
    out = tmp_path / "out"
    run(config(), out)
    results, noted = run(config(forecasters="{SeasonalNaive: , WindowAverage: , Drift: {season_length: 3}}"), out)
    assert noted.outcomes == ["stored", "stored", "done", "done", "done", "done"]
    assert results.summary["forecaster"].tolist() == ["SeasonalNaive", "WindowAverage", "Drift"]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"plan": "{n_folds: 4, refit: 1}"}, "plan.refit"),
        ({"datasets": "nyc_weather", "text": "gaps: mask"}, "datasets"),
    ],
)
def test_another_plan_or_data_set_is_another_experiment(config, tmp_path, undrawn, change, key):
    run(config(), tmp_path / "out")
    with pytest.raises(StoreError, match=f"differs in .*`{key}"):
        run(config(**change), tmp_path / "out")


def test_changed_data_are_computed_anew(config, data, tmp_path, undrawn):
    (tmp_path / "series.csv").write_bytes((data / "series.csv").read_bytes())
    path, out = config(datasets="{file: series.csv, freq: D}"), tmp_path / "out"
    run(path, out)
    frame = pd.read_csv(tmp_path / "series.csv")
    frame.loc[5, "y"] += 1
    frame.to_csv(tmp_path / "series.csv", index=False)
    assert run(path, out)[1].outcomes == ["done"] * 4


def test_a_cell_that_fails_is_a_row_with_its_traceback_and_the_others_go_on(config, tmp_path, own_models, unplotted):
    forecasters = '{SeasonalNaive: , bad: {type: "lab_models:Failing"}, half: {type: "lab_models:FailingWithSeedOne"}}'
    path = config("seeds: [0, 1]", forecasters=forecasters)
    results, noted = run(path, tmp_path / "out")
    assert noted.outcomes == ["done"] * 2 + ["failed"] * 2 + ["done"] * 2 + ["failed"] * 2
    cells = pd.read_csv(results.folder / "cells.csv").set_index(["forecaster", "seed", "folds"])
    failed = cells.loc[("bad", 0, "1 to 2")]
    assert failed["status"] == "failed"
    assert failed["error"] == "RuntimeError: the lid is stuck"
    assert "lab_models.py" in failed["traceback"]
    assert len(results.failures) == 4
    summary = pd.read_csv(results.folder / "summary.csv").set_index("forecaster")
    assert summary["seeds"].to_dict() == {"SeasonalNaive": 1, "bad": 0, "half": 1}
    assert summary.loc["bad", ["mae", "skill", "parameters"]].isna().all()
    assert summary.loc["bad", "family"] == "baseline"
    assert summary.loc["half", "mae"] > 0
    assert results.ledger.forecasters == ("SeasonalNaive", "half")
    assert results.report is not None
    assert "the lid is stuck" in results.report.read_text()
    assert run(path, tmp_path / "out")[1].outcomes == ["stored"] * 4 + ["failed"] * 4


def test_a_fallback_is_scored_where_a_forecaster_fails_and_keeps_the_folder(config, tmp_path, own_models, undrawn):
    forecasters = '{SeasonalNaive: , bad: {type: "lab_models:Failing"}}'
    out = tmp_path / "out"
    assert "bad" not in run_experiment(config("audit: false\n", forecasters=forecasters), out).ledger.forecasters
    again = config("audit: false\nfallback: {type: SeasonalNaive}\n", forecasters=forecasters)
    with pytest.warns(UserWarning, match="forecasts are those of the fallback"):
        results = run_experiment(again, out)
    assert results.failures == []
    fits = results.ledger.fits.groupby("forecaster")["fallbacks"].sum()
    assert fits["bad"] == len(results.ledger.points)
    assert fits["SeasonalNaive"] == 0
    scores = results.summary.set_index("forecaster")["mae"]
    assert scores["bad"] == scores["SeasonalNaive"]


def test_where_everything_fails_there_is_a_summary_and_no_report(config, tmp_path, own_models):
    results, _ = run(config(forecasters='{bad: {type: "lab_models:Failing"}}'), tmp_path / "out")
    assert results.report is None
    assert results.summary[["forecaster", "seeds"]].values.tolist() == [["bad", 0]]
    assert not results.ledgers
    with pytest.raises(ValueError, match="there are ledgers of"):
        _ = results.ledger


def test_a_forecaster_that_ends_the_process_stops_the_run_cleanly(config, tmp_path, own_models, undrawn):
    path = config(forecasters='{SeasonalNaive: , stop: {type: "lab_models:Stopping"}}')
    with pytest.raises(KeyboardInterrupt):
        run(path, tmp_path / "out")
    results = rebuild(tmp_path / "out")
    assert results.cells["status"].tolist() == ["done", "done", "unfinished", "unfinished"]
    assert results.ledger.forecasters == ("SeasonalNaive",)


def test_several_data_sets_of_different_clocks_share_one_experiment(config, data, tmp_path):
    both = f"[{{file: {data}/series.csv}}, {{file: {data}/counted.csv}}]"
    results, _ = run(config(datasets=both), tmp_path / "out")
    assert list(results.ledgers) == ["series", "counted"]
    assert results.summary["dataset"].tolist() == ["series", "series", "counted", "counted"]
    assert results.ledgers["counted"].forecasts["cutoff"].dtype.kind == "i"
    assert set(results.verdicts) == {"series", "counted"}
    assert (results.folder / "plots" / "counted" / "folds.png").is_file()
    assert "counted" in (results.folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ("{cutoffs: [2031-01-01]}", "3:17: plan.cutoffs: `cutoffs`: 2031-01-01 has nothing after it to score"),
        ("{cutoffs: [soon]}", "3:17: plan.cutoffs: `cutoffs` holds 'soon'"),
        ("{n_folds: 400}", "3:17: plan.n_folds: `n_folds` is 400"),
    ],
)
def test_cutoffs_that_the_data_do_not_hold_are_told_at_their_place(config, tmp_path, plan, told):
    path = config(plan=plan)
    with pytest.raises(ConfigError) as caught:
        run(path, tmp_path / "out")
    assert str(caught.value).startswith(f"{path}:{told}")
    assert not (tmp_path / "out").exists()
