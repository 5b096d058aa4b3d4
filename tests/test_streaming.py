"""Stream: forecasts that go along with their series, by frames; equal to the network over all that came before."""

import copy
import functools
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import pad

from forecast.forecaster import NotFittedError
from forecast.frame import FrameError, check_frame
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES
from forecast.streaming import Stream
from forecast.training import Training

KEYS = ["unique_id", "cutoff", "ds", "step"]
CONTEXT = 40


def waves(series=3, length=150, stamps=None, ids="s{}", seed=0) -> pd.DataFrame:
    """Daily waves of different level, size and phase, a few values missing."""
    rng = np.random.default_rng(seed)
    hours = np.arange(length)
    stamps = pd.date_range("2024-03-28", periods=length, freq="h") if stamps is None else stamps
    parts = []
    for i in range(series):
        y = 10 * i + (1 + i) * (np.sin(2 * np.pi * (hours + 5 * i) / 24) + 0.1 * rng.normal(size=length))
        y[rng.random(length) < 0.05] = np.nan
        parts.append(pd.DataFrame({"unique_id": ids.format(i), "ds": stamps, "y": y}))
    return pd.concat(parts, ignore_index=True)


def fitted(frame, backbone="lstm", decoder="direct", patch_length=8, door=None) -> NeuralForecaster:
    return NeuralForecaster(
        BACKBONES[backbone](width=16),
        12,
        decoder=decoder,
        patch_length=patch_length,
        context_length=CONTEXT,
        training=Training(steps=2, validation_length=0),
    ).fit(frame, **(door or {}))


def until(frame: pd.DataFrame, row: int) -> pd.DataFrame:
    """Give the first rows of each series."""
    return frame[frame.groupby("unique_id", sort=False, observed=True).cumcount() < row]


def between(frame: pd.DataFrame, low: int, high: int) -> pd.DataFrame:
    count = frame.groupby("unique_id", sort=False, observed=True).cumcount()
    return frame[(count >= low) & (count < high)]


def in_one_pass(forecaster: NeuralForecaster, frame: pd.DataFrame) -> np.ndarray:
    """Give the medians of the network over all rows of each series, and over missing ones before up to a context."""
    panel, network = check_frame(frame, gaps="mask"), forecaster.network_
    medians = []
    for series, (values, _) in enumerate(panel):
        window = torch.from_numpy(values.copy())[None]
        fill = max(CONTEXT - len(values), 0)
        window = pad(window, (fill + -(fill + len(values)) % network.patch_length, 0), value=torch.nan)
        with torch.inference_mode():
            quantiles = network(window, torch.tensor([panel.last[series]]), slice(-1, None))
        medians.append(quantiles[0, 0, :, len(forecaster.quantile_levels) // 2].numpy())
    return np.concatenate(medians)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return waves()


@pytest.fixture(scope="module")
def forecaster(frame) -> NeuralForecaster:
    return fitted(until(frame, 100), door={"gaps": "mask"})


@pytest.fixture(scope="module")
def of_backbone(frame):
    """Give a forecaster with a backbone, fitted once."""
    return functools.cache(lambda backbone: fitted(until(frame, 100), backbone))


def unchanged(stream: Stream, before: Stream) -> bool:
    same = stream.predict().equals(before.predict())
    states = stream.streams.tensors(), before.streams.tensors()
    return same and all(torch.equal(t.nan_to_num(-7), states[1][n].nan_to_num(-7)) for n, t in states[0].items())


# -- equality --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", ["direct", "recursive"])
@pytest.mark.parametrize("backbone", ["lstm", "tcn", "transformer"])
def test_forecasts_are_those_of_the_network_over_all_that_came_before(backbone, decoder, frame):
    forecaster = fitted(until(frame, 100), backbone, decoder)
    ragged = frame[(frame["unique_id"] != "s1") | (frame["ds"] >= frame["ds"].iloc[70])]  # s1 begins within
    begin, end = frame["ds"].iloc[110], frame["ds"].iloc[-1]
    stream, at = forecaster.stream(ragged[ragged["ds"] < begin]), begin
    for hours in (1, 1, 5, 1, 12):
        rows = ragged[(ragged["ds"] >= at) & (ragged["ds"] < at + pd.Timedelta(hours=hours))]
        at += pd.Timedelta(hours=hours)
        forecast = stream.update(rows)
        expected = in_one_pass(forecaster, ragged[ragged["ds"] < at])
        np.testing.assert_allclose(forecast["prediction"], expected, rtol=0, atol=1e-4)
        assert (forecast["cutoff"] == at - pd.Timedelta(hours=1)).all()
        pd.testing.assert_frame_equal(stream.predict(), forecast, rtol=1e-5)
    assert at < end


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("length", [CONTEXT, CONTEXT - 1, 5])
def test_no_longer_than_a_context_it_begins_with_what_predict_says(backbone, length, of_backbone, frame):
    forecaster = of_backbone(backbone)
    history = until(frame, length)
    pd.testing.assert_frame_equal(forecaster.stream(history).predict(), forecaster.predict(history), rtol=1e-4)


def test_it_begins_after_the_frame_of_fit_if_none_is_given(forecaster, frame):
    pd.testing.assert_frame_equal(forecaster.stream().predict(), forecaster.stream(until(frame, 100)).predict())
    panel = check_frame(until(frame, 100))
    pd.testing.assert_frame_equal(forecaster.stream().predict(), forecaster.stream(panel).predict())


def test_series_by_themselves_or_together_in_one_or_many_updates_are_the_same(forecaster, frame):
    together, alone = forecaster.stream(), forecaster.stream()
    forecast = together.update(between(frame, 100, 130))
    for row in range(100, 130):
        for name in ("s2", "s0", "s1"):
            rows = between(frame[frame["unique_id"] == name], row, row + 1)
            assert alone.update(rows)["unique_id"].unique().tolist() == [name]
    pd.testing.assert_frame_equal(alone.predict(), forecast, rtol=1e-4)


# -- the form of a forecast frame ------------------------------------------------------------------------------------

AXES = {
    "hours over a change of the clocks": pd.date_range("2024-03-28", periods=150, freq="h", tz="Europe/Berlin"),
    "days in a zone": pd.date_range("2024-01-01", periods=150, freq="D", tz="America/New_York"),
    "month ends in seconds": pd.date_range("2000-01-31", periods=150, freq="ME").as_unit("s"),
    "business days in nanoseconds": pd.date_range("2024-01-01", periods=150, freq="B").as_unit("ns"),
    "integers": np.arange(0, 450, 3),
}


@pytest.mark.parametrize(
    ("axis", "ids"),
    [
        *((axis, "texts") for axis in AXES),
        ("integers", "numbers"),
        ("days in a zone", "categories"),
    ],
)
def test_a_forecast_frame_is_as_that_of_predict(axis, ids):
    frame = waves(stamps=AXES[axis])
    if ids != "texts":
        frame["unique_id"] = (
            frame["unique_id"].str[1:].astype(int) if ids == "numbers" else frame["unique_id"].astype("category")
        )
    forecaster = fitted(until(frame, 100))
    stream = forecaster.stream()
    forecast = stream.update(between(frame, 100, 102))
    expected = forecaster.predict(until(frame, 102))
    pd.testing.assert_frame_equal(forecast[KEYS], expected[KEYS])
    assert forecast.dtypes.tolist() == expected.dtypes.tolist()
    assert list(forecast) == list(expected)
    assert (forecast.filter(like="0.").diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)


def test_series_keep_the_order_in_which_they_came(forecaster, frame):
    stream = forecaster.stream()
    rows = between(frame, 100, 101).iloc[::-1]
    assert stream.update(rows)["unique_id"].unique().tolist() == ["s0", "s1", "s2"]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_stamps_may_come_in_another_unit_or_zone(unit, zone):
    frame = waves(stamps=AXES["days in a zone"])
    forecaster = fitted(until(frame, 100))
    stream, same = forecaster.stream(), forecaster.stream()
    rows = between(frame, 100, 101)
    other = rows.assign(ds=rows["ds"].dt.as_unit(unit).dt.tz_convert(zone))
    pd.testing.assert_frame_equal(stream.update(other), same.update(rows))


def test_rows_enter_as_the_frame_of_fit_did(frame):
    theirs = frame.rename(columns={"unique_id": "place", "ds": "time", "y": "heat"})
    door = {"columns": {"unique_id": "place", "ds": "time", "y": "heat"}, "unsorted": "sort", "freq": "h"}
    stream = fitted(theirs[frame["ds"] < frame["ds"].iloc[100]], door=door).stream()
    rows = theirs[frame["ds"] >= frame["ds"].iloc[100]].sort_values("time")
    expected = fitted(until(frame, 100)).stream().update(between(frame, 100, 150))
    pd.testing.assert_frame_equal(stream.update(rows), expected)


# -- series that begin, values that are missing ----------------------------------------------------------------------


def test_a_new_series_begins_and_goes_on(forecaster, frame):
    stream, new = forecaster.stream(), waves(series=1, ids="new", seed=4)
    first = stream.update(pd.concat([between(frame, 100, 101), until(new, 1).assign(y=3.0)]))
    assert first["unique_id"].unique().tolist() == ["s0", "s1", "s2", "new"]
    begun = until(new, 1).assign(y=3.0)
    expected = forecaster.predict(begun)
    pd.testing.assert_frame_equal(first[first["unique_id"] == "new"].reset_index(drop=True), expected, rtol=1e-4)
    rows = pd.concat([begun, between(new, 1, 60)])
    padded = pd.concat([begun.assign(ds=begun["ds"] - pd.Timedelta(hours=CONTEXT - 1), y=np.nan), rows])
    forecast = stream.update(between(new, 1, 60))
    np.testing.assert_allclose(forecast["prediction"], in_one_pass(forecaster, padded), rtol=0, atol=1e-4)
    assert stream.predict()["unique_id"].unique().tolist() == ["s0", "s1", "s2", "new"]


def test_rows_left_out_are_missing_values(forecaster, frame):
    kept, told = between(frame, 103, 106), between(frame, 100, 106)
    told.loc[told.index.difference(kept.index), "y"] = np.nan
    pd.testing.assert_frame_equal(forecaster.stream().update(kept), forecaster.stream().update(told))


def test_rows_left_out_are_filled_if_fit_was_told_so(frame):
    forecaster = fitted(until(frame, 100), door={"gaps": "fill"})
    frame = frame.assign(y=frame.groupby("unique_id")["y"].ffill())
    rows = between(frame, 100, 110)
    rows.loc[rows.groupby("unique_id").cumcount() < 3, "y"] = np.nan
    filled = pd.concat([between(frame, 99, 100), rows]).sort_values(["unique_id", "ds"])
    filled["y"] = filled.groupby("unique_id")["y"].ffill()
    told = forecaster.stream().update(between(filled, 1, 11))
    pd.testing.assert_frame_equal(forecaster.stream().update(rows), told)
    pd.testing.assert_frame_equal(forecaster.stream().update(between(rows, 3, 10)), told)


@pytest.mark.parametrize("gap", [CONTEXT, 3 * CONTEXT])
def test_after_a_gap_as_long_as_a_context_the_last_value_goes_on(gap, forecaster, frame):
    stream = forecaster.stream()
    rows = between(waves(length=100 + gap), 100, 100 + gap).assign(y=np.nan)
    forecast = stream.update(rows)
    expected = forecaster.predict(pd.concat([until(frame, 100), rows]).sort_values(["unique_id", "ds"]))
    pd.testing.assert_frame_equal(forecast, expected)
    assert (forecast["0.1"] == forecast["0.9"]).all()


# -- what is refused changes nothing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(ds=rows["ds"] - pd.Timedelta(hours=1)), "'s0' at 2024-04-01 03:00:00 is not after"),
        (lambda rows: pd.concat([rows, rows]), "'s0' at 2024-04-01 04:00:00 comes"),
        (lambda rows: rows.assign(ds=rows["ds"] + pd.Timedelta(hours=2)), "2 rows are missing before series 's0'"),
        (lambda rows: rows.assign(ds=rows["ds"] + pd.Timedelta(minutes=5)), "'s0' at .* is not on the grid"),
        (
            lambda rows: rows.assign(ds=rows["ds"].dt.tz_localize("UTC")),
            "holds timestamps in a time zone.* so far have",
        ),
        (lambda rows: rows.assign(ds=range(len(rows))), "holds integers, first 0; the series so far have timestamps"),
        (lambda rows: rows.assign(ds=rows["ds"] + pd.Timedelta(nanoseconds=1)), "'s0' at .* not on (the|their) grid"),
        (lambda rows: rows.assign(y="high"), "must hold numbers; got 'high'"),
        (lambda rows: rows.assign(y=np.inf), "infinite"),
        (lambda rows: rows.rename(columns={"y": "value"}), "column `y` is not there"),
        (lambda rows: rows.iloc[:0], "no rows"),
        (lambda rows: rows.assign(unique_id=range(len(rows))), "series 0 has an id of type int; the ids so far, 's0'"),
        (lambda rows: rows.assign(unique_id="new", y=np.nan).iloc[:1], "series 'new' is new and has no value"),
        (lambda rows: pd.concat([rows, rows.assign(unique_id="new", y=np.nan).iloc[:1]]), "'new' is new"),
    ],
)
def test_rows_that_do_not_follow_are_refused_and_change_nothing(change, message, of_backbone, frame):
    stream = of_backbone("lstm").stream()
    before = copy.deepcopy(stream)
    rows = between(frame, 100, 102)
    with pytest.raises(FrameError, match=message):
        stream.update(change(rows))
    assert unchanged(stream, before)
    pd.testing.assert_frame_equal(stream.update(rows), before.update(rows))


def test_stamps_far_off_are_not_made_room_for(forecaster, frame):
    rows = between(frame, 100, 101)
    with pytest.raises(FrameError, match=r"rows are missing before series 's0'.*too many beside 3 given"):
        forecaster.stream().update(rows.assign(ds=rows["ds"] + pd.Timedelta(days=365 * 200)))


def test_a_forecast_that_is_not_finite_is_an_error_and_changes_nothing(forecaster, frame):
    stream = forecaster.stream()
    before = copy.deepcopy(stream)
    rows, new = between(frame, 100, 130), waves(series=1, ids="new")
    with pytest.raises(ValueError, match="forecast no finite number for series 's0'"):
        stream.update(pd.concat([rows.assign(y=3.3e38 * (-1.0) ** np.arange(len(rows))), until(new, 3)]))
    assert unchanged(stream, before)
    assert np.isfinite(stream.update(rows)["prediction"]).all()


def test_a_history_without_any_value_is_refused(forecaster, frame):
    panel = check_frame(frame).until(check_frame(frame).first[0])
    panel.values[panel.starts[1]] = np.nan
    with pytest.raises(FrameError, match="series 's1' has no observed value"):
        forecaster.stream(panel)


def test_what_is_no_frame_is_refused(forecaster):
    with pytest.raises(TypeError, match="`frame` must be a DataFrame"):
        forecaster.stream().update([1.0])


def test_a_decoder_that_reads_all_states_does_not_stream(frame):
    with pytest.raises(ValueError, match=r"`decoder` is CrossAttention.*decoders that stream: 'direct', 'recursive'"):
        fitted(until(frame, 100), decoder="cross_attention").stream()


def test_only_what_is_fitted_streams():
    with pytest.raises(NotFittedError, match="call fit"):
        NeuralForecaster("lstm", 12).stream()


# -- across series ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def together(frame) -> NeuralForecaster:
    return fitted(until(frame, 100), "graph_transformer", door={"gaps": "mask"})


def test_series_that_read_each_other_go_together(together, frame):
    late = frame[(frame["unique_id"] != "s1") | (frame["ds"] >= frame["ds"].iloc[80])]
    history = late[(late["ds"] >= frame["ds"].iloc[60]) & (late["ds"] < frame["ds"].iloc[100])]
    stream = together.stream(history)
    pd.testing.assert_frame_equal(stream.predict(), together.predict(history), rtol=1e-4)
    steps = between(frame, 100, 106)
    other = together.stream(pd.concat([history[history["unique_id"] == name] for name in ("s2", "s0", "s1")]))
    one, many = stream.update(steps), [other.update(between(steps, i, i + 1)) for i in range(6)]
    pd.testing.assert_frame_equal(many[-1], one, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[rows["unique_id"] != "s1"], "series 's1' is not there: GraphTransformer reads across"),
        (lambda rows: rows.iloc[:-1], "rows go for series 's0' to 2024-04-01 05:00:00 and for series 's2' to"),
        (lambda rows: pd.concat([rows, rows.iloc[:1].assign(unique_id="new")]), "series 'new' was not there at fit"),
    ],
)
def test_series_that_read_each_other_need_each_other(change, message, together, frame):
    stream = together.stream()
    before = copy.deepcopy(stream)
    rows = between(frame, 100, 102)
    with pytest.raises(FrameError, match=message):
        stream.update(change(rows))
    assert unchanged(stream, before)
    with pytest.raises(FrameError, match=message):
        together.stream(change(rows))


# -- manners ---------------------------------------------------------------------------------------------------------


def test_a_saved_stream_goes_on_to_the_bit_in_a_process_of_its_own(forecaster, frame, tmp_path):
    stream = forecaster.stream()
    stream.update(between(frame, 100, 107))
    stream.save(tmp_path)
    rows = between(frame, 107, 109)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    script = (
        "import sys, json, pandas as pd; from forecast import Stream; "
        "rows = pd.read_csv(sys.argv[1] + '/rows.csv', parse_dates=['ds'], float_precision='round_trip'); "
        "print(json.dumps(Stream.load(sys.argv[1]).update(rows).select_dtypes('number').to_numpy().tolist()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])},
    )
    assert json.loads(done.stdout) == stream.update(rows).select_dtypes("number").to_numpy().tolist()
    assert (tmp_path / "stream.json").is_file()
    assert (tmp_path / "forecaster" / "forecaster.json").is_file()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda stream: pickle.loads(pickle.dumps(stream))])
def test_a_copy_goes_its_own_way(again, forecaster, frame):
    stream = forecaster.stream()
    stream.update(pd.concat([between(frame, 100, 101), waves(series=1, ids="new")]))
    other = again(stream)
    forecast = other.update(between(frame, 101, 103))
    pd.testing.assert_frame_equal(stream.update(between(frame, 101, 103)), forecast)


def test_loading_what_is_no_stream_says_so(forecaster, tmp_path):
    forecaster.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"has no stream\.json"):
        Stream.load(tmp_path)


def test_a_stream_goes_on_when_its_forecaster_is_fitted_again(frame):
    forecaster = fitted(until(frame, 100))
    stream, same = forecaster.stream(), forecaster.stream()
    forecaster.set_params(horizon=3).fit(until(frame, 50))
    pd.testing.assert_frame_equal(stream.update(between(frame, 100, 101)), same.update(between(frame, 100, 101)))
    assert len(same.predict()) == 3 * 12


def test_what_is_carried_does_not_grow(forecaster, frame):
    stream = forecaster.stream()
    size = stream.streams.nbytes
    stream.update(between(frame, 100, 150))
    assert stream.streams.nbytes == size


def test_nothing_is_drawn_at_random_and_threads_are_given_back(forecaster, frame):
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    forecaster.stream().update(between(frame, 100, 101))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_its_repr_tells_where_it_is(forecaster, frame):
    stream = forecaster.stream()
    size = f"{stream.streams.nbytes:,} bytes"
    assert repr(stream) == f"Stream(LSTM, 3 series, freq h, up to 2024-04-01 03:00:00, {size})"
    stream.update(between(frame, 100, 101).iloc[:1])
    assert "up to 2024-04-01 03:00:00 to 2024-04-01 04:00:00" in repr(stream)
