"""On clean data metrics are those of utilsforecast and scoringrules; where theirs reward a failure, ours do not."""

import numpy as np
import pandas as pd
import pytest

from forecast import NLinear, Plan, SeasonalNaive, backtest
from forecast.evaluation import coverage, crps_of_samples, interval_score, pinball, score
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.losses import interval_error, pinball_loss, quantile_error

SEASON = 4
LEVELS = [tenth / 10 for tenth in range(1, 10)]
NAMES = ["SeasonalNaive", "NLinear"]
CELLS = ["unique_id", "cutoff"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    stamps = pd.date_range("2024-01-01", periods=60, freq="D")
    # Whole numbers, so that single precision holds them exactly.
    parts = [
        pd.DataFrame({"unique_id": name, "ds": stamps, "y": rng.integers(20, 60, 60).astype("float64")})
        for name in ("a", "b", "c")
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def ledger(frame):
    plan = Plan(horizon=5, n_folds=3, season_length=SEASON)
    return backtest(frame, [SeasonalNaive(5, season_length=SEASON), NLinear(5)], plan)


def wide(ledger, columns):
    """A table with a row for each point and the columns of each forecaster, as utilsforecast takes it."""
    table = ledger.forecasts.astype(dict.fromkeys(["y", *columns], "float64"))
    parts = table.pivot(index=[*CELLS, "ds", "y"], columns="forecaster", values=columns)
    parts.columns = [f"{name} {column}" for column, name in parts.columns]
    return parts.reset_index()


def theirs(ledger, loss, columns, **options):
    """What a loss of utilsforecast gives for each series and cutoff: (cells, forecasters)."""
    losses = pytest.importorskip("utilsforecast.losses")
    table = wide(ledger, columns)
    models = [f"{name} {columns[0]}" for name in NAMES]
    if loss == "quantile_loss":
        models = dict(zip(NAMES, models, strict=True))
    elif "quantiles" in options:
        models = {name: [f"{name} {column}" for column in columns] for name in NAMES}
    elif loss == "coverage":
        ends = zip(("lo", "hi"), columns, strict=True)
        table = table.rename(
            columns={f"{name} {column}": f"{name}-{end}-80" for end, column in ends for name in NAMES}
        ).assign(**dict.fromkeys(NAMES, 0.0))
        models = NAMES
    result = getattr(losses, loss)(table, models, **options).sort_values(CELLS)
    return result.drop(columns=CELLS).to_numpy()


def ours(ledger, metric):
    """What a metric gives for each series and cutoff: (cells, forecasters)."""
    metrics = metric if isinstance(metric, dict) else [metric]
    (name,) = metrics
    table = score(ledger, metrics, by=("forecaster", *CELLS)).pivot(index=CELLS, columns="forecaster", values=name)
    return table[NAMES].to_numpy()


@pytest.mark.parametrize(
    ("metric", "loss", "column", "factor"),
    [
        ("mae", "mae", "prediction", 1),
        ("mse", "mse", "mean", 1),
        ("rmse", "rmse", "mean", 1),
        ("bias", "bias", "mean", -1),  # theirs is forecast minus actual
        ("mape", "mape", "prediction", 1),
        ("smape", "smape", "prediction", 2),  # theirs ends at 1
        ("wape", "nd", "prediction", 1),
    ],
)
def test_point_metrics_equal_utilsforecast(ledger, metric, loss, column, factor):
    expected = factor * theirs(ledger, loss, [column])
    np.testing.assert_allclose(ours(ledger, metric), expected, rtol=1e-9)


@pytest.mark.parametrize(("metric", "column"), [("mase", "prediction"), ("rmsse", "mean")])
def test_scaled_metrics_equal_utilsforecast_with_the_history_up_to_each_cutoff(ledger, frame, metric, column):
    expected = theirs(ledger, metric, [column], seasonality=SEASON, train_df=frame)
    np.testing.assert_allclose(ours(ledger, metric), expected, rtol=1e-9)


def test_quantile_metrics_equal_utilsforecast(ledger):
    columns = [str(level) for level in LEVELS]
    np.testing.assert_allclose(
        ours(ledger, {"pinball": pinball(0.3)}), theirs(ledger, "quantile_loss", ["0.3"], q=0.3), rtol=1e-9
    )
    multi = theirs(ledger, "mqloss", columns, quantiles=np.array(LEVELS))
    np.testing.assert_allclose(ours(ledger, "quantile_crps"), 2 * multi, rtol=1e-9)
    scaled = theirs(ledger, "scaled_crps", columns, quantiles=np.array(LEVELS))
    np.testing.assert_allclose(ours(ledger, "wql"), scaled, rtol=1e-9)
    np.testing.assert_allclose(
        ours(ledger, "coverage"), theirs(ledger, "coverage", ["0.1", "0.9"], level=80), rtol=1e-9
    )


def test_losses_of_points_equal_scoringrules(ledger):
    rules = pytest.importorskip("scoringrules")
    run = ledger.runs[1]
    y, quantiles = run.y.astype("float64"), run.quantiles.astype("float64")
    low, high = quantiles[..., 0], quantiles[..., -1]
    np.testing.assert_allclose(interval_error(run, 0.1, 0.9), rules.interval_score(y, low, high, 0.2), rtol=1e-9)
    np.testing.assert_allclose(pinball_loss(run, 0.1), rules.quantile_score(y, low, 0.1), rtol=1e-9)
    np.testing.assert_allclose(quantile_error(run), rules.crps_quantile(y, quantiles, np.array(LEVELS)), rtol=1e-9)


@pytest.mark.parametrize("number", [2, 3, 50])
def test_the_score_of_samples_equals_scoringrules_fair_estimate(number):
    rules = pytest.importorskip("scoringrules")
    rng = np.random.default_rng(number)
    y, samples = rng.normal(size=(7, 3)), rng.normal(size=(7, 3, number)).round(1)
    np.testing.assert_allclose(
        crps_of_samples(y, samples), rules.crps_ensemble(y, samples, estimator="fair"), rtol=1e-9, atol=1e-12
    )


def test_the_score_of_samples_equals_loops_over_pairs_and_is_missing_where_y_is():
    y, samples = np.array([0.5, np.nan]), np.array([[0.0, 1.0, 3.0], [0.0, 1.0, 2.0]])
    pairs = [abs(one - other) for i, one in enumerate(samples[0]) for j, other in enumerate(samples[0]) if i != j]
    expected = np.mean(np.abs(samples[0] - y[0])) - sum(pairs) / 6 / 2
    np.testing.assert_allclose(crps_of_samples(y, samples), [expected, np.nan])


@pytest.mark.parametrize(
    ("y", "samples", "message"),
    [
        ([0.0, 1.0], [[1.0, 2.0]], r"`samples` has the shape \(1, 2\) and `y` \(2,\)"),
        ([0.0], [[1.0]], "`samples` holds 1 for each point; 2 or more"),
        ([0.0], [[1.0, np.nan]], r"`samples` is nan at \(0, 1\)"),
    ],
)
def test_samples_that_cannot_be_scored_are_refused(y, samples, message):
    with pytest.raises(ValueError, match=message):
        crps_of_samples(np.array(y), np.array(samples))


def test_a_forecast_that_is_missing_at_the_hard_point_scores_best_there_and_is_refused_here(ledger_of):
    losses = pytest.importorskip("utilsforecast.losses")
    table = pd.DataFrame({"unique_id": "a", "y": [1.0, 2.0, 100.0], "honest": [1.0, 2.0, 50.0]})
    table["failing"] = [1.0, 2.0, np.nan]
    told = losses.mae(table, ["honest", "failing"])
    assert told["failing"].item() < told["honest"].item()
    honest = ledger_of([[[1, 2, 100]]], {("honest", 0): {"prediction": [[[1, 2, 50]]]}})
    failing = honest.forecasts.assign(forecaster="failing")
    failing.loc[2, "prediction"] = np.nan
    fits = honest.fits.assign(forecaster="failing")
    with pytest.raises(ValueError, match=r"column `prediction` is nan for forecaster 'failing', .*step 3"):
        Ledger.concat([honest, Ledger.of(failing, honest.scales, fits, 1)])


def test_a_missing_actual_counts_in_neither_coverage_nor_interval_score(ledger_of):
    losses = pytest.importorskip("utilsforecast.losses")
    table = pd.DataFrame({"unique_id": "a", "y": [0.0, np.nan], "m": 0.0, "m-lo-80": -1.0, "m-hi-80": 1.0})
    assert losses.coverage(table, ["m"], 80)["m"].item() == 0.5
    run = {"prediction": 0, "0.1": -1, "0.9": 1} | dict.fromkeys(["0.2", "0.3", "0.4"], -0.5)
    run |= dict.fromkeys(["0.6", "0.7", "0.8"], 0.5)
    ours = score(ledger_of([[[0, np.nan]]], {("m", 0): run}), {"c": coverage(), "i": interval_score()})
    assert (ours["c"].item(), ours["i"].item()) == (1.0, 2.0)


def test_every_step_of_overlapping_folds_is_scored_and_not_the_last_forecast_of_a_time_alone(ledger_of):
    # Cutoffs are two days apart and reach three ahead: the third step of the first is the first of the second.
    ledger = ledger_of([[[0, 0, 7], [7, 0, 0]]], {("m", 0): {"prediction": [[[0, 0, 4], [7, 0, 0]]]}})
    table = score(ledger, ["mae"], by=("forecaster", "ds"))
    assert table["points"].sum() == 6
    assert score(ledger, ["mae"])["mae"].item() == pytest.approx((3 / 3 + 0) / 2)
    assert table["mae"].tolist() == [0, 0, 1.5, 0, 0]
