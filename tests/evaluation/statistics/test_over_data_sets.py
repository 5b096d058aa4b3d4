"""Standings over data sets equal what one computes by hand, and say nothing of others where data sets are few."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from forecast.evaluation.statistics import over_data_sets


def errors_of(sets, seed=0):
    rng = np.random.default_rng(seed)
    level = rng.lognormal(0, 2, (sets, 1))
    values = level * np.array([1.0, 0.8, 1.1]) * rng.lognormal(0, 0.1, (sets, 3))
    return pd.DataFrame(values, [f"set {n}" for n in range(sets)], ["SeasonalNaive", "good", "bad"])


def test_skill_is_that_of_the_geometric_mean_over_data_sets_with_the_interval_of_students_t():
    errors = errors_of(8)
    found = over_data_sets(errors)
    row = found.leaders.set_index("forecaster").loc["good"]
    logs = np.log(errors["good"] / errors["SeasonalNaive"]).to_numpy()
    assert row["skill"] == pytest.approx(1 - np.exp(logs.mean()))
    low, high = stats.t.interval(0.95, 7, logs.mean(), stats.sem(logs))
    np.testing.assert_allclose(row[["low", "high"]].astype(float), [1 - np.exp(high), 1 - np.exp(low)])
    assert found.leaders["forecaster"].iloc[0] == "good"
    assert row["data_sets"] == 8


def test_the_baseline_has_no_interval_of_its_own_skill():
    known = over_data_sets(errors_of(8)).leaders.set_index("forecaster")[["low", "high"]].notna().all(axis=1)
    assert known.to_dict() == {"good": True, "bad": True, "SeasonalNaive": False}


def test_pairs_tell_the_ratio_of_errors_and_in_how_many_data_sets_it_is_below_one():
    errors = errors_of(6)
    pairs = over_data_sets(errors).pairs.set_index(["forecaster", "opponent"])
    ratios = errors["bad"] / errors["good"]
    assert pairs.loc[("bad", "good"), "change"] == pytest.approx(stats.gmean(ratios) - 1)
    assert pairs.loc[("bad", "good"), "wins"] == (ratios < 1).sum()
    there, back = pairs.loc[("bad", "good")], pairs.loc[("good", "bad")]
    assert (1 + there["low"]) * (1 + back["high"]) == pytest.approx(1)
    assert len(pairs) == 6


def test_what_is_alike_in_a_data_set_shares_first_place_and_half_a_win():
    errors = pd.DataFrame({"SeasonalNaive": [1.0, 1.0], "same": [1.0, 1.0]})
    found = over_data_sets(errors)
    assert found.leaders["first"].tolist() == [2, 2]
    assert found.leaders["mean_rank"].tolist() == [1.5, 1.5]
    assert found.pairs["wins"].tolist() == [1.0, 1.0]


def test_each_data_set_counts_once_whatever_the_unit_of_its_errors():
    errors = errors_of(5)
    pd.testing.assert_frame_equal(
        over_data_sets(errors).leaders, over_data_sets(errors.mul([1, 10, 100, 1e3, 1e4], axis=0)).leaders
    )


def test_of_few_data_sets_no_interval_is_given():
    found = over_data_sets(errors_of(4))
    assert found.leaders[["low", "high"]].isna().to_numpy().all()
    assert found.notes == ("intervals not reported: 4 data sets; 5 are needed",)
    assert "these 4 data sets" in str(found)
    assert not over_data_sets(errors_of(5)).notes


def test_intervals_cover_the_truth_as_often_as_they_say():
    truth, inside = 1 - 0.8, 0
    for seed in range(200):
        row = over_data_sets(errors_of(6, seed)).leaders.set_index("forecaster").loc["good"]
        inside += row["low"] <= truth <= row["high"]
    assert 0.91 <= inside / 200 <= 0.985


@pytest.mark.parametrize(
    ("errors", "options", "told"),
    [
        (errors_of(3), {"baseline": "Naive"}, "`baseline` 'Naive' is none of the forecasters"),
        (errors_of(3), {"confidence": 1.0}, "`confidence` is 1.0"),
        (-errors_of(3), {}, "for block 'set 0', forecaster 'SeasonalNaive'; allowed: finite numbers above zero"),
        (errors_of(0), {}, "it takes one block or more"),
    ],
)
def test_what_cannot_be_compared_is_told(errors, options, told):
    with pytest.raises(ValueError, match=told):
        over_data_sets(errors, **options)
