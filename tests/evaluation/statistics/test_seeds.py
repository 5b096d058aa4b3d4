"""The spread over seeds equals what loops give, and is apart from that over data."""

import numpy as np
import pytest

from forecast.evaluation.statistics import seed_spread
from forecast.evaluation.statistics.seeds import improvement, interquartile_mean, share_below, stratified


def test_the_interquartile_mean_is_the_trimmed_mean_of_scipy():
    from scipy import stats

    values = np.random.default_rng(0).normal(size=(3, 11))
    np.testing.assert_allclose(interquartile_mean(values), stats.trim_mean(values, 0.25, axis=1))


def test_probability_of_improvement_is_the_share_of_pairs_of_seeds():
    rng = np.random.default_rng(0)
    first, second = rng.integers(3, size=(4, 5)) + 1.0, rng.integers(3, size=(2, 5)) + 1.0
    pairs = [0.5 if a == b else float(a < b) for s in range(5) for a in first[:, s] for b in second[:, s]]
    assert improvement(first, second) == pytest.approx(np.mean(pairs))
    assert improvement(second, first) == pytest.approx(1 - np.mean(pairs))


def test_the_profile_is_the_share_of_ratios_below_a_bound():
    ratios = np.array([[0.4, 0.9], [1.0, 1.2]])
    np.testing.assert_allclose(share_below(ratios, [0.5, 1.0, 1.1, 2.0]), [0.25, 0.5, 0.75, 1.0])


def test_seeds_are_drawn_within_each_series():
    values = np.arange(3)[:, None] + 10.0 * np.arange(4)  # (R, S): the tens tell the series
    drawn = stratified(np.random.default_rng(0), 500, lambda some: some.reshape(len(some), -1), values)
    np.testing.assert_array_equal(np.unique(drawn // 10, axis=0), np.tile(np.arange(4.0), 3)[None])
    assert len(np.unique(drawn % 10, axis=0)) > 100


def test_a_ledger_gives_spread_profile_and_improvement(ledger_of):
    rng = np.random.default_rng(0)
    errors = {("SeasonalNaive", 0): rng.gamma(20, size=(6, 5))}
    errors |= {("lstm", seed): rng.gamma(10, size=(6, 5)) for seed in range(4)}
    found = seed_spread(ledger_of(errors), resamples=300)
    base = errors[("SeasonalNaive", 0)].mean(axis=1)
    ratios = np.array([errors[("lstm", seed)].mean(axis=1) / base for seed in range(4)])
    lstm = found.spread.set_index("forecaster").loc["lstm"]
    assert lstm["skill"] == pytest.approx(1 - np.exp(interquartile_mean(np.log(ratios).ravel())), rel=1e-5)
    assert lstm["low"] < lstm["skill"] < lstm["high"]
    naive = found.spread.set_index("forecaster").loc["SeasonalNaive"]
    assert naive["skill"] == 0
    assert np.isnan([naive["low"], naive["high"]]).all()
    of_lstm = found.profile[found.profile["forecaster"] == "lstm"].set_index("ratio")["share"]
    assert of_lstm[0.5] == pytest.approx((ratios < 0.5).mean())
    assert of_lstm.is_monotonic_increasing
    assert found.improvement.set_index("forecaster").loc["lstm", "probability"] > 0.9
    assert str(found).startswith("estimand: skill of one seed in mae, averaged over these 6 series")


def test_no_series_with_a_ratio_is_not_reported(ledger_of):
    ledger = ledger_of({("SeasonalNaive", 0): np.zeros((2, 5)), ("lstm", 0): np.ones((2, 5))})
    found = seed_spread(ledger)
    assert found.spread.empty
    assert "not reported: for no series" in str(found)
