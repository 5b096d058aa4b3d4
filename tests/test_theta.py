"""The Theta method against a loop over values, against statsmodels, and in what its intervals cover."""

import math

import numpy as np
import pandas as pd
import pytest

from forecast.baselines import Theta
from forecast.frame import check_frame

HORIZON = 5
LEVELS = [f"{level / 10:.1f}" for level in range(1, 10)]


def frame_of(*series):
    stamps = [pd.date_range("2024-01-01", periods=len(y), freq="h") for y in series]
    return pd.concat(
        [
            pd.DataFrame({"unique_id": f"s{k}", "ds": ds, "y": y})
            for k, (ds, y) in enumerate(zip(stamps, series, strict=True))
        ]
    )


def waves(length, season=4, *, size=3.0, level=10.0, slope=0.1, noise=0.5, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    time = np.arange(length)
    y = level + slope * time + size * np.sin(2 * np.pi * time / season) + rng.normal(0, noise, length)
    y[1:][rng.random(length - 1) < missing] = np.nan
    return y.astype("float32").astype("float64")


# -- the twin: one history, value by value ---------------------------------------------------------------------------


def seasons_twin(y, season):
    """Give the factors of the season, and what is added, by place from the first step ahead."""
    none = [1.0] * season, [0.0] * season
    shown = [value for value in y if not math.isnan(value)]
    mean = sum(shown) / len(shown)
    away = [0.0 if math.isnan(value) else value - mean for value in y]
    power = sum(value**2 for value in away)
    if season == 1 or len(y) < 2 * season or power == 0:
        return none
    lags = [sum(a * b for a, b in zip(away[lag:], away, strict=False)) / power for lag in range(1, season + 1)]
    if abs(lags[-1]) <= 1.645 * math.sqrt((1 + 2 * sum(lag**2 for lag in lags[:-1])) / len(shown)):
        return none
    by_factors = min(shown) > 0
    for kind in ("times", "plus") if by_factors else ("plus",):
        found = [[] for _ in range(season)]
        for at, value in enumerate(y):
            weights = {at + step: 1.0 for step in range(-(season // 2), (season + 1) // 2)}
            if season % 2 == 0:
                weights[at - season // 2] = weights[at + season // 2] = 0.5
            if min(weights) < 0 or max(weights) >= len(y):
                continue
            trend = sum(weight * y[place] for place, weight in weights.items()) / season
            if not math.isnan(trend):
                found[(at - len(y)) % season].append(value / trend if kind == "times" else value - trend)
        if not all(found):
            return none
        means = [sum(values) / len(values) for values in found]
        centre = sum(means) / season
        if kind == "plus":
            return [1.0] * season, [value - centre for value in means]
        if min(means) / centre >= 0.1:
            return [value / centre for value in means], [0.0] * season
    raise AssertionError


def theta_twin(y, horizon, season):
    y = list(y)
    while math.isnan(y[0]):
        y = y[1:]
    factors, terms = seasons_twin(y, season)
    adjusted = [(v - terms[(t - len(y)) % season]) / factors[(t - len(y)) % season] for t, v in enumerate(y)]
    seen = [(t, value) for t, value in enumerate(adjusted) if not math.isnan(value)]
    times, values = zip(*seen, strict=True)
    slope = np.polyfit(times, values, 1)[0] if len(seen) > 1 else 0.0
    best = math.inf, 0.0, 0.0
    for alpha in np.linspace(1.0, 0.05, 20):
        level, on_line, error = adjusted[0], 0.0, 0.0  # the line itself, smoothed alike, shows how far a trend is ahead
        for t, value in seen:
            error += (value - level) ** 2
            level += alpha * (value - level)
            on_line += alpha * (t - on_line)
        if error < best[0]:
            best = error, level, on_line
    _, level, on_line = best
    steps = range(1, horizon + 1)
    ahead = [level + slope / 2 * (len(y) - 1 + step - on_line) for step in steps]
    return [value * factors[(h - 1) % season] + terms[(h - 1) % season] for h, value in zip(steps, ahead, strict=True)]


CASES = {
    "a season by factors": waves(60),
    "a season that is added": waves(60, level=0.0),
    "a season too deep for factors": waves(60, size=9.8, slope=0.0, noise=0.01),
    "no season": waves(60, size=0.0, slope=0.0),
    "a season that is odd": waves(50, 5),
    "short of two seasons": waves(7),
    "five seasons": waves(20, noise=0.1, slope=0.0),
    "two values": waves(2),
    "one value": waves(1),
    "some missing": waves(90, missing=0.1),
    "most missing": waves(90, missing=0.8),
    "a gap at the end": np.append(waves(50), np.full(9, np.nan)),
    "a gap at the beginning": np.append(np.full(9, np.nan), waves(50)),
}


@pytest.mark.parametrize("season", [1, 4, 5])
def test_the_forecast_is_what_a_loop_says(season):
    fitted = Theta(HORIZON, season_length=season, history=200).fit(frame_of(*CASES.values()))
    table = fitted.predict()
    for k, (name, y) in enumerate(CASES.items()):
        mine = table[table["unique_id"] == f"s{k}"]["prediction"]
        np.testing.assert_allclose(mine, theta_twin(y, HORIZON, season), rtol=2e-5, err_msg=name)


def test_the_cases_are_adjusted_as_they_are_called():
    kinds = {name: seasons_twin(list(y), 4) for name, y in CASES.items()}
    by_factors = [name for name, (factors, _) in kinds.items() if set(factors) != {1.0}]
    added = [name for name, (_, terms) in kinds.items() if set(terms) != {0.0}]
    assert {"a season by factors", "five seasons", "some missing", "a gap at the end"} <= set(by_factors)
    assert {"a season that is added", "a season too deep for factors"} <= set(added)
    assert not {"no season", "short of two seasons", "most missing"} & {*by_factors, *added}


@pytest.mark.parametrize(("level", "method"), [(10.0, "mul"), (0.0, "add")])
def test_with_the_smoothing_of_statsmodels_the_forecast_is_that_of_statsmodels(monkeypatch, level, method):
    theta = pytest.importorskip("statsmodels.tsa.forecasting.theta")
    y = waves(80, level=level, noise=1.0)
    other = theta.ThetaModel(y, period=4, use_test=False, method=method).fit()
    monkeypatch.setattr("forecast.baselines.theta._SMOOTHING", np.array([[other.params["alpha"]]]))
    table = Theta(HORIZON, season_length=4, history=80).fit(frame_of(y)).predict()
    np.testing.assert_allclose(table["prediction"], other.forecast(HORIZON), rtol=1e-5)


# -- what is read ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "rows"), [({"history": 33}, 33), ({}, 48), ({"season_length": 6}, 60), ({"horizon": 20}, 80)]
)
def test_rows_before_the_history_are_not_read(arguments, rows):
    y = waves(120)
    fitted = Theta(**{"horizon": HORIZON, "season_length": 4} | arguments).fit(frame_of(y))
    whole = fitted.predict()["prediction"]
    y[:-rows] = -50.0
    np.testing.assert_array_equal(fitted.predict(frame_of(y))["prediction"], whole)
    y[-rows] = 0.0
    assert not np.allclose(fitted.predict(frame_of(y))["prediction"], whole)


def test_after_a_history_without_any_value_the_last_one_goes_on():
    y = np.append(waves(60), np.full(20, np.nan))
    table = Theta(HORIZON, history=15).fit(frame_of(y)).predict()
    assert (table["prediction"] == np.float32(y[59])).all()


@pytest.mark.parametrize("history", [0, -3, 2.5, True, "all"])
def test_a_history_that_is_not_allowed_is_named(history):
    with pytest.raises((TypeError, ValueError), match=r"`history` is .*; allowed: a whole number of 1 or more"):
        Theta(HORIZON, history=history).fit(frame_of(waves(30)))


# -- seasons ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [7.0, -7.0])
def test_a_season_that_repeats_is_forecast_as_it_is(level):
    pattern = level + np.array([0.0, 3.0, -2.0, 1.0])
    table = Theta(8, season_length=4).fit(frame_of(np.tile(pattern, 9))).predict()
    np.testing.assert_allclose(table["prediction"], np.tile(pattern, 2), rtol=1e-6)


def test_a_value_where_the_season_is_next_to_nothing_blows_no_forecast_up():
    y = np.tile([1e-4, 3.0, 4.0, 5.0], 12)
    y[-4] = 3.0
    table = Theta(8, season_length=4).fit(frame_of(y)).predict()
    assert table["prediction"].abs().max() < 10


# -- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "growth"), [(40, 1), (60, 1), (40, 20), (60, 20)])
def test_intervals_cover_what_they_say_where_steps_grow_too(length, growth):
    """Walks, whose steps grow to so many times their size."""
    steps = np.random.default_rng(0).normal(size=(150, length + HORIZON)) * np.linspace(1, growth, length + HORIZON)
    frame = frame_of(*(100 + steps.cumsum(axis=1)))
    place = frame.groupby("unique_id", sort=False).cumcount()
    table = Theta(HORIZON, season_length=1).fit(frame[place < length]).predict().merge(frame, on=["unique_id", "ds"])
    assert abs(table["y"].between(table["0.1"], table["0.9"]).mean() - 0.8) < 0.08


def test_the_spread_is_that_of_past_errors_in_steps_of_their_time():
    series = [waves(31, missing=0.1), waves(70) * 1.03 ** np.arange(70)]
    table = Theta(HORIZON, season_length=4, history=100).fit(frame_of(*series)).predict()
    steps = [np.abs(np.diff(y)) for y in series]
    for k, y in enumerate(series):
        own, errors = np.nanmean(steps[k]), [[] for _ in range(HORIZON)]
        for end in range(1, len(y), max(1, (len(y) - 1) // 25)):
            before = steps[k][: end - 1]
            unit = ((np.nanmean(before) * len(before) if np.isfinite(before).any() else 0.0) + own) / end
            for h, value in enumerate(theta_twin(y[:end], HORIZON, 4)[: len(y) - end]):
                errors[h].append(abs(y[end + h] - value) / unit)
        levels = np.arange(1, 10) / 10
        shown = [sorted(error for error in missed if not math.isnan(error)) for missed in errors]
        half = [np.interp((len(e) + 1) * abs(2 * levels - 1), np.arange(1, len(e) + 1), e) for e in shown]
        mine = table[table["unique_id"] == f"s{k}"]
        apart = mine[LEVELS].sub(mine["prediction"], axis=0)
        np.testing.assert_allclose(apart, own * np.sign(levels - 0.5) * np.array(half), rtol=1e-3, atol=1e-4)


def test_the_spread_moves_with_the_steps_of_the_series_after_the_fit():
    y = waves(80)
    fitted = Theta(HORIZON, season_length=4).fit(frame_of(y))
    one, ten = fitted.predict(), fitted.predict(check_frame(frame_of(10 * y)))
    np.testing.assert_allclose(ten[LEVELS], 10 * one[LEVELS], rtol=1e-4)
