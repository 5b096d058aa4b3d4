"""Equal tuning: the space and its draws, trials that see no row after the first cutoff, resumed runs, and the curve."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from forecast import NeuralForecaster, WindowAverage, check_frame
from forecast.evaluation import Plan
from forecast.experiment import ConfigError, load_experiment, rebuild, run_experiment, runner
from forecast.experiment.regimes import Case, Tuned
from forecast.experiment.regimes.curve import best_so_far, expected_best
from forecast.experiment.regimes.samplers import Tried, propose
from forecast.experiment.regimes.space import draw, names_in, read_space
from forecast.experiment.regimes.trials import Trial, search_plan
from forecast.experiment.work import Progress
from forecast.nn import LSTM, Transformer

OWN = '''
from forecast import WindowAverage
from forecast.forecaster import DECILES

class Stuck(WindowAverage):
    def _fit(self, panel):
        raise RuntimeError("the lid is stuck")

class Sticking(WindowAverage):
    """Fails where the window is long."""
    def _fit(self, panel):
        if self.window > 20:
            raise RuntimeError("the lid is stuck")
        super()._fit(panel)

class Told(WindowAverage):
    """Keeps the last day of every panel that any of them was shown."""
    seen = []
    def _fit(self, panel):
        Told.seen.append(panel.calendar.stamp(int(panel.last.max())))
        super()._fit(panel)
'''
TUNED = "regime: {type: tuned, trials: 4, folds: 2, space: {window: {low: 1, high: 40}}}\n"
PLAN = "{n_folds: 2, refit: never}"
AVERAGES = "{SeasonalNaive: , WindowAverage: , Other: {type: WindowAverage, window: 3}}"


class Noted(Progress):
    """Remembers what it was told; stops before a cell of a number."""

    def __init__(self, stop=None):
        self.told, self.stop, self.groups = [], stop, []

    def begin(self, cells):
        self.groups.append(len(cells))

    def at_work(self, cell):
        if len(self.told) == self.stop:
            raise KeyboardInterrupt

    def finished(self, cell, outcome, seconds):
        self.told.append((str(cell), outcome))

    @property
    def outcomes(self):
        return [outcome for _, outcome in self.told]


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "tuned_models.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.fixture(autouse=True)
def same_code(monkeypatch):
    monkeypatch.setattr(runner, "code_version", lambda: "tested")


def network(backbone=None, **arguments):
    return NeuralForecaster(backbone or "lstm", 5, **arguments)


def stable(trials):
    return trials.drop(columns=["seconds"])


# -- the space ---------------------------------------------------------------------------------------------------------


def test_short_names_are_looked_for_where_they_belong():
    space = read_space({"width": [8], "learning_rate": [0.1], "dropout": [0.1], "context_length": [7], "heads": [1]})
    assert names_in(space, network("lstm")) == {
        "width": "backbone__width",
        "learning_rate": "training__learning_rate",
        "dropout": "backbone__dropout",
        "context_length": "context_length",
    }
    assert names_in(space, network("lstm", decoder="cross_attention"))["heads"] == "decoder__heads"
    assert names_in(space, WindowAverage(5)) == {}
    assert names_in(read_space({"backbone__depth": [1]}), network("gru")) == {"backbone__depth": "backbone__depth"}


def test_draws_lie_in_the_space_and_are_those_of_their_number():
    space = read_space(
        {
            "width": {"low": 4, "high": 6},
            "learning_rate": {"low": "1e-4", "high": "1e-2", "log": True},
            "dropout": [0, 0.2],
        }
    )
    draws = [draw(space, network(), 3, number) for number in range(200)]
    assert {one["backbone__width"] for one in draws} == {4, 5, 6}
    assert {one["backbone__dropout"] for one in draws} == {0, 0.2}
    rates = np.array([one["training__learning_rate"] for one in draws])
    assert rates.min() >= 1e-4
    assert rates.max() <= 1e-2
    assert 0.35 < (rates < 1e-3).mean() < 0.65  # uniform in the logarithm
    assert draws == [draw(space, network(), 3, number) for number in range(200)]
    assert draws[:9] != [draw(space, network(), 4, number) for number in range(9)]


def test_forecasters_share_the_draws_of_what_they_have_in_common():
    space = read_space({"width": [16, 32, 64], "heads": [1, 2], "learning_rate": {"low": 0.001, "high": 0.1}})
    for number in range(5):
        one, other = draw(space, network("gru"), 0, number), draw(space, network("transformer"), 0, number)
        assert one == {name: other[name] for name in one}
        assert set(other) - set(one) == {"backbone__heads"}


def test_values_that_do_not_go_together_are_drawn_again():
    space, forecaster = read_space({"width": [12, 16], "heads": [3, 8]}), network(Transformer(width=24, heads=1))
    draws = [draw(space, forecaster, 0, number) for number in range(20)]
    assert {(one["backbone__width"], one["backbone__heads"]) for one in draws} == {(12, 3), (16, 8)}
    with pytest.raises(ValueError, match="none of 1000 draws"):
        draw(read_space({"width": [12], "heads": [5]}), forecaster, 0, 0)


# -- trials ------------------------------------------------------------------------------------------------------------


def test_a_trial_that_were_given_a_later_row_refuses(data):
    panel = check_frame(pd.read_csv(data / "series.csv", parse_dates=["ds"]))
    cutoff = int(panel.last.max()) - 1
    case = Case("a", panel, cutoff, Plan(horizon=3, n_folds=2), {"one": WindowAverage(3)}, code="tested")
    (trial,) = Trial.all_of(case, "one", Tuned(trials=1, space={"window": [2]}))
    with pytest.raises(RuntimeError, match="a search was given rows after 2024-04-28"):
        trial.compute()


def test_the_search_ends_a_horizon_before_the_end_of_its_rows():
    plan = Plan(horizon=3, start="2024-02-01", end="2024-03-01", stride=9, gap=1, window=50, refit=2, validation=6)
    found = search_plan(plan, 4)
    assert found == Plan(horizon=3, n_folds=4, gap=1, window=50, refit="never", validation=6)
    split = search_plan(Plan.fixed_split(3, train=60, validation=30, test=30), 2)
    assert split == Plan(horizon=3, n_folds=2, refit="never", validation=30)


def test_no_model_of_a_search_sees_a_row_after_the_first_cutoff(config, own, tmp_path, undrawn):
    import tuned_models

    tuned_models.Told.seen.clear()
    path = config(TUNED, plan=PLAN, forecasters='{SeasonalNaive: , Mine: {type: "tuned_models:Told"}}')
    noted = Noted()
    results = run_experiment(path, tmp_path / "out", noted)
    assert noted.groups == [4, 2]
    first = pd.read_csv(results.folder / "folds.csv", parse_dates=["cutoff"])["cutoff"][0]
    seen = tuned_models.Told.seen
    assert max(seen[:4]) == first - pd.Timedelta(days=6)
    assert (pd.to_datetime(results.trials["last"]) == first).all()
    note = json.loads((results.folder / "experiment.json").read_text())["settled"]["series"]
    assert note["searched up to"] == {"last": str(first), "first cutoff": str(first)}


def test_what_is_chosen_does_not_depend_on_the_rows_that_are_tested_on(config, data, tmp_path, undrawn):
    frame = pd.read_csv(data / "series.csv", parse_dates=["ds"])
    clean = run_experiment(config(TUNED, plan=PLAN, forecasters=AVERAGES), tmp_path / "clean")
    first = pd.read_csv(clean.folder / "folds.csv", parse_dates=["cutoff"])["cutoff"][0]
    poisoned = frame.assign(y=frame["y"].where(frame["ds"] <= first, 1e6 * (1 + frame.index % 5)))
    poisoned.to_csv(tmp_path / "series.csv", index=False)
    path = config(TUNED, plan=PLAN, forecasters=AVERAGES, datasets=f"{{file: {tmp_path}/series.csv, freq: D}}")
    other = run_experiment(path, tmp_path / "poisoned")
    pd.testing.assert_frame_equal(stable(clean.trials), stable(other.trials))
    assert clean.regimes == other.regimes
    assert clean.summary["mae"].tolist() != other.summary["mae"].tolist()


def test_every_forecaster_of_the_space_has_as_many_trials_and_runs_as_in_its_best(config, tmp_path, undrawn):
    results = run_experiment(config(TUNED, plan=PLAN, forecasters=AVERAGES), tmp_path / "out")
    trials = results.trials
    assert trials.groupby("forecaster", sort=False).size().to_dict() == {"WindowAverage": 4, "Other": 4}
    given = results.budgets.set_index("forecaster")["trials"]
    assert given.to_dict() == {"SeasonalNaive": 0, "WindowAverage": 4, "Other": 4}
    best = trials.loc[trials.groupby("forecaster", sort=False)["error"].idxmin()].set_index("forecaster")["window"]
    cells = json.loads((results.folder / "experiment.json").read_text())["cells"]
    for cell in cells:
        ran = json.loads((results.folder / "cells" / cell["key"] / "config.json").read_text())["forecaster"]
        if cell["forecaster"] in best.index:
            assert ran["window"] == best[cell["forecaster"]]
    assert results.regimes["series"].startswith(
        "Tuned: 4 trials each, drawn at random from one space of window, by mase"
    )
    assert f"Other window {int(best['Other'])}" in results.regimes["series"]
    curve = pd.read_csv(results.folder / "tuning.csv")
    assert list(curve.columns) == ["dataset", "forecaster", "family", "trials", "error", "metric"]
    errors = trials.loc[trials["forecaster"] == "Other", "error"]
    np.testing.assert_allclose(curve.loc[curve["forecaster"] == "Other", "error"], expected_best(errors.to_numpy()))
    pd.testing.assert_frame_equal(rebuild(results.folder).trials, trials, check_dtype=False)


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_search_that_was_stopped_comes_to_what_it_would_have_come_to(config, tmp_path, undrawn, monkeypatch, sampler):
    if sampler == "tpe":
        pytest.importorskip("optuna")
        monkeypatch.setattr("forecast.experiment.regimes.samplers._AT_FIRST", 2)
    text = TUNED.replace("trials: 4", f"trials: 4, sampler: {sampler}")
    path, out = config(text, plan=PLAN, forecasters=AVERAGES), tmp_path / "out"
    whole = run_experiment(path, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run_experiment(path, out, Noted(stop=6))
    part = rebuild(out)
    assert part.trials["status"].tolist() == ["done"] * 6 + ["unfinished"] * 2
    assert part.cells.empty
    assert part.report is None
    noted = Noted()
    results = run_experiment(path, out, noted)
    assert noted.outcomes == ["stored"] * 6 + ["done"] * 5
    pd.testing.assert_frame_equal(stable(results.trials), stable(whole.trials))
    assert results.summary["mae"].tolist() == whole.summary["mae"].tolist()
    assert results.regimes == whole.regimes


def test_tpe_draws_nearer_to_what_was_good():
    pytest.importorskip("optuna")
    space, forecaster = read_space({"learning_rate": {"low": 0.0, "high": 1.0}, "width": [8, 16]}), network()
    rng = np.random.default_rng(0)
    tried = [
        Tried({"training__learning_rate": rate, "backbone__width": 8}, (rate - 0.7) ** 2) for rate in rng.random(30)
    ]
    rates = [propose("tpe", space, forecaster, 0, 30 + n, tried)["training__learning_rate"] for n in range(20)]
    assert abs(np.median(rates) - 0.7) < 0.15
    assert propose("tpe", space, forecaster, 0, 3, tried[:3]) == draw(space, forecaster, 0, 3)


def test_a_trial_that_fails_is_spent_and_told_and_tried_again(config, own, tmp_path, undrawn):
    path = config(TUNED, plan=PLAN, forecasters='{SeasonalNaive: , Mine: {type: "tuned_models:Sticking"}}')
    results = run_experiment(path, tmp_path / "out")
    failed = results.trials["status"] == "failed"
    assert 0 < failed.sum() < 4
    assert set(results.trials.loc[failed, "failure"]) == {"RuntimeError: the lid is stuck"}
    assert results.trials.loc[failed, "error"].isna().all()
    noted = Noted()
    run_experiment(path, tmp_path / "out", noted)
    assert noted.outcomes.count("failed") == failed.sum()


def test_a_forecaster_all_of_whose_trials_fail_is_named(config, own, tmp_path):
    path = config(TUNED, plan=PLAN, forecasters='{SeasonalNaive: , Mine: {type: "tuned_models:Stuck"}}')
    with pytest.raises(ConfigError, match=r"forecasters.Mine: all 4 trials failed; the first: RuntimeError: the lid"):
        run_experiment(path, tmp_path / "out")


def test_more_cutoffs_than_the_rows_hold_are_told_before_a_folder_is_made(config, tmp_path):
    path = config(TUNED.replace("folds: 2", "folds: 60"), forecasters=AVERAGES)
    with pytest.raises(
        ConfigError, match=r"small.yaml:\d+:\d+: regime.folds: `folds` is 60, in a search on the rows up to"
    ):
        run_experiment(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_tpe_without_its_library_is_told_with_the_remedy(config, monkeypatch):
    monkeypatch.setattr("forecast.experiment.regimes.samplers.find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=r"regime.sampler: `sampler` is 'tpe', which needs optuna: pip install 'foretell"
    ):
        load_experiment(config(TUNED.replace("trials: 4", "sampler: tpe"), forecasters=AVERAGES))


def test_a_network_is_searched_in_the_space_that_is_there_by_default():
    forecasters = {"LSTM": network(LSTM(width=8)), "minGRU": network("mingru")}
    Tuned().check(forecasters)
    assert set(names_in(Tuned().dimensions, forecasters["minGRU"])) == {"learning_rate", "width", "dropout"}


# -- the curve ---------------------------------------------------------------------------------------------------------


def test_the_expected_best_is_the_mean_over_all_ways_to_take_so_many():
    errors = np.random.default_rng(1).gamma(2, size=7)
    naive = [np.mean([min(some) for some in itertools.combinations(errors, n)]) for n in range(1, 8)]
    np.testing.assert_allclose(expected_best(errors), naive)
    assert expected_best(errors)[-1] == pytest.approx(errors.min())


def test_failed_trials_are_spent_and_never_the_best():
    errors = [3.0, np.nan, 1.0, np.nan, 2.0]
    naive = []
    for n in range(1, 6):
        best = [np.nanmin(some) for some in itertools.combinations(errors, n) if not np.isnan(some).all()]
        naive.append(np.mean(best))
    np.testing.assert_allclose(expected_best(errors), naive)
    np.testing.assert_array_equal(best_so_far(errors), [3, 3, 1, 1, 1])
    assert np.isnan(expected_best([np.nan, np.nan])).all()
