"""The probability integral transform, by hand and against honest and dishonest forecasts."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from forecast.evaluation import Ledger
from forecast.evaluation.pit import chance_band, pit

LEVELS = ("0.1", "0.25", "0.5", "0.9")


def ledger_of(y, quantiles, levels=LEVELS, forecaster="model", seed=0):
    """One series, one cutoff for each row of `y` (F, H); quantiles (F, H, Q)."""
    y = np.asarray(y, dtype=float)
    F, H = y.shape
    table = pd.DataFrame(np.asarray(quantiles, dtype=float).reshape(F * H, -1), columns=list(levels))
    table = table.assign(
        forecaster=forecaster,
        seed=seed,
        unique_id="a",
        cutoff=np.repeat(np.arange(F) * H, H),
        ds=np.arange(F * H) + 1,
        step=np.tile(np.arange(1, H + 1), F),
        y=y.ravel(),
        prediction=table["0.5"],
        mean=table["0.5"],
        fit_cutoff=0,
    )
    scales = pd.DataFrame({"unique_id": "a", "cutoff": np.arange(F) * H, "absolute": 1.0, "squared": 1.0})
    fits = pd.DataFrame(
        {
            "forecaster": [forecaster],
            "seed": [seed],
            "fit_cutoff": [0],
            "family": ["linear"],
            "backbone": [""],
            "decoder": [""],
            "parameters": [0],
            "fit_seconds": [0.0],
            "predict_seconds": [0.0],
            "forecasts": [F],
        }
    )
    return Ledger.of(table, scales, fits, season_length=1)


def shares(table):
    return table["share"].to_numpy()


def test_actuals_are_counted_between_the_quantiles_where_they_fell():
    y = [[0.5, 1.5, 2.5, 3.5, 4.5], [9.0, 9.0, 9.0, np.nan, 1.1]]
    table = pit(ledger_of(y, np.broadcast_to([1.0, 2.0, 3.0, 4.0], (2, 5, 4))))
    np.testing.assert_allclose(shares(table), np.array([1, 2, 1, 1, 4]) / 9)
    np.testing.assert_allclose(table["expected"], [0.1, 0.15, 0.25, 0.4, 0.1])
    np.testing.assert_allclose(table["lower"], [0, 0.1, 0.25, 0.5, 0.9])
    np.testing.assert_allclose(table["upper"], [0.1, 0.25, 0.5, 0.9, 1])
    assert set(table["points"]) == {9}
    assert set(table["forecasts"]) == {2}


@pytest.mark.parametrize(
    ("quantiles", "expected"),
    [
        ([1, 2, 3, 4], [0, 0.075, 0.125, 0, 0]),  # on one quantile: half of the way to its neighbours
        ([2, 3, 4, 5], [0.05, 0.075, 0, 0, 0]),
        ([1, 2, 2, 4], [0, 0.075, 0.25, 0.2, 0]),
        ([1, 2, 2, 2], [0, 0.075, 0.25, 0.4, 0.05]),
        ([2, 2, 3, 4], [0.05, 0.15, 0.125, 0, 0]),
        ([2, 2, 2, 2], [0.05, 0.15, 0.25, 0.4, 0.05]),
    ],
)
def test_on_quantiles_that_are_the_same_an_actual_is_spread_over_them(quantiles, expected):
    np.testing.assert_allclose(shares(pit(ledger_of([[2.0]], [[quantiles]]))), np.divide(expected, sum(expected)))


@pytest.mark.parametrize("rate", [0.4, 0.7, 1.1, 3.0])
def test_honest_forecasts_of_counts_are_level_up_to_how_far_apart_levels_are(rate):
    levels = np.arange(1, 20) / 20
    y = np.random.default_rng(0).poisson(rate, (20_000, 1))
    quantiles = np.broadcast_to(stats.poisson.ppf(levels, rate), (*y.shape, 19))
    table = pit(ledger_of(y, quantiles, [f"{level:.2f}".removesuffix("0") for level in levels]))
    assert np.abs(np.cumsum(shares(table)) - table["upper"]).max() < 0.03  # half of the way, and noise


def test_honest_forecasts_are_level_and_those_too_sure_are_high_at_both_ends():
    y = np.random.default_rng(1).normal(size=(4_000, 2))
    honest = stats.norm.ppf([float(level) for level in LEVELS])
    table = pit(ledger_of(y, np.broadcast_to(honest, (*y.shape, 4))))
    low, high = chance_band(table["expected"].to_numpy(), table["points"].to_numpy(), level=0.9999)
    assert ((low <= shares(table)) & (shares(table) <= high)).all()
    sure = pit(ledger_of(y, np.broadcast_to(honest / 2, (*y.shape, 4))))
    assert shares(sure)[0] > 2 * 0.1
    assert shares(sure)[-1] > 2 * 0.1
    assert shares(sure)[2] < 0.25


def test_one_step_can_be_asked_and_seeds_are_averaged():
    y = np.random.default_rng(2).normal(size=(50, 3))
    one, other = (
        ledger_of(y, np.sort(np.random.default_rng(seed).normal(size=(50, 3, 4)), axis=-1), seed=seed)
        for seed in (0, 1)
    )
    both = Ledger.concat([one, other])
    np.testing.assert_allclose(shares(pit(both)), (shares(pit(one)) + shares(pit(other))) / 2)
    by_step = [shares(pit(both, step)) for step in (1, 2, 3)]
    np.testing.assert_allclose(np.mean(by_step, axis=0), shares(pit(both)))
    with pytest.raises(ValueError, match="`step` is 4; the ledger has the steps 1 to 3"):
        pit(both, 4)
    with pytest.raises(TypeError, match="`ledger`"):
        pit(y)  # type: ignore[arg-type]


def test_without_an_actual_shares_are_unknown():
    table = pit(ledger_of([[np.nan]], [[[1, 2, 3, 4]]]))
    assert table["share"].isna().all()
    assert set(table["points"]) == {0}


@pytest.mark.parametrize(("probability", "count"), [(0.8, 20), (0.1, 200), (0.5, 7)])
def test_chance_stays_within_the_band_as_often_as_it_says(probability, count):
    low, high = chance_band(probability, count)
    drawn = np.random.default_rng(3).binomial(count, probability, 20_000) / count
    assert ((low <= drawn) & (drawn <= high)).mean() >= 0.945
    assert ((low + 1 / count <= drawn) & (drawn <= high)).mean() < 0.98
    assert np.isnan(chance_band(probability, 0)).all()
