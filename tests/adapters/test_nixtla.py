"""Forecasts as the frames of utilsforecast and back: same rows, same scores."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from forecast.adapters import from_nixtla, to_nixtla
from forecast.baselines import Drift, Naive, SeasonalNaive
from forecast.evaluation import Ledger, Plan, backtest, score
from forecast.evaluation.losses import absolute_error, error, squared_error
from forecast.evaluation.metrics import Averaged, coverage
from forecast.frame import FrameError, check_frame

HORIZON, SEASON = 6, 24


def frame_of(ids=("b", "a"), length=240, zone=None):
    rng = np.random.default_rng(1)
    t = np.arange(length)
    return pd.concat(
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2024-03-20", periods=length, freq="h", tz=zone),
                "y": (10 + 5 * place + 2 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, length)).astype("float32"),
            }
        )
        for place, name in enumerate(ids)
    )


FRAME = frame_of()


@pytest.fixture(scope="module")
def ledger():
    plan = Plan(horizon=HORIZON, n_folds=3)
    forecasters = {"snaive": SeasonalNaive(HORIZON, season_length=SEASON), "drift": Drift(HORIZON)}
    return backtest(FRAME, forecasters, plan)


def test_a_ledger_becomes_a_cross_validation_frame(ledger):
    frame = to_nixtla(ledger, level=[80, 60])
    ends = ["lo-80", "lo-60", "hi-60", "hi-80"]
    assert list(frame.columns) == [
        *("unique_id", "ds", "cutoff", "y"),
        *("snaive", *(f"snaive-{end}" for end in ends)),
        *("drift", *(f"drift-{end}" for end in ends)),
    ]
    assert len(frame) == 2 * 3 * HORIZON
    own = ledger.forecasts[ledger.forecasts["forecaster"] == "drift"].reset_index(drop=True)
    for column, ours in [
        ("ds", "ds"),
        ("y", "y"),
        ("drift", "prediction"),
        ("drift-lo-80", "0.1"),
        ("drift-hi-60", "0.8"),
    ]:
        assert (frame[column] == own[ours]).all()


def test_forecasts_of_one_cutoff_become_a_frame_of_forecasts():
    table = Naive(HORIZON, quantile_levels=(0.0025, 0.1, 0.5, 0.9, 0.9975)).fit(FRAME).predict()
    frame = to_nixtla(table, model="naive")
    assert list(frame.columns) == [
        *("unique_id", "ds", "naive"),
        *("naive-lo-99.5", "naive-lo-80", "naive-hi-80", "naive-hi-99.5"),
    ]
    assert frame["unique_id"].tolist() == ["b"] * HORIZON + ["a"] * HORIZON
    assert "cutoff" in to_nixtla(Naive(HORIZON).fit(FRAME).predict(cutoffs=list(FRAME["ds"].iloc[[-9, -1]])))
    assert (to_nixtla(table, point="mean", level=[])["foretell"] == table["mean"]).all()


def test_seeds_have_columns_of_their_own(ledger):
    again = Ledger.of(ledger.forecasts.assign(seed=1), ledger.scales, ledger.fits.assign(seed=1), ledger.season_length)
    frame = to_nixtla(Ledger.concat([ledger, again]), level=[80])
    assert list(frame.columns)[4::3] == ["snaive-seed0", "drift-seed0", "snaive-seed1", "drift-seed1"]
    assert (frame["drift-seed0"] == frame["drift-seed1"]).all()


def test_runs_are_joined_by_their_keys_whatever_the_order_of_their_rows(ledger):
    shuffled = ledger.forecasts.sample(frac=1, random_state=3)
    frame = to_nixtla(Ledger.of(shuffled, ledger.scales, ledger.fits, ledger.season_length))
    key = ["unique_id", "cutoff", "ds"]
    straight = to_nixtla(ledger).sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(frame.sort_values(key, ignore_index=True)[straight.columns], straight)


def test_utilsforecast_scores_as_we_do(ledger):
    evaluation, losses = pytest.importorskip("utilsforecast.evaluation"), pytest.importorskip("utilsforecast.losses")
    frame = to_nixtla(ledger, level=[80, 20])
    metrics = [losses.mae, losses.rmse, losses.bias, partial(losses.mase, seasonality=SEASON)]
    metrics += [losses.mqloss, losses.coverage]
    theirs = evaluation.evaluate(frame, metrics=metrics, train_df=FRAME, level=[80, 20]).set_index("metric")
    ours = score(
        ledger,
        {
            "mae": Averaged(absolute_error),
            "rmse": Averaged(squared_error, root=True),
            "bias": Averaged(error),
            "mase": Averaged(absolute_error, scale="absolute"),
            "coverage_level80": coverage(0.1, 0.9),
            "coverage_level20": coverage(0.4, 0.6),
        },
        by=["forecaster", "unique_id", "cutoff"],
    ).set_index(["unique_id", "cutoff"])
    for metric in ("mae", "rmse", "bias", "mase", "coverage_level80", "coverage_level20"):
        table = theirs.loc[metric].set_index(["unique_id", "cutoff"])
        for forecaster in ("snaive", "drift"):
            found = table[forecaster]
            expected = ours.loc[ours["forecaster"] == forecaster, metric].reindex(table.index)
            sign = -1 if metric == "bias" else 1  # what they subtract from what
            np.testing.assert_allclose(sign * found, expected, rtol=1e-5, err_msg=metric)
    check_quantile_scores(ledger, theirs.loc["mqloss"])


def check_quantile_scores(ledger, theirs):
    """The mean pinball loss over 0.1, 0.4, 0.6 and 0.9, from their definition."""
    rows = ledger.forecasts
    loss = np.mean([np.maximum(q * (e := rows["y"] - rows[str(q)]), (q - 1) * e) for q in (0.1, 0.4, 0.6, 0.9)], axis=0)
    means = rows.assign(loss=loss).groupby(["forecaster", "unique_id", "cutoff"])["loss"].mean()
    for forecaster in ("snaive", "drift"):
        table = theirs.set_index(["unique_id", "cutoff"])[forecaster]
        np.testing.assert_allclose(table, means[forecaster].reindex(table.index), rtol=1e-5)


def test_a_ledger_comes_back(ledger):
    back = from_nixtla(to_nixtla(ledger), FRAME, season_length=SEASON)
    assert back.forecasters == ("snaive", "drift")
    names = ["mae", "mase", "wql", "coverage", "interval_score"]
    pd.testing.assert_frame_equal(score(back, names), score(ledger, names), rtol=1e-6)
    pd.testing.assert_frame_equal(back.scales, ledger.scales)


def test_the_models_of_others_are_compared_with_ours(ledger):
    theirs = to_nixtla(ledger)[["unique_id", "ds", "cutoff", *(c for c in to_nixtla(ledger) if c.startswith("drift"))]]
    theirs.columns = theirs.columns.str.replace("drift", "theirs")
    theirs = from_nixtla(theirs, FRAME, season_length=SEASON, families={"theirs": "statistical"})
    both = score(Ledger.concat([ledger, theirs]), ["mae", "wql"]).set_index("forecaster")
    assert both.loc["theirs", "mae"] == pytest.approx(both.loc["drift", "mae"])
    assert theirs.fits["family"].unique().tolist() == ["statistical"]


def test_models_without_intervals_come_back_with_their_point_alone():
    frame = frame_of(zone="Europe/Berlin")
    plan = Plan(horizon=HORIZON, n_folds=2)
    ledger = backtest(frame, {"n": Naive(HORIZON, quantile_levels=(0.5,))}, plan)
    back = from_nixtla(to_nixtla(ledger), frame)
    assert back.quantile_levels == (0.5,)
    assert back.forecasts["ds"].dtype == frame["ds"].dtype
    assert score(back, "mae")["mae"].tolist() == pytest.approx(score(ledger, "mae")["mae"].tolist())


def test_what_cannot_be_written_is_named(ledger):
    odd = Naive(HORIZON, quantile_levels=(0.05, 0.1, 0.5, 0.9)).fit(FRAME).predict()
    for call, raised, told in [
        (lambda: to_nixtla(odd), ValueError, r"quantile level 0\.05 has no mirror 0\.95.*level=\[80\]"),
        (lambda: to_nixtla(odd, level=[90]), ValueError, r"`level` holds 90, whose ends are .* 0\.05 and 0\.95"),
        (lambda: to_nixtla(ledger, level=[0]), ValueError, "`level` holds 0"),
        (lambda: to_nixtla(ledger, point="median"), ValueError, "`point` is 'median'; allowed: 'prediction', 'mean'"),
        (lambda: to_nixtla({"a": 1}), TypeError, r"`forecasts` is a builtins\.dict"),
        (lambda: to_nixtla(FRAME), ValueError, "`forecasts` has no column `cutoff`"),
    ]:
        with pytest.raises(raised, match=told):
            call()
    assert list(to_nixtla(odd, level=[80])) == ["unique_id", "ds", "foretell", "foretell-lo-80", "foretell-hi-80"]


def test_what_cannot_be_read_is_named(ledger):
    frame = to_nixtla(ledger)
    late = frame["ds"] + pd.Timedelta(minutes=1)
    for change, raised, told in [
        (frame.set_index("unique_id"), ValueError, r"no column `unique_id`.*reset_index"),
        (frame[["unique_id", "ds", "cutoff", "y"]], ValueError, "no column of a model"),
        (frame.drop(columns="drift-lo-80"), ValueError, "model 'drift' has the quantile levels .* and 'snaive'"),
        (frame.replace({"unique_id": {"a": "z"}}), FrameError, "series 'z' is not in `history`"),
        (
            frame.assign(ds=late),
            ValueError,
            r"`ds` holds .*:01:00, which is not on the calendar",
        ),
        (frame.assign(drift=np.nan), ValueError, "must be a finite number"),
        ("frame", TypeError, "`frame` is a str"),
    ]:
        with pytest.raises(raised, match=told):
            from_nixtla(change, check_frame(FRAME))
