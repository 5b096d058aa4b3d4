"""What every forecaster keeps. A new one is a line in `FORECASTERS`; it has to be cheap to fit."""

import copy
import pickle
import random

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
from forecast.evaluation import label_of
from forecast.forecaster import Forecast, Forecaster, NotFittedError
from forecast.frame import FrameError, Roles, check_frame
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, LSTM
from forecast.quantiles import check_levels, mean_of
from forecast.synthetic import Oracle
from forecast.training import Training

HORIZON = 6
FORECASTERS = [
    Naive(HORIZON),
    SeasonalNaive(HORIZON),
    Drift(HORIZON),
    WindowAverage(HORIZON, window=5),
    Theta(HORIZON),
    NLinear(HORIZON, context_length=12),
    Oracle("damped_trend", HORIZON),
    *[
        NeuralForecaster(backbone(width=8), HORIZON, context_length=24, patch_length=8, training=Training(steps=3))
        for backbone in BACKBONES.values()
    ],
]

every = pytest.mark.parametrize("pattern", FORECASTERS, ids=label_of)
# For tests that fit anew: what a fit makes of frame and arguments it makes of them whatever the backbone.
TELLING = tuple(BACKBONES[name] for name in ("lstm", "tcn", "graph_transformer"))
each_fitted_anew = pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(one, marks=() if isinstance(getattr(one, "backbone", LSTM()), TELLING) else pytest.mark.slow)
        for one in FORECASTERS
    ],
    ids=label_of,
)
# Those that read each series by itself; what the others promise instead: test_graph.py.
alone = pytest.mark.parametrize(
    "pattern",
    [one for one in FORECASTERS if not getattr(getattr(one, "backbone", None), "across_series", False)],
    ids=label_of,
)
LEVELS = [f"{level / 10:.1f}" for level in range(1, 10)]
LEVELS_AS_NUMBERS = [float(level) for level in LEVELS]
COLUMNS = ["unique_id", "cutoff", "ds", "step", "prediction", "mean", *LEVELS]
NUMBERS = ["prediction", "mean", *LEVELS]


def frame_of(ids=("b", "a", 3), lengths=(160, 120, 140), *, freq="h", zone=None, integers=False, seed=0):
    """Series with a daily wave; ids are given as text unless all are whole numbers."""
    rng = np.random.default_rng(seed)
    ids = list(ids) if all(isinstance(name, int) for name in ids) else [str(name) for name in ids]
    rows = []
    for place, (name, length) in enumerate(zip(ids, lengths, strict=True)):
        t = np.arange(length)
        y = 5 + 10 * place + 2 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, length)
        ds = t if integers else pd.date_range("2024-03-25", periods=length, freq=freq, tz=zone)
        rows.append(pd.DataFrame({"unique_id": name, "ds": ds, "y": y}))
    return pd.concat(rows, ignore_index=True)


FRAME = frame_of()
_FITTED: dict[str, Forecaster] = {}


@pytest.fixture
def fitted(pattern):
    """A forecaster fitted on FRAME, once for all tests that only read it."""
    key = repr(pattern)
    if key not in _FITTED:
        _FITTED[key] = clone(pattern).fit(FRAME)
    return _FITTED[key]


def same(one, other, **tolerance):
    """Whether two forecast frames agree; without a tolerance, to the last bit."""
    tolerance = tolerance or {"check_exact": True}
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True), **tolerance)


def of(table, name):
    return table[table["unique_id"] == name].reset_index(drop=True)


# -- fit and predict -------------------------------------------------------------------------------------------------


@every
def test_fit_gives_the_forecaster_itself(pattern):
    forecaster = clone(pattern)
    assert forecaster.fit(FRAME) is forecaster


@each_fitted_anew
def test_a_second_fit_forgets_the_first(pattern, fitted):
    other = frame_of(ids=("x", "a"), lengths=(150, 150), seed=1)
    same(clone(pattern).fit(other).fit(FRAME).predict(), fitted.predict())


@each_fitted_anew
def test_a_fit_that_fails_leaves_nothing_of_an_earlier_one(pattern):
    forecaster = clone(pattern).fit(FRAME)
    forecaster.set_params(quantile_levels=(0.9, 0.5))
    with pytest.raises(ValueError, match="`quantile_levels`"):
        forecaster.fit(FRAME)
    forecaster.set_params(quantile_levels=pattern.quantile_levels)
    with pytest.raises(Exception, match="`y`"):
        forecaster.fit(FRAME.assign(y="text"))
    same(forecaster.fit(FRAME).predict(), clone(pattern).fit(FRAME).predict())


@every
def test_the_same_arguments_give_the_same_numbers(pattern, fitted):
    same(clone(pattern).fit(FRAME).predict(), fitted.predict())
    same(fitted.predict(), fitted.predict())


@each_fitted_anew
def test_the_frame_is_left_as_it_is(pattern):
    frame = FRAME.copy(deep=True)
    clone(pattern).fit(frame).predict(frame)
    pd.testing.assert_frame_equal(frame, FRAME)


@each_fitted_anew
def test_a_panel_can_be_fitted_and_is_left_as_it_is(pattern, fitted):
    panel = check_frame(FRAME)
    before = {name: getattr(panel, name).copy() for name in ("values", "observed", "starts", "stops", "first")}
    same(clone(pattern).fit(panel).predict(panel), fitted.predict())
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(panel, name), array)


@every
def test_global_random_states_are_left_as_they_are(pattern):
    import torch

    def states():
        return (
            random.getstate(),
            [np.asarray(x).tolist() for x in np.random.get_state()],
            torch.get_rng_state().tolist(),
        )

    before = states()
    clone(pattern).fit(FRAME).predict()
    assert states() == before


@every
def test_without_a_fit_the_error_names_the_class_and_the_remedy(pattern, tmp_path):
    message = f"this {type(pattern).__name__} is not fitted: call fit\\(frame\\) first"
    for ask in (lambda f: f.predict(), lambda f: f.predict(FRAME), lambda f: f.save(tmp_path)):
        with pytest.raises(NotFittedError, match=message):
            ask(clone(pattern))


# -- the forecast frame ----------------------------------------------------------------------------------------------


@every
def test_the_forecast_frame_has_its_columns_kinds_and_order(pattern, fitted):
    table = fitted.predict()
    assert list(table.columns) == COLUMNS
    assert table["unique_id"].tolist() == [name for name in ("b", "a", "3") for _ in range(HORIZON)]
    assert table["step"].tolist() == [*range(1, HORIZON + 1)] * 3
    assert table["cutoff"].dtype == table["ds"].dtype == FRAME["ds"].dtype
    assert pd.api.types.is_integer_dtype(table["step"])
    assert all(pd.api.types.is_float_dtype(table[name]) for name in NUMBERS)
    assert np.isfinite(table[NUMBERS]).all(axis=None)
    assert (np.diff(table[LEVELS]) >= 0).all()
    assert (table["prediction"] == table["0.5"]).all()
    assert isinstance(table.index, pd.RangeIndex)
    last = FRAME.groupby("unique_id")["ds"].max()
    assert (table["cutoff"] == table["unique_id"].map(last)).all()
    assert (table["ds"] == table["cutoff"] + table["step"] * pd.Timedelta(hours=1)).all()


@each_fitted_anew
@pytest.mark.parametrize(("freq", "zone"), [("h", "Europe/Paris"), ("D", "Europe/Paris"), ("MS", None)])
def test_stamps_come_back_in_the_zone_and_on_the_calendar_of_the_frame(pattern, freq, zone):
    frame = frame_of(ids=("a",), lengths=(150,), freq=freq, zone=zone)
    cut = frame.iloc[:-HORIZON]
    table = clone(pattern).fit(cut).predict()
    assert table["ds"].dtype == frame["ds"].dtype
    assert table["ds"].tolist() == frame["ds"].iloc[-HORIZON:].tolist()


@each_fitted_anew
def test_whole_numbers_serve_as_ids_and_as_time(pattern):
    frame = frame_of(ids=(7, 5), lengths=(150, 120), integers=True)
    table = clone(pattern).fit(frame).predict()
    assert table["unique_id"].tolist() == [7] * HORIZON + [5] * HORIZON
    assert table["ds"].tolist() == [*range(150, 150 + HORIZON), *range(120, 120 + HORIZON)]
    assert pd.api.types.is_integer_dtype(table["unique_id"])
    assert pd.api.types.is_integer_dtype(table["ds"])


@each_fitted_anew
def test_other_quantile_levels_name_other_columns(pattern):
    table = clone(pattern).set_params(quantile_levels=[0.05, 0.5, 0.975]).fit(FRAME).predict()
    assert list(table.columns[4:]) == ["prediction", "mean", "0.05", "0.5", "0.975"]
    assert (np.diff(table[["0.05", "0.5", "0.975"]]) >= 0).all()


# -- what a forecast may depend on -----------------------------------------------------------------------------------


@every
def test_a_newer_frame_is_forecast_from_its_own_end(pattern, fitted):
    newer = frame_of(lengths=(180, 130, 141))
    table = fitted.predict(newer)
    assert of(table, "b")["cutoff"].iloc[0] == newer["ds"].iloc[179]
    assert not np.allclose(of(table, "b")["prediction"], of(fitted.predict(), "b")["prediction"])


@every
def test_cutoffs_give_what_a_frame_cut_there_gives(pattern, fitted):
    stamps = list(FRAME["ds"].iloc[[99, 110, 130]])
    table = fitted.predict(cutoffs=stamps)
    assert len(table) == (3 + 2 + 3) * HORIZON  # the second series ends before the last of them
    for stamp in stamps:
        from_cut = fitted.predict(FRAME[FRAME["ds"] <= stamp])  # the second series from its own end
        same(table[table["cutoff"] == stamp], from_cut[from_cut["cutoff"] == stamp], rtol=1e-4)


@every
def test_rows_are_ordered_by_series_then_cutoff_then_step_whatever_the_order_of_cutoffs(pattern, fitted):
    stamps = list(FRAME["ds"].iloc[[110, 99]])
    table = fitted.predict(cutoffs=stamps)
    same(table, fitted.predict(cutoffs=stamps[::-1]), rtol=1e-5)
    assert table["cutoff"].tolist()[::HORIZON] == stamps[::-1] * 3
    assert list(dict.fromkeys(table["unique_id"])) == ["b", "a", "3"]


@every
def test_rows_after_a_cutoff_never_matter(pattern, fitted):
    cutoff = FRAME["ds"].iloc[100]
    later = FRAME["ds"] > cutoff
    wild = FRAME.assign(y=FRAME["y"].mask(later, -1e6))
    gone = FRAME.assign(y=FRAME["y"].mask(later))
    expected = fitted.predict(cutoffs=[cutoff])
    for changed in (wild, gone):
        same(fitted.predict(changed, cutoffs=[cutoff]), expected, rtol=1e-5)


@alone
def test_other_series_never_matter_to_a_forecast(pattern, fitted):
    whole = fitted.predict()
    for name in ("b", "a", "3"):
        same(fitted.predict(FRAME[FRAME["unique_id"] == name]), of(whole, name), rtol=1e-4)
    wild = FRAME.assign(y=FRAME["y"].mask(FRAME["unique_id"] != "a", 1e6))
    same(of(fitted.predict(wild), "a"), of(whole, "a"), rtol=1e-4)


@every
def test_the_order_of_series_never_matters_to_a_forecast(pattern, fitted):
    turned = pd.concat([FRAME[FRAME["unique_id"] == name] for name in ("3", "b", "a")])
    table = fitted.predict(turned)
    assert list(dict.fromkeys(table["unique_id"])) == ["3", "b", "a"]
    for name in ("b", "a", "3"):
        same(of(table, name), of(fitted.predict(), name), rtol=1e-4)


@alone
def test_a_series_that_was_not_there_at_fit_is_forecast(pattern, fitted):
    table = fitted.predict(frame_of(ids=("new",), lengths=(130,)))
    assert table["unique_id"].tolist() == ["new"] * HORIZON
    assert np.isfinite(table[NUMBERS]).all(axis=None)
    assert table["prediction"].between(0, 10).all()


# -- what can be asked -----------------------------------------------------------------------------------------------


@every
def test_some_series_are_forecast_as_among_all(pattern, fitted):
    whole = fitted.predict()
    table = fitted.predict(ids=["3", "b"])
    same(table, pd.concat([of(whole, "3"), of(whole, "b")]), rtol=1e-4)
    with pytest.raises(ValueError, match="`ids` names 'B', which is none of the 3 series; the nearest is 'b'"):
        fitted.predict(ids=["B"])


@every
def test_fewer_steps_are_the_first_ones(pattern, fitted):
    whole = fitted.predict()
    same(fitted.predict(horizon=2), whole[whole["step"] <= 2])


@every
def test_more_steps_go_on_from_those_of_the_fit_or_are_refused(pattern, fitted):
    further = HORIZON + 5
    if not isinstance(pattern, Naive | SeasonalNaive | Drift | WindowAverage | Theta | Oracle):
        with pytest.raises(
            ValueError, match=f"`horizon` is {further}; this {type(pattern).__name__} was fitted .* 6 st"
        ):
            fitted.predict(horizon=further)
        return
    table = fitted.predict(horizon=further)
    assert table["step"].tolist() == [*range(1, further + 1)] * 3
    same(table[table["step"] <= HORIZON], fitted.predict())
    assert np.isfinite(table[NUMBERS]).all(axis=None)


@every
def test_levels_that_were_not_fitted_lie_between_those_that_were(pattern, fitted):
    whole = fitted.predict()
    table = fitted.predict(quantile_levels=(0.01, 0.3, 0.35, 0.99))
    assert list(table.columns[4:]) == ["prediction", "mean", "0.01", "0.3", "0.35", "0.99"]
    for name in ("prediction", "mean", "0.3"):
        pd.testing.assert_series_equal(table[name], whole[name], check_exact=True)
    beside = pd.concat(
        [table[["0.01"]], whole[["0.1", "0.3"]], table[["0.35"]], whole[["0.9"]], table[["0.99"]]], axis=1
    )
    assert (np.diff(beside) >= 0).all()


@every
def test_fitted_values_are_the_forecasts_from_each_cutoff_beside_the_actuals(pattern, fitted):
    table = fitted.fitted_values(stride=HORIZON)
    assert list(table.columns) == [*COLUMNS[:4], "y", *COLUMNS[4:]]
    assert not table.duplicated(["unique_id", "ds"]).any()
    assert np.isfinite(table[["y", *NUMBERS]]).all(axis=None)
    actuals = table.merge(FRAME, on=["unique_id", "ds"])
    np.testing.assert_allclose(actuals["y_x"], actuals["y_y"], rtol=1e-6)
    cutoff = of(table, "a")["cutoff"].iloc[-1]
    last = of(table[table["cutoff"] == cutoff], "a")
    same(last.drop(columns="y"), fitted.predict(ids=["a"], cutoffs=[cutoff]), rtol=1e-4)


@every
def test_paths_are_spread_as_the_quantiles_say_and_repeat_under_a_seed(pattern, fitted):
    table = fitted.sample_paths(100)
    same(table, fitted.sample_paths(100))
    paths, whole = table.iloc[:, 4:], fitted.predict()
    same(table.iloc[:, :4], whole.iloc[:, :4])
    width = (whole["0.9"] - whole["0.1"]).to_numpy()
    for level in ("0.2", "0.5", "0.8"):
        apart = np.quantile(paths, float(level), axis=1) - whole[level]
        assert (np.abs(apart) <= 0.05 * width).all()


@each_fitted_anew
@pytest.mark.parametrize("horizon", [1, 13])
def test_horizons_of_one_and_of_thirteen_steps_are_forecast_alike(pattern, horizon):
    table = clone(pattern).set_params(horizon=horizon).fit(FRAME).predict()
    assert table["step"].tolist() == [*range(1, horizon + 1)] * 3
    assert np.isfinite(table[NUMBERS]).all(axis=None)


@every
def test_covariates_of_every_role_may_be_there(pattern):
    t = np.arange(len(FRAME))
    beside = {"shop": FRAME["unique_id"].map({"b": "big", "a": "small", "3": "big"}), "price": t % 5, "rain": t % 3}
    roles = Roles(static=("shop",), known=("price",), past=("rain",))
    forecaster = clone(pattern).fit(FRAME.assign(**beside), roles=roles)
    future = forecaster.future_frame()
    table = forecaster.predict(future=future.assign(price=2.0))
    assert table[["unique_id", "ds"]].equals(future[["unique_id", "ds"]])
    assert np.isfinite(table[NUMBERS]).all(axis=None)
    assert np.isfinite(forecaster.fitted_values(stride=20)[NUMBERS]).all(axis=None)
    if forecaster.reads_covariates:
        with pytest.raises(FrameError, match="series 'b': `price` is not known at 2024-03-31 16:00:00"):
            forecaster.predict()
    else:
        same(table, forecaster.predict())


# -- manners ---------------------------------------------------------------------------------------------------------


@every
def test_constructing_stores_the_arguments_and_does_nothing_else(pattern):
    params = pattern.get_params(deep=False)
    made = type(pattern)(**params)
    assert vars(made) == params
    assert all(getattr(made, name) is value for name, value in params.items())


@every
def test_a_clone_has_the_arguments_and_no_fit(pattern, fitted):
    copied = clone(fitted)
    assert copied.get_params(deep=False) == pattern.get_params(deep=False)
    assert not [name for name in vars(copied) if name.endswith("_")]


@each_fitted_anew
def test_arguments_can_be_set_and_only_those_that_are_there(pattern):
    forecaster = clone(pattern)
    assert forecaster.set_params(horizon=3) is forecaster
    assert forecaster.get_params()["horizon"] == 3
    assert len(forecaster.fit(FRAME).predict()) == 3 * 3
    with pytest.raises(ValueError, match=f"{type(pattern).__name__} has no parameter 'horizn'; it has .*horizon"):
        forecaster.set_params(horizn=3)


@every
def test_the_repr_makes_the_forecaster_again(pattern, fitted):
    assert repr(fitted) == repr(pattern)
    names = {kind.__name__: kind for kind in _kinds(pattern)}
    again = eval(repr(pattern), names)
    assert again.get_params(deep=False) == pattern.get_params(deep=False)


def _kinds(pattern):
    """The classes that the repr of a forecaster may name."""
    return [type(pattern), *(type(value) for value in pattern.get_params(deep=False).values())]


@every
@pytest.mark.parametrize(
    "copy_of", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "copy", "pickle"]
)
def test_copies_are_equal_fitted_or_not(pattern, fitted, copy_of):
    same(copy_of(fitted).predict(), fitted.predict())
    unfitted = copy_of(clone(pattern))
    assert unfitted.get_params(deep=False) == pattern.get_params(deep=False)
    assert not hasattr(unfitted, "panel_")


@every
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("horizon", 0),
        ("horizon", -1),
        ("horizon", 2.5),
        ("horizon", True),
        ("season_length", 0),
        ("quantile_levels", ()),
        ("quantile_levels", 0.5),
        ("quantile_levels", (0.1, 0.9)),
        ("quantile_levels", (0.5, 0.1)),
        ("quantile_levels", (0.1, 0.5, 0.5)),
        ("quantile_levels", (0.0, 0.5)),
        ("quantile_levels", (0.5, 1.0)),
        ("quantile_levels", (0.5, float("nan"))),
        ("quantile_levels", ("0.1", "0.5")),
        ("quantile_levels", (10, 50, 90)),
    ],
)
def test_arguments_that_are_not_allowed_are_named_at_fit(pattern, argument, value):
    with pytest.raises((ValueError, TypeError), match=f"`{argument}` is .*; allowed: "):
        clone(pattern).set_params(**{argument: value}).fit(FRAME)


@every
def test_cutoffs_that_are_not_allowed_are_named(pattern, fitted):
    stamp = FRAME["ds"].iloc[100]
    for cutoffs, message in [
        (["2020-01-01"], "no series is under way at 2020-01-01 00:00:00; the data run from 2024-03-25 00:00:00 to"),
        (["2030-01-01"], "no series is under way at 2030-01-01 00:00:00"),
        ([stamp, stamp], f"{stamp} comes twice"),
        ([], "allowed: a list of one or more stamps"),
        (stamp, "allowed: a list of one or more stamps"),
        (str(stamp), "allowed: a list of one or more stamps"),
        (["yesterday evening"], "'yesterday evening'"),
        ([stamp, 7], "the time axis holds timestamps; got 7"),
        ([stamp.tz_localize("UTC")], "the frame's stamps have no time zone"),
    ]:
        with pytest.raises((ValueError, TypeError), match=f"`cutoffs`.*{message}"):
            fitted.predict(cutoffs=cutoffs)


@every
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"horizon": 3}, "with `horizon` 6 and .*, and now has 3 and"),
        ({"quantile_levels": (0.05, *LEVELS_AS_NUMBERS[1:])}, r"`quantile_levels` \(0\.1, .* now has 6 and \(0\.05, "),
    ],
)
def test_a_shape_set_after_the_fit_asks_for_another_fit(pattern, fitted, changed, told, tmp_path):
    forecaster = copy.copy(fitted).set_params(**changed)
    for ask in (lambda f: f.predict(), lambda f: f.predict(FRAME), lambda f: f.save(tmp_path)):
        with pytest.raises(ValueError, match=f"{told}.*: call fit\\(frame\\) again"):
            ask(forecaster)
    forecaster.set_params(horizon=HORIZON, quantile_levels=pattern.quantile_levels)
    same(forecaster.predict(), fitted.predict())


@every
def test_a_frame_that_may_not_enter_is_told_with_the_frequency_of_the_fit(pattern, fitted):
    with pytest.raises(ValueError, match="rows are missing") as caught:
        fitted.predict(frame_of(freq="D"))
    assert caught.value.__notes__ == ["(a frame to predict from has to have the frequency 'h' of the one of `fit`)"]


@every
def test_data_of_another_frequency_are_refused(pattern, fitted):
    with pytest.raises(
        ValueError,
        match=r"`frame` has frequency 'D'; this .* was fitted on 'h': give data of that frequency, or fit again",
    ):
        fitted.predict(check_frame(frame_of(freq="D")))


# -- saving ----------------------------------------------------------------------------------------------------------


@every
def test_a_loaded_forecaster_says_the_same(pattern, fitted, tmp_path):
    fitted.save(tmp_path / "a" / "b")
    loaded = Forecaster.load(tmp_path / "a" / "b")
    assert type(loaded) is type(pattern)
    assert repr(loaded) == repr(pattern)
    same(loaded.predict(), fitted.predict())
    newer = frame_of(ids=("b", "3"), lengths=(180, 130))
    same(loaded.predict(newer), fitted.predict(newer))
    assert not [path for path in (tmp_path / "a" / "b").iterdir() if path.suffix not in (".json", ".safetensors")]


@each_fitted_anew
def test_saving_takes_nothing_but_json_and_arrays_and_no_rows_that_were_cut_off(pattern, tmp_path):
    panel = check_frame(FRAME).until(check_frame(FRAME).calendar.ordinal(FRAME["ds"].iloc[110]))
    forecaster = clone(pattern).fit(panel)
    forecaster.save(tmp_path)
    loaded = type(pattern).load(tmp_path)
    assert len(loaded.panel_.values) == 3 * 111
    same(loaded.predict(), forecaster.predict())


@each_fitted_anew
@pytest.mark.parametrize(
    "frame",
    [
        frame_of(ids=(7, 5), lengths=(150, 120), integers=True),
        frame_of(lengths=(150, 120, 100), freq="D", zone="Europe/Paris"),
        frame_of(lengths=(150, 120, 100), freq="15min", zone="UTC"),
        frame_of(ids=("a",), lengths=(100,), freq="QE-NOV"),
        frame_of(ids=("a",), lengths=(100,), freq="B"),
        frame_of(ids=("a",), lengths=(100,), freq="2W-TUE"),
    ],
    ids=["integers", "daily in a zone", "quarters of an hour", "quarters", "business days", "fortnights"],
)
def test_calendars_survive_saving(pattern, frame, tmp_path):
    forecaster = clone(pattern).fit(frame)
    forecaster.save(tmp_path)
    loaded = Forecaster.load(tmp_path)
    same(loaded.predict(), forecaster.predict())
    assert loaded.panel_.calendar.season_length == forecaster.panel_.calendar.season_length
    same(loaded.predict(frame), forecaster.predict(frame))


def test_options_of_the_door_survive_saving(tmp_path):
    names = {"unique_id": "shop", "y": "sales"}
    frame = FRAME.drop(index=[40, 41]).rename(columns=names).assign(price=1.0)
    fitted = Naive(HORIZON).fit(frame, columns=names, gaps="mask", roles=Roles(known=("price",)))
    fitted.save(tmp_path)
    loaded = Forecaster.load(tmp_path)
    assert loaded.door_ == fitted.door_
    same(loaded.predict(frame), fitted.predict(frame))


# -- what a subclass is held to --------------------------------------------------------------------------------------


class Wrong(Naive):
    """Gives forecasts as the test wants them."""

    def _forecast(self, panel, origins):
        return Forecast(self.quantiles, self.mean)


@pytest.mark.parametrize(
    ("quantiles", "mean", "message"),
    [
        (
            np.ones((3, HORIZON, 2)),
            np.ones((3, HORIZON)),
            r"quantiles \(3, 6, 2\) and mean \(3, 6\); expected \(3, 6, 9\)",
        ),
        (np.ones((3, HORIZON, 9)), np.ones(3), r"mean \(3,\); expected \(3, 6, 9\) and \(3, 6\)"),
        (np.ones((3, HORIZON, 9)), np.full((3, HORIZON), np.nan), "no finite number for series 'b', cutoff .*, step 1"),
        (np.full((3, HORIZON, 9), np.inf), np.ones((3, HORIZON)), "Wrong forecast no finite number"),
    ],
)
def test_forecasts_of_the_wrong_shape_or_without_a_number_are_refused(quantiles, mean, message):
    forecaster = Wrong(HORIZON).fit(FRAME)
    forecaster.quantiles, forecaster.mean = quantiles, mean
    with pytest.raises(ValueError, match=message):
        forecaster.predict()


def test_levels_may_come_as_an_array():
    check_levels(np.array([0.1, 0.5]))


def test_the_mean_of_symmetric_quantiles_is_their_middle():
    quantiles = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.0, 0.0, 0.0, 10.0]])
    mean = mean_of(quantiles, (0.1, 0.3, 0.5, 0.7, 0.9))
    np.testing.assert_allclose(mean, [3.0, 2.0])


def test_messages_tell_whole_numbers_as_ids_plainly():
    frame = frame_of(ids=(7, 5), lengths=(40, 30))
    forecaster = Wrong(HORIZON).fit(frame)
    forecaster.quantiles, forecaster.mean = np.full((2, HORIZON, 9), np.nan), np.ones((2, HORIZON))
    with pytest.raises(ValueError, match="for series 7, cutoff"):
        forecaster.predict()
    late = frame.assign(y=frame["y"].mask(frame.index < 10))
    for ask, message in [
        (lambda: NLinear(HORIZON, context_length=200).fit(frame), "series 7, the longest"),
        (lambda: Naive(HORIZON).fit(late).predict(cutoffs=[frame["ds"].iloc[5]]), "series 7 has no observed value"),
        (lambda: NeuralForecaster("lstm", 45).fit(frame), "series 7, the longest"),
    ]:
        with pytest.raises(FrameError, match=message):
            ask()


@every
def test_an_option_that_fit_does_not_have_is_named_with_those_it_has(pattern):
    with pytest.raises(TypeError, match=r"`gap` is no option of `fit` of .*; allowed: freq, columns, roles, gaps"):
        clone(pattern).fit(FRAME, gap="mask")
