"""Series that are short, odd or missing: finite forecasts from every forecaster, or the name of what it cannot take."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
from forecast.evaluation import label_of
from forecast.forecaster import Forecaster
from forecast.frame import FrameError
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, DECODERS, LSTM
from forecast.training import Training

# Series that move by less than float32 can tell are told of at the door, and forecast as constant.
pytestmark = pytest.mark.filterwarnings("ignore:.*one number in float32")
HORIZON = 6
LENGTH = 80


def network(backbone, decoder="direct"):
    small = Training(steps=3)
    return NeuralForecaster(
        backbone, HORIZON, decoder=decoder, context_length=24, patch_length=8, season_length=24, training=small
    )


RULES = [Naive(HORIZON), SeasonalNaive(HORIZON), Drift(HORIZON), WindowAverage(HORIZON), Theta(HORIZON)]
FORECASTERS = [
    *RULES,
    NLinear(HORIZON, context_length=12),
    *[network(backbone(width=8)) for backbone in BACKBONES.values()],
    *[network("lstm", decoder) for decoder in DECODERS if decoder != "direct"],
]
every = pytest.mark.parametrize("pattern", FORECASTERS, ids=label_of)
# Where it is the trunk that keeps what is odd from the backbone: one of these stands for all, under every decoder.
of_the_trunk = pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(one, marks=() if isinstance(getattr(one, "backbone", LSTM()), LSTM | str) else pytest.mark.slow)
        for one in FORECASTERS
    ],
    ids=label_of,
)
# Those that read each series by itself; what the others promise: test_graph.py.
ALONE = [one for one in FORECASTERS if not getattr(getattr(one, "backbone", None), "across_series", False)]
alone = pytest.mark.parametrize("pattern", ALONE, ids=label_of)
learning = pytest.mark.parametrize("pattern", FORECASTERS[len(RULES) :], ids=label_of)


def waves(length=LENGTH, seed=0):
    rng = np.random.default_rng(seed)
    return 5 + 2 * np.sin(2 * np.pi * np.arange(length) / 24) + rng.normal(0, 0.5, length)


def missing(y, *rows):
    y = y.copy()
    y[list(rows)] = np.nan
    return y


T = np.arange(LENGTH, dtype="float64")
ODD = {
    "constant": np.full(LENGTH, 3.5),
    "constant at 1e12": np.full(LENGTH, 1.2345e12),
    "all zero": np.zeros(LENGTH),
    "one value": np.full(1, 4.0),
    "two values": np.array([4.0, 5.0]),
    "shorter than the horizon": waves(HORIZON - 1),
    "shorter than the context": waves(20),
    "huge": waves() * 1e12,
    "tiny": waves() * 1e-12,
    "small moves at 1e12": 1e12 + 1e6 * waves(),
    "moves lost in float32": 1e12 + waves(),
    "tiny and negative": -waves() * 1e-12,
    "counts with few sales": (T % 17 == 3).astype("float64"),
    "from tiny to huge": np.where(T < 40, 1e-12, 1e12) * waves(),
    "a line": 1e3 * T,
    "a parabola downwards": -(T**2),
    "growing by a third each step": 1.3**T,
    "a gap": missing(waves(), *range(30, 60)),
    "a gap at the end": missing(waves(), *range(70, LENGTH)),
    "a gap at the end longer than the context": missing(waves(), *range(40, LENGTH)),
    "nothing but the first": missing(waves(), *range(1, LENGTH)),
    "nothing but the last": missing(waves(), *range(LENGTH - 1)),
    "every second missing": missing(waves(), *range(0, LENGTH - 1, 2)),
    "an outlier": np.where(T == 70, 1e9, waves()),
}


def frame_of(series):
    return pd.concat(
        [
            pd.DataFrame({"unique_id": name, "ds": pd.date_range("2024-01-01", periods=len(y), freq="h"), "y": y})
            for name, y in series.items()
        ],
        ignore_index=True,
    )


NORMAL = {"a": waves(seed=1), "b": waves(seed=2), "c": waves(seed=3)}
FRAME = frame_of(NORMAL)
_FITTED: dict[str, Forecaster] = {}


@pytest.fixture
def fitted(pattern):
    """A forecaster fitted on three series with nothing odd in them."""
    key = repr(pattern)
    if key not in _FITTED:
        _FITTED[key] = clone(pattern).fit(FRAME)
    return _FITTED[key]


def numbers(table, name):
    """The prediction, the mean and the quantiles of one series, (H, 11)."""
    return table[table["unique_id"] == name].iloc[:, 4:].to_numpy(dtype="float64")


def check(table, series):
    """Finite, never crossing, and of the size of what the series shows."""
    for name, y in series.items():
        found, shown = numbers(table, name), y[np.isfinite(y)]
        assert found.shape == (HORIZON, 11), name
        assert np.isfinite(found).all(), name
        assert (np.diff(found[:, 2:], axis=1) >= 0).all(), name
        size = np.abs(shown).max()
        assert np.abs(found).max() <= 20 * size, name
        if np.ptp(shown) == 0:
            np.testing.assert_allclose(found, shown[0], rtol=1e-6, atol=0, err_msg=name)


# -- at fit ----------------------------------------------------------------------------------------------------------


@every
def test_odd_series_among_others_are_forecast_with_numbers_of_their_size(pattern):
    series = NORMAL | ODD
    table = clone(pattern).fit(frame_of(series)).predict()
    check(table, series)
    assert list(dict.fromkeys(table["unique_id"])) == [*series]


@of_the_trunk
def test_a_frame_of_constant_series_alone_is_forecast_as_it_is(pattern):
    levels = {"zero": 0.0, "below": -3.5, "huge": 1e12, "tiny": 1e-12}
    table = clone(pattern).fit(frame_of({name: np.full(60, level) for name, level in levels.items()})).predict()
    for name, level in levels.items():
        np.testing.assert_allclose(numbers(table, name), np.float32(level), rtol=1e-6, atol=0)


@of_the_trunk
def test_ten_series_one_step_short_of_a_window_are_forecast(pattern):
    short = {f"s{k}": waves(24 + HORIZON - 1, seed=k) for k in range(10)}
    check(clone(pattern).fit(frame_of(short)).predict(), short)


@learning
def test_series_that_are_all_too_short_to_learn_from_are_refused_with_length_and_what_is_needed(pattern):
    with pytest.raises(FrameError, match=rf"series 'long', the longest, has {HORIZON} rows.* needs? (at least )?\d+"):
        clone(pattern).fit(frame_of({"s": waves(3), "long": waves(HORIZON)}))


@pytest.mark.parametrize("pattern", RULES, ids=label_of)
@pytest.mark.parametrize("length", [1, 2, 5])
def test_a_rule_needs_one_value_only(pattern, length):
    short = {"a": waves(length), "b": waves(1)}
    check(clone(pattern).fit(frame_of(short), freq="h").predict(), short)


# -- at predict ------------------------------------------------------------------------------------------------------


@alone
def test_odd_series_that_were_not_there_at_fit_are_forecast(pattern, fitted):
    check(fitted.predict(frame_of(ODD)), ODD)


@alone
def test_what_is_odd_in_some_series_leaves_the_others_as_they_are_to_the_last_bit(pattern, fitted):
    odd = {name: y for name, y in ODD.items() if len(y) == LENGTH}
    before = fitted.predict(frame_of({"a": NORMAL["a"], **dict.fromkeys(odd, NORMAL["b"]), "c": NORMAL["c"]}))
    after = fitted.predict(frame_of({"a": NORMAL["a"], **odd, "c": NORMAL["c"]}))
    for name in ("a", "c"):
        np.testing.assert_array_equal(numbers(after, name), numbers(before, name))


@every
def test_a_missing_value_is_masked_in_what_is_read(pattern, fitted):
    holed = NORMAL | {"b": missing(NORMAL["b"], LENGTH - 3)}
    check(fitted.predict(frame_of(holed)), holed)


@every
@pytest.mark.parametrize("size", [1e-12, 1e6, 1e12])
def test_series_far_off_the_scale_of_the_fit_are_forecast_where_they_are(pattern, fitted, size):
    """A trend that ends far above all that was seen: the forecast is near its end, not where the fit was."""
    far = {name: size * (1000 + T + 0.1 * y) for name, y in NORMAL.items()}
    table = fitted.predict(frame_of(far))
    for name, y in far.items():
        if not isinstance(pattern, Drift | Naive | SeasonalNaive | WindowAverage):  # their spread is that of the fit
            assert np.abs(numbers(table, name) - y[-1]).max() < np.ptp(y), name
        assert np.isfinite(numbers(table, name)).all()


# -- refusals --------------------------------------------------------------------------------------------------------


@every
def test_a_series_without_any_value_is_refused_by_name(pattern, fitted):
    frame = frame_of(NORMAL | {"b": np.full(LENGTH, np.nan)})
    for ask in (clone(pattern).fit, fitted.predict):
        with pytest.raises(FrameError, match=r"series 'b' has 0 observed values of `y`; at least 1 .*short=\"drop\""):
            ask(frame)


@every
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused_with_column_count_series_and_stamp(pattern, fitted, value):
    frame = frame_of(NORMAL)
    frame.loc[[LENGTH + 5, LENGTH + 9], "y"] = value
    told = rf"column `y` holds 2 values .*first {value} in series 'b' at 2024-01-01 05:00:00"
    for ask in (clone(pattern).fit, fitted.predict):
        with pytest.raises(FrameError, match=told):
            ask(frame)


@every
def test_an_empty_frame_is_refused(pattern, fitted):
    for ask in (clone(pattern).fit, fitted.predict):
        with pytest.raises(FrameError, match="the frame has no rows"):
            ask(FRAME.iloc[:0])


@alone
def test_one_row_is_enough_to_forecast_from(pattern, fitted):
    check(fitted.predict(FRAME.iloc[:1].assign(unique_id="new")), {"new": NORMAL["a"][:1]})


@pytest.mark.parametrize("pattern", [Naive(HORIZON), network("lstm")], ids=label_of)
def test_series_left_out_by_the_door_are_listed_and_the_others_forecast(pattern):
    frame = frame_of(NORMAL | {"d": waves(3), "e": np.full(LENGTH, np.nan)})
    with pytest.warns(UserWarning, match=r"left out: series 'd' has 3 observed .*\['d', 'e'\]"):
        forecaster = clone(pattern).fit(frame, min_length=5, short="drop")
    assert list(dict.fromkeys(forecaster.predict()["unique_id"])) == ["a", "b", "c"]
