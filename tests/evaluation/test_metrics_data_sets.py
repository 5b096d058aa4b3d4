"""Scores over several data sets weigh each of them the same; scales can be measured anew."""

import numpy as np
import pandas as pd
import pytest

from forecast import Plan, SeasonalNaive, backtest
from forecast.evaluation import METRICS, score, score_over, skill, skill_over, with_scales


@pytest.fixture(name="ledgers")
def _ledgers(ledger_of):
    """Two data sets, of one and of three series."""

    def of(errors, scale=2.0):
        errors = np.reshape(errors, (-1, 1, 1))
        runs = {("SeasonalNaive", 0): {"prediction": 6}, ("lstm", 0): {"prediction": 5 + errors}}
        return ledger_of(np.full(errors.shape, 5.0), runs, scales=(scale, scale))

    return {"small": of([0.5]), "large": of([2, 2, 2])}


def test_each_data_set_weighs_the_same_however_many_series_it_has(ledgers):
    table = score_over(ledgers).set_index("forecaster")
    assert list(table) == ["mase", "rmsse", "wape", "wql", "coverage", "data_sets", "undefined"]
    assert table.loc["lstm", "mase"] == (0.25 + 1) / 2
    assert table.loc["lstm", "wape"] == pytest.approx((0.1 + 0.4) / 2)
    assert table["data_sets"].tolist() == [2, 2]
    skills = skill_over(ledgers).set_index("forecaster")
    assert skills["skill"].tolist() == pytest.approx([0, 1 - np.sqrt(0.5 * 2)])


def test_skill_over_one_data_set_is_its_skill(random_ledger):
    ledger = random_ledger()
    for options in ({}, {"metric": "rmse", "across": "median"}):
        np.testing.assert_allclose(
            skill_over({"it": ledger}, **options)["skill"], skill(ledger, **options)["skill"], rtol=1e-12, atol=1e-15
        )
    np.testing.assert_allclose(score_over({"it": ledger}, ["sql"])["sql"], score(ledger, ["sql"])["sql"])


def test_a_data_set_where_a_metric_is_undefined_is_left_out_for_all_and_counted(ledgers, ledger_of):
    flat = ledger_of([[[5.0]]], {("SeasonalNaive", 0): {"prediction": 5}, ("lstm", 0): {"prediction": 6}}, (0, 0))
    more = ledgers | {"flat": flat}
    assert score_over(more, ["mase"]).equals(score_over(ledgers, ["mase"]).assign(undefined=1))
    assert skill_over(more)["skill"].tolist() == skill_over(ledgers)["skill"].tolist()
    assert skill_over(more)["undefined"].tolist() == [1, 1]
    assert skill_over({"flat": flat})["skill"].isna().all()


@pytest.mark.parametrize(
    ("change", "metrics", "message"),
    [
        (lambda ledgers: ledgers, ["mae"], "`metrics`: 'mae' is in the units of the series"),
        (lambda ledgers: ledgers, {"mine": METRICS["width"]}, "`metrics`: 'mine' is in the units"),
        (
            lambda ledgers: ledgers | {"large": ledgers["large"].take(["lstm"])},
            ["mase"],
            "'SeasonalNaive' is not in all of them, as 'large' and 'small' show",
        ),
    ],
)
def test_what_cannot_be_averaged_over_data_sets_is_refused(ledgers, change, metrics, message):
    with pytest.raises(ValueError, match=message):
        score_over(change(ledgers), metrics)


def test_a_list_of_ledgers_is_refused_for_its_data_sets_have_no_names(ledgers):
    for ask in (score_over, skill_over):
        with pytest.raises(TypeError, match="`ledgers` is list; give a mapping from data sets"):
            ask(list(ledgers.values()))


# Scales.


@pytest.fixture(scope="module")
def frame():
    """Of two products the first is not sold before day 20 and the second never; the third always."""
    rng = np.random.default_rng(1)
    stamps = pd.date_range("2024-01-01", periods=50, freq="D")
    demand = rng.integers(0, 9, (3, 50)).astype("float64")
    demand[0, :20], demand[0, 20], demand[1], demand[2, 0] = 0, 4, 0, 3
    return pd.concat([pd.DataFrame({"unique_id": f"product {i}", "ds": stamps, "y": y}) for i, y in enumerate(demand)])


@pytest.fixture(scope="module")
def sold(frame):
    return backtest(frame, [SeasonalNaive(3, season_length=1)], Plan(horizon=3, n_folds=4, stride=9, season_length=1))


def test_scales_from_the_first_demand_leave_out_the_time_before_it(frame, sold):
    scaled = with_scales(sold, frame, scale_from="first_nonzero")
    before, after = (ledger.scales.set_index(["unique_id", "cutoff"]) for ledger in (sold, scaled))
    for (name, cutoff), row in after.iterrows():
        history = frame.loc[(frame["unique_id"] == name) & (frame["ds"] <= cutoff), "y"].to_numpy()
        begun = np.flatnonzero(history)
        changes = np.diff(history[begun[0] :]) if len(begun) else np.array([])
        expected = [np.abs(changes).mean(), (changes**2).mean()] if len(changes) else [np.nan, np.nan]
        np.testing.assert_allclose(row.to_numpy("float64"), expected)
    assert after.loc["product 2"].equals(before.loc["product 2"])
    assert np.isnan(after.loc["product 0", "absolute"].iloc[0])  # not yet sold
    assert (after.loc["product 0", "absolute"].iloc[1:] > before.loc["product 0", "absolute"].iloc[1:]).all()
    assert before.loc["product 1", "absolute"].eq(0).all()
    assert after.loc["product 1", "absolute"].isna().all()
    assert scaled.forecasts.equals(sold.forecasts)


def test_scales_of_another_season_are_those_of_a_backtest_with_it(frame, sold):
    weekly = backtest(frame, [SeasonalNaive(3, season_length=1)], Plan(horizon=3, n_folds=4, stride=9, season_length=7))
    again = with_scales(sold, frame[::-1], season_length=7, unsorted="sort")
    columns = ["unique_id", "cutoff"]
    pd.testing.assert_frame_equal(
        again.scales.sort_values(columns, ignore_index=True), weekly.scales.sort_values(columns, ignore_index=True)
    )
    assert again.season_length == 7
    assert with_scales(sold, frame).scales.equals(sold.scales)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda frame: frame, {"scale_from": "m5"}, "`scale_from` is 'm5'; allowed: 'first', 'first_nonzero'"),
        (lambda frame: frame[frame["unique_id"] != "product 1"], {}, "`frame` lacks series 'product 1'"),
        (lambda frame: frame.assign(y=frame["y"] + 1), {}, r"`frame` holds .* series 'product 0', .*step 1, but the"),
        (
            lambda frame: frame.assign(ds=frame.groupby("unique_id").cumcount()),
            {},
            "`frame`: the time axis counts integers; got Timestamp",
        ),
        (lambda frame: frame, {"gap": 3}, "`gap` is no option of `check_frame`; allowed: freq"),
    ],
)
def test_scales_of_other_data_are_refused(frame, sold, change, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        with_scales(sold, change(frame), **options)
