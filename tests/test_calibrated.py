"""A forecaster around another: what it moves, what it holds back, and that it has the manners of all forecasters."""

import copy
import math

import numpy as np
import pandas as pd
import pytest

from forecast import (
    Calibrated,
    Drift,
    FrameError,
    Naive,
    NeuralForecaster,
    NLinear,
    Plan,
    SeasonalNaive,
    Training,
    backtest,
)
from forecast.experiment import load_experiment
from forecast.experiment.arguments import canonical
from forecast.experiment.faults import ConfigError
from forecast.forecaster import DECILES, Forecast, Forecaster
from forecast.frame import check_frame
from forecast.history import last_values
from forecast.nn import LSTM
from forecast.testing import check_forecaster
from forecast.testing.bench import frame_of

H = 4
FRAME = frame_of(H)
NETWORK = NeuralForecaster(LSTM(width=8), H, context_length=24, patch_length=8, training=Training(steps=3))


class Sure(Forecaster):
    """The last value, and quantiles that are off it by their places times `width`; remembers what it was fitted on."""

    family = "baseline"

    def __init__(self, horizon, *, width=0.01, seed=0, season_length=None, quantile_levels=DECILES):
        self.horizon = horizon
        self.width = width
        self.seed = seed
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel):
        self.rows_ = len(panel.values)

    def _forecast(self, panel, origins):
        last = last_values(panel, origins)[:, None, None] * np.ones((1, self.horizon, 1), dtype="float32")
        spread = self.width * (np.arange(len(self.quantile_levels)) - list(self.quantile_levels).index(0.5))
        return Forecast((last + spread).astype("float32"), last[..., 0] + 0.5)


def walks(series=1, length=300, scales=(1.0,), seed=0, freq="h"):
    """Random walks: the last value is the best forecast, and step h is off it by the square root of h."""
    rng = np.random.default_rng(seed)
    rows = []
    for place in range(series):
        y = scales[place % len(scales)] * np.cumsum(rng.normal(size=length))
        ds = pd.date_range("2024-01-01", periods=length, freq=freq)
        rows.append(pd.DataFrame({"unique_id": f"s{place}", "ds": ds, "y": y}))
    return pd.concat(rows, ignore_index=True)


# -- manners ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forecaster",
    [
        Calibrated(NLinear(H)),
        pytest.param(Calibrated(Naive(H), method="residual", refit=True), marks=pytest.mark.slow),
        pytest.param(Calibrated(NETWORK, stride=2), marks=pytest.mark.slow),
        pytest.param(Calibrated(Calibrated(Drift(H))), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_it_keeps_the_contract_of_forecasters(forecaster):
    assert len(check_forecaster(forecaster)) > 20


def test_what_it_wraps_can_be_set_from_outside_and_the_pattern_stays():
    inner = NeuralForecaster(LSTM(width=8), H)
    forecaster = Calibrated(inner)
    given = forecaster.set_params(horizon=7, seed=3, backbone__width=16, windows=5, quantile_levels=(0.1, 0.5, 0.9))
    assert given is forecaster
    assert (forecaster.horizon, forecaster.seed, forecaster.windows) == (7, 3, 5)
    assert forecaster.forecaster.backbone == LSTM(width=16)
    assert (inner.horizon, inner.seed, inner.backbone) == (H, 0, LSTM(width=8))
    assert forecaster.get_params()["forecaster__horizon"] == 7
    assert forecaster.family == "latent-state"
    assert forecaster.reads_covariates
    with pytest.raises(ValueError, match=r"no parameter 'forecaster__horizn'.*did you mean 'forecaster__horizon'"):
        forecaster.set_params(horizn=3)
    assert not hasattr(Calibrated(Naive(H)), "seed")


def test_a_saved_network_inside_it_forecasts_the_same_bit_for_bit(tmp_path):
    for refit in (False, True):
        fitted = Calibrated(NETWORK, windows=9, refit=refit).fit(FRAME)
        fitted.save(tmp_path / str(refit))
        loaded = Forecaster.load(tmp_path / str(refit))
        assert isinstance(loaded.forecaster_, NeuralForecaster)
        pd.testing.assert_frame_equal(loaded.predict(), fitted.predict(), check_exact=True)
        assert repr(loaded) == repr(fitted)
        assert loaded.parameters_ == fitted.parameters_ > 0
    changed = copy.copy(fitted).set_params(method="residual", few="widest")
    pd.testing.assert_frame_equal(changed.predict(), fitted.predict(), check_exact=True)  # waits for the next fit


# -- what it does ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("windows", "stride"), [(9, None), (12, 2), (20, 1), (9, 4)])
def test_quantiles_move_by_the_kth_smallest_error_out_of_sample(windows, stride):
    """Split conformal prediction of one series, step by step and level by level, written out."""
    frame = walks()
    y = frame["y"].to_numpy("float32").astype("float64")
    fitted = Calibrated(Sure(H), windows=windows, stride=stride).fit(frame)
    stride = stride or H
    first = len(y) - H - (windows - 1) * stride
    assert fitted.forecaster_.rows_ == first
    places = np.arange(len(DECILES)) - 4
    steps = np.abs(np.diff(y))
    expected = np.empty((H, 9))
    for h, q in np.ndindex(H, 9):
        scores = []
        for end in range(first, len(y) - H + 1, stride):
            quantile = y[end - 1] + 0.01 * places[q]
            miss = (quantile - y[end + h]) * (1 if places[q] < 0 else -1)
            scores.append(miss / steps[: end - 1].mean())
        share = max(DECILES[q], 1 - DECILES[q])
        k = math.ceil((windows + 1) * share - 1e-9)
        moved = sorted(scores)[k - 1] * steps.mean() * np.sign(places[q])
        expected[h, q] = y[-1] + 0.01 * places[q] + moved
    below = np.minimum.accumulate(expected[:, 4::-1], axis=1)[:, ::-1]
    expected = np.concatenate([below, np.maximum.accumulate(expected[:, 4:], axis=1)[:, 1:]], axis=1)
    table = fitted.predict()
    np.testing.assert_allclose(table[[str(level) for level in DECILES]], expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(table["prediction"], y[-1], rtol=1e-6)
    np.testing.assert_allclose(table["mean"], y[-1] + 0.5, rtol=1e-6)


def test_by_residuals_all_intervals_lie_around_the_median():
    frame = walks()
    y = frame["y"].to_numpy("float32").astype("float64")
    fitted = Calibrated(Sure(H, width=123.0), windows=19, stride=3, method="residual").fit(frame)
    table = fitted.predict()
    ends = np.arange(len(y) - H - 18 * 3, len(y) - H + 1, 3)
    steps = np.abs(np.diff(y))
    for h in range(H):
        scores = sorted(abs(y[end + h] - y[end - 1]) / steps[: end - 1].mean() for end in ends)
        half = scores[16 - 1] * steps.mean()  # 80 % of 19 + 1
        row = table.iloc[h]
        np.testing.assert_allclose([row["0.1"], row["0.9"]], [y[-1] - half, y[-1] + half], rtol=1e-4)


def test_forecasts_that_are_too_sure_or_too_wide_become_honest():
    """Many independent walks: after it, each level holds close to its share of the next actuals."""
    frame = walks(series=40, length=200)
    known = frame.groupby("unique_id").head(200 - H)
    actual = frame.groupby("unique_id", sort=False).tail(H)["y"].to_numpy()
    for width in (0.001, 50.0):
        for name, fitted in (
            ("raw", Sure(H, width=width)),
            ("calibrated", Calibrated(Sure(H, width=width), windows=40)),
        ):
            table = fitted.fit(known).predict()
            inside = ((table["0.1"] <= actual) & (actual <= table["0.9"])).mean()
            assert (abs(inside - 0.8) < 0.11) == (name == "calibrated"), (name, width, inside)


def test_large_series_do_not_decide_for_small_ones():
    frame = walks(series=6, scales=(1.0, 1000.0))
    table = Calibrated(Sure(H), windows=30).fit(frame).predict()
    table["width"] = table["0.9"] - table["0.1"]
    widths = table[table["step"] == H].groupby("unique_id", sort=False)["width"].first().to_numpy()
    assert (widths[::2] < 20).all()
    assert (widths[1::2] > 1000).all()


def test_series_of_one_window_count_as_one():
    """The same series many times over: nothing more is known than of one, and nothing else comes out."""
    one = walks()
    many = pd.concat([one.assign(unique_id=f"s{place}") for place in range(7)], ignore_index=True)
    columns = [str(level) for level in DECILES]
    alone = Calibrated(Sure(H), windows=12).fit(one).predict()
    table = Calibrated(Sure(H), windows=12).fit(many).predict()
    np.testing.assert_allclose(table[columns].to_numpy()[:H], alone[columns])
    with pytest.raises(
        ValueError, match=r"level 0\.1 needs errors seen out of sample in 9 windows at every step; step 1"
    ):
        Calibrated(Sure(H), windows=8).fit(many)


def test_the_rows_held_back_are_not_shown_and_shown_again_by_refit():
    frame = walks()
    held = H + 8 * H
    fitted = Calibrated(Sure(H), windows=9).fit(frame)
    again = Calibrated(Sure(H), windows=9, refit=True).fit(frame)
    assert fitted.forecaster_.rows_ == 300 - held
    assert again.forecaster_.rows_ == 300
    np.testing.assert_array_equal(again.corrections_, fitted.corrections_)
    np.testing.assert_array_equal(again.errors_, [9] * H)


def test_a_network_validates_on_rows_of_its_own_before_those_held_back():
    training = Training(steps=3, validation_length=30)
    fitted = Calibrated(NeuralForecaster(LSTM(width=8), H, context_length=24, training=training), windows=9).fit(FRAME)
    panel = check_frame(FRAME)
    assert fitted.forecaster_.panel_.last.max() == panel.last.max() - 9 * H
    assert fitted.forecaster_.validation_loss_ is not None


def test_a_constant_series_keeps_the_quantiles_and_says_nothing_of_others():
    frame = walks(series=2)
    flat = frame.assign(y=frame["y"].where(frame["unique_id"] == "s0", 5.0))
    columns = [str(level) for level in DECILES]
    table = Calibrated(Sure(H), windows=12).fit(flat).predict()
    own = table[table["unique_id"] == "s1"]
    np.testing.assert_allclose(own[columns], 5 + 0.01 * np.tile(np.arange(9) - 4, (H, 1)), rtol=1e-6)
    alone = Calibrated(Sure(H), windows=12).fit(frame[frame["unique_id"] == "s0"]).predict()
    np.testing.assert_allclose(table[columns].to_numpy()[:H], alone[columns])


def test_series_that_begin_late_or_end_early_are_forecast_and_seen_where_they_are():
    frame = walks(series=3)
    late = frame[(frame["unique_id"] != "s1") | (frame["ds"] >= frame["ds"].iloc[290])]
    late = late[(late["unique_id"] != "s2") | (late["ds"] < frame["ds"].iloc[270])]
    fitted = Calibrated(Sure(H), windows=12).fit(late)
    assert len(fitted.predict()) == 3 * H
    two = late[late["unique_id"] != "s1"]
    np.testing.assert_allclose(fitted.corrections_, Calibrated(Sure(H), windows=12).fit(two).corrections_)


def test_other_levels_other_cutoffs_and_further_steps_can_be_asked():
    fitted = Calibrated(Naive(H)).fit(FRAME)
    cutoff = FRAME["ds"].iloc[100]
    table = fitted.predict(cutoffs=[cutoff], quantile_levels=(0.05, 0.5, 0.95), horizon=H + 3)
    assert len(table) == 3 * (H + 3)
    wide, narrow = table["0.95"] - table["0.05"], fitted.predict(cutoffs=[cutoff], horizon=H + 3)
    assert (wide > narrow["0.9"] - narrow["0.1"]).all()
    shorter = fitted.predict(cutoffs=[cutoff], horizon=2)
    pd.testing.assert_frame_equal(shorter, narrow[narrow["step"] <= 2].reset_index(drop=True), check_exact=True)
    assert len(fitted.sample_paths(3)) == 3 * H


def test_in_a_backtest_it_takes_the_seeds_of_the_forecaster_inside():
    forecasters = [Calibrated(NETWORK, windows=9), Calibrated(SeasonalNaive(H), windows=9), SeasonalNaive(H)]
    ledger = backtest(FRAME, forecasters, Plan(horizon=H, n_folds=3, refit="never"), seeds=[0, 1])
    seeds = {name: [run.seed for run in ledger.of_forecaster(name)] for name in ledger.forecasters}
    assert seeds == {"Calibrated lstm direct": [0, 1], "Calibrated SeasonalNaive": [0], "SeasonalNaive": [0]}
    fits = ledger.fits.drop_duplicates("forecaster").set_index("forecaster")
    assert fits["family"].tolist() == ["latent-state", "baseline", "baseline"]
    assert fits["parameters"].iloc[0] > 0
    assert NETWORK.seed == 0


# -- refusals --------------------------------------------------------------------------------------------------------


def test_too_few_windows_for_a_level_are_told_or_the_widest_error_stands_for_them():
    levels = (0.01, 0.1, 0.5, 0.9)
    with pytest.raises(
        ValueError,
        match=r"level 0\.01 needs errors seen out of sample in 99 windows at every step; step 1 has some in 20\. "
        r"Give more `windows`.*or few='widest'",
    ):
        Calibrated(Sure(H, quantile_levels=levels), windows=20).fit(walks())
    fitted = Calibrated(Sure(H, quantile_levels=levels), windows=20, few="widest").fit(walks())
    table, tenth = fitted.predict(), Calibrated(Sure(H, quantile_levels=levels[1:]), windows=20).fit(walks()).predict()
    assert (table["0.01"] < table["0.1"]).all()
    np.testing.assert_array_equal(table[["0.1", "0.9"]], tenth[["0.1", "0.9"]])


def test_series_that_end_at_different_times_may_give_up_their_own_last_rows_and_every_error_counts():
    frame = walks(series=40)
    frame = frame[frame.groupby("unique_id").cumcount() < 300 - 3 * frame["unique_id"].str[1:].astype(int)]
    options = {"windows": 3, "stride": 4, "align": "ends"}
    fitted = Calibrated(Sure(H), **options).fit(frame)
    assert fitted.forecaster_.rows_ == len(frame) - 40 * (H + 2 * 4)
    missed = []  # of the level 0.9, four places above the median, one step ahead
    for _, own in frame.groupby("unique_id"):
        y = own["y"].to_numpy(dtype="float32").astype(float)
        ends = [len(y) - H - 4 * k for k in range(3)]
        missed += [(y[end] - y[end - 1] - 4 * 0.01) / np.abs(np.diff(y[:end])).mean() for end in ends]
    assert fitted.corrections_[0, -1] == pytest.approx(sorted(missed)[math.ceil(121 * 0.9) - 1], rel=1e-4)
    told = r"level 0\.001 needs errors .* in 999 windows of any series at every step; step 1 has some in 120\."
    with pytest.raises(ValueError, match=told):
        Calibrated(Sure(H, quantile_levels=(0.001, 0.5)), **options).fit(frame)


def test_missing_actuals_count_for_no_window():
    frame = walks()
    frame.loc[frame.index[-H:], "y"] = np.nan
    with pytest.raises(ValueError, match=r"needs errors .* in 9 windows at every step; step 1 has some in 8"):
        Calibrated(Sure(H), windows=9).fit(frame)


@pytest.mark.parametrize(
    ("frame", "options", "told"),
    [
        (walks(length=30), {"windows": 9}, "the longest, has 30 rows .*; 9 windows of 4 steps, 4 apart, hold back 36"),
        (walks().assign(y=1.0), {}, "the rows held back, .* show no error to calibrate by"),
    ],
)
def test_data_that_show_no_error_are_refused(frame, options, told):
    with pytest.raises(FrameError, match=told):
        Calibrated(Sure(H), **{"stride": 4, "windows": 9, **options}).fit(frame)


def test_what_the_forecaster_inside_refuses_is_told_with_the_rows_held_back():
    with pytest.raises(FrameError, match="a context of 90") as caught:
        Calibrated(NLinear(H, context_length=90), windows=9, stride=4).fit(walks(length=120))
    assert "without the last 36 rows, held back by Calibrated" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"windows": 0}, "`windows` is 0; allowed"),
        ({"stride": 1.5}, "`stride` is 1.5; allowed"),
        ({"method": "aci"}, "`method` is 'aci'; allowed: 'cqr', 'residual'"),
        ({"few": "ignore"}, "`few` is 'ignore'; allowed: 'error', 'widest'"),
        ({"refit": "yes"}, "`refit` is 'yes'; allowed: True, False"),
        ({"forecaster": "lstm"}, "`forecaster` is 'lstm'; allowed: a Forecaster, such as"),
    ],
)
def test_arguments_that_are_not_allowed_are_named_at_fit(options, told):
    with pytest.raises((ValueError, TypeError), match=told):
        Calibrated(**{"forecaster": Naive(H), **options}).fit(FRAME)


# -- in an experiment ------------------------------------------------------------------------------------------------

CONFIG = """\
datasets: nyc_weather
gaps: mask
horizon: 24
plan: {n_folds: 2}
forecasters:
  LSTM: &network {type: NeuralForecaster, backbone: {type: lstm, width: 8}, training: {steps: 3}}
  sure LSTM: {type: Calibrated, windows: 30, forecaster: *network}
  Calibrated: {forecaster: SeasonalNaive}
"""


def test_an_experiment_calibrates_a_forecaster_with_its_arguments(tmp_path):
    path = tmp_path / "exp.yaml"
    path.write_text(CONFIG)
    built = load_experiment(path).build_forecasters()
    assert repr(built["sure LSTM"].forecaster) == repr(built["LSTM"])
    assert (built["sure LSTM"].horizon, built["sure LSTM"].windows) == (24, 30)
    assert isinstance(built["Calibrated"].forecaster, SeasonalNaive)
    spelled = canonical(built["sure LSTM"])
    assert spelled["forecaster"]["backbone"]["width"] == 8


@pytest.mark.parametrize(
    ("sound", "faulty", "told"),
    [
        ("forecaster: *network", "forecaster: {backbone: lstm}", r"sure LSTM\.forecaster: should be \{type: \.\.\.\}"),
        ("forecaster: *network", "few: widest", r"sure LSTM\.forecaster: should be .*got None"),
        ("forecaster: SeasonalNaive", "forecaster: SeasonalNave", "did you mean 'SeasonalNaive'"),
        (
            "forecaster: SeasonalNaive",
            "forecaster: {type: SeasonalNaive, horizon: 3}",
            "is set by `horizon` of the exp",
        ),
        ("windows: 30", "window: 30", "sure LSTM.window: unknown key; did you mean 'windows'"),
        ("windows: 30", "windows: many", "sure LSTM.windows: should be a whole number"),
    ],
)
def test_faults_of_a_config_are_told_at_their_place(tmp_path, sound, faulty, told):
    path = tmp_path / "exp.yaml"
    path.write_text(CONFIG.replace(sound, faulty))
    with pytest.raises(ConfigError, match=told):
        load_experiment(path)
