import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
from forecast.frame import FrameError, check_frame
from forecast.history import history, last_values, mean_steps
from forecast.origins import origins_of

LEVELS = [f"{level / 10:.1f}" for level in range(1, 10)]
RULES = [Naive, SeasonalNaive, Drift, WindowAverage]
ALL = [*RULES, Theta, NLinear]


def frame_of(*series, freq="h"):
    stamps = [pd.date_range("2024-01-01", periods=len(y), freq=freq) for y in series]
    return pd.concat(
        [
            pd.DataFrame({"unique_id": f"s{k}", "ds": ds, "y": y})
            for k, (ds, y) in enumerate(zip(stamps, series, strict=True))
        ]
    )


def waves(*lengths, season=4, noise=0.5, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    series = []
    for k, length in enumerate(lengths):
        y = 5 * (k + 1) + 2 * np.sin(2 * np.pi * np.arange(length) / season) + rng.normal(0, noise, length)
        y[1:][rng.random(length - 1) < missing] = np.nan
        series.append(y)
    return series


# -- twins: the same rules, value by value ---------------------------------------------------------------------------


def last_of(y):
    return [value for value in y if not math.isnan(value)][-1]


def naive_twin(y, step, season, window):
    return last_of(y)


def season_twin(y, step, season, window):
    """Give NaN where no season back has a value: such a forecast tells nothing of the errors of the rule."""
    for back in range(1, 5):
        place = len(y) - back * season + (step - 1) % season
        if place >= 0 and not math.isnan(y[place]):
            return y[place]
    return math.nan


def seasonal_twin(y, step, season, window):
    value = season_twin(y, step, season, window)
    return last_of(y) if math.isnan(value) else value


def drift_twin(y, step, season, window):
    rows = [row for row, value in enumerate(y) if not math.isnan(value)]
    if len(rows) == 1:
        return y[rows[0]]
    slope = (y[rows[-1]] - y[rows[0]]) / (rows[-1] - rows[0])
    return y[rows[-1]] + slope * (len(y) - 1 - rows[-1] + step)


def average_twin(y, step, season, window):
    values = [value for value in y[-(window or season) :] if not math.isnan(value)]
    return sum(values) / len(values) if values else last_of(y)


TWINS = {Naive: naive_twin, SeasonalNaive: seasonal_twin, Drift: drift_twin, WindowAverage: average_twin}


def widths_twin(y, horizon, rule, levels):
    """How far the quantiles lie from the median: quantiles of the rule's past absolute errors, step by step."""
    ends = range(1, len(y))
    ends = ends[:: max(1, len(ends) // 500)]
    widths = np.full((horizon, len(levels)), np.nan)
    for step in range(1, horizon + 1):
        errors = []
        for end in ends:
            if end + step - 1 < len(y):
                errors.append(abs(y[end + step - 1] - rule(y[:end], step)))
        errors = [error for error in errors if not math.isnan(error)]
        if errors:
            widths[step - 1] = [np.sign(level - 0.5) * np.quantile(errors, abs(2 * level - 1)) for level in levels]
    widest = np.nanmax(np.abs(widths), axis=0) * np.sign(np.array(levels) - 0.5)
    return np.where(np.isnan(widths), widest, widths)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("make", RULES)
def test_rules_are_what_a_loop_says(make, missing):
    series = waves(40, 7, 23, 2, missing=missing)
    table = make(6, season_length=4).fit(frame_of(*series)).predict()
    for k, y in enumerate(series):
        mine = table[table["unique_id"] == f"s{k}"]
        twin = [TWINS[make](list(y), step, 4, None) for step in range(1, 7)]
        np.testing.assert_allclose(mine["prediction"], twin, rtol=1e-5)


@pytest.mark.parametrize("window", [1, 3, 50])
def test_a_window_average_can_be_as_long_as_asked(window):
    series = waves(40, 7, missing=0.3)
    table = WindowAverage(2, window=window).fit(frame_of(*series)).predict()
    twin = [average_twin(list(y), 1, 4, window) for y in series]
    np.testing.assert_allclose(table["prediction"], np.repeat(twin, 2), rtol=1e-5)


@pytest.mark.parametrize(("length", "missing"), [(40, 0.0), (40, 0.4), (1300, 0.1), (6, 0.0)])
@pytest.mark.parametrize("make", RULES)
def test_the_spread_is_that_of_the_past_errors_of_the_rule(make, length, missing):
    series = waves(length, max(6, length // 2), missing=missing)
    rule = season_twin if make is SeasonalNaive else TWINS[make]
    table = make(5, season_length=4).fit(frame_of(*series)).predict()
    for k, y in enumerate(series):
        mine = table[table["unique_id"] == f"s{k}"]
        twin = widths_twin(list(y), 5, lambda past, step: rule(past, step, 4, None), np.arange(1, 10) / 10)
        np.testing.assert_allclose(mine[LEVELS].sub(mine["prediction"], axis=0), twin, atol=2e-5)


def test_a_series_without_past_errors_takes_the_spread_of_the_others_in_units_of_its_own_steps():
    rng = np.random.default_rng(0)
    rough, smooth = 100 * rng.normal(size=200).cumsum(), rng.normal(size=200).cumsum()
    fitted = Naive(3).fit(frame_of(smooth, np.array([7.0])))
    lone = fitted.predict().query("unique_id == 's1'")
    assert (lone[LEVELS].to_numpy() == 7).all()  # one value alone has no steps
    new = fitted.predict(frame_of(smooth, [1.0], rough).query("unique_id == 's2'"))
    seen = fitted.predict().query("unique_id == 's0'")
    ratio = np.abs(np.diff(rough)).mean() / np.abs(np.diff(smooth)).mean()
    widths, own = (table["0.9"].to_numpy() - table["0.5"].to_numpy() for table in (new, seen))
    np.testing.assert_allclose(widths, own * ratio, rtol=1e-3)


# -- NLinear ---------------------------------------------------------------------------------------------------------


def windows_twin(series, length, horizon):
    """All windows with complete labels, by time; gaps in the context carried forward, relative to the last value."""
    found = []
    for k, y in enumerate(series):
        y = np.asarray(y, dtype="float64")
        for end in range(length, len(y) - horizon + 1):
            context, labels = pd.Series(y[end - length : end]).ffill().bfill().to_numpy(), y[end : end + horizon]
            if np.isfinite(labels).all() and np.isfinite(context).all():
                found.append((end, k, context - context[-1], labels - context[-1]))
    found.sort(key=lambda one: one[:2])
    power = {k: np.mean([(one[2] ** 2).mean() for one in found if one[1] == k]) for k in range(len(series))}
    scale = np.sqrt([power[one[1]] for one in found])[:, None]
    return np.array([one[2] for one in found]) / scale, np.array([one[3] for one in found]) / scale


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("alpha", [1e-3, 0.5])
def test_nlinear_has_the_weights_of_a_ridge_regression_on_the_same_windows(alpha, missing):
    series = waves(90, 60, missing=missing)
    fitted = NLinear(3, context_length=8, alpha=alpha).fit(frame_of(*series))
    inputs, targets = windows_twin([y.astype("float32") for y in series], 8, 3)
    strength = alpha * np.trace(inputs.T @ inputs) / 8
    twin = Ridge(alpha=strength, fit_intercept=False).fit(inputs, targets).coef_.T
    np.testing.assert_allclose(fitted.weights_, twin, atol=1e-4)
    assert fitted.parameters_ == 8 * 3


def test_nlinear_forecasts_from_the_last_context_relative_to_its_last_value():
    series = waves(90, 60)
    fitted = NLinear(3, context_length=8).fit(frame_of(*series))
    table = fitted.predict()
    for k, y in enumerate(series):
        mine = table[table["unique_id"] == f"s{k}"]
        point, unit = y[-1] + (y[-8:] - y[-1]) @ fitted.weights_, np.std(y[-8:])
        np.testing.assert_allclose(mine[LEVELS], point[:, None] + unit * fitted.error_quantiles_, rtol=1e-4)
        np.testing.assert_allclose(mine["mean"], point + unit * fitted.error_mean_, rtol=1e-4)


def test_nlinear_chooses_the_strength_with_the_least_error_on_blocks_left_out():
    series = waves(90, noise=2.0)
    fitted = NLinear(3, context_length=20).fit(frame_of(*series))
    inputs, targets = windows_twin([y.astype("float32") for y in series], 20, 3)
    blocks, errors = np.array_split(np.arange(len(inputs)), 5), {}
    for alpha in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        misses = []
        for block in blocks:
            rest = np.setdiff1d(np.arange(len(inputs)), block)
            strength = alpha * np.trace(inputs[rest].T @ inputs[rest]) / 20
            ridge = Ridge(alpha=strength, fit_intercept=False).fit(inputs[rest], targets[rest])
            misses.append(np.abs(targets[block] - ridge.predict(inputs[block])))
        errors[alpha] = np.concatenate(misses).mean()
    assert fitted.alpha_ == min(errors, key=errors.get)


def test_nlinear_finds_a_map_that_is_there():
    t = np.arange(300)
    y = 20 + 5 * np.sin(2 * np.pi * t / 12) + 2 * np.cos(2 * np.pi * t / 5)
    table = NLinear(12, context_length=48, alpha=1e-8).fit(frame_of(y[:288])).predict()
    np.testing.assert_allclose(table["prediction"], y[288:], atol=0.01)


def test_the_quantiles_of_nlinear_cover_what_they_say():
    rng = np.random.default_rng(0)
    y = np.convolve(rng.normal(size=3100), 0.8 ** np.arange(30))[30:3000]
    frame = frame_of(y)
    fitted = NLinear(4, context_length=16).fit(frame.iloc[:1500])
    table = fitted.predict(frame, cutoffs=list(frame["ds"].iloc[1500:2900])).merge(frame, on=["unique_id", "ds"])
    for level in ("0.1", "0.5", "0.9"):
        assert abs((table["y"] <= table[level]).mean() - float(level)) < 0.04


def test_one_window_that_hardly_moves_before_a_jump_carries_no_mean_of_nlinear_away():
    normal, jump = waves(200, 80)
    jump[:40] *= 1e-12
    jump[40:] *= 1e12
    table = NLinear(3, context_length=8).fit(frame_of(normal, jump)).predict().query("unique_id == 's0'")
    assert (table["mean"] - table["prediction"]).abs().max() < 2 * (table["0.9"] - table["0.1"]).max()


def test_nlinear_carries_the_last_value_over_a_gap_as_long_as_its_context():
    y = waves(60)[0]
    y[50:] = np.nan
    table = NLinear(3, context_length=4).fit(frame_of(y)).predict()
    assert ((table["0.1"] < y[49]) & (y[49] < table["0.9"])).all()
    np.testing.assert_allclose(table["prediction"], y[49], atol=0.5)


def test_nlinear_learns_from_every_series_also_where_it_takes_only_some_of_very_many_windows(monkeypatch):
    monkeypatch.setattr("forecast.baselines.linear._WINDOWS", 40)
    rising = np.arange(80.0)
    table = NLinear(2, context_length=4, alpha=1e-6).fit(frame_of(waves(80)[0], rising)).predict()
    np.testing.assert_allclose(table.query("unique_id == 's1'")["prediction"], [80, 81], atol=0.2)


def test_nlinear_names_series_that_are_too_short():
    with pytest.raises(FrameError, match=r"series 's0', the longest, has 10 rows; .* 8 and a horizon of 4 need 12"):
        NLinear(4, context_length=8).fit(frame_of(waves(10)[0]))


def test_nlinear_names_data_without_any_complete_window():
    y = waves(40)[0]
    y[::3] = np.nan
    with pytest.raises(FrameError, match=r"no window of 8 \+ 4 rows has all its labels observed"):
        NLinear(4, context_length=8).fit(frame_of(y))


@pytest.mark.parametrize("arguments", [{"alpha": -1.0}, {"alpha": math.nan}, {"context_length": 0}])
def test_nlinear_names_arguments_that_are_not_allowed(arguments):
    with pytest.raises(ValueError, match=f"`{next(iter(arguments))}` is "):
        NLinear(4, **arguments).fit(frame_of(waves(60)[0]))


# -- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL)
def test_quantiles_rise_and_the_median_is_the_prediction(make):
    table = make(6, season_length=4).fit(frame_of(*waves(80, 60, 45, missing=0.05))).predict()
    assert (np.diff(table[LEVELS], axis=1) >= 0).all()
    assert (np.diff(table[["0.1", "0.9"]], axis=1) > 0).all()
    assert (table["0.5"] == table["prediction"]).all()


@pytest.mark.parametrize("make", ALL)
def test_a_constant_series_is_forecast_as_it_is(make):
    table = make(3, season_length=4).fit(frame_of(np.full(60, 3.5))).predict()
    assert (table[["prediction", "mean", *LEVELS]] == 3.5).all(axis=None)


@pytest.mark.parametrize("make", ALL)
def test_a_constant_series_beside_others_is_forecast_as_it_is(make):
    table = make(3, season_length=4).fit(frame_of(np.full(60, 3.5), waves(60)[0])).predict()
    assert (table[table["unique_id"] == "s0"][["prediction", *LEVELS]] == 3.5).all(axis=None)


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e6, 1e20, 1e30])
@pytest.mark.parametrize("make", ALL)
def test_forecasts_scale_with_the_data(make, scale):
    series = waves(60)
    one = make(3, season_length=4).fit(frame_of(*series)).predict()
    other = make(3, season_length=4).fit(frame_of(*(y * scale for y in series))).predict()
    columns = ["prediction", "mean", *LEVELS]
    np.testing.assert_allclose(other[columns] / scale, one[columns], rtol=1e-3)


@pytest.mark.parametrize("make", ALL)
def test_a_small_series_beside_a_large_one_is_forecast_in_its_own_size(make):
    small, large = waves(60, 60)
    table = make(3, season_length=4).fit(frame_of(small * 1e-8, large * 1e8)).predict()
    size = table[[*LEVELS, "mean"]].abs().groupby(table["unique_id"]).max().max(axis=1)
    assert size["s0"] < 1e-6
    assert size["s1"] > 1e8


@pytest.mark.parametrize("make", RULES)
def test_a_series_of_one_point_is_forecast_by_its_point(make):
    table = make(3).fit(frame_of([4.0]), freq="h").predict()
    assert (table[["prediction", "mean", *LEVELS]] == 4).all(axis=None)


@pytest.mark.parametrize("make", ALL)
def test_a_new_short_series_is_forecast(make):
    fitted = make(3, season_length=4).fit(frame_of(*waves(60)))
    table = fitted.predict(frame_of([1.0], [4.0]).query("unique_id == 's1'").assign(unique_id="new"))
    np.testing.assert_allclose(table["prediction"], 4)


@pytest.mark.parametrize("make", ALL)
def test_an_origin_before_any_value_is_named(make):
    y = waves(60)[0]
    fitted = make(3, season_length=4).fit(frame_of(y))
    y[:20] = np.nan
    with pytest.raises(FrameError, match="series 's0' has no observed value up to 2024-01-01 10:00:00"):
        fitted.predict(frame_of(y), cutoffs=["2024-01-01 10:00"])


@pytest.mark.parametrize("make", ALL)
def test_forecasts_from_many_origins_are_those_from_each(make):
    frame = frame_of(*waves(90, 70, missing=0.1))
    fitted = make(3, season_length=4).fit(frame)
    stamps = list(frame["ds"].iloc[20:60])
    together = fitted.predict(cutoffs=stamps)
    alone = pd.concat([fitted.predict(frame[frame["ds"] <= stamp]) for stamp in stamps])
    alone = alone.sort_values(["unique_id", "cutoff", "step"], ignore_index=True)
    pd.testing.assert_frame_equal(together, alone, rtol=1e-4)


# -- history ---------------------------------------------------------------------------------------------------------


def test_the_history_before_origins_is_what_a_loop_finds(monkeypatch):
    panel = check_frame(frame_of(*waves(30, 5, 12, missing=0.4)))
    origins = origins_of(panel, [3, 4, 8, 11, 29] + panel.first[0])
    monkeypatch.setattr("forecast.history.GATHERED", 20)  # some at a time
    windows, last, steps = history(panel, origins, 7), last_values(panel, origins), mean_steps(panel, origins)
    assert len(origins) == 5 + 2 + 4
    for m in range(len(origins)):
        past = panel.values[panel.starts[origins.series[m]] : origins.ends[m]]
        np.testing.assert_array_equal(windows[m], np.concatenate([np.full(7, np.nan), past])[-7:])
        assert last[m] == last_of(past)
        known = np.abs(np.diff(past.astype("float64")))
        assert steps[m] == pytest.approx(np.nanmean(known) if np.isfinite(known).any() else 0)


def test_origins_may_come_in_any_order():
    panel = check_frame(frame_of(*waves(30, 12, 25, missing=0.4)))
    origins = origins_of(panel, [3, 8, 11] + panel.first[0])
    order = np.random.default_rng(0).permutation(len(origins))
    mixed = origins.take(order)
    for find in (last_values, mean_steps):
        np.testing.assert_array_equal(find(panel, mixed), find(panel, origins)[order])
