"""Ablations: which forecasters they make, what they change, and that they stand beside the comparison."""

import re

import numpy as np
import pandas as pd
import pytest

from forecast import score
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import standings
from forecast.experiment import ConfigError, load_experiment, load_suite, rebuild, run_experiment
from forecast.experiment.ablations import ABLATIONS, ablation_rows, ablation_table
from forecast.experiment.store import Store
from forecast.experiment.work import Progress
from forecast.nn import LSTM, Recipe

NETWORKS = """{SeasonalNaive: , LSTM: {type: NeuralForecaster, backbone: lstm, recipe: {origins: last}},
  TCN: {type: NeuralForecaster, backbone: {type: tcn, width: 16}}}"""
AVERAGES = "{SeasonalNaive: , week: {type: WindowAverage}, month: {type: WindowAverage, window: 30}}"
EXCHANGED = """
seeds: [0]
ablations:
  of two: {window: 2}
  long season: {season_length: 14}
"""


@pytest.fixture(scope="module")
def found(data, tmp_path_factory):
    """The results of two averages with two ablations, one of which the baseline has, too."""
    folder = tmp_path_factory.mktemp("ablations")
    path = folder / "averages.yaml"
    path.write_text(
        f"datasets: {{file: {data}/series.csv, freq: D}}\nhorizon: 3\nplan: {{n_folds: 6, stride: 5, refit: never}}\n"
        f"audit: false\nforecasters: {AVERAGES}{EXCHANGED}"
    )
    return run_experiment(path, folder / "out", page=False)


def test_each_forecaster_that_has_the_arguments_is_taken_with_them_in_place_of_its_own(config):
    text = """
    ablations:
      no anchor: {recipe: {anchor: none}}
      narrow: {backbone: {width: 8}}
      alone: {patch_length: 1, context_length: 7}
    """
    built = load_experiment(config(text, forecasters=NETWORKS)).build_forecasters()
    labels = [f"{label}, {name}" for name in ("no anchor", "narrow", "alone") for label in ("LSTM", "TCN")]
    assert list(built) == ["SeasonalNaive", "LSTM", "TCN", *labels]
    assert built["LSTM, no anchor"].recipe == Recipe(anchor="none", origins="last")  # the rest as it was
    assert built["TCN, no anchor"].recipe == Recipe(anchor="none")
    assert built["TCN, no anchor"].backbone.width == 16
    assert built["LSTM, narrow"].backbone == LSTM(width=8)
    assert (built["TCN, alone"].patch_length, built["TCN, alone"].context_length) == (1, 7)
    assert built["LSTM"].recipe == Recipe(origins="last")


def test_an_ablation_reaches_into_what_a_forecaster_wraps(config):
    forecasters = "{sure: {type: Calibrated, forecaster: {type: WindowAverage, window: 9}}}"
    built = load_experiment(config("ablations: {one: {forecaster: {window: 1}}}", forecasters=forecasters))
    assert [one.forecaster.window for one in built.build_forecasters().values()] == [9, 1]


@pytest.mark.parametrize(
    ("ablation", "told"),
    [
        ("{recipe: {ancor: none}}", r"ablations.one.recipe.ancor: unknown key; did you mean 'anchor'\?"),
        ("{recipe: {anchor: nil}}", r"ablations.one.recipe.anchor: should be 'blend', .*; got 'nil'"),
        ("{recpie: {}}", r"ablations.one.recpie: unknown key; did you mean 'recipe'\? allowed: horizon"),
        ("{type: Naive}", r"ablations.one.type: unknown key"),
        ("{horizon: 3}", r"ablations.one.horizon: is set by `horizon` of the experiment"),
        ("{}", r"ablations.one: should "),
        ("3", r"ablations.one: should be a mapping; got 3"),
        ("{patch_length: 1, window: 3}", r"ablations.one: no forecaster has all of patch_length, window"),
    ],
)
def test_what_is_wrong_with_an_ablation_is_told_once_at_its_place(config, ablation, told):
    path = config(f"ablations: {{one: {ablation}}}", forecasters=f"{NETWORKS[:-1]}, WindowAverage: }}")
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    (line,) = str(caught.value).splitlines()
    assert re.match(rf"{re.escape(str(path))}:7:\d+: {told}", line), line


def test_an_ablation_is_not_called_as_another_forecaster(config):
    path = config("ablations: {one: {window: 1}}", forecasters="{WindowAverage: , 'WindowAverage, one': {type: Naive}}")
    with pytest.raises(ConfigError, match=r"ablations.one: would be 'WindowAverage, one', which is a forecaster"):
        load_experiment(path)


def test_each_change_is_that_of_the_error_by_series_against_the_same_forecaster(found):
    table = found.ablations
    assert list(table.columns) == ABLATIONS
    pairs = table[["ablation", "forecaster"]].to_numpy().tolist()
    seasons = [["long season", name] for name in ("SeasonalNaive", "week", "month")]
    assert pairs == [["of two", "week"], ["of two", "month"], *seasons]
    errors = score(found.ledger, ["mae"], by=("forecaster", "unique_id")).set_index(["forecaster", "unique_id"])["mae"]
    for row in table.to_dict("records"):
        logs = np.log(errors[f"{row['forecaster']}, {row['ablation']}"] / errors[row["forecaster"]])
        assert row["change"] == pytest.approx(np.expm1(logs.mean()), rel=1e-5)
    own = ["week", "week, of two", "week, long season"]
    one = standings(found.ledger.take(own), "week", paired_seeds=True).skill.set_index("forecaster").loc["week, of two"]
    first = table.iloc[0]
    assert (first["low"], first["high"]) == (-one["high"], -one["low"])
    assert first["separated"] == one["separated"]


def test_what_changes_nothing_is_no_change_and_one_left_out_is_not_told(found):
    table = ablation_table(found.ledger, ["of two", "long season"], ["week, of two", "SeasonalNaive"], "here")
    told = table.set_index(["ablation", "forecaster"])
    assert told.loc[("long season", "month"), "change"] == pytest.approx(0)  # its window does not hang on the season
    assert not told.loc[("long season", "month"), "separated"]
    assert told.loc[[("of two", "week"), ("long season", "SeasonalNaive")], "change"].isna().all()
    first = ablation_rows(table)["rows"][0]["cells"][0]
    assert first == {"change": "–", "interval": "", "separated": False}


def test_a_network_that_an_exchange_leaves_as_it_is_is_no_change_for_sure_whatever_its_seeds(synthetic):
    kinds = {"LSTM direct": synthetic.FORECASTERS["LSTM direct"]}
    ledger, _ = synthetic.make_ledger(series=6, cutoffs=6, horizon=1, seeds=2, forecasters=kinds)
    tables = [ledger.forecasts.drop(columns="status"), ledger.fits]
    again = [pd.concat([table, table.assign(forecaster="LSTM direct, same")], ignore_index=True) for table in tables]
    both = Ledger.of(again[0], ledger.scales, again[1], 24)
    table = ablation_table(both, ["same"], [], "here")
    assert table[["change", "low", "high"]].to_numpy().ravel().tolist() == pytest.approx([0, 0, 0], abs=1e-12)


def test_ablations_are_scored_beside_the_comparison_and_take_no_part_in_it(found):
    folder = found.folder
    assert "week, of two" in found.summary["forecaster"].tolist()
    for name in ("comparison.csv", "pairs.csv", "win_rates.csv"):
        assert set(pd.read_csv(folder / name)["forecaster"]) == {"SeasonalNaive", "week", "month"}, name
    pd.testing.assert_frame_equal(pd.read_csv(folder / "ablations.csv"), found.ablations, check_dtype=False)
    assert "of two" not in found.verdicts["series"]


def test_the_report_has_a_table_of_them_and_the_pictures_know_them(found, unplotted, monkeypatch):
    drawn = []
    monkeypatch.setattr("forecast.experiment.pictures.pictures", lambda ledger, given: drawn.append(given) or [])
    page = rebuild(found.folder).report.read_text()
    assert "One part exchanged at a time" in page
    pd.testing.assert_frame_equal(drawn[0].ablations, found.ablations)
    rows = ablation_rows(found.ablations)
    assert rows["forecasters"] == ["week", "month", "SeasonalNaive"]
    assert rows["rows"][0]["name"] == "of two"
    assert rows["rows"][0]["cells"][0]["change"] in page
    assert rows["rows"][0]["cells"][2] == {"change": "–", "interval": "", "separated": False}


def test_ablations_may_change_in_a_folder_that_has_results(config, tmp_path, undrawn):
    forecasters = "{SeasonalNaive: , week: {type: WindowAverage}}"
    path = config("ablations: {of two: {window: 2}}", forecasters=forecasters)
    assert len(run_experiment(path, tmp_path / "out").ablations) == 1
    run_experiment(config("ablations: {of three: {window: 3}}", forecasters=forecasters), tmp_path / "out")
    assert rebuild(tmp_path / "out").ablations["ablation"].tolist() == ["of three"]


def test_networks_beside_the_comparison_need_not_be_equal(config, tmp_path):
    class Stopped(Progress):
        def at_work(self, cell):
            raise KeyboardInterrupt

    forecasters = "{one: {type: NeuralForecaster, backbone: lstm, context_length: 7}}"
    path = config("ablations: {narrow: {backbone: {width: 8}}}", forecasters=forecasters, plan="{n_folds: 1}")
    with pytest.raises(KeyboardInterrupt):
        run_experiment(path, tmp_path / "out", Stopped())
    note = Store(tmp_path / "out").experiment()["settled"]["series"]
    assert note["unequal"] == []
    assert {label: budget["width"] for label, budget in note["budgets"].items()} == {"one": 64, "one, narrow": 8}


def test_the_shipped_ablations_exchange_one_part_of_every_network_each():
    quick = load_suite("recipe", quick=True).experiments
    assert list(quick) == ["nyc_weather"]  # that everybody has
    for experiment in load_suite("recipe").experiments.values():
        built = experiment.build_forecasters()
        assert len(built) == 1 + 3 * (1 + len(experiment.ablations))
        for label in ("LSTM", "TCN", "Transformer"):
            given = leaves(built[label])
            for ablation in experiment.ablations:
                changed = leaves(built[f"{label}, {ablation}"])
                assert len([name for name in given if given[name] != changed[name]]) == 1, ablation


def leaves(forecaster):
    """Give all arguments of a forecaster, those of its recipe one by one."""
    given = forecaster.get_params(deep=False)
    return given | vars(given.pop("recipe"))
