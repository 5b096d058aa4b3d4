"""The oracle: a forecaster like any other, sure of as much as it says, and not to be beaten on its own series."""

import numpy as np
import pytest
from sklearn.base import clone

from forecast import Forecaster, FrameError, NLinear, Plan, SeasonalNaive, backtest, check_frame, run_experiment
from forecast.experiment import ConfigError, Experiment, load_experiment
from forecast.origins import origins_of
from forecast.synthetic import AR2, PROCESSES, DampedTrend, DelayedImpulse, LongSeason, Oracle, RegimeSwitch
from forecast.testing import check_forecaster

HORIZON = 6
SMALL = [
    DampedTrend(),
    AR2(),
    LongSeason(period=24, hold=3),
    RegimeSwitch(stay_1=0.9, stay_2=0.9),
    DelayedImpulse(delay=8),
]
every = pytest.mark.parametrize("process", SMALL, ids=list(PROCESSES))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSES)
def test_it_keeps_the_contract_of_a_forecaster(name):
    check_forecaster(Oracle(name, HORIZON), blind="note")  # of some processes the newest value tells nothing


@every
def test_as_many_values_lie_below_each_quantile_as_its_level_says(process):
    panel = check_frame(process.frame(series=60, length=160, seed=1))
    cutoffs = np.arange(60, 154, 7)
    origins = origins_of(panel, cutoffs)
    fitted = Oracle(process, HORIZON).fit(panel)
    quantiles = fitted.forecast(panel, origins).quantiles  # (M, H, Q)
    actuals = panel.at(origins.series[:, None], origins.cutoffs[:, None] + np.arange(1, HORIZON + 1))
    below = (actuals[:, :, None] < quantiles).mean(axis=(0, 1))
    # Values of one series hang together: some 60 to 840 of them count as independent.
    np.testing.assert_allclose(below, fitted.quantile_levels, atol=0.05)


@every
def test_no_other_forecaster_has_a_smaller_loss(process):
    others = {
        "season": SeasonalNaive(HORIZON, season_length=24),
        "linear": NLinear(HORIZON, context_length=24),
    }
    plan = Plan(horizon=HORIZON, n_folds=12, refit="never")
    ledger = backtest(process.frame(series=24, length=260), {"oracle": Oracle(process, HORIZON), **others}, plan)
    losses = {}
    for name in ledger.forecasters:
        table = ledger.take([name]).forecasts
        errors = table["y"].to_numpy()[:, None] - table[[f"{level}" for level in Oracle("ar2", 1).quantile_levels]]
        levels = np.arange(1, 10) / 10
        pinball = np.maximum(levels * errors, (levels - 1) * errors).to_numpy().mean(axis=1)
        losses[name] = table.assign(loss=pinball).groupby("unique_id")["loss"].mean()
    for name in others:
        apart = losses[name] - losses["oracle"]
        assert apart.mean() > 2 * apart.std() / np.sqrt(len(apart))


def test_it_goes_on_as_far_as_asked_and_from_series_that_it_has_not_met():
    process = LongSeason(period=24, hold=3)
    fitted = Oracle(process, HORIZON).fit(process.frame(series=2, length=40))
    other = process.frame(series=3, length=100, seed=9)
    table = fitted.predict(other, horizon=30)
    assert len(table) == 3 * 30
    assert table.loc[table["step"] <= HORIZON].reset_index(drop=True).equals(fitted.predict(other))


def test_a_history_that_begins_later_keeps_its_place_in_the_season():
    process = LongSeason(period=24, hold=3, noise=0.1)
    frame = process.frame(series=1, length=100)
    fitted = Oracle(process, HORIZON).fit(frame)
    late = fitted.predict(frame[frame["ds"] >= 31])
    np.testing.assert_allclose(late["mean"], fitted.predict()["mean"], atol=0.2)


def test_it_survives_saving_and_can_be_set_like_any_other(tmp_path):
    frame = AR2(phi_1=0.5, phi_2=0.2).frame(series=2, length=50)
    fitted = Oracle(AR2(phi_1=0.5, phi_2=0.2), HORIZON).fit(frame)
    fitted.save(tmp_path)
    assert Forecaster.load(tmp_path).predict().equals(fitted.predict())
    by_name = clone(Oracle("ar2", HORIZON)).set_params(process__phi_1=0.5, process__phi_2=0.2)
    assert by_name.fit(frame).predict().equals(fitted.predict())


def test_an_unknown_process_and_a_series_without_a_value_are_refused():
    frame = AR2().frame(series=1, length=20)
    with pytest.raises(ValueError, match=r"`process` is 'ar3'; allowed: 'damped_trend', 'ar2', .* or a Process"):
        Oracle("ar3", HORIZON).fit(frame)
    fitted = Oracle("ar2", HORIZON).fit(frame)
    with pytest.raises(FrameError, match="series '0' has no observed value up to 3"):
        fitted.predict(frame.assign(y=frame["y"].where(frame["ds"] > 10)), cutoffs=[3])


# -- in an experiment --------------------------------------------------------------------------------------------------

SOUND = """\
datasets:
  - {synthetic: ar2, series: 3, length: 60, seed: 2}
  - {synthetic: {type: long_season, period: 12, hold: 3}, name: weeks, series: 3, length: 60}
horizon: 4
plan: {n_folds: 2}
forecasters:
  SeasonalNaive:
  oracle: {type: Oracle, process: ar2}
"""


@pytest.fixture
def config(tmp_path):
    def write(text=SOUND):
        path = tmp_path / "known.yaml"
        path.write_text(text)
        return path

    return write


def test_a_config_asks_for_series_of_a_process_and_for_its_oracle(config):
    experiment = load_experiment(config())
    panels = experiment.panels()
    assert list(panels) == ["ar2", "weeks"]
    expected = check_frame(AR2().frame(series=3, length=60, seed=2))
    np.testing.assert_array_equal(panels["ar2"].values, expected.values)
    assert experiment.build_forecasters()["oracle"].get_params()["process"] == AR2()


@pytest.mark.parametrize(
    ("sound", "faulty", "told"),
    [
        ("synthetic: ar2", "synthetic: ar3", "2:17: datasets.0.synthetic: unknown process 'ar3'; did you mean 'ar2'?"),
        ("period: 12", "perod: 12", "3:37: datasets.1.synthetic.perod: unknown key; did you mean 'period'?"),
        ("hold: 3", "hold: 5", "3:55: datasets.1.synthetic.hold: `hold` of LongSeason is 5; allowed: a whole number"),
        ("series: 3", "series: 0", "2:30: datasets.0.series: should be greater than or equal to 1; got 0"),
        ("synthetic: ar2", "name: nyc_taxi", "2:5: datasets.0: `series` is of series that are drawn: say from which"),
        ("series: 3", "file: a.csv", "2:5: datasets.0: `file` does not go with `synthetic`, whose series are"),
        ("process: ar2", "process: {type: ar2, phi_2: 2}", "8:54: forecasters.oracle.process.phi_2: `phi_2` of AR2"),
        ("process: ar2", "proces: ar2", "8:26: forecasters.oracle.proces: unknown key; did you mean 'process'?"),
    ],
)
def test_a_planted_fault_is_told_at_its_place(config, sound, faulty, told):
    path = config(SOUND.replace(sound, faulty, 1))
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    lines = [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
    assert any(line.startswith(told) for line in lines), lines


def test_an_experiment_scores_the_oracle_beside_the_others(tmp_path):
    experiment = Experiment(
        name="known",
        datasets={"synthetic": "ar2", "series": 4, "length": 200},
        horizon=8,
        plan={"n_folds": 5, "refit": "never"},
        forecasters={"SeasonalNaive": {}, "oracle": {"type": "Oracle", "process": "ar2"}},
        audit=False,
    )
    scores = run_experiment(experiment, tmp_path / "out", page=False).summary.set_index("forecaster")
    assert scores.loc["oracle", "family"] == "oracle"
    assert scores.loc["oracle", "skill"] > 0.2


def test_a_process_that_is_none_is_told_by_an_experiment_made_in_python():
    experiment = Experiment(
        name="known", datasets={"synthetic": "ar3"}, horizon=8, plan={"n_folds": 5}, forecasters={"Naive": {}}
    )
    with pytest.raises(ConfigError, match=r"datasets.0: `synthetic`: unknown process 'ar3'; did you mean 'ar2'"):
        experiment.panels()
