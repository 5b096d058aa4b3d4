"""Covariates from a table to a forecast: they reach every network, are read when they are known, and help."""

import copy
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

from forecast import Forecaster, NeuralForecaster, Plan, Roles, SeasonalNaive, Stream, Training, backtest, score
from forecast.frame import FrameError, check_frame
from forecast.nn import BACKBONES, DECODERS

HORIZON = 6
ROLES = Roles(static=("city",), known=("price", "kind"), past=("rain",), delayed={"returns": 2})
STREAMED = Roles(static=("city",), known=("price", "kind"), past=("rain",))


def frame_of(lengths=(90, 70, 80), seed=0, effect=0.0) -> pd.DataFrame:
    rng, parts = np.random.default_rng(seed), []
    for place, length in enumerate(lengths):
        t = np.arange(length)
        price = np.where(rng.random(length) < 0.3, 0.7, 1.0)
        y = 10 * 3.0**place * (1 + 0.2 * np.sin(2 * np.pi * t / 7) + effect * (1 - price) + rng.normal(0, 0.05, length))
        parts.append(
            pd.DataFrame(
                {
                    "unique_id": f"s{place}",
                    "ds": pd.date_range("2024-01-01", periods=length),
                    "y": y,
                    "price": price * 3.0**place,
                    "kind": rng.choice(["sale", "plain"], length),
                    "rain": rng.normal(size=length),
                    "returns": rng.normal(size=length),
                    "city": ["Rome", "Oslo", "Rome"][place],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


WHOLE = frame_of()
AHEAD = WHOLE.groupby("unique_id").tail(HORIZON)
KNOWN = AHEAD[["unique_id", "ds", "price", "kind"]]
FRAME = WHOLE.drop(AHEAD.index)


def network(backbone="lstm", decoder="direct", **options) -> NeuralForecaster:
    options = {"training": Training(steps=3), "context_length": 16, "patch_length": 4} | options
    return NeuralForecaster(BACKBONES[backbone](width=8), HORIZON, decoder=decoder, **options)


def same(one, other, **tolerance):
    pd.testing.assert_frame_equal(one, other, **(tolerance or {"check_exact": True}))


def numbers(forecast) -> np.ndarray:
    return forecast.iloc[:, 4:].to_numpy("float64")


# They enter before the backbone and in the decoder: what is not told by these runs as slow.
TELLING = ("tcn", "transformer", "graph_transformer")


def telling(backbone, decoder) -> bool:
    return backbone == "lstm" or (backbone in TELLING and decoder == "direct")


combinations = pytest.mark.parametrize(
    ("backbone", "decoder"),
    [
        pytest.param(*both, id="-".join(both), marks=() if telling(*both) else pytest.mark.slow)
        for both in product(BACKBONES, DECODERS)
    ],
)


@combinations
def test_covariates_reach_every_network_and_are_kept_with_it(backbone, decoder, tmp_path):
    forecaster = network(backbone, decoder).fit(FRAME, roles=ROLES)
    forecast = forecaster.predict(future=KNOWN)
    assert np.isfinite(numbers(forecast)).all()
    dearer = forecaster.predict(future=KNOWN.assign(price=KNOWN["price"] * 2))
    assert (numbers(forecast) != numbers(dearer)).any(axis=1).all()
    wetter = forecaster.predict(FRAME.assign(rain=FRAME["rain"] + 1), future=KNOWN)
    assert (numbers(forecast) != numbers(wetter)).any(axis=1).all()
    moved = forecaster.predict(FRAME.replace({"city": {"Oslo": "Rome"}}), future=KNOWN)
    changed = (numbers(forecast) != numbers(moved)).any(axis=1)
    across = BACKBONES[backbone].across_series  # there every series may read the one that moved
    assert (changed == (forecast["unique_id"] == "s1")).all() or across
    forecaster.save(tmp_path)
    same(Forecaster.load(tmp_path).predict(future=KNOWN), forecast)


@combinations
def test_no_covariate_is_read_before_it_is_known(backbone, decoder):
    forecaster = network(backbone, decoder).fit(FRAME, roles=ROLES)
    cutoff = FRAME["ds"].min() + pd.Timedelta(days=40)
    after, late = FRAME["ds"] > cutoff, FRAME["ds"] > cutoff - pd.Timedelta(days=2)
    other = FRAME.copy()
    other.loc[after, ["y", "rain"]] = 1e9
    other.loc[late, "returns"] = -1e9
    other.loc[FRAME["ds"] > cutoff + pd.Timedelta(days=HORIZON), "price"] = 1e9
    same(forecaster.predict(other, cutoffs=[cutoff]), forecaster.predict(FRAME, cutoffs=[cutoff]))


def test_what_a_delayed_column_says_is_read_as_soon_as_it_is_known():
    forecaster = network().fit(FRAME, roles=ROLES)
    cutoff = FRAME["ds"].min() + pd.Timedelta(days=40)
    other = FRAME.copy()
    other.loc[FRAME["ds"] == cutoff - pd.Timedelta(days=2), "returns"] += 5
    before, after = (numbers(forecaster.predict(frame, cutoffs=[cutoff])) for frame in (FRAME, other))
    assert (before != after).all()


@pytest.mark.parametrize(
    ("backbone", "decoder"),
    [
        pytest.param(*both, id="-".join(both), marks=() if telling(*both) else pytest.mark.slow)
        for both in product(("lstm", *TELLING), [name for name, kind in DECODERS.items() if kind.streams])
    ],
)
def test_a_stream_goes_on_with_covariates_as_if_it_began_later(backbone, decoder, tmp_path):
    frame = FRAME.groupby("unique_id").tail(60)
    frame = frame[frame["ds"] <= frame.groupby("unique_id")["ds"].max().min()]  # all end together
    forecaster = network(backbone, decoder).fit(frame, roles=STREAMED)
    days = sorted(frame["ds"].unique())
    stream = forecaster.stream(frame[frame["ds"] <= days[-10]])
    for known in (days[-9], days[-8], days[-7]):
        rows = frame[frame["ds"] == known].drop(columns="city" if known == days[-8] else [])
        found = stream.update(rows, future=frame)
        later = forecaster.stream(frame[frame["ds"] <= known])
        same(found, later.predict(future=frame), rtol=1e-4)
    stream.save(tmp_path)
    same(Stream.load(tmp_path).predict(future=frame), stream.predict(future=frame))


def test_a_stream_over_one_context_says_what_predict_says():
    forecaster = network(context_length=84).fit(FRAME, roles=STREAMED)
    same(forecaster.stream().predict(future=KNOWN), forecaster.predict(future=KNOWN), rtol=1e-4)


def test_a_series_that_begins_in_a_stream_brings_its_static_covariates():
    frame = FRAME[FRAME["unique_id"] != "s2"]
    forecaster = network(context_length=80).fit(frame, roles=STREAMED)
    stream, new = forecaster.stream(), FRAME[FRAME["unique_id"] == "s2"]
    found = stream.update(new, future=KNOWN[KNOWN["unique_id"] == "s2"])
    expected = forecaster.predict(new, future=KNOWN[KNOWN["unique_id"] == "s2"])
    same(found, expected, rtol=1e-4)


def test_the_future_of_all_series_serves_an_update_of_some():
    stream = network().fit(FRAME, roles=STREAMED).stream()
    row = WHOLE[(WHOLE["unique_id"] == "s1") & (WHOLE["ds"] == "2024-03-05")]
    later = WHOLE.assign(ds=WHOLE["ds"] + pd.Timedelta(days=1))  # as long as the horizon after the row
    whole = pd.concat([WHOLE, later.groupby("unique_id").tail(1)]).sort_values(["unique_id", "ds"])
    own = copy.deepcopy(stream).update(row, future=whole[whole["unique_id"] == "s1"])
    same(stream.update(row, future=whole), own)
    with pytest.raises(FrameError, match="series 's9' is not in the data"):
        stream.predict(future=whole.replace({"unique_id": {"s2": "s9"}}))
    with pytest.raises(FrameError, match="series 's1': `price` is not known"):
        stream.update(row.assign(ds=row["ds"] + pd.Timedelta(days=1)), future=whole[whole["unique_id"] == "s0"])


def test_a_stream_asks_for_what_is_known_ahead_and_refuses_what_comes_late():
    stream = network().fit(FRAME, roles=STREAMED).stream()
    with pytest.raises(FrameError, match="series 's0': `price` is not known at 2024-03-25 00:00:00"):
        stream.predict()
    with pytest.raises(FrameError, match="series 's0': `price` is not known at 2024-03-26 00:00:00"):
        stream.update(WHOLE[(WHOLE["unique_id"] == "s0") & (WHOLE["ds"] == "2024-03-25")])
    with pytest.raises(ValueError, match="column `returns` is delayed, and a stream takes each row once"):
        network().fit(FRAME, roles=ROLES).stream()
    with pytest.raises(ValueError, match="`future` was given, but no column has the role known"):
        network().fit(FRAME).stream().predict(future=KNOWN)


def test_a_backtest_gives_each_fold_what_was_known_at_its_cutoff():
    plan = Plan(horizon=HORIZON, n_folds=3, stride=5, refit="never")
    forecasters = {"LSTM": network(), "naive": SeasonalNaive(HORIZON)}
    ledger = backtest(FRAME, forecasters, plan, roles=ROLES)
    last = check_frame(FRAME)
    cutoff = plan.folds(last)[-1].stamp
    after = FRAME["ds"] > cutoff
    other = FRAME.copy()
    other.loc[after, ["rain", "returns"]] = 1e9
    same(ledger.forecasts, backtest(other, forecasters, plan, roles=ROLES).forecasts)
    dearer = FRAME.copy()
    dearer.loc[after, "price"] *= 2
    moved = backtest(dearer, forecasters, plan, roles=ROLES).forecasts
    changed = (moved["prediction"] != ledger.forecasts["prediction"]) & (moved["forecaster"] == "LSTM")
    assert changed[(moved["cutoff"] == cutoff) & (moved["forecaster"] == "LSTM")].all()
    assert not changed[moved["ds"] <= cutoff].any()


def test_an_unknown_category_is_forecast_with_one_warning():
    forecaster = network().fit(FRAME, roles=ROLES)
    with pytest.warns(UserWarning, match="`kind` 'flood'") as warned:
        forecast = forecaster.predict(future=KNOWN.assign(kind="flood"))
    assert len(warned) == 1
    assert np.isfinite(numbers(forecast)).all()


def hours() -> pd.DataFrame:
    stamps = pd.date_range("2024-01-01", periods=600, freq="h", tz="Europe/Berlin")
    return pd.DataFrame({"unique_id": "a", "ds": stamps, "y": np.random.default_rng(0).normal(size=600)})


def test_holidays_are_read_where_they_are_asked_for():
    pytest.importorskip("holidays", reason="needs the extra `calendar`")
    hourly = hours()
    asked, blind = (network(calendar=names).fit(hourly) for names in (("weekend", "holidays:DE"), ("weekend",)))
    assert (numbers(asked.predict()) != numbers(blind.predict())).any()
    ascension, week_before = (hourly.assign(ds=hourly["ds"] + pd.Timedelta(weeks=weeks)) for weeks in (15, 14))
    assert (numbers(asked.predict(ascension)) != numbers(asked.predict(week_before))).any()
    assert (numbers(blind.predict(ascension)) == numbers(blind.predict(week_before))).all()


def test_the_calendar_is_read_where_it_is_asked_for():
    hourly = hours()
    asked = network(calendar=("hour", "weekday")).fit(hourly)
    assert asked.encoding_.calendar == ("hour", "weekday")
    automatic = network(calendar="auto").fit(hourly)
    assert automatic.encoding_.calendar == ("hour", "weekday", "yearday")
    assert np.isfinite(numbers(automatic.predict())).all()
    later = hourly.assign(ds=hourly["ds"] + pd.Timedelta(hours=5))
    assert (numbers(asked.predict(later)) != numbers(asked.predict())).any()
    with pytest.raises(ValueError, match="moonphase"):
        network(calendar=("moonphase",)).fit(hourly)
    days = hourly[["unique_id", "y"]].assign(ds=range(600))
    with pytest.raises(ValueError, match="hour"):
        network(calendar=("hour",)).fit(days)
    assert network(calendar="auto").fit(days).encoding_ is None


def test_missing_covariates_are_masked_and_leave_other_series_as_they_are():
    forecaster = network().fit(FRAME, roles=ROLES)
    holes = FRAME.copy()
    holes.loc[holes["unique_id"] == "s1", ["rain", "price", "kind", "returns"]] = np.nan
    one, other = forecaster.predict(future=KNOWN), forecaster.predict(holes, future=KNOWN)
    assert np.isfinite(numbers(other)).all()
    mine = one["unique_id"] == "s1"
    same(one[~mine], other[~mine])
    assert (numbers(one[mine]) != numbers(other[mine])).any()


@pytest.mark.parametrize("decoder", ["direct", pytest.param("recursive", marks=pytest.mark.slow)])
def test_a_known_effect_is_learned_on_series_of_every_size(decoder):
    whole = frame_of((206, 206, 206), seed=1, effect=2.0)
    ahead = whole.groupby("unique_id").tail(HORIZON)
    frame, training = whole.drop(ahead.index), Training(steps=60, batch_size=16, learning_rate=0.01)
    plan = Plan(horizon=HORIZON, n_folds=5, refit="never")
    table = pd.concat(
        score(backtest(frame, [network(decoder=decoder, training=training)], plan, **door), ["mase"]).assign(name=name)
        for name, door in [("told", {"roles": Roles(known=("price",))}), ("blind", {})]
    ).set_index("name")
    assert table.loc["told", "mase"] < 0.6 * table.loc["blind", "mase"]


def test_a_fit_whose_weights_are_all_alike_is_one_without(recwarn):
    warnings.simplefilter("error")
    plain = network().fit(FRAME)
    weighted = network().fit(FRAME.assign(w=0.25), roles=Roles(weight="w"))
    same(plain.predict(), weighted.predict())


def test_rows_of_weight_zero_are_read_but_teach_nothing():
    training = Training(steps=60, batch_size=16, validation_length=0)
    jumpy = FRAME.copy()
    jumpy["w"] = np.where(jumpy["unique_id"] == "s0", 0.0, 1.0)
    jumpy.loc[jumpy["unique_id"] == "s0", "y"] = np.random.default_rng(5).choice([1.0, 900.0], 84)
    alone = network(training=training).fit(jumpy[jumpy["unique_id"] != "s0"])
    both = {w: network(training=training).fit(jumpy, roles=Roles(weight="w") if w else None) for w in (True, False)}
    history = FRAME[FRAME["unique_id"] == "s1"]
    expected = numbers(alone.predict(history))
    apart = {w: np.abs(numbers(one.predict(history)) - expected).mean() for w, one in both.items()}
    assert apart[True] < apart[False]
