"""What a fitted forecaster can be asked: ids, cutoffs, other horizons and levels, fitted values, paths."""

import random
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, WindowAverage
from forecast.evaluation import Plan, backtest, score
from forecast.forecaster import Forecast
from forecast.frame import FrameError, Roles, check_frame
from forecast.neural import NeuralForecaster
from forecast.nn import LSTM
from forecast.origins import origins_of, origins_within
from forecast.paths import draw_paths
from forecast.quantiles import DECILES, at_levels, normal_quantiles, scores_of
from forecast.training import Training

HORIZON = 6
LEVELS = [f"{level / 10:.1f}" for level in range(1, 10)]
SMALL = Training(steps=3)
RULES = [Naive(HORIZON), SeasonalNaive(HORIZON, season_length=4), Drift(HORIZON), WindowAverage(HORIZON, window=5)]
PATTERNS = {
    **{type(rule).__name__: rule for rule in RULES},
    "NLinear": NLinear(HORIZON, context_length=12),
    "LSTM": NeuralForecaster(LSTM(width=8), HORIZON, context_length=24, patch_length=8, training=SMALL),
}


def frame_of(series, *, begin="2024-01-01", freq="h"):
    """A long frame of id -> values."""
    return pd.concat(
        [
            pd.DataFrame({"unique_id": name, "ds": pd.date_range(begin, periods=len(y), freq=freq), "y": y})
            for name, y in series.items()
        ],
        ignore_index=True,
    )


def waves(*lengths, seed=0):
    rng = np.random.default_rng(seed)
    names = "bac"
    return frame_of(
        {
            names[k]: 5 * (k + 1) + 2 * np.sin(np.arange(length) * np.pi / 2) + rng.normal(0, 0.5, length)
            for k, length in enumerate(lengths)
        }
    )


def walks(*lengths, seed=0):
    rng = np.random.default_rng(seed)
    return frame_of({f"s{k}": rng.normal(size=length).cumsum() for k, length in enumerate(lengths)})


FRAME = waves(90, 61, 40)


@pytest.fixture(scope="module", params=PATTERNS)
def fitted(request):
    return clone(PATTERNS[request.param]).fit(FRAME)


@pytest.fixture(scope="module")
def naive():
    return Naive(HORIZON).fit(FRAME)


def same(one, other, **tolerance):
    tolerance = tolerance or {"check_exact": True}
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True), **tolerance)


def paths_of(table):
    return table[[name for name in table if name.startswith("path_")]].to_numpy()


# -- ids and cutoffs -------------------------------------------------------------------------------------------------


def test_ids_are_forecast_in_the_order_in_which_they_are_asked(fitted):
    whole = fitted.predict()
    table = fitted.predict(ids=["c", "b"])
    assert list(dict.fromkeys(table["unique_id"])) == ["c", "b"]
    parts = [whole[whole["unique_id"] == name] for name in ("c", "b")]
    same(table, pd.concat(parts), rtol=1e-5)


def test_ids_and_cutoffs_choose_together(fitted):
    stamps = list(FRAME["ds"].iloc[[50, 30]])
    table = fitted.predict(ids=["c", "a"], cutoffs=stamps)
    assert table["unique_id"].tolist() == ["c"] * HORIZON + ["a"] * 2 * HORIZON  # c ends before the later cutoff
    assert table["cutoff"].tolist()[::HORIZON] == [stamps[1], stamps[1], stamps[0]]
    with pytest.raises(ValueError, match="`cutoffs`: no series is under way at 2024-01-03 02:00:00"):
        fitted.predict(ids=["c"], cutoffs=stamps)


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Index, pd.Series, iter])
def test_ids_may_come_in_any_ordered_kind(naive, kind):
    assert list(dict.fromkeys(naive.predict(ids=kind(["a", "b"]))["unique_id"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("ids", "error", "told"),
    [
        (["A"], ValueError, r"'A', which is none of the 3 series; the nearest is 'a' \(1 of 1 ids are unknown\)"),
        (["b", "shop 1", 7], ValueError, r"'shop 1', which is none of .*\(2 of 3 ids are unknown\)"),
        ([["a"]], ValueError, r"\['a'\], which is none of the 3 series"),
        (["a", "b", "a"], ValueError, "'a' twice; allowed: each once"),
        ([], ValueError, "is empty; allowed: a list of one or more ids"),
        ("a", TypeError, "is 'a'; allowed: a list of one or more ids"),
        ({"a"}, TypeError, "allowed: a list of one or more ids"),
        ({"a": 1}, TypeError, "allowed: a list of one or more ids"),
        (3, TypeError, "is 3; allowed: a list of one or more ids"),
    ],
)
def test_ids_that_are_not_allowed_are_named(naive, ids, error, told):
    with pytest.raises(error, match=f"`ids` .*{told}"):
        naive.predict(ids=ids)


def test_whole_numbers_and_tuples_are_asked_as_they_are():
    frame = FRAME.assign(unique_id=FRAME["unique_id"].map({"b": 10, "a": 2, "c": 7}))
    table = Naive(2).fit(frame).predict(ids=[7, 10])
    assert table["unique_id"].tolist() == [7, 7, 10, 10]
    with pytest.raises(ValueError, match="'7', which is none of the 3 series; the nearest is 7"):
        Naive(2).fit(frame).predict(ids=["7"])
    pairs = FRAME.assign(unique_id=[(name, 1) for name in FRAME["unique_id"]])
    assert Naive(2).fit(pairs).predict(ids=[("a", 1)])["unique_id"].tolist() == [("a", 1)] * 2


def test_newer_data_are_forecast_for_the_ids_asked(fitted):
    newer = waves(97, 66, 44, seed=1)
    table = fitted.predict(newer, ids=["a"])
    assert table["cutoff"].unique().tolist() == [newer[newer["unique_id"] == "a"]["ds"].iloc[-1]]
    whole = fitted.predict(newer)
    same(table, whole[whole["unique_id"] == "a"], rtol=1e-5)


# -- horizons --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [1, np.int64(4), HORIZON])
def test_fewer_steps_are_the_first_of_those_of_the_fit(fitted, horizon):
    table = fitted.predict(horizon=horizon)
    whole = fitted.predict()
    same(table, whole[whole["step"] <= horizon])


@pytest.mark.parametrize("horizon", [0, -1, 2.5, "6", True])
def test_a_horizon_that_is_not_allowed_is_named(naive, horizon):
    for ask in (naive.predict, naive.fitted_values, naive.future_frame, lambda **x: naive.sample_paths(3, **x)):
        with pytest.raises((ValueError, TypeError), match=r"`horizon` is .*; allowed: a whole number of 1 or more"):
            ask(horizon=horizon)


@pytest.mark.parametrize("pattern", RULES, ids=lambda rule: type(rule).__name__)
def test_a_rule_goes_on_as_one_fitted_for_more_steps_would(pattern):
    short, long = (clone(pattern).set_params(horizon=h).fit(FRAME) for h in (HORIZON, 20))
    table = short.predict(horizon=20)
    assert table["step"].tolist() == [*range(1, 21)] * 3
    same(table[table["step"] <= HORIZON], short.predict())
    pd.testing.assert_series_equal(table["prediction"], long.predict()["prediction"])
    assert (np.diff(table[LEVELS]) >= 0).all()


@pytest.mark.parametrize("pattern", RULES, ids=lambda rule: type(rule).__name__)
def test_beyond_the_fit_the_spread_grows_with_the_root_of_the_steps_or_seasons(pattern):
    table = clone(pattern).fit(FRAME).predict(horizon=20).query("unique_id == 'b'")
    width = (table["0.9"] - table["0.1"]).to_numpy()
    begun = np.arange(1, 21) if not isinstance(pattern, SeasonalNaive) else (np.arange(20) // 4 + 1)
    np.testing.assert_allclose(width[HORIZON:], width[HORIZON - 1] * np.sqrt(begun[HORIZON:] / begun[5]), rtol=1e-4)


def test_a_series_that_was_not_there_at_fit_is_forecast_further_too(naive):
    table = naive.predict(waves(30).assign(unique_id="new"), horizon=9)
    assert len(table) == 9
    assert np.isfinite(table.iloc[:, 4:]).all(axis=None)


def test_more_steps_than_a_model_can_go_are_refused_with_those_that_can():
    fitted = NLinear(HORIZON, context_length=12).fit(FRAME)
    with pytest.raises(
        ValueError, match=r"`horizon` is 9; this NLinear was fitted for 6 steps .*: Naive, .*'recursive'"
    ):
        fitted.predict(horizon=9)


def test_a_network_that_feeds_back_its_forecasts_goes_on_and_draws_paths_as_far():
    forecaster = NeuralForecaster(
        LSTM(width=8), 8, decoder="recursive", context_length=16, patch_length=4, training=SMALL
    ).fit(FRAME)
    table = forecaster.predict(horizon=19)
    assert table["step"].tolist() == [*range(1, 20)] * 3
    same(table[table["step"] <= 8], forecaster.predict(), rtol=1e-5)
    assert (np.diff(table[LEVELS]) >= 0).all()
    few = forecaster.predict(horizon=10)
    same(few, table[table["step"] <= 10], rtol=1e-5)
    paths = forecaster.sample_paths(20, horizon=19)
    assert np.isfinite(paths_of(paths)).all()
    assert len(paths) == len(table)
    assert forecaster.fitted_values(horizon=19, stride=8)["step"].max() == 19


# -- quantile levels -------------------------------------------------------------------------------------------------


def test_other_levels_lie_on_the_lines_of_the_normal_scale(fitted):
    asked = (0.02, 0.1, 0.15, 0.55, 0.9, 0.999)
    table, whole = fitted.predict(quantile_levels=asked), fitted.predict()
    assert list(table.columns[4:]) == ["prediction", "mean", *map(str, asked)]
    for name in ("prediction", "mean", "0.1", "0.9"):
        pd.testing.assert_series_equal(table[name], whole[name], check_exact=True)
    assert (np.diff(table[[str(level) for level in asked]], axis=1) >= 0).all()
    z = normal_quantiles(DECILES)
    for row in range(len(table)):
        line = np.interp(normal_quantiles((0.15, 0.55)), z, whole[LEVELS].iloc[row])
        np.testing.assert_allclose(table[["0.15", "0.55"]].iloc[row], line, rtol=1e-5)


def test_the_levels_of_a_normal_distribution_come_back_wherever_they_lie():
    normal = NormalDist(3.0, 2.0)
    quantiles = np.array([[normal.inv_cdf(level) for level in DECILES]])
    levels = (0.001, 0.01, 0.25, 0.5, 0.77, 0.999)
    expected = [normal.inv_cdf(level) for level in levels]
    np.testing.assert_allclose(at_levels(quantiles, DECILES, levels)[0], expected, rtol=1e-9)


@pytest.mark.parametrize("known", [DECILES, (0.1, 0.5, 0.9), (0.5,), (0.05, 0.5)])
def test_levels_agree_with_those_of_the_networks(known):
    import torch

    from forecast.nn.rollout import at_levels as weights_at

    quantiles = np.sort(np.random.default_rng(0).normal(size=(5, len(known))), axis=1)
    levels = [0.01, 0.2, 0.5, 0.61, 0.97]
    weights = weights_at(torch.tensor(levels, dtype=torch.float64), torch.tensor(normal_quantiles(known)))
    np.testing.assert_allclose(at_levels(quantiles, known, levels), quantiles @ weights.numpy().T, atol=1e-12)


def test_many_levels_never_cross_whatever_the_size():
    rng = np.random.default_rng(0)
    levels = np.linspace(0.001, 0.999, 999)
    for scale in (1e-30, 1.0, 1e12, 1e30):
        quantiles = np.sort(rng.normal(size=(20, 9)), axis=1).astype("float32") * np.float32(scale)
        quantiles[:5] += np.float32(1e7 * scale)
        quantiles[5:8, 3:6] = quantiles[5:8, 3:4]
        found = at_levels(quantiles, DECILES, levels)
        assert np.isfinite(found).all()
        assert (np.diff(found, axis=1) >= 0).all()
        np.testing.assert_array_equal(found[:, [99, 499, 899]], quantiles[:, [0, 4, 8]])


def test_levels_that_agree_in_twelve_decimals_are_the_same(naive):
    table = naive.predict(quantile_levels=np.linspace(0.1, 0.3, 3) + 1e-16)
    same(table, naive.predict()[[*table.columns]])
    assert list(table.columns[6:]) == ["0.1", "0.2", "0.3"]


@pytest.mark.parametrize("levels", [(), (0.5, 0.1), (0.1, 0.1 + 1e-15), (0.0, 0.5), (0.5, 1.0), (10, 90), 0.5, "0.5"])
def test_levels_that_are_not_allowed_are_named(naive, levels):
    with pytest.raises(ValueError, match=r"`quantile_levels` is .*; allowed: rising numbers inside"):
        naive.predict(quantile_levels=levels)


def test_scores_are_levels_turned_round():
    rng = np.random.default_rng(0)
    quantiles = np.sort(rng.normal(size=(40, 9)), axis=1)
    levels = (0.01, 0.2, 0.35, 0.5, 0.99)
    for column, level in enumerate(levels):
        values = at_levels(quantiles, DECILES, levels)[:, column]
        np.testing.assert_allclose(scores_of(values, quantiles, DECILES), NormalDist().inv_cdf(level), atol=1e-9)
    flat = scores_of(np.array([1.0, 2.0, 3.0, np.nan]), np.full((4, 9), 2.0), DECILES)
    assert flat[0] < -1e6
    assert flat[2] > 1e6
    assert np.isnan(flat[3])


# -- fitted values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [1, 3, HORIZON])
def test_fitted_values_are_the_forecasts_from_each_cutoff_beside_the_actuals(fitted, stride):
    table = fitted.fitted_values(stride=stride)
    assert list(table.columns[:7]) == ["unique_id", "cutoff", "ds", "step", "y", "prediction", "mean"]
    assert np.isfinite(table.iloc[:, 4:]).all(axis=None)
    expected = []
    for name in ("b", "a", "c"):
        mine = FRAME[FRAME["unique_id"] == name].reset_index(drop=True)
        for end in range(len(mine) - 1 - stride, -1, -stride)[::-1]:
            for step in range(1, min(HORIZON, len(mine) - 1 - end) + 1):
                expected.append((name, mine["ds"][end], mine["ds"][end + step], step, mine["y"][end + step]))
    keys = pd.DataFrame(expected, columns=["unique_id", "cutoff", "ds", "step", "y"])
    pd.testing.assert_frame_equal(table[[*keys.columns]], keys, check_dtype=False, rtol=1e-6)
    chosen = list(FRAME["ds"].iloc[[33, 39]])
    forecasts = fitted.predict(cutoffs=chosen)
    both = table.drop(columns="y").merge(forecasts[["unique_id", "cutoff", "step"]])
    assert len(both)
    wanted = forecasts.merge(both[["unique_id", "cutoff", "step"]])
    same(both, wanted, rtol=1e-4)


def test_with_a_stride_as_long_as_the_horizon_every_step_is_fitted_once(naive):
    table = naive.fitted_values(stride=HORIZON)
    assert not table.duplicated(["unique_id", "ds"]).any()
    lengths = table.groupby("unique_id", sort=False).size().tolist()
    assert lengths == [(length - 1) // HORIZON * HORIZON for length in (90, 61, 40)]


def test_fitted_values_leave_out_steps_that_were_not_observed_and_origins_with_nothing_to_read():
    y = np.arange(30.0)
    y[[0, 1, 2, 10, 29]] = np.nan
    table = Naive(3).fit(frame_of({"a": y})).fitted_values()
    assert np.isfinite(table.iloc[:, 4:]).all(axis=None)
    expected = [(end, step) for end in range(3, 29) for step in (1, 2, 3) if end + step < 29 and end + step != 10]
    end = (table["cutoff"] - pd.Timestamp("2024-01-01")) // pd.Timedelta("1h")
    assert list(zip(end, table["step"], strict=True)) == expected
    assert table["y"].tolist() == [end + step for end, step in expected]


def test_fitted_values_of_another_frame_and_of_fewer_or_more_steps(naive):
    newer = waves(50, seed=3)
    assert set(naive.fitted_values(newer)["unique_id"]) == {"b"}
    few, whole = naive.fitted_values(newer, horizon=2), naive.fitted_values(newer)
    same(few, whole[whole["step"] <= 2])
    assert naive.fitted_values(newer, horizon=9)["step"].max() == 9


def test_fitted_values_need_two_values_in_a_series(naive):
    with pytest.raises(FrameError, match="no series has a value to read 1 rows or more before its end"):
        naive.fitted_values(waves(90).iloc[:1])
    with pytest.raises(FrameError, match="give longer series, or a smaller `stride`"):
        naive.fitted_values(stride=500)
    with pytest.raises(ValueError, match="`stride` is 0; allowed: a whole number of 1 or more"):
        naive.fitted_values(stride=0)


@pytest.mark.parametrize("stride", [1, 2, 7, 100])
def test_origins_within_a_panel_are_counted_back_from_the_ends(stride):
    panel = check_frame(FRAME)
    origins = origins_within(panel, stride)
    expected = [
        (series, int(panel.stops[series]) - back)
        for series, length in enumerate(panel.lengths)
        for back in range((length - 1) // stride * stride, 0, -stride)
    ]
    assert list(zip(origins.series.tolist(), origins.ends.tolist(), strict=True)) == expected
    assert (origins.cutoffs == panel.first[origins.series] + origins.ends - panel.starts[origins.series] - 1).all()


# -- sample paths ----------------------------------------------------------------------------------------------------


def test_paths_have_the_rows_of_the_forecast_and_repeat_under_a_seed(fitted):
    table = fitted.sample_paths(30)
    keys = ["unique_id", "cutoff", "ds", "step"]
    assert list(table.columns) == [*keys, *(f"path_{number}" for number in range(1, 31))]
    same(table[keys], fitted.predict()[keys])
    assert np.isfinite(paths_of(table)).all()
    same(table, fitted.sample_paths(30))
    assert not np.array_equal(paths_of(table), paths_of(fitted.sample_paths(30, seed=1)))


def test_the_global_random_state_is_left_as_it_is(naive):
    before = random.getstate(), [np.asarray(part).tolist() for part in np.random.get_state()]
    naive.sample_paths(10)
    assert (random.getstate(), [np.asarray(part).tolist() for part in np.random.get_state()]) == before


def test_at_each_step_paths_are_spread_as_the_quantiles_say(fitted):
    paths, table = paths_of(fitted.sample_paths(400)), fitted.predict()
    found = np.quantile(paths, DECILES, axis=1).T
    width = (table["0.9"] - table["0.1"]).to_numpy()[:, None]
    assert (np.abs(found - table[LEVELS].to_numpy()) < 0.02 * width + 1e-6).all()


def test_what_is_drawn_for_a_series_is_the_same_whichever_others_are_asked(fitted):
    stamps = list(FRAME["ds"].iloc[[38, 35]])
    whole = fitted.sample_paths(15, cutoffs=stamps)
    alone = fitted.sample_paths(15, ids=["a"], cutoffs=stamps[:1])
    mine = whole[(whole["unique_id"] == "a") & (whole["cutoff"] == stamps[0])]
    assert np.corrcoef(paths_of(alone).ravel(), paths_of(mine).ravel())[0, 1] > 0.999
    assert whole["cutoff"].tolist()[::HORIZON] == stamps[::-1] * 3


def test_paths_of_a_random_walk_wander_and_their_sums_are_as_uncertain_as_they_are():
    horizon = 12
    forecaster = Naive(horizon).fit(walks(3000))
    table = forecaster.sample_paths(1000)
    paths = paths_of(table) - forecaster.predict()["prediction"].to_numpy()[:, None]  # (H, n)
    assert (np.diff(paths.std(axis=1)) > 0).all()
    neighbours = [np.corrcoef(paths[step : step + 2])[0, 1] for step in range(horizon - 1)]
    np.testing.assert_allclose(neighbours, [np.sqrt(h / (h + 1)) for h in range(1, horizon)], atol=0.06)
    increments = np.corrcoef(np.diff(paths, axis=0))
    assert np.abs(increments[~np.eye(len(increments), dtype=bool)]).max() < 0.2
    truth = np.sqrt(sum((horizon - k) ** 2 for k in range(horizon)))
    apart = np.sqrt(sum(range(1, horizon + 1)))  # the spread of sums of steps that have nothing to do with each other
    assert paths.sum(axis=0).std() == pytest.approx(truth, rel=0.12)
    assert truth > 2.5 * apart


def test_paths_of_noise_have_steps_that_have_nothing_to_do_with_each_other():
    rng = np.random.default_rng(0)
    forecaster = WindowAverage(8, window=500).fit(frame_of({"a": rng.normal(size=3000)}))
    paths = paths_of(forecaster.sample_paths(1000))
    correlations = np.corrcoef(paths)[~np.eye(8, dtype=bool)]
    assert np.abs(correlations).max() < 0.15
    assert paths.sum(axis=0).std() == pytest.approx(np.sqrt(8), rel=0.15)


def test_nothing_after_a_cutoff_moves_a_path():
    frame = walks(300, 200)
    forecaster = Naive(HORIZON).fit(frame[frame["ds"] <= frame["ds"].iloc[150]])
    cutoff = frame["ds"].iloc[150]
    wild = frame.assign(y=frame["y"].mask(frame["ds"] > cutoff, 1e9))
    same(*(forecaster.sample_paths(25, one, cutoffs=[cutoff]) for one in (frame, wild)))


def test_a_short_series_takes_the_templates_of_longer_ones():
    frame = walks(400, 10)
    late = frame["unique_id"] == "s1"
    frame["ds"] = frame["ds"].mask(late, frame["ds"] + pd.Timedelta(hours=390))
    forecaster = Naive(HORIZON).fit(frame)
    paths = paths_of(forecaster.sample_paths(300, ids=["s1"]))
    assert 0.3 < np.corrcoef(paths)[0, 1] < 0.95


def test_without_any_past_origin_a_path_stays_at_one_level():
    panel = check_frame(walks(4, 5))
    origins = origins_of(panel)
    quantiles = np.tile(np.arange(9, dtype="float32"), (2, HORIZON, 1))
    forecast = Forecast(quantiles, quantiles[..., 4])

    def none_to_ask(panel, origins):
        raise AssertionError("there is no past origin")

    paths = draw_paths(none_to_ask, panel, origins, forecast, DECILES, n=40, seed=0)
    assert (paths == paths[:, :1]).all()
    assert len(np.unique(paths[0, 0])) == 40


def test_series_with_the_same_rows_take_their_templates_from_the_same_stamps():
    """So that path by path their sum is spread as the sum is: here a series and what takes it away."""
    walk = np.random.default_rng(0).normal(size=1000).cumsum()
    forecaster = Naive(4).fit(frame_of({"up": walk, "down": -walk}))
    table = forecaster.sample_paths(200)
    up, down = (paths_of(table[table["unique_id"] == name]) for name in ("up", "down"))
    sums = up + down - (up + down).mean(axis=1, keepdims=True)
    assert sums.std() < 0.1 * up.std(axis=1).min()


def test_paths_that_do_not_fit_in_one_block_are_the_same(monkeypatch):
    forecaster = Naive(HORIZON).fit(walks(200, 150, 120, 30))
    whole = forecaster.sample_paths(20)
    monkeypatch.setattr("forecast.paths.GATHERED", 1)
    same(forecaster.sample_paths(20), whole)


def test_paths_of_constant_series_are_constant():
    table = Naive(3).fit(frame_of({"a": np.full(60, 3.5)})).sample_paths(20)
    assert (paths_of(table) == 3.5).all()


def test_gaps_in_the_history_serve_as_no_template():
    frame = walks(300)
    frame.loc[::7, "y"] = np.nan
    for forecaster in (Naive(3).fit(frame), Naive(8).fit(frame)):  # of the second every template has a gap
        assert np.isfinite(paths_of(forecaster.sample_paths(50))).all()


def test_paths_go_as_far_as_forecasts_do(naive):
    table = naive.sample_paths(7, horizon=10)
    assert table["step"].tolist() == [*range(1, 11)] * 3
    assert naive.sample_paths(7, horizon=2)["step"].max() == 2


@pytest.mark.parametrize("levels", [(0.5,), (0.1, 0.5, 0.9)])
def test_few_levels_serve_too(levels):
    forecaster = Naive(3, quantile_levels=levels).fit(walks(100))
    assert np.isfinite(paths_of(forecaster.sample_paths(20))).all()
    assert np.isfinite(forecaster.predict(quantile_levels=(0.05, 0.95)).iloc[:, 4:]).all(axis=None)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"n": 0}, "`n` is 0"),
        ({"n": 2.5}, "`n` is 2.5"),
        ({"n": 3, "seed": -1}, "`seed` is -1"),
        ({"n": 3, "seed": 0.5}, "`seed` is 0.5"),
    ],
)
def test_arguments_of_paths_that_are_not_allowed_are_named(naive, arguments, told):
    with pytest.raises((ValueError, TypeError), match=f"{told}; allowed: a whole number of"):
        naive.sample_paths(**arguments)


# -- batches and order -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", ["direct", "recursive"])
def test_the_score_does_not_depend_on_how_many_windows_are_forecast_together(monkeypatch, decoder):
    frame = waves(160)
    forecaster = NeuralForecaster(
        LSTM(width=8), HORIZON, decoder=decoder, context_length=16, patch_length=4, training=SMALL
    )
    forecaster.fit(frame.iloc[:60])
    stamps = list(frame["ds"].iloc[50:150])
    scores = []
    for size in (1, 7, 32, 1024):
        monkeypatch.setattr("forecast.neural._PREDICTION_BATCH", size)
        table = forecaster.predict(frame, cutoffs=stamps).merge(frame, on=["unique_id", "ds"])
        scores.append(((table["y"] - table["prediction"]).abs().mean(), len(table)))
    assert len(scores[0]) == 2
    assert {count for _, count in scores} == {100 * HORIZON}
    np.testing.assert_allclose([error for error, _ in scores], scores[0][0], rtol=1e-6)


def test_a_model_with_a_fixed_context_reads_no_more_than_that():
    """For Drift and for a series unknown at fit all of the history is needed, as their docstrings say."""
    frame = waves(90, 61, 40)
    for name, context in [("Naive", 1), ("SeasonalNaive", 4), ("WindowAverage", 5), ("NLinear", 12), ("LSTM", 24)]:
        forecaster = clone(PATTERNS[name]).fit(frame)
        last = frame.groupby("unique_id", sort=False).tail(context)
        same(forecaster.predict(last, horizon=4), forecaster.predict(frame, horizon=4), rtol=1e-5)


# -- known covariates ------------------------------------------------------------------------------------------------


class Reader(Naive):
    """Adds the known covariate of each step to the last value."""

    reads_covariates = True

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        beside = panel.covariates
        rows = (beside.starts - beside.first)[origins.series, None] + origins.cutoffs[:, None]
        told = beside.known.numbers[rows + np.arange(1, self.horizon + 1), 0]
        return Forecast(forecast.quantiles + told[:, :, None], forecast.mean + told)


def priced(*lengths):
    frame = waves(*lengths)
    return frame.assign(price=np.arange(len(frame), dtype="float64"))


@pytest.fixture(scope="module")
def reader():
    return Reader(HORIZON).fit(priced(40, 30), roles=Roles(known=("price",)))


def test_the_rows_of_the_future_frame_filled_in_are_what_is_read(reader):
    future = reader.future_frame()
    assert list(future.columns) == ["unique_id", "ds", "price"]
    plain = Naive(HORIZON).fit(waves(40, 30)).predict()
    pd.testing.assert_frame_equal(future[["unique_id", "ds"]], plain[["unique_id", "ds"]])
    assert future["price"].isna().all()
    future["price"] = 100.0 + np.arange(len(future))
    table = reader.predict(future=future)
    np.testing.assert_allclose(table["prediction"] - plain["prediction"], future["price"], rtol=1e-5)
    both = pd.concat([priced(40, 30), future])  # history and future in one frame
    same(reader.predict(future=both.sort_values(["unique_id", "ds"])), table)
    one = reader.predict(future=future[future["unique_id"] == "a"], ids=["a"])
    same(one, table[table["unique_id"] == "a"])
    assert len(reader.future_frame(horizon=2)) == 4
    assert len(reader.future_frame(cutoffs=["2024-01-02 05:00"])) == HORIZON  # for `a`, whose last row it is


def test_what_is_not_known_of_a_step_is_named_before_anything_is_forecast(reader):
    future = reader.future_frame().assign(price=1.0)
    for missing, told in [
        (None, "series 'b': `price` is not known at 2024-01-02 16:00:00 .step 1.*future_frame"),
        (future.drop(index=[11]), "series 'a': `price` is not known at 2024-01-02 11:00:00 .step 6"),
        (future[future["unique_id"] == "b"], "series 'a': `price` is not known at 2024-01-02 06:00:00 .step 1"),
    ]:
        for ask in (reader.predict, lambda **given: reader.sample_paths(5, **given)):
            with pytest.raises(FrameError, match=told):
                ask(future=missing)
    assert reader.predict(future=future.drop(index=[11]), ids=["b"])["prediction"].notna().all()


def test_a_forecaster_that_reads_no_covariates_needs_none():
    frame = priced(40, 30)
    fitted = Naive(HORIZON).fit(frame, roles=Roles(known=("price",)))
    same(fitted.predict(), Naive(HORIZON).fit(frame).predict())
    same(fitted.predict(future=fitted.future_frame().assign(price=1.0)), fitted.predict())


def test_a_future_in_which_nothing_is_known_is_refused(naive):
    with pytest.raises(ValueError, match="`future` was given, but no column has the role known"):
        naive.predict(future=naive.future_frame())


def test_the_actual_future_is_not_asked_for_within_the_history(reader):
    cutoff = FRAME["ds"].iloc[12]
    assert len(reader.predict(cutoffs=[cutoff])) == 2 * HORIZON


# -- what users report -----------------------------------------------------------------------------------------------


def test_folds_at_the_edges_are_all_there():
    """168 hourly rows, 24 of them to begin with, steps of 24: six folds, the last one whole."""
    frame = frame_of({"a": np.arange(168.0)})
    ledger = backtest(frame, [Naive(24)], Plan(horizon=24, stride=24, n_folds=6))
    assert ledger.forecasts["cutoff"].nunique() == 6
    assert ledger.forecasts["ds"].max() == frame["ds"].max()


def test_errors_are_in_the_units_of_the_data_and_scaled_ones_without_units():
    plan = Plan(horizon=HORIZON, n_folds=3)
    one, other = (
        score(backtest(FRAME.assign(y=FRAME["y"] * size), [Naive(HORIZON)], plan), metrics=("mae", "mase"))
        for size in (1, 1000)
    )
    assert other["mae"].iloc[0] == pytest.approx(1000 * one["mae"].iloc[0], rel=1e-4)
    assert other["mase"].iloc[0] == pytest.approx(one["mase"].iloc[0], rel=1e-4)


def test_forecasts_of_shuffled_series_are_told_by_id_time_and_step(fitted):
    turned = pd.concat([FRAME[FRAME["unique_id"] == name] for name in ("c", "b", "a")])
    table = fitted.predict(turned)
    assert list(dict.fromkeys(table["unique_id"])) == ["c", "b", "a"]
    joined = table.merge(fitted.predict(), on=["unique_id", "cutoff", "ds", "step"])
    assert len(joined) == len(table)
    np.testing.assert_allclose(joined["prediction_x"], joined["prediction_y"], rtol=1e-5)


def test_an_argument_that_a_model_does_not_take_is_an_error():
    with pytest.raises(TypeError, match="context_length"):
        Naive(HORIZON, context_length=12)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="h"):
        Naive(HORIZON).fit(FRAME).predict(h=3)  # pyright: ignore[reportCallIssue]
