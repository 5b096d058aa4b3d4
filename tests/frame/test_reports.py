"""What users of such libraries report of frames and calendars, each as a test of its kind."""

import numpy as np
import pandas as pd
import pytest

from forecast import Drift, FrameError, Naive, Plan, SeasonalNaive, backtest, check_frame, score


def series(stamps, name="a", y=None):
    return pd.DataFrame({"unique_id": name, "ds": stamps, "y": np.arange(len(stamps), dtype=float) if y is None else y})


# -- irregular calendars: never a silent missing value, a way out that is named ----------------------------------------


def business_days():
    days = pd.bdate_range("2023-11-01", periods=120)
    return days.drop(pd.to_datetime(["2023-12-25", "2023-12-26", "2024-01-01", "2024-03-29"]))


def office_hours():
    hours = pd.date_range("2024-01-01", periods=8 * 7 * 24, freq="h")
    return hours[(hours.day_of_week < 5) & (hours.hour >= 9) & (hours.hour <= 17)]


@pytest.mark.parametrize(
    ("stamps", "gaps", "first", "ahead"),
    [
        (business_days(), "4 rows in 3 gaps", "2023-12-27 00:00:00 (after 2023-12-22", pd.Timestamp("2024-04-17")),
        (
            office_hours(),
            "921 rows in 39 gaps",
            "2024-01-02 09:00:00 (after 2024-01-01 17",
            pd.Timestamp("2024-02-26 09:00"),
        ),
    ],
    ids=["trading days", "office hours"],
)
def test_an_irregular_calendar_is_told_with_its_gaps_or_counted_in_steps(stamps, gaps, first, ahead):
    with pytest.raises(FrameError) as caught:
        Naive(3).fit(series(stamps))
    for part in (gaps, first, 'gaps="mask"', 'gaps="fill"', 'freq="steps"'):
        assert part in str(caught.value)
    forecast = Naive(3).fit(series(stamps), freq="steps").predict()
    assert forecast["ds"].iloc[0] == ahead
    assert forecast["prediction"].tolist() == [len(stamps) - 1.0] * 3
    ledger = backtest(series(stamps), [Naive(3)], Plan(horizon=3, n_folds=2), freq="steps")
    assert np.isfinite(ledger.forecasts["y"]).all()


# -- what belongs to what ----------------------------------------------------------------------------------------------


def test_a_forecast_says_id_cutoff_time_and_step_in_the_order_in_which_series_came():
    days = pd.date_range("2024-01-01", periods=20)
    frame = pd.concat([series(days[:length], name) for name, length in (("m", 20), ("z", 15), ("a", 18))])
    forecast = Drift(2).fit(frame).predict()
    assert forecast.columns[:4].tolist() == ["unique_id", "cutoff", "ds", "step"]
    assert forecast["unique_id"].tolist() == ["m", "m", "z", "z", "a", "a"]
    assert forecast["cutoff"].tolist() == [days[19]] * 2 + [days[14]] * 2 + [days[17]] * 2  # each from its own end
    assert (forecast["ds"] == forecast["cutoff"] + pd.to_timedelta(forecast["step"], "D")).all()
    again = Drift(2).fit(frame.sample(frac=1, random_state=1), unsorted="sort").predict()
    pd.testing.assert_frame_equal(
        again.sort_values(["unique_id", "step"], ignore_index=True),
        forecast.sort_values(["unique_id", "step"], ignore_index=True),
    )


# -- a value that is no number -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64", "Float64", object])
def test_one_infinite_value_is_refused_by_column_count_series_and_stamp(wrong, dtype):
    frame = pd.concat([series(pd.date_range("2024-01-01", periods=9), name) for name in "abc"], ignore_index=True)
    frame.loc[13, "y"] = wrong
    with pytest.raises(FrameError, match=r"column `y` holds 1 values that are infinite .* in series 'b' at 2024-01-05"):
        check_frame(frame.astype({"y": dtype}))


def test_a_missing_value_of_one_series_leaves_the_others_alone():
    frame = pd.concat([series(pd.date_range("2024-01-01", periods=9), name) for name in "abc"], ignore_index=True)
    lacking = frame.copy()
    lacking.loc[[13, 17], "y"] = np.nan
    with_nan, without = (SeasonalNaive(3).fit(given).predict() for given in (lacking, frame))
    others = with_nan["unique_id"] != "b"
    pd.testing.assert_frame_equal(with_nan[others], without[others])
    assert np.isfinite(with_nan["prediction"]).all()


# -- periods, zones, frequencies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("freq", ["M", "Q-DEC", "W-SUN", "D", "h"])
def test_periods_go_in_and_their_frequency_is_taken(freq):
    panel = check_frame(series(pd.period_range("2024-01-01", periods=9, freq=freq)))
    forecast = panel.form.give(pd.DataFrame({"ds": panel.calendar.stamps(panel.last + 1)}))
    assert forecast["ds"].iloc[0] == pd.period_range("2024-01-01", periods=10, freq=freq)[-1]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"])
@pytest.mark.parametrize("end", ["2024-03-29", "2024-10-25", "2024-04-05", "2024-10-04", "2024-11-01"])
@pytest.mark.parametrize("unit", ["s", "ns"])
def test_days_stay_at_local_midnight_when_the_clocks_change(zone, end, unit):
    days = pd.date_range(end=end, periods=20).as_unit(unit).tz_localize(zone)
    forecast = Naive(5).fit(series(days)).predict()
    expected = pd.date_range(pd.Timestamp(end) + pd.Timedelta("1D"), periods=5).as_unit(unit).tz_localize(zone)
    assert forecast["ds"].tolist() == expected.tolist()
    assert forecast["ds"].dtype == days.dtype


@pytest.mark.parametrize(
    ("zone", "night", "clock"),
    [
        ("Europe/Berlin", "2024-03-31", ["00:00", "01:00", "03:00", "04:00"]),
        ("Europe/Berlin", "2024-10-27", ["00:00", "01:00", "02:00", "02:00", "03:00"]),
        ("America/New_York", "2024-03-10", ["00:00", "01:00", "03:00"]),
        ("America/New_York", "2024-11-03", ["00:00", "01:00", "01:00", "02:00"]),
        ("Asia/Kolkata", "2024-03-31", ["00:00", "01:00", "02:00", "03:00"]),
        ("America/Sao_Paulo", "2018-11-04", ["01:00", "02:00"]),
        ("America/Sao_Paulo", "2018-02-18", ["00:00", "01:00"]),
        ("Australia/Lord_Howe", "2024-04-07", ["00:00", "01:00", "01:30", "02:30"]),  # clocks go back half an hour
        ("Australia/Lord_Howe", "2024-10-06", ["00:00", "01:00", "02:30", "03:30"]),
    ],
)
def test_hours_of_the_night_in_which_the_clocks_change_are_all_there_and_no_others(zone, night, clock):
    begin = pd.Timestamp(night) - pd.Timedelta("1D")
    hours = pd.date_range(begin.tz_localize(zone), periods=23, freq="h")
    forecast = Naive(8).fit(series(hours)).predict()
    ahead = pd.DatetimeIndex(forecast["ds"])
    assert (np.diff(ahead.asi8) == pd.Timedelta("1h") // pd.Timedelta(1, ahead.unit)).all()
    of_night = [stamp.strftime("%H:%M") for stamp in ahead if stamp.date() == pd.Timestamp(night).date()]
    assert of_night[: len(clock)] == clock


def test_a_day_without_midnight_begins_with_its_first_moment():
    days = pd.date_range("2018-10-20", "2018-11-02").tz_localize("America/Sao_Paulo")
    ahead = Naive(3).fit(series(days)).predict()["ds"]
    assert [stamp.strftime("%d %H:%M") for stamp in ahead] == ["03 00:00", "04 01:00", "05 00:00"]


@pytest.mark.parametrize(
    ("truth", "alias"),
    [
        ("MS", "ME"),
        ("ME", "MS"),
        ("D", "h"),
        ("D", "W"),
        ("h", "D"),
        ("W-MON", "W-SUN"),
        ("QS-JAN", "QS-FEB"),
        ("B", "D"),
        ("D", "B"),
        ("BMS", "MS"),
        ("YE-DEC", "YE-JUN"),
        ("15min", "h"),
        ("D", "2D"),
        ("SMS-15", "MS"),
    ],
)
def test_a_frequency_that_contradicts_the_data_is_an_error(truth, alias):
    frame = series(pd.date_range("2024-01-01", periods=40, freq=truth))
    with pytest.raises(FrameError, match=r"column `ds`: .* frequency '"):
        check_frame(frame, freq=alias)
    assert check_frame(frame, freq=truth).observed.all()


def test_a_frequency_is_checked_for_every_series_and_not_the_first_hundred():
    days = pd.date_range("2024-01-01", periods=8)
    many = [series(days, f"id{number}") for number in range(150)]
    off = pd.concat([*many, series(days + pd.Timedelta("1h"), "late")])
    with pytest.raises(FrameError, match=r"series 'late' at 2024-01-01 01:00:00 is not on the grid .* \(8 rows off it"):
        check_frame(off)
    twice = pd.concat([*many, many[140][3:5]])
    with pytest.raises(
        FrameError, match=r"series 'id140' at 2024-01-04 00:00:00 comes more than once \(2 repeated rows"
    ):
        check_frame(twice, unsorted="sort")
    lone = pd.concat([*many, series(days[:1], "lone")])
    assert len(check_frame(lone)) == 151


# -- forecasts, and scores in the units of the data --------------------------------------------------------------------


def test_scores_are_in_the_units_of_the_data_and_scaled_ones_do_not_change():
    days = pd.date_range("2024-01-01", periods=60)
    y = np.random.default_rng(0).normal(50, 5, len(days))
    small, large = (
        score(backtest(series(days, y=y * factor), [Naive(3)], Plan(horizon=3, n_folds=3))) for factor in (1.0, 1000.0)
    )
    np.testing.assert_allclose(large["mae"], small["mae"] * 1000, rtol=1e-4)
    np.testing.assert_allclose(large["mase"], small["mase"], rtol=1e-4)
    ahead = Naive(3).fit(series(days, y=y)).predict()
    assert ahead["ds"].tolist() == pd.date_range("2024-03-01", periods=3).tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "Int64", "uint8", "boolean", object])
def test_every_kind_of_number_is_cast_once_and_forecasts_are_floats(dtype):
    frame = series(pd.date_range("2024-01-01", periods=12), y=[1, 0] * 6).astype({"y": dtype})
    panel = check_frame(frame)
    assert panel.values.dtype == np.float32
    assert Naive(2).fit(panel).predict()["prediction"].dtype == np.float32
