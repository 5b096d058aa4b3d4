"""What is undefined is left out for all forecasters alike, counted, and said with its reason."""

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation import METRICS, relative, remarks, score, skill, undefined
from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.cells import cell_means, cube
from forecast.evaluation.losses import absolute_error
from forecast.evaluation.metrics import error_of, pinball


def scores(ledger, metrics, **options):
    return score(ledger, metrics, **options).set_index("forecaster")


def rows_of(table):
    return list(table.itertuples(index=False, name=None))


def test_an_actual_of_zero_leaves_its_whole_cell_out_of_the_percentage_error(ledger_of):
    ledger = ledger_of([[[2, 0], [4, 4]]], {("lstm", 0): {"prediction": [[[9, 0], [5, 3]]]}})
    row = scores(ledger, ["mape", "mae"]).loc["lstm"]
    assert (row["mape"], row["mae"], row["undefined"]) == (0.25, (3.5 + 1) / 2, 1)
    assert rows_of(undefined(ledger, ["mape", "mae"])) == [("mape", "an actual is zero", 1)]


def test_the_symmetric_percentage_error_is_two_at_most_and_zero_where_nothing_came_and_nothing_was_said(ledger_of):
    ledger = ledger_of([[[0], [0], [3]]], {("lstm", 0): {"prediction": [[[0], [5], [-3]]]}})
    assert score(ledger, ["smape"], by=("forecaster", "cutoff"))["smape"].tolist() == [0, 2, 2]
    assert remarks(ledger, ["smape"]) == ("smape: between 0 and 2",)


@pytest.mark.parametrize("metric", [Averaged, Pooled])
@pytest.mark.parametrize("by", [("forecaster",), ("forecaster", "step")])
def test_a_loss_that_one_forecaster_has_not_is_left_out_for_all_so_that_no_one_wins_by_it(metric, by, ledger_of):
    runs = {("honest", 0): {"prediction": [[[1, 2, 50], [1, 1, 1]]]}, ("failing", 0): {"prediction": 0}}
    ledger = ledger_of([[[1, 2, 100], [2, 2, 2]]], runs)

    def lossy(run):
        losses = absolute_error(run)
        return np.where((run.forecaster == "failing") & (run.y == 100), np.nan, losses)

    table = score(ledger, {"lossy": metric(lossy)}, by=by)
    honest, failing = (table.loc[table["forecaster"] == name, "lossy"].to_numpy() for name in ("honest", "failing"))
    assert (honest < failing).all()
    assert table["undefined"].tolist() == ([1, 1] if by == ("forecaster",) else [0, 0, 1] * 2)


def test_a_cell_counts_once_with_the_first_reason_that_holds(ledger_of):
    ledger = ledger_of([[[np.nan], [1], [1], [0]]], {("lstm", 0): {"prediction": 3}}, scales=([[0, 0, np.nan, 2]],) * 2)
    assert rows_of(undefined(ledger, ["mase", "mape", "wape"])) == [
        ("mase", "nothing was observed", 1),
        ("mase", "the scale is undefined, for no seasonal change was observed", 1),
        ("mase", "the scale is zero", 1),
        ("mape", "nothing was observed", 1),
        ("mape", "an actual is zero", 1),
        ("wape", "nothing was observed", 1),
    ]
    assert remarks(ledger, ["mase"])[0] == (
        "mase: 1 of 4 cells (a series at a cutoff) left out for all, nothing was observed"
    )


def test_a_forecaster_that_gives_one_number_is_named_where_the_mean_is_scored(ledger_of):
    ledger = ledger_of([[[1]]], {("point", 0): {"prediction": 2}, ("both", 0): {"prediction": 2, "mean": 3}})
    told = ("median scored as mean in rmse, bias, there being one number for both: point",)
    assert remarks(ledger, ["mae", "rmse", "bias"]) == told
    assert remarks(ledger, ["mae"]) == ()
    with pytest.raises(TypeError, match="`ledger` is a dict"):
        remarks({})  # type: ignore[arg-type]


def test_the_crps_of_quantiles_says_of_how_many_and_takes_equally_spaced_levels_alone(random_ledger):
    ledger = random_ledger()
    assert remarks(ledger, ["quantile_crps"])[-1] == "quantile_crps: quantile CRPS, 9 levels"
    uneven = type(ledger).of(ledger.forecasts.drop(columns="0.2"), ledger.scales, ledger.fits, 1)
    assert np.isfinite(score(uneven, ["wql"])["wql"]).all()
    with pytest.raises(ValueError, match="`quantile_crps` takes equally spaced quantile levels"):
        score(uneven, ["quantile_crps"])


def test_a_loss_that_is_not_one_number_for_each_point_is_refused(random_ledger):
    with pytest.raises(ValueError, match=r"a loss gave the shape \(12,\); it gives one number for each point"):
        score(random_ledger(), {"mine": Averaged(lambda run: absolute_error(run).mean(axis=1))})
    with pytest.raises(ValueError, match="a loss gave what is no array of numbers"):
        score(random_ledger(), {"mine": Averaged(lambda run: "none")})  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("level", [0, 1, 80, None, True])
def test_a_pinball_loss_has_a_level_between_zero_and_one(level):
    with pytest.raises(ValueError, match=f"`level` is {level}; allowed: a quantile level inside"):
        pinball(level)


# Averages across series.


@pytest.mark.parametrize(
    ("across", "expected"), [("mean", (0 + 1 + 2 + 3 + 100) / 5), ("median", 2), ("iqm", (1 + 2 + 3) / 3)]
)
def test_series_can_be_averaged_so_that_a_few_do_not_decide(across, expected, ledger_of):
    errors = np.array([100, 0, 3, 1, 2, np.nan]).reshape(-1, 1, 1)
    ledger = ledger_of(np.where(np.isnan(errors), np.nan, 0), {("lstm", 0): {"prediction": np.nan_to_num(errors)}})
    assert scores(ledger, ["mae"], across=across).loc["lstm", "mae"] == expected


@pytest.mark.parametrize("across", ["median", "mean"])
def test_averages_across_series_equal_those_of_pandas_in_every_group(across, random_ledger):
    ledger = random_ledger()
    table = score(ledger, ["mae"], by=("forecaster", "cutoff"), across=across)
    single = score(ledger, ["mae"], by=("forecaster", "cutoff", "unique_id")).dropna()
    expected = single.groupby(["forecaster", "cutoff"], sort=False)["mae"].agg(across)
    np.testing.assert_allclose(table.set_index(["forecaster", "cutoff"])["mae"], expected.to_numpy(), rtol=1e-12)


def test_skill_across_series_can_be_that_of_the_middle_one(ledger_of):
    runs = {("SeasonalNaive", 0): {"prediction": 1}, ("lstm", 0): {"prediction": [[[0.5]], [[0.8]], [[0.01]]]}}
    ledger = ledger_of(np.zeros((3, 1, 1)), runs)
    assert skill(ledger, across="median")["skill"].tolist() == pytest.approx([0, 0.5])


@pytest.mark.parametrize("ask", [score, skill])
def test_another_way_across_series_is_refused(ask, random_ledger):
    with pytest.raises(ValueError, match="`across` is 'max'; allowed: 'mean', 'iqm', 'median'"):
        ask(random_ledger(), across="max")


# Relative errors.


def test_a_relative_error_is_one_where_no_one_errs_and_flagged_where_the_baseline_alone_does_not(ledger_of):
    runs = {
        ("SeasonalNaive", 0): {"prediction": [[[0]], [[0]], [[2]]]},
        ("lstm", 0): {"prediction": [[[0]], [[3]], [[1]]]},
        ("lstm", 1): {"prediction": [[[0]], [[3]], [[2]]]},
    }
    ledger = ledger_of(np.zeros((3, 1, 1)), runs)
    table = relative(ledger, by=("forecaster", "unique_id"))
    np.testing.assert_equal(table["relative"].to_numpy(), [1, 1, 1, 1, np.nan, 0.75])
    assert table["undefined"].tolist() == [False] * 4 + [True, False]
    assert relative(ledger)["relative"].tolist() == [1, (0 + 3 + 1.5) / 2]
    by_seed = relative(ledger, by=("forecaster", "seed"))
    assert by_seed["relative"].tolist() == pytest.approx([1, 2, 2.5])


@pytest.mark.parametrize("metric", ["rmse", "wql", "interval_score"])
def test_a_relative_error_is_the_ratio_of_two_scores(metric, random_ledger):
    ledger = random_ledger()
    table = scores(ledger, [metric])[metric]
    ratios = relative(ledger, "tcn", metric=metric).set_index("forecaster")["relative"]
    np.testing.assert_allclose(ratios, table / table["tcn"])


def test_skill_of_another_metric_is_that_of_its_ratios(random_ledger):
    ledger = random_ledger()
    for metric in ("rmse", pinball(0.3)):
        ratios = relative(ledger, metric=metric, by=("forecaster", "unique_id"))
        means = np.log(ratios["relative"]).groupby(ratios["forecaster"], sort=False).mean()
        np.testing.assert_allclose(skill(ledger, metric=metric)["skill"], 1 - np.exp(means), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ask", [skill, relative])
@pytest.mark.parametrize("metric", ["bias", "coverage", "width", "skill"])
def test_skill_in_what_is_no_error_is_refused(ask, metric, random_ledger):
    with pytest.raises(ValueError, match=f"`metric` is '{metric}'; allowed: one that is an error, mae, rmse"):
        ask(random_ledger(), metric=metric)


# Cells.


def test_means_of_cells_make_the_scores(random_ledger):
    ledger = random_ledger()
    means = cell_means(ledger, METRICS["rmsse"])
    assert means.shape == (6, 12)
    laid = cube(ledger.points, means)
    assert laid.shape == (6, 3, 4)
    np.testing.assert_equal(laid.reshape(6, 12), means)
    by_run = np.nanmean(np.sqrt(np.nanmean(laid, axis=2)), axis=1)
    np.testing.assert_allclose(score(ledger, ["rmsse"], by=("forecaster", "seed"))["rmsse"], by_run, rtol=1e-12)


def test_cells_of_one_step_are_its_losses_over_the_scale(random_ledger):
    ledger = random_ledger()
    losses = absolute_error(ledger.runs[2])[:, 3] / ledger.points.scale("absolute")[:, 0]
    np.testing.assert_allclose(cell_means(ledger, METRICS["mase"], step=4)[2], losses, rtol=1e-12)
    with pytest.raises(ValueError, match="`step` is 6; the ledger has the steps 1 to 5"):
        cell_means(ledger, METRICS["mase"], step=6)


def test_many_cells_are_scored_piece_by_piece_as_at_once(monkeypatch, random_ledger):
    ledger = random_ledger()
    whole = [score(ledger, list(METRICS), by=by) for by in (("forecaster",), ("forecaster", "step"))]
    monkeypatch.setattr("forecast.evaluation.cells._AT_ONCE", 1)
    for by, expected in zip((("forecaster",), ("forecaster", "step")), whole, strict=True):
        pd.testing.assert_frame_equal(score(ledger, list(METRICS), by=by), expected)


def test_a_pooled_error_is_averaged_where_a_ratio_is_made_of_it():
    assert error_of("wape") == Averaged(absolute_error)
    assert error_of("mase") is METRICS["mase"]
