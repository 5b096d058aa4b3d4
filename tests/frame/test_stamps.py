"""Stamps in every way people write them: read, and given back as they came, those of forecasts too."""

import warnings
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from forecast.frame import ID, TIME, FrameError, check_frame


def frame_of(stamps, **columns):
    return pd.DataFrame({"unique_id": "a", "ds": stamps, "y": np.arange(len(stamps), dtype="float32"), **columns})


def forecast_of(stamps, horizon=3):
    """The dates of a forecast: its cutoff, and the steps after it."""
    panel = check_frame(frame_of(stamps))
    forecast = panel.form.give(forecast_frame(panel, horizon))
    return forecast["cutoff"].iloc[0], forecast["ds"]


def forecast_frame(panel, horizon):
    """The stamps of the next steps, as the frame of a forecast has them."""
    stamps = panel.calendar.stamps(panel.last[0] + np.arange(horizon + 1))
    return pd.DataFrame({"unique_id": "a", "cutoff": stamps[:1].repeat(horizon), "ds": stamps[1:]})


def comes_back(stamps, freq=None, **door):
    """Assert that a frame comes back equal, types and all, and give its panel."""
    frame = frame_of(stamps)
    panel = check_frame(frame, freq=freq, **door)
    pd.testing.assert_frame_equal(panel.form.give(panel.to_frame()), frame)
    assert list(map(type, panel.form.give(panel.to_frame())["ds"])) == list(map(type, frame["ds"]))
    return panel


DAYS = pd.date_range("2024-02-26", periods=6)

TEXTS = [
    (DAYS.strftime("%Y-%m-%d"), "D", ["2024-03-03", "2024-03-04"]),
    (DAYS.strftime("%Y-%m-%dT%H:%M"), "D", ["2024-03-03T00:00", "2024-03-04T00:00"]),
    (DAYS.strftime("%Y-%m-%d %H"), "D", ["2024-03-03 00", "2024-03-04 00"]),
    (DAYS.strftime("%Y-%m-%dT%H:%M:%SZ"), "D", ["2024-03-03T00:00:00Z", "2024-03-04T00:00:00Z"]),
    (DAYS.strftime("%Y-%m-%d %H:%M:%S+02:00"), "D", ["2024-03-03 00:00:00+02:00", "2024-03-04 00:00:00+02:00"]),
    (DAYS.strftime("%Y-%m-%dT%H:%M-0330"), "D", ["2024-03-03T00:00-0330", "2024-03-04T00:00-0330"]),
    (DAYS.strftime("%Y-%m-%dT%H:%M+05"), "D", ["2024-03-03T00:00+05", "2024-03-04T00:00+05"]),
    (DAYS.strftime("%Y-%m-%d %H:%M:%S.250"), "D", ["2024-03-03 00:00:00.250", "2024-03-04 00:00:00.250"]),
    (
        pd.date_range("2024-01-01", periods=4, freq="10us").strftime("%Y-%m-%dT%H:%M:%S.%f"),
        "10us",
        ["2024-01-01T00:00:00.000040", "2024-01-01T00:00:00.000050"],
    ),
    (["2023-11", "2023-12", "2024-01"], "MS", ["2024-02", "2024-03"]),
    (["2999-12-29", "2999-12-30", "2999-12-31"], "D", ["3000-01-01", "3000-01-02"]),
    (["1582-10-14", "1582-10-15", "1582-10-16"], "D", ["1582-10-17", "1582-10-18"]),
]


@pytest.mark.parametrize(("texts", "freq", "next_ones"), TEXTS, ids=lambda value: value[0] if len(value) else value)
@pytest.mark.parametrize("dtype", [None, object, "string"])
def test_iso_text_is_read_and_given_back_in_the_same_shape(texts, freq, next_ones, dtype):
    column = pd.Series(texts, dtype=dtype)
    panel = comes_back(column)
    assert panel.calendar.freq == freq
    cutoff, stamps = forecast_of(column, horizon=2)
    assert cutoff == column.iloc[-1]
    assert stamps.tolist() == next_ones
    assert stamps.dtype == column.dtype


@pytest.mark.parametrize(
    ("texts", "row", "came"),
    [
        (["2024-01-01", "2024-01-02", "03.01.2024"], 2, "'03.01.2024' in row 2"),
        (["01/02/2024", "02/02/2024"], 0, "'01/02/2024' in row 0"),
        (["2024-01-01", "2024-01-02 00:00"], 1, "shaped otherwise than '2024-01-01' in row 0"),
        (["2024-01-01T00:00", "2024-01-02 00:00"], 1, "shaped otherwise"),
        (["2024-01-01T00:00Z", "2024-01-02T00:00+01:00"], 1, "shaped otherwise"),
        (["2024-03-31T00:00+01:00", "2024-04-01T00:00+02:00"], 1, "shaped otherwise"),
        (["2024-01-01", "2024-02-30"], 1, "'2024-02-30' in row 1"),
        (["2024-01-01T23:00", "2024-01-01T24:30"], 1, "'2024-01-01T24:30' in row 1"),
        (
            ["2024-01-01 00:00:00.123456789", "2324-01-01 00:00:00.123456789"],
            1,
            "'2324-01-01 00:00:00.123456789' in row 1",
        ),
        (["20240101", "20240102"], 0, "'20240101' in row 0"),
        (["2024", "2025"], 0, "'2024' in row 0"),
        (["1", "2"], 0, "'1' in row 0"),
        (["0000-01-01", "0000-01-02"], 0, "'0000-01-01' in row 0"),
        (["2024-01-01Z", "2024-01-02Z"], 0, "'2024-01-01Z' in row 0"),
        ([" 2024-01-01", " 2024-01-02"], 0, "' 2024-01-01' in row 0"),
        (["Jan 2024", "Feb 2024"], 0, "'Jan 2024' in row 0"),
    ],
)
def test_other_text_is_refused_with_its_row_and_the_remedy(texts, row, came):
    with pytest.raises(FrameError) as caught:
        check_frame(frame_of(texts))
    assert came in str(caught.value)
    assert f"in row {row}" in str(caught.value)
    assert "pd.to_datetime(frame['ds'], format=...)" in str(caught.value)


PERIODS = [
    ("M", "MS", "2024-05"),
    ("Q", "QS-JAN", "2025Q1"),
    ("Q-FEB", "QS-MAR", "2025Q4"),
    ("Y", "YS-JAN", "2028"),
    ("W", "W-MON", "2024-01-29/2024-02-04"),
    ("W-WED", "W-THU", "2024-01-25/2024-01-31"),
    ("D", "D", "2024-01-05"),
    ("h", "h", "2024-01-01 04:00"),
    ("15min", "15min", "2024-01-01 01:00"),
    ("3M", "3MS", "2025-01"),
    ("ms", "ms", "2024-01-01 00:00:00.004"),
]


@pytest.mark.parametrize(("freq", "inside", "following"), PERIODS)
@pytest.mark.parametrize("given", [False, True])
def test_periods_bring_their_frequency_and_are_given_back(freq, inside, following, given):
    periods = pd.period_range("2024-01-01", periods=4, freq=freq)
    panel = comes_back(periods, freq=freq if given else None)
    assert panel.calendar.freq == inside
    cutoff, stamps = forecast_of(periods)
    assert cutoff == periods[-1]
    assert stamps.iloc[0] == periods[-1] + periods.freq
    assert str(stamps.iloc[0]) == following
    assert stamps.dtype == periods.dtype


def test_a_period_far_from_today_is_read_exactly():
    periods = pd.period_range("3024-01", periods=4, freq="M")
    assert comes_back(periods).calendar.stamp(comes_back(periods).last[0]).year == 3024


def test_periods_that_are_left_out_are_missing_rows():
    periods = pd.period_range("2024-01", periods=6, freq="M").delete([2])
    with pytest.raises(FrameError, match="1 rows are missing before series 'a' at 2024-04-01"):
        check_frame(frame_of(periods))
    given = check_frame(frame_of(periods), gaps="mask").form.give(
        check_frame(frame_of(periods), gaps="mask").to_frame()
    )
    assert given["ds"].tolist() == pd.period_range("2024-01", periods=6, freq="M").tolist()


def test_periods_may_be_read_at_a_wider_step_that_was_asked_for():
    periods = pd.period_range("2024-01", periods=12, freq="M")[::3]
    assert check_frame(frame_of(periods), freq="Q").calendar.freq == "QS-JAN"
    with pytest.raises(FrameError, match="frequency 'MS'"):
        check_frame(frame_of(periods))


@pytest.mark.parametrize("freq", ["h", "12h", "15min"])
@pytest.mark.parametrize(
    "stamps",
    [
        DAYS.date,
        DAYS.strftime("%Y-%m-%d"),
        DAYS.to_period("D"),
        pd.Series(DAYS).dt.strftime("%Y-%m-%d").astype("string"),
    ],
    ids=["dates", "text", "periods", "string"],
)
def test_a_frequency_finer_than_the_stamps_can_tell_is_refused(freq, stamps):
    with pytest.raises(FrameError, match=f"frequency '{freq}' has steps between those that .* can tell"):
        check_frame(frame_of(stamps), freq=freq, gaps="mask")


def test_days_of_business_as_periods_are_refused_with_the_remedy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pandas is about to drop them
        frame = frame_of(pd.PeriodIndex(["2024-01-01", "2024-01-02"], freq="B"))
        with pytest.raises(FrameError, match=r"frame\['ds'\].dt.to_timestamp\(\)"):
            check_frame(frame)


def test_dates_are_given_back_as_dates():
    stamps = pd.Series(list(DAYS.date), dtype=object)
    comes_back(stamps)
    cutoff, ahead = forecast_of(stamps)
    assert cutoff == date(2024, 3, 2)
    assert ahead.tolist() == [date(2024, 3, 3), date(2024, 3, 4), date(2024, 3, 5)]
    assert {type(day) for day in ahead} == {date}


def test_dates_among_timestamps_are_refused():
    with pytest.raises(FrameError, match="column `ds` must hold"):
        check_frame(frame_of(pd.Series([date(2024, 1, 1), datetime(2024, 1, 2, 5)], dtype=object)))


@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Europe/Berlin")])
@pytest.mark.parametrize("python", [True, False])
def test_timestamps_as_objects_are_given_back_as_objects(zone, python):
    stamps = [pd.Timestamp(day).tz_localize(zone) for day in DAYS]
    column = pd.Series([stamp.to_pydatetime() if python else stamp for stamp in stamps], dtype=object)
    comes_back(column)
    assert {type(stamp) for stamp in forecast_of(column)[1]} == {datetime if python else pd.Timestamp}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64", "Int8", "UInt32", "Int64"])
def test_integers_keep_their_dtype_as_long_as_they_have_room(dtype):
    stamps = pd.Series([100, 110, 120], dtype=dtype)
    comes_back(stamps)
    ahead = forecast_of(stamps)[1]
    assert ahead.tolist() == [130, 140, 150]
    assert ahead.dtype == ("int64" if dtype in ("int8", "Int8") else dtype)


def test_integers_as_objects_are_given_back_as_objects():
    comes_back(pd.Series([1, 2, 3], dtype=object))


def test_columns_backed_by_arrow_are_given_back_so():
    pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    for stamps in [
        pd.Series(DAYS).astype("timestamp[ms][pyarrow]"),
        pd.Series(DAYS.tz_localize("Europe/Berlin")).astype("timestamp[us, tz=Europe/Berlin][pyarrow]"),
        pd.Series(list(DAYS.date)).astype("date32[day][pyarrow]"),
        pd.Series([1, 2, 3], dtype="int16[pyarrow]"),
        pd.Series(DAYS.strftime("%Y-%m-%d")).astype("string[pyarrow]"),
    ]:
        comes_back(stamps)


@pytest.mark.parametrize("stamps", [DAYS, DAYS.to_period("D"), DAYS.date, DAYS.strftime("%Y-%m-%d")])
def test_what_has_no_stamp_is_missing_in_every_way_of_writing(stamps):
    panel = check_frame(frame_of(stamps))
    given = panel.form.give(pd.DataFrame({ID: ["a", "a"], TIME: pd.DatetimeIndex([pd.NaT, DAYS[0]]).as_unit("s")}))
    assert given[TIME].isna().tolist() == [True, False]
    assert given[TIME].iloc[1] == frame_of(stamps)["ds"].iloc[0]
