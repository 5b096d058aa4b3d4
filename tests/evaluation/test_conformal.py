"""Split conformal calibration on arrays, against definitions spelled out."""

import math
from fractions import Fraction

import numpy as np
import pytest

from forecast.evaluation.conformal import (
    Interval,
    conformal_quantile,
    conformity,
    moved,
    one_sided,
    scores_needed,
    two_sided,
)

LEVELS = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95)


def kth_smallest(scores, miss):
    """The rule itself, in exact arithmetic."""
    known = sorted(score for score in scores if not math.isnan(score))
    k = math.ceil((len(known) + 1) * (1 - Fraction(str(miss))))
    return math.inf if k > len(known) else -math.inf if k < 1 else known[k - 1]


@pytest.mark.parametrize("miss", [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 0.95, 1.0, 1.2, 0.0, -0.1])
@pytest.mark.parametrize("n", [0, 1, 2, 4, 9, 10, 19, 20, 99, 199])
def test_it_is_the_kth_smallest_score_or_infinite(miss, n):
    scores = np.random.default_rng(n).normal(size=(n, 3))
    scores[: n // 4, 1] = np.nan
    expected = [kth_smallest(column, miss) for column in scores.T]
    np.testing.assert_array_equal(conformal_quantile(scores, miss), expected)


@pytest.mark.parametrize("level", [0.01, 0.02, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4])
@pytest.mark.parametrize("high", [False, True])
def test_so_many_scores_as_are_needed_are_enough_and_one_less_is_not(level, high):
    (interval,) = one_sided((0.5, 1 - level)) if high else one_sided((level, 0.5))
    needed = scores_needed(interval.miss)
    assert needed == math.ceil(1 / Fraction(str(level)) - 1)
    scores = np.arange(float(needed))
    assert conformal_quantile(scores, interval.miss) == needed - 1
    assert conformal_quantile(scores[:-1], interval.miss) == np.inf


def test_each_place_may_miss_another_share():
    scores = np.random.default_rng(0).normal(size=(30, 2, 3))
    misses = np.array([[0.1, 0.2, 0.01], [0.5, 1.5, 0.33]])
    found = conformal_quantile(scores, misses)
    for at in np.ndindex(2, 3):
        assert found[at] == kth_smallest(scores[:, *at], misses[at])
    assert found[0, 2] == np.inf
    assert found[1, 1] == -np.inf


def test_scores_that_belong_together_count_as_one():
    groups = np.repeat(np.arange(9), [1, 5, 2, 2, 7, 1, 3, 3, 4])
    scores = np.random.default_rng(1).normal(size=len(groups))
    weights = 1 / np.bincount(groups)[groups]
    order = np.argsort(scores)
    for miss in (0.1, 0.15, 0.2, 0.35):
        wanted = Fraction(10) * (1 - Fraction(str(miss)))
        reached, expected = Fraction(0), math.inf
        for place in order:
            reached += Fraction(1, int(np.bincount(groups)[groups[place]]))
            if reached >= wanted:
                expected = scores[place]
                break
        assert conformal_quantile(scores, miss, weights) == expected
    assert conformal_quantile(scores, 0.09, weights) == np.inf  # 28 scores, but 9 groups
    np.testing.assert_array_equal(
        conformal_quantile(scores, 0.2, np.ones(len(scores))), conformal_quantile(scores, 0.2)
    )


def test_levels_make_intervals_of_two_sides_or_of_one():
    assert two_sided((0.1, 0.3, 0.5, 0.7, 0.9, 0.95)) == [
        Interval(0, 4, pytest.approx(0.2)),
        Interval(1, 3, pytest.approx(0.6)),
        Interval(None, 5, pytest.approx(0.05)),
    ]
    assert one_sided((0.1, 0.5, 0.8)) == [Interval(0, None, 0.1), Interval(None, 2, pytest.approx(0.2))]
    assert one_sided((0.5,)) == two_sided((0.5,)) == []
    assert Interval(0, 4, 0.2).named((0.1, 0.3, 0.5, 0.7, 0.9)) == "levels 0.1 and 0.9"
    assert Interval(None, 1, 0.2).named((0.5, 0.8)) == "level 0.8"


def test_a_score_is_how_far_outside_an_actual_is():
    quantiles = np.array([[1.0, 2.0, 5.0], [1.0, 2.0, 5.0], [1.0, 2.0, 5.0], [1.0, 2.0, 5.0]])
    y = np.array([0.0, 2.0, 7.0, np.nan])
    both = conformity(y, quantiles, [Interval(0, 2, 0.2)])[:, 0]
    np.testing.assert_array_equal(both, [1.0, -1.0, 2.0, np.nan])
    sides = conformity(y, quantiles, [Interval(0, None, 0.1), Interval(None, 2, 0.1)])
    np.testing.assert_array_equal(sides, [[1, -5], [-1, -3], [-6, 2], [np.nan, np.nan]])


@pytest.mark.parametrize("sides", [one_sided, two_sided])
def test_moved_quantiles_never_cross_keep_the_median_and_are_never_nearer_to_it_than_asked(sides):
    rng = np.random.default_rng(2)
    quantiles = np.sort(rng.normal(size=(200, 4, len(LEVELS))), axis=-1)
    intervals = sides(LEVELS)
    corrections = rng.normal(size=(200, 4, len(intervals)))
    before = quantiles.copy()
    found = moved(quantiles, corrections, intervals, LEVELS)
    np.testing.assert_array_equal(quantiles, before)
    assert (np.diff(found) >= 0).all()
    np.testing.assert_array_equal(found[..., 3], quantiles[..., 3])
    for place, interval in enumerate(intervals):
        if interval.low is not None:
            asked = quantiles[..., interval.low] - corrections[..., place]
            assert (found[..., interval.low] <= asked).all()
        if interval.high is not None:
            asked = quantiles[..., interval.high] + corrections[..., place]
            assert (found[..., interval.high] >= asked).all()
    calm = np.full((200, 4, len(intervals)), 0.25)
    shifted = before + 0.25 * np.sign(np.arange(len(LEVELS)) - 3)
    np.testing.assert_allclose(moved(quantiles, calm, intervals, LEVELS), shifted)


@pytest.mark.parametrize("sides", [one_sided, two_sided])
@pytest.mark.parametrize(("n", "level"), [(9, 0.1), (19, 0.05), (19, 0.1), (60, 0.3)])
def test_of_exchangeable_draws_no_level_holds_less_than_it_promises(sides, n, level):
    """Exact up to the noise of 20,000 repetitions; quantiles as wrong as they like."""
    levels = (level, 0.5, 1 - level)
    y = np.random.default_rng(3).standard_exponential((n + 1, 20_000))
    wrong = np.broadcast_to([0.5, 0.6, 0.8], (*y.shape, 3))
    intervals = sides(levels)
    scores = conformity(y[:n], wrong[:n], intervals)
    corrections = np.stack(
        [conformal_quantile(scores[..., place], one.miss) for place, one in enumerate(intervals)], axis=-1
    )
    found = moved(wrong[n], corrections, intervals, levels)
    inside = ((found[:, 0] <= y[n]) & (y[n] <= found[:, 2])).mean()
    noise = 4 * math.sqrt(level / 20_000)
    assert 1 - 2 * level - noise < inside < 1 - 2 * level + 2 / (n + 1) + noise + 0.05 * (sides is one_sided)
    if sides is one_sided:
        assert (y[n] < found[:, 0]).mean() < level + noise
        assert (y[n] > found[:, 2]).mean() < level + noise
