"""Scores of z-scored values are those of a backtest on z-scored data."""

import numpy as np
import pandas as pd
import pytest

from forecast import Plan, SeasonalNaive, backtest, check_frame, score
from forecast.evaluation import standardised


def panel_of(y):
    rows = y.shape[1]
    frame = {"unique_id": np.repeat(["a", "b"], rows), "ds": np.tile(np.arange(rows), 2), "y": y.ravel()}
    return check_frame(pd.DataFrame(frame))


@pytest.mark.parametrize("metric", ["mae", "mse"])
def test_z_scored_metrics_are_those_of_z_scored_data(metric):
    y = np.random.default_rng(0).normal([[50.0], [-3.0]], [[20.0], [0.1]], (2, 120))
    plan = Plan.fixed_split(6, 80, 20, 20, season_length=7)
    mean, deviation = y[:, :80].mean(axis=1, keepdims=True), y[:, :80].std(axis=1, keepdims=True)
    plain, scored = (
        backtest(panel_of(x), [SeasonalNaive(6, season_length=7)], plan) for x in (y, (y - mean) / deviation)
    )
    deviations = plan.folds(panel_of(y)).train_deviations()
    own = score(plain, {"z": standardised(metric, deviations)})["z"].item()
    assert own == pytest.approx(score(scored, [metric])[metric].item(), rel=1e-5)
    assert own != pytest.approx(score(plain, [metric])[metric].item(), rel=0.1)


def test_a_series_without_a_deviation_is_named():
    y = np.random.default_rng(0).normal(size=(2, 40))
    ledger = backtest(panel_of(y), [SeasonalNaive(4, season_length=7)], Plan(horizon=4, n_folds=1))
    for deviations, came in ((pd.Series({"a": 1.0}), "nan"), (pd.Series({"a": 1.0, "b": 0.0}), r"0\.0")):
        with pytest.raises(ValueError, match=f"`deviations` has {came} for series 'b', cutoff 35"):
            score(ledger, {"z": standardised("mse", deviations)})
    with pytest.raises(ValueError, match="`metric` is 'mase'; allowed: 'mae', 'mse'"):
        standardised("mase", pd.Series({"a": 1.0}))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`deviations` is a dict; give a Series"):
        standardised("mse", {"a": 1.0})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`deviations` has inf for series 'b'"):
        score(ledger, {"z": standardised("mse", pd.Series({"a": 1.0, "b": np.inf}))})
    with pytest.raises(ValueError, match="`deviations` has more than one number for series 'a'"):
        standardised("mse", pd.Series([1.0, 2.0], index=["a", "a"]))
    with pytest.raises(TypeError, match=r"`deviations` holds .*; give a Series of numbers"):
        standardised("mse", pd.Series({"a": "wide"}))
