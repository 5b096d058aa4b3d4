"""Quantile levels of an experiment: the same for all forecasters, and the scores that they allow."""

import numpy as np
import pytest

from forecast import score
from forecast.evaluation import coverage
from forecast.experiment import ConfigError, Experiment, load_experiment, run_experiment
from forecast.experiment.store import key_of
from forecast.forecaster import DECILES

WIDE = [0.05, *DECILES, 0.95]
FORECASTERS = """{SeasonalNaive: , NLinear: , sure: {type: Calibrated, forecaster: {type: Naive}},
  LSTM: {type: NeuralForecaster, backbone: lstm}}"""


def keys(path, **changed):
    return {name: value for name, value in load_experiment(path).canonical().items() if name not in changed}


def test_all_forecasters_have_the_levels_of_the_experiment(config):
    experiment = load_experiment(config(f"quantile_levels: {WIDE}\nfallback: Naive\n", forecasters=FORECASTERS))
    built = [*experiment.build_forecasters().values(), experiment.build_fallback()]
    assert [tuple(one.quantile_levels) for one in built] == [tuple(WIDE)] * 5


def test_without_the_key_they_are_the_deciles_and_the_experiment_is_the_one_it_was(config):
    before = keys(config(forecasters=FORECASTERS))
    assert before["forecasters"]["LSTM"]["quantile_levels"] == list(DECILES)
    assert not {"quantile_levels", "ablations"} & set(before)
    assert key_of(before) == key_of(keys(config(f"quantile_levels: {list(DECILES)}", forecasters=FORECASTERS)))
    assert key_of(before) != key_of(keys(config(f"quantile_levels: {WIDE}", forecasters=FORECASTERS)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quantile_levels: [0.1, 0.9]", ":6:18: quantile_levels: `quantile_levels` is [0.1, 0.9]; allowed: rising"),
        ("quantile_levels: [0.5, 0.1, 0.9]", ":6:18: quantile_levels: `quantile_levels` is [0.5, 0.1, 0.9]; allowed"),
        ("quantile_levels: [0.1, 0.5, 0.9, 1]", ":6:18: quantile_levels: `quantile_levels` is [0.1, 0.5, 0.9, 1.0]"),
        ("quantile_levels: [0.05, 0.5, 0.95]", ":6:18: quantile_levels: 0.1 is missing: all tables have coverage"),
        ("quantile_levels: [0.1, 0.5, high]", ":6:29: quantile_levels.2: should be a number; got 'high'"),
        ("quantile_levels: 0.5", ":6:18: quantile_levels: should be a list; got 0.5"),
        (
            "metrics: [quantile_crps]\nquantile_levels: [0.05, 0.1, 0.5, 0.9, 0.95]",
            ":6:10: metrics: 'quantile_crps' takes equally spaced levels",
        ),
        ("fallback: {type: Naive, quantile_levels: [0.5]}", ": fallback.quantile_levels: is set by `quantile_levels`"),
    ],
)
def test_levels_that_cannot_be_are_told_at_their_place(config, text, told):
    path = config(f"{text}\n")
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    (line,) = str(caught.value).splitlines()
    assert told in line
    assert line.startswith(str(path))


def test_equally_spaced_levels_are_scored_by_the_crps(config):
    assert load_experiment(config("metrics: [quantile_crps]")).scored[-1] == "quantile_crps"
    levels = np.arange(0.05, 0.96, 0.05).round(2).tolist()
    with pytest.raises(ValueError, match="'quantile_crps' takes equally spaced levels"):
        Experiment.model_validate({"metrics": ["quantile_crps"], "quantile_levels": levels[:-1]})


def test_a_forecaster_has_no_levels_of_its_own(config, data, own_models):
    path = config(forecasters="{Naive: {quantile_levels: [0.1, 0.5, 0.9]}}")
    with pytest.raises(ConfigError, match=r"Naive.quantile_levels: is set by `quantile_levels` of the experiment"):
        load_experiment(path)
    (data / "lab_levels.py").write_text(
        "from forecast import Naive\nclass Few(Naive):\n"
        "    def __init__(self, horizon):\n        super().__init__(horizon, quantile_levels=[0.1, 0.5, 0.9])\n"
    )
    few = '{few: {type: "lab_levels:Few"}}'
    with pytest.raises(ConfigError, match=r"forecasters.few: forecasts the levels \[0.1, 0.5, 0.9\], and .* argument"):
        load_experiment(config(forecasters=few))
    assert load_experiment(config("quantile_levels: [0.1, 0.5, 0.9]", forecasters=few)).build_forecasters()


def test_tables_have_coverage_at_90_where_the_levels_are_there_and_wql_of_all(config, tmp_path, undrawn):
    wide = run_experiment(config(f"quantile_levels: {WIDE}\n"), tmp_path / "wide")
    whole = score(wide.ledger, {"inside": coverage(0.05, 0.95)})["inside"].tolist()
    assert wide.summary["coverage_90"].tolist() == whole
    narrow = run_experiment(config(), tmp_path / "narrow")
    assert "coverage_90" not in narrow.summary
    assert wide.summary["coverage"].tolist() == narrow.summary["coverage"].tolist()
    assert (wide.summary["wql"] < narrow.summary["wql"]).all()  # the outer levels cost less
