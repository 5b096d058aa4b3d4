"""What is told of data in closed form: the context, the logarithms and the weeks that networks take by themselves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge as Twin

from forecast import ridge
from forecast.frame import Panel, check_frame
from forecast.judging import context_by_ridge, logarithms_help, something_to_learn, week_of
from forecast.neural import NeuralForecaster
from forecast.nn import LSTM
from forecast.origins import scattered
from forecast.sizes import context_by_rule
from forecast.training import Training


def frame_of(series, freq="D"):
    stamps = [pd.date_range("2024-01-01", periods=len(y), freq=freq) for y in series]
    parts = [
        pd.DataFrame({"unique_id": f"s{k}", "ds": ds, "y": y})
        for k, (ds, y) in enumerate(zip(stamps, series, strict=True))
    ]
    return pd.concat(parts)


def panel_of(series, freq="D") -> Panel:
    return check_frame(frame_of(series, freq))


def echo(lag, length=420, noise=0.3, seed=0):
    """Give a series of shocks that come again after `lag` steps, as nothing else tells."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=length + lag)
    for t in range(lag, length + lag):
        y[t] = 0.95 * y[t - lag] + noise * y[t]
    return y[lag:]


def bursting(length=400, seed=0):
    """Give values whose logarithms go back to their mean step by step: the values themselves do so from far above."""
    rng, y = np.random.default_rng(seed), np.zeros(length)
    for t in range(1, length):
        y[t] = 0.9 * y[t - 1] + 0.5 * rng.normal()
    return np.exp(y)


def flat(length=400, seed=0):
    """Give positive values whose noise is in proportion to nothing, down to a tenth of the level."""
    rng = np.random.default_rng(seed)
    return np.maximum(10 + 4 * np.sin(2 * np.pi * np.arange(length) / 7) + 3 * rng.normal(size=length), 0.01)


# -- ridge -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [None, 5])
def test_what_is_left_out_is_forecast_by_a_ridge_regression_on_the_rest(length):
    panel = panel_of([flat(60), bursting(45)])
    pairs = ridge.pairs_of(panel, ridge.window_ends(panel, 9, 3), 9, 3)
    inputs, targets = (x / pairs.scale[:, None].astype("float64") for x in (pairs.inputs, pairs.targets))
    inputs = inputs[:, -(length or 9) :]
    fitted, errors = ridge.Ridge(pairs), []
    for part in fitted.parts:
        rest = np.setdiff1d(np.arange(len(pairs)), part)
        strength = 0.01 * np.trace(inputs[rest].T @ inputs[rest]) / inputs.shape[1]
        twin = Twin(alpha=strength, fit_intercept=False).fit(inputs[rest], targets[rest])
        errors.append(targets[part] - twin.predict(inputs[part]))
    np.testing.assert_allclose(fitted.left_out(0.01, length), np.concatenate(errors), atol=2e-4)
    assert len(fitted.parts) == 5


def test_windows_of_a_short_series_are_filled_up_with_its_first_value():
    panel = panel_of([flat(30), np.arange(1.0, 13.0)])
    pairs = ridge.pairs_of(panel, ridge.window_ends(panel, 4, 2), 10, 2)
    own = pairs.origins.series == 1
    first = pairs.inputs[own][0] + pairs.last[own][0]
    np.testing.assert_array_equal(first, [1, 1, 1, 1, 1, 1, 1, 2, 3, 4])
    assert own.sum() == 12 - 4 - 2 + 1


@pytest.mark.parametrize("series", [1, 2, 24])
def test_scattered_windows_fall_in_step_with_no_series_and_no_season(series):
    panel = panel_of([np.zeros(20_000) for _ in range(series)], freq="h")
    ends = ridge.window_ends(panel, 8, 4)
    some = ends.take(scattered(len(ends), len(ends) // 24))
    for place in (some.series, some.cutoffs % 24):
        counts = np.bincount(place)
        assert counts.min() > 0.7 * counts.mean()
    assert (np.diff(some.cutoffs) >= 0).all()


# -- context ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lag", "found"), [(20, 28), (40, 49), (90, 98), (150, 196)])
def test_the_context_reaches_back_to_what_tells_the_future(lag, found):
    panel = panel_of([echo(lag, seed=k) for k in range(2)])
    assert context_by_ridge(panel, 7, horizon=7, rule=98) == found


def test_the_rule_stands_where_no_context_is_better():
    rng = np.random.default_rng(0)
    panel = panel_of([rng.normal(size=100).cumsum() for _ in range(40)])
    assert context_by_ridge(panel, 7, horizon=2, rule=28) == 28


@pytest.mark.parametrize("length", [2, 9, 20, 33])
def test_the_rule_stands_where_series_are_too_short(length):
    assert context_by_ridge(panel_of([flat(length)]), 7, horizon=5, rule=11) == 11


def test_the_rule_stands_where_no_window_has_its_labels():
    y = flat(300)
    y[::4] = np.nan
    panel = check_frame(frame_of([y]), gaps="mask")
    assert context_by_ridge(panel, 7, horizon=7, rule=147) == 147
    assert not logarithms_help(panel, 7, horizon=7, context=147)


# -- logarithms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("series", "better"), [(bursting, True), (flat, False)])
def test_logarithms_are_asked_for_where_swings_grow_with_the_level(series, better):
    panel = panel_of([series(seed=k) for k in range(4)])
    assert logarithms_help(panel, 7, horizon=14, context=56) is better


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_one_value_that_has_no_logarithm_leaves_values_as_they_are(low):
    series = [bursting(seed=k) for k in range(4)]
    series[1][100] = low
    assert not logarithms_help(panel_of(series), 7, horizon=14, context=56)


def test_a_series_that_does_not_move_and_a_huge_one_decide_nothing():
    series = [np.full(400, 5.0), *(bursting(seed=k) for k in range(4)), 1e25 * bursting(seed=9)]
    assert logarithms_help(panel_of(series), 7, horizon=14, context=56)
    assert not logarithms_help(panel_of([np.full(400, 5.0)]), 7, horizon=14, context=56)


# -- both ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [300, 8000])
def test_nothing_hangs_on_the_order_of_the_series(monkeypatch, most):
    monkeypatch.setattr("forecast.judging._WINDOWS", most)
    frame = frame_of([bursting(300 + 20 * k, seed=k) for k in range(7)])
    mixed = pd.concat([frame[frame["unique_id"] == f"s{k}"] for k in (4, 2, 6, 0, 3, 5, 1)])
    one, other = (check_frame(table) for table in (frame, mixed))
    kept = []
    monkeypatch.setattr("forecast.judging.Ridge", lambda pairs: kept.append(pairs.inputs) or ridge.Ridge(pairs))
    for panel in (one, other):
        context_by_ridge(panel, 7, 7, rule=105)
        logarithms_help(panel, 7, 7, context=105)
    for before, after in zip(kept[:3], kept[3:], strict=True):
        np.testing.assert_array_equal(before, after)


def small(**arguments) -> NeuralForecaster:
    training = Training(steps=1, validation_length=60)
    return NeuralForecaster(LSTM(width=8), 14, context_length="auto", transform="auto", training=training, **arguments)


def test_a_network_takes_context_and_logarithms_from_the_rows_before_validation(tmp_path):
    frame = frame_of([bursting(seed=k) for k in range(3)])
    fitted, panel = small().fit(frame), check_frame(frame)
    before = panel.until(panel.last - 60)
    found, patch = context_by_ridge(before, 7, 14, context_by_rule(panel, 7, 14)), fitted.patch_length_
    assert fitted.context_length_ == -(-found // patch) * patch
    assert fitted.floor_ == panel.values.min()
    late = frame.assign(y=frame["y"].where(frame["ds"] <= panel.calendar.stamp(int(before.last[0])), 1e-3))
    other = small().fit(late)
    assert (other.context_length_, other.floor_) == (fitted.context_length_, np.float32(1e-3))
    fitted.save(tmp_path / "model")
    again = NeuralForecaster.load(tmp_path / "model")
    assert (again.context_length_, again.floor_) == (fitted.context_length_, fitted.floor_)
    assert again.context_length == again.transform == "auto"


def test_values_are_read_as_they_are_where_logarithms_do_not_help():
    assert small().fit(frame_of([flat(seed=k) for k in range(3)])).floor_ is None


@pytest.mark.parametrize("arguments", [{"context_length": "short"}, {"transform": "sqrt"}])
def test_what_is_neither_a_choice_nor_a_rule_is_named(arguments):
    with pytest.raises(ValueError, match=f"`{next(iter(arguments))}` is '.*'; allowed: .*'auto', or None"):
        NeuralForecaster("lstm", 4, **arguments).fit(frame_of([flat(100)]))


def test_a_wave_is_something_to_learn_and_a_walk_is_not():
    rng = np.random.default_rng(0)
    ds = pd.date_range("2024-01-01", periods=900, freq="h")
    wave = 3 * np.sin(np.arange(900) * np.pi / 12) + rng.normal(0, 1, 900)
    for y, is_one in ((wave, True), (rng.normal(size=900).cumsum(), False)):
        panel = check_frame(pd.DataFrame({"unique_id": "a", "ds": ds, "y": y}))
        assert something_to_learn(panel, 24, 12, 96) == is_one


def test_of_a_few_values_nothing_is_said_to_be_there():
    panel = check_frame(pd.DataFrame({"unique_id": "a", "ds": range(20), "y": np.arange(20.0)}))
    assert not something_to_learn(panel, 1, 12, 8)


# -- weeks -------------------------------------------------------------------------------------------------------------


def hours(values, freq="h"):
    ds = pd.date_range("2024-01-01", periods=len(values), freq=freq)
    return check_frame(pd.DataFrame({"unique_id": "a", "ds": ds, "y": values}), gaps="mask")


def by_weekday(count=1000, drift=0.0):
    rng = np.random.default_rng(0)
    level = np.array([0, 3, 1, 5, 2, -4, 2])[np.arange(count) // 24 % 7]
    return level + drift * rng.normal(size=count).cumsum() + rng.normal(0, 0.5, count)


@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_a_week_counts_where_days_differ_by_their_place_in_it_whatever_the_level_does(drift):
    assert week_of(hours(by_weekday(drift=drift)), 24, context=200) == 168
    gone = by_weekday(drift=drift)
    gone[::3] = np.nan
    assert week_of(hours(gone), 24, context=200) == 168


def test_a_week_does_not_count_where_nothing_comes_back():
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(1000) * np.pi / 12)
    for values in (wave + rng.normal(size=1000), rng.normal(size=1000).cumsum(), wave, np.zeros(1000)):
        assert week_of(hours(values), 24, context=200) == 1


@pytest.mark.parametrize(
    ("length", "freq", "season", "context"),
    [(1000, "h", 24, 167), (350, "h", 24, 168), (1000, "h", 168, 200), (1000, "D", 7, 200), (1000, "7min", 5, 400)],
)
def test_a_week_that_cannot_be_told_does_not_count(length, freq, season, context):
    assert week_of(hours(by_weekday()[:length], freq), season, context) == 1
