"""Processes against naive twins: what is said of the next values is what the law and the values so far imply."""

from itertools import pairwise, product
from statistics import NormalDist

import numpy as np
import pytest

from forecast.frame import check_frame
from forecast.synthetic import AR2, PROCESSES, DampedTrend, DelayedImpulse, LongSeason, RegimeSwitch
from forecast.synthetic.mixture import Mixture

HORIZON = 5
LEVELS = [0.05, 0.3, 0.5, 0.9]
every = pytest.mark.parametrize("kind", PROCESSES.values(), ids=list(PROCESSES))


def ahead(process, values, first=0, read=None):
    """The mixture after `read` of the values (all of them) of one series."""
    read = len(values) if read is None else read
    return process.ahead(values[None, :], np.array([first]), np.array([0]), np.array([read]), HORIZON)


# -- Gaussian processes: the joint distribution of all values, conditioned on those that were seen ---------------------


def covariance_of_ar2(process, length):
    weights = np.zeros(3000)
    weights[0] = 1.0
    weights[1] = process.phi_1
    for j in range(2, len(weights)):
        weights[j] = process.phi_1 * weights[j - 1] + process.phi_2 * weights[j - 2]
    at_lag = [weights[: len(weights) - k] @ weights[k:] * process.noise**2 for k in range(length)]
    return np.array([[at_lag[abs(s - t)] for t in range(length)] for s in range(length)])


def covariance_of_damped_trend(process, length):
    """Every value as a sum of independent normal numbers; the level begins so widely that it begins anywhere."""
    parts = 2 + 3 * length
    level, slope = np.zeros(parts), np.zeros(parts)
    level[0], slope[1] = 300.0, process.slope_shock / np.sqrt(1 - process.damping**2)
    rows = []
    for t in range(length):
        noise = np.zeros(parts)
        noise[2 + 3 * t] = process.noise
        rows.append(level + noise)
        shocks = np.zeros((2, parts))
        shocks[0, 3 + 3 * t], shocks[1, 4 + 3 * t] = process.level_shock, process.slope_shock
        level, slope = level + slope + shocks[0], process.damping * slope + shocks[1]
    return np.array(rows) @ np.array(rows).T


def covariance_of_long_season(process, length):
    places = np.arange(length) % process.period // process.hold
    same = places[:, None] == places[None, :]
    return process.spread**2 * same + process.noise**2 * np.eye(length)


@pytest.mark.parametrize(
    ("process", "covariance"),
    [
        (AR2(center=3.0), covariance_of_ar2),
        (AR2(phi_1=0.4, phi_2=0.5, noise=2.0), covariance_of_ar2),
        (DampedTrend(center=-2.0), covariance_of_damped_trend),
        (DampedTrend(damping=0.5, level_shock=1.0, slope_shock=2.0, noise=0.5), covariance_of_damped_trend),
        (LongSeason(period=6, hold=2, center=1.0), covariance_of_long_season),
        (LongSeason(period=4, hold=1, spread=0.5, noise=2.0), covariance_of_long_season),
    ],
)
@pytest.mark.parametrize("missing", [[], [0, 3, 4, 10]])
def test_a_gaussian_forecast_is_the_joint_distribution_conditioned_on_what_was_seen(process, covariance, missing):
    length = 11
    values = process.draw(np.random.default_rng(3), 1, length)[0]
    values[missing] = np.nan
    joint = covariance(process, length + HORIZON)
    seen, later = np.flatnonzero(np.isfinite(values)), np.arange(length, length + HORIZON)
    gain = joint[np.ix_(later, seen)] @ np.linalg.inv(joint[np.ix_(seen, seen)])
    mean = process.center + gain @ (values[seen] - process.center)
    variance = np.diag(joint[np.ix_(later, later)] - gain @ joint[np.ix_(seen, later)])
    found = ahead(process, values)
    np.testing.assert_allclose(found.mean()[0], mean, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found.deviations[0, :, 0], np.sqrt(variance), rtol=1e-3)


def test_an_autoregression_is_forecast_by_its_own_recursion():
    process = AR2(center=1.0)
    values = process.draw(np.random.default_rng(0), 1, 30)[0]
    before, last, expected = values[-2] - 1, values[-1] - 1, []
    for _ in range(HORIZON):
        before, last = last, process.phi_1 * last + process.phi_2 * before
        expected.append(1 + last)
    np.testing.assert_allclose(ahead(process, values).mean()[0], expected)


# -- hidden discrete states: every path of them ------------------------------------------------------------------------


def normal(value, mean, deviation):
    return 1.0 if np.isnan(value) else NormalDist(mean, deviation).pdf(value)


@pytest.mark.parametrize("missing", [[], [2, 3, 5]])
def test_a_regime_is_as_probable_as_all_paths_to_it_together(missing):
    process = RegimeSwitch(stay_1=0.8, stay_2=0.6, mean_1=-1.0, mean_2=2.0, noise_1=1.0, noise_2=1.5)
    values = process.draw(np.random.default_rng(1), 1, 6)[0]
    values[missing] = np.nan
    stay, mean, noise = (0.8, 0.6), (-1.0, 2.0), (1.0, 1.5)
    moves = [[stay[a] if a == b else 1 - stay[a] for b in (0, 1)] for a in (0, 1)]
    start = (0.4 / 0.6, 0.2 / 0.6)
    weights = np.zeros((HORIZON, 2))
    for path in product((0, 1), repeat=len(values) + HORIZON):
        probability = start[path[0]]
        for before, after in pairwise(path):
            probability *= moves[before][after]
        for value, regime in zip(values, path, strict=False):
            probability *= normal(value, mean[regime], noise[regime])
        for step in range(HORIZON):
            weights[step, path[len(values) + step]] += probability
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ahead(process, values).weights[0], weights, rtol=1e-9)


@pytest.mark.parametrize("missing", [[], [1, 4, 6]])
def test_a_response_is_as_probable_as_all_histories_of_impulses_with_it(missing):
    process = DelayedImpulse(delay=3, probability=0.3, size=1.0, response=1.5, noise=0.6)
    length = 7
    values = process.draw(np.random.default_rng(2), 1, length)[0]
    values[missing] = np.nan
    answered = np.zeros(HORIZON)  # how probable an impulse was `delay` steps before each of the next values
    total = 0.0
    for impulses in product((0, 1), repeat=3 + length):  # the first three before the first value
        probability = np.prod([0.3 if one else 0.7 for one in impulses])
        for t, value in enumerate(values):
            probability *= normal(value, impulses[t + 3] + 1.5 * impulses[t], 0.6)
        total += probability
        for step in range(HORIZON):
            at = length + step
            answered[step] += probability * (impulses[at] if at < len(impulses) else 0.3)
    answered /= total
    found = ahead(process, values)
    np.testing.assert_allclose(found.weights[0, :, 1] + found.weights[0, :, 3], answered, rtol=1e-9)
    np.testing.assert_allclose(found.mean()[0], 0.3 * 1.0 + 1.5 * answered, rtol=1e-9)


# -- what all of them keep ---------------------------------------------------------------------------------------------


@every
def test_nothing_after_an_origin_matters_and_origins_of_one_series_do_not_know_each_other(kind):
    process = kind()
    values = process.draw(np.random.default_rng(0), 3, 60)
    first, series, read = np.array([0, 7, 100]), np.array([2, 0, 1, 0, 2]), np.array([60, 3, 41, 41, 1])
    found = process.ahead(values, first, series, read, HORIZON)
    for place, (which, rows) in enumerate(zip(series, read, strict=True)):
        alone = ahead(process, values[which, :rows], first=first[which])
        np.testing.assert_allclose(found.mean()[place], alone.mean()[0])
        np.testing.assert_allclose(found.deviations[place], alone.deviations[0])


def test_quantiles_of_a_mixture_cut_off_what_their_levels_say():
    parts = [(0.2, -3.0, 0.1), (0.5, 0.0, 1.0), (0.3, 4.0, 0.5)]
    mixture = Mixture(*(np.array([[list(part)]]) for part in zip(*parts, strict=True)))
    for level, quantile in zip(LEVELS, mixture.quantiles(LEVELS)[0, 0], strict=True):
        assert sum(w * NormalDist(m, d).cdf(quantile) for w, m, d in parts) == pytest.approx(level, abs=1e-9)
    assert mixture.mean()[0, 0] == pytest.approx(0.2 * -3 + 0.3 * 4)


@every
def test_a_frame_enters_and_is_the_same_under_its_seed_alone(kind):
    frame = kind().frame(series=12, length=50, seed=4)
    panel = check_frame(frame)
    assert list(panel.ids) == [f"{number:02d}" for number in range(12)]
    assert panel.lengths.tolist() == [50] * 12
    assert frame.equals(kind().frame(series=12, length=50, seed=4))
    assert not np.isclose(frame["y"], kind().frame(series=12, length=50, seed=5)["y"]).any()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: AR2(phi_2=-1.0), "`phi_2` of AR2 is -1.0; allowed: a number above -1 and below 1"),
        (lambda: AR2(phi_1=1.9, phi_2=0.0), "`phi_1` of AR2 is 1.9; allowed: a number between -1 and 1, or with this"),
        (lambda: AR2(noise=0), "`noise` of AR2 is 0; allowed: a finite number above 0"),
        (lambda: DampedTrend(damping=1.0), "`damping` of DampedTrend is 1.0; allowed: a number above 0 and below 1"),
        (lambda: LongSeason(period=10, hold=4), "`hold` of LongSeason is 4; allowed: a whole number that divides"),
        (lambda: RegimeSwitch(stay_2=1), "`stay_2` of RegimeSwitch is 1; allowed: a number above 0 and below 1"),
        (lambda: RegimeSwitch(mean_1=float("nan")), "`mean_1` of RegimeSwitch is nan; allowed: a finite number"),
        (lambda: DelayedImpulse(delay=0), "`delay` is 0; allowed: a whole number of 1 or more"),
        (lambda: AR2().frame(series=0), "`series` is 0; allowed: a whole number of 1 or more"),
        (lambda: AR2().frame(seed=-1), "`seed` is -1; allowed: a whole number of 0 or more"),
    ],
)
def test_numbers_that_make_no_process_are_named(make, told):
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value).startswith(told)
