"""The two-way bootstrap equals the comparison made again by loops, and its intervals hold what they promise."""

import numpy as np
import pytest

from forecast.evaluation.statistics import bootstrap
from forecast.evaluation.statistics.bootstrap import Resampled, two_way
from forecast.evaluation.statistics.errors import Errors, win_rates, wins
from forecast.evaluation.statistics.resampling import block_of, fold_counts, group_counts, seed_weights


def errors_like(series=6, folds=7, seeds=(1, 3, 2), holes=True, seed=0, **options):
    rng = np.random.default_rng(seed)
    values = rng.gamma(2.0, size=(sum(seeds), series, folds))
    if holes:
        values[1, 0, 2] = values[0, 3, 5] = np.nan
    names = tuple(f"model {place}" for place in range(len(seeds)))
    return Errors(values, names, seeds, tuple(range(series)), **options)


def by_loops(errors, series_counts, fold_counts, weights):
    """Mean logs and win rates, as the aggregation order tells them, one number after another."""
    drawn_series = [s for s, count in enumerate(series_counts) for _ in range(int(count))]
    drawn_folds = [f for f, count in enumerate(fold_counts) for _ in range(int(count))]
    starts = np.cumsum((0, *errors.seeds))
    per_series = []
    for s in drawn_series:
        folds = [f for f in drawn_folds if all(np.isfinite(run[s, f]) for run in errors.values)]
        if not folds:
            continue
        averages = []
        for m in range(len(errors.names)):
            total = 0.0
            for r in range(starts[m], starts[m + 1]):
                mean = sum(errors.values[r, s, f] for f in folds) / len(folds)
                total += weights[r] * (mean**0.5 if errors.root else mean)
            averages.append(total)
        per_series.append(averages)
    models = range(len(errors.names))
    base = errors.baseline
    logs = [np.mean([np.log(max(row[m] / row[base], errors.floor)) for row in per_series]) for m in models]
    rates = [
        [np.mean([0.5 if row[a] == row[b] else float(row[a] < row[b]) for row in per_series]) for b in models]
        for a in models
    ]
    return np.array(logs), np.array(rates)


@pytest.mark.parametrize("options", [{}, {"root": True, "baseline": 1}, {"floor": 0.9}])
@pytest.mark.parametrize("clustered", [False, True])
def test_every_resample_is_the_comparison_made_again(options, clustered):
    errors, resamples = errors_like(**options), 20
    group = np.array([0, 0, 1, 2, 2, 3]) if clustered else np.arange(6)
    logs, rates = two_way(errors, group=group, block=2, resamples=resamples, seed=5)
    series = group_counts(np.random.default_rng([5, 0]), resamples, group)
    folds = fold_counts(np.random.default_rng([5, 1]), resamples, 7, 2)
    weights = seed_weights(5, resamples, errors.names, errors.seeds)
    even = np.array([1, 1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])
    for b in range(resamples):
        expected = by_loops(errors, series[b], folds[b], weights[b])
        np.testing.assert_allclose(logs.drawn[b], expected[0], atol=1e-12)
        np.testing.assert_allclose(rates.drawn[b], expected[1], atol=1e-12)
        for place, alone in enumerate(
            [(series[b], np.ones(7), even), (np.ones(6), folds[b], even), (np.ones(6), np.ones(7), weights[b])]
        ):
            np.testing.assert_allclose(logs.alone[place][b], by_loops(errors, *alone)[0], atol=1e-12)
    expected = by_loops(errors, np.ones(6), np.ones(7), even)
    np.testing.assert_allclose(logs.estimate, expected[0], atol=1e-12)
    np.testing.assert_allclose(rates.estimate, expected[1], atol=1e-12)
    assert logs.numbers == (4 if clustered else 6, 3.5, 2)


def test_what_is_drawn_of_two_forecasters_does_not_depend_on_a_third():
    errors = errors_like(holes=False)
    pair = Errors(errors.values[:4], errors.names[:2], errors.seeds[:2], errors.ids)
    of_all, of_pair = (two_way(some, group=np.arange(6), block=1, resamples=150)[0] for some in (errors, pair))
    np.testing.assert_allclose(of_all.drawn[:, :2], of_pair.drawn, atol=1e-12)


def test_paired_seeds_are_drawn_together_by_all_that_have_as_many():
    errors = errors_like(seeds=(1, 3, 3), holes=False)
    errors.values[4:] = 2 * errors.values[1:4]  # the same, run by run, but for the unit
    apart, paired = (
        two_way(errors, group=np.arange(6), block=1, resamples=150, paired_seeds=both)[0].drawn
        for both in (False, True)
    )
    np.testing.assert_allclose(paired[:, 2] - paired[:, 1], np.log(2), atol=1e-12)
    assert np.ptp(apart[:, 2] - apart[:, 1]) > 0.1
    np.testing.assert_allclose(paired[:, 0], apart[:, 0], atol=1e-12)  # one seed is drawn either way


def test_resamples_do_not_depend_on_how_many_are_made_at_once(monkeypatch):
    errors = errors_like()
    whole = two_way(errors, group=np.arange(6), block=3, resamples=130)
    monkeypatch.setattr(bootstrap, "_NUMBERS", 6 * 6 * 7)
    for one, other in zip(whole, two_way(errors, group=np.arange(6), block=3, resamples=130), strict=True):
        np.testing.assert_allclose(one.drawn, other.drawn, atol=1e-12)


def test_blocks_are_of_neighbours_and_every_fold_is_drawn_as_often():
    rng = np.random.default_rng(0)
    for folds, block in ((7, 3), (60, 4)):
        counts = fold_counts(rng, 20_000, folds, block)
        assert set(counts.sum(axis=1)) == {folds}
        np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.05)
        # Folds that share blocks are drawn together; those far apart are not.
        together = np.corrcoef(counts.T)
        assert together[0, 1] > 0.2
        assert together[0, folds - 1] > 0.2
        assert together[0, folds // 2] < 0.05
    whole = fold_counts(rng, 50, 7, 7)
    assert (whole == 1).all()


@pytest.mark.parametrize(
    ("folds", "overlap", "block"), [(10, 1, 1), (49, 3, 3), (50, 1, 4), (1000, 1, 10), (60, 24, 24)]
)
def test_blocks_are_as_long_as_forecasts_overlap_and_longer_where_there_are_many_folds(folds, overlap, block):
    assert block_of(folds, overlap) == block


def test_equal_errors_are_half_a_win_also_after_rounding():
    first, second = np.array([1.0, 0.1 + 0.2, 2.0, 0.0]), np.array([2.0, 0.3, 1.0, 0.0])
    np.testing.assert_array_equal(wins(first, second), [1.0, 0.5, 0.0, 0.5])
    errors = np.array([[[1.0, 1.0, 3.0], [2.0, 1.0, 1.0]]])
    np.testing.assert_allclose(win_rates(errors, np.array([[1.0, 2.0, 1.0]])), [[[0.5, 0.5], [0.5, 0.5]]])
    np.testing.assert_allclose(win_rates(errors, np.array([[3.0, 0.0, 1.0]]))[0, 0, 1], 0.75)


def test_ratio_to_a_baseline_without_error_is_one_or_undefined_for_all():
    values = np.array([[[0.0], [0.0], [1.0], [2.0]], [[0.0], [1.0], [1.0], [0.0]]])
    errors = Errors(values, ("base", "other"), (1, 1), tuple("abcd"))
    average = errors.of_forecasters()[0]
    np.testing.assert_array_equal(errors.ratios(average, average[0]), [[1, np.nan, 1, 1], [1, np.nan, 1, 0]])
    assert errors.logs(average, average[0])[1, 3] == np.log(0.01)
    assert errors.defined().ids == ("a", "c", "d")


def test_errors_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"`values` has the shape \(2, 3, 4\).*1 runs"):
        Errors(np.ones((2, 3, 4)), ("one",), (1,), tuple("abc"))


def test_intervals_are_percentiles_stretched_for_few_draws():
    rng = np.random.default_rng(0)
    estimate = np.array([3.0, -1.0])
    drawn = estimate + rng.normal(size=(4000, 2))
    sample = Resampled(estimate, drawn, (drawn,), (5.0,))
    from scipy import stats

    factor = np.sqrt(5 / 4) * stats.t.ppf(0.975, 4) / stats.norm.ppf(0.975)
    np.testing.assert_allclose(sample.stretch(0.95), factor)
    low, high = sample.interval(0.95)
    plain = np.percentile(drawn, [2.5, 97.5], axis=0)
    np.testing.assert_allclose([low, high], sample.estimate + factor * (plain - sample.estimate))
    many = Resampled(sample.estimate, drawn, (drawn, drawn), (1e9, 1e9))
    np.testing.assert_allclose(many.interval(0.95), plain, rtol=1e-6)


def test_what_never_varies_has_an_interval_of_no_width_and_is_not_apart():
    still = Resampled(np.array([0.0, 1e-15]), np.zeros((50, 2)), (np.zeros((50, 2)),), (8.0,))
    np.testing.assert_allclose(still.interval(), 0, atol=1e-14)
    assert not still.apart().any()


def test_the_more_forecasters_are_compared_the_farther_apart_one_has_to_be():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4000, 40))
    estimate = np.zeros(40)
    estimate[0] = 2.5
    several = Resampled(estimate, estimate + noise, (noise,), (1e9,))
    alone = several.apply(lambda values: values[:, :1])
    assert alone.apart().all()
    assert not several.apart().any()


def shocked(rng, folds, shock, series=100):
    """Errors of two forecasters, neither better: a log ratio of sd 0.3 by series, 0.3 by cell, and a shock by fold."""
    half = (
        rng.normal(0, 0.3, (series, 1)) + shock * rng.normal(size=(1, folds)) + rng.normal(0, 0.3, (series, folds))
    ) / 2
    return Errors(np.exp([half, -half]), ("one", "other"), (1, 1), tuple(range(series)), baseline=1)


@pytest.mark.slow
@pytest.mark.parametrize(("folds", "shock"), [(5, 0.2), (10, 0.2), (20, 0.2), (20, 0.0)])
def test_intervals_cover_what_they_promise_under_a_shock_common_to_all_series(folds, shock):
    rng = np.random.default_rng(folds)
    covered = np.zeros(2)
    for repetition in range(400):
        errors = shocked(rng, folds, shock)
        for place, block in enumerate((1, None)):
            logs, _ = two_way(errors, group=np.arange(100), block=block, resamples=300, seed=repetition)
            low, high = logs.interval()
            covered[place] += low[0] <= 0 <= high[0]
    both, series_alone = covered / 400
    print(f"{folds} folds, shock {shock}: two-way {both:.3f}, series alone {series_alone:.3f}")
    assert 0.90 <= both <= 0.97
    assert shock == 0 or series_alone < 0.75


@pytest.mark.slow
def test_at_most_one_comparison_in_twenty_calls_any_of_six_equals_apart():
    rng = np.random.default_rng(0)
    wrong = 0
    for repetition in range(300):
        logs = rng.normal(0, 0.3, (6, 40, 1)) + rng.normal(0, 0.2, (6, 1, 12)) + rng.normal(0, 0.3, (6, 40, 12))
        errors = Errors(np.exp(logs), tuple("abcdef"), (1,) * 6, tuple(range(40)))
        means, _ = two_way(errors, group=np.arange(40), block=1, resamples=300, seed=repetition)
        wrong += means.apply(lambda mean: mean[:, :, None] - mean[:, None, :]).apart().any()
    assert wrong / 300 <= 0.09
