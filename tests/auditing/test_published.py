"""Defects that were found in published backtesters (backtesting: E1, E4, E5, E8), as regression tests of our own.

Each test has the figures of the report: what the published one gave, and what ours must.
"""

import numpy as np
import pandas as pd
import pytest

from forecast.baselines import NLinear, SeasonalNaive
from forecast.evaluation import Plan, backtest, score
from forecast.forecaster import DECILES, Forecast, Forecaster
from forecast.neural import NeuralForecaster
from forecast.nn import GRU
from forecast.training import Training


def series(length=80, names="ab"):
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=length)
    parts = [
        pd.DataFrame({"unique_id": name, "ds": days, "y": 10 + 5 * place + rng.normal(0, 1, length).cumsum()})
        for place, name in enumerate(names)
    ]
    return pd.concat(parts, ignore_index=True)


class Said(Forecaster):
    """Says at each step what it was told, whatever the series."""

    family = "baseline"

    def __init__(self, horizon, said=(), *, season_length=None, quantile_levels=DECILES):
        self.horizon = horizon
        self.said = said
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel):
        pass

    def _forecast(self, panel, origins):
        mean = np.tile(np.asarray(self.said, dtype="float64"), (len(origins), 1))
        return Forecast(np.repeat(mean[:, :, None], len(self.quantile_levels), axis=2), mean)


@pytest.mark.parametrize("refit", ["never", "every"])
@pytest.mark.parametrize(
    "forecaster",
    [
        SeasonalNaive(8),
        NLinear(8, context_length=14),
        NeuralForecaster(GRU(width=8), 8, context_length=14, patch_length=7, training=Training(steps=3)),
    ],
    ids=["SeasonalNaive", "NLinear", "gru"],
)
def test_e1_no_scale_is_fitted_on_the_test_span(forecaster, refit):
    # 50 added to the last 8 of 80 values moved the published first fold by up to 5.70, where it was fitted once.
    frame = series()
    bumped = frame.assign(y=frame["y"] + 50.0 * (frame.groupby("unique_id").cumcount() >= 72))
    plan = Plan(horizon=8, n_folds=3, refit=refit)
    one, other = (backtest(x, {"it": forecaster}, plan).forecasts.drop(columns="y") for x in (frame, bumped))
    pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_e4_a_forecast_that_says_nothing_wins_nothing():
    # Actuals 1, 2, 100: of 1, 2, 50 the mean absolute error is 16.67, of 1, 2, NaN it was 0.
    frame = pd.DataFrame(
        {"unique_id": "a", "ds": pd.date_range("2024-01-01", periods=23), "y": [5.0] * 20 + [1, 2, 100]}
    )
    plan = Plan(horizon=3, n_folds=1)
    honest = backtest(frame, {"honest": Said(3, (1.0, 2.0, 50.0))}, plan)
    assert score(honest, ["mae"])["mae"].item() == pytest.approx(50 / 3)
    with pytest.raises(ValueError, match=r"silent.*'a'.*step 3"):
        backtest(frame, {"silent": Said(3, (1.0, 2.0, float("nan")))}, plan)


def test_e4_a_missing_actual_is_neither_a_miss_nor_covered():
    # One missing actual counted as a miss in coverage, and made the scaled quantile loss 0.641 instead of 0.481.
    frame = series(40, "a")
    gone = frame.assign(y=frame["y"].mask(frame.index == 37))
    metrics, plan = ["mae", "wql", "coverage"], Plan(horizon=4, n_folds=1)
    table = backtest(gone, {"it": SeasonalNaive(4)}, plan)
    left = table.forecasts.dropna(subset="y")
    assert len(left) == 3
    covered = ((left["0.1"] <= left["y"]) & (left["y"] <= left["0.9"])).mean()
    found = score(table, metrics).iloc[0]
    assert found["mae"] == pytest.approx((left["y"] - left["prediction"]).abs().mean())
    assert found["coverage"] == pytest.approx(covered)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_e5_a_forecaster_of_nothing_but_nan_gets_no_score(value):
    # Its masked mean absolute error was 0.0: every loss that was NaN was replaced by 0.
    with pytest.raises(ValueError, match=r"nothing.*'a'.*step 1"):
        backtest(series(), {"nothing": Said(2, (value, value))}, Plan(horizon=2, n_folds=2))


def test_e8_where_folds_overlap_every_step_of_every_fold_is_scored():
    # Of several forecasts of one time the last was kept, which has the shortest way to go.
    frame, plan = series(), Plan(horizon=6, n_folds=5, stride=2)
    table = backtest(frame, {"it": SeasonalNaive(6)}, plan).forecasts
    assert len(table) == 2 * 5 * 6
    assert table.groupby(["unique_id", "ds"]).size().max() == 3
    by_step = (table["y"] - table["prediction"]).abs().groupby(table["step"]).size()
    assert by_step.tolist() == [10] * 6


def test_e8_early_folds_are_not_scaled_by_later_rows():
    # With refits the history that scales errors was that of all folds together.
    frame = series()
    later = frame.assign(y=frame["y"] * np.where(frame.groupby("unique_id").cumcount() >= 70, 9.0, 1.0))
    plan = Plan(horizon=5, cutoffs=["2024-02-15", "2024-03-15"], season_length=7)
    for name, rows in later.groupby("unique_id"):
        for cutoff in plan.cutoffs:
            known = rows.loc[rows["ds"] <= cutoff, "y"].to_numpy("float32").astype("float64")
            scales = backtest(later, {"it": SeasonalNaive(5)}, plan).scales
            found = scales.loc[(scales["unique_id"] == name) & (scales["cutoff"] == cutoff), "absolute"].item()
            assert found == pytest.approx(np.abs(known[7:] - known[:-7]).mean())
