"""Calendars against pandas' own ranges: every frequency, unit and zone, both sides of the clock change."""

import numpy as np
import pandas as pd
import pytest

from forecast.frame.calendar import calendar_of, integer_calendar
from forecast.frame.frequency import infer_freq, infer_step, parse_freq

# freq, first stamp on its grid, how pandas spells it, season length
GRIDS = [
    ("ms", "2020-02-27 05:00", "ms", 1),
    ("s", "2020-02-27 05:00:01", "s", 1),
    ("30s", "2020-02-27 05:00:15", "30s", 1),
    ("min", "2020-02-27 05:00", "min", 1440),
    ("15min", "2020-02-27 05:05", "15min", 96),
    ("h", "2020-02-27 05:30", "h", 24),
    ("2h", "2020-02-27 05:00", "2h", 12),
    ("36h", "2020-02-27 05:00", "36h", 1),
    ("D", "2020-02-27", "D", 7),
    ("D", "2020-02-27 06:00", "D", 7),
    ("10D", "2020-02-27", "10D", 1),
    ("B", "2020-02-27", "B", 5),
    ("B", "2020-02-27 17:30", "B", 5),
    ("W-MON", "2020-02-24", "W-MON", 52),
    ("W-SUN", "2020-03-01 09:00", "W-SUN", 52),
    ("2W-WED", "2020-02-26", "2W-WED", 1),
    ("MS", "2020-02-01", "MS", 12),
    ("MS", "2020-02-01 08:00", "MS", 12),
    ("2MS", "2020-02-01", "2MS", 6),
    ("ME", "2020-02-29", "ME", 12),
    ("ME", "2020-02-29 23:59:59", "ME", 12),
    ("QS-FEB", "2020-02-01", "QS-FEB", 4),
    ("QE-DEC", "2020-03-31", "QE-DEC", 4),
    ("QE-NOV", "2020-02-29", "QE-NOV", 4),
    ("YS-JAN", "2020-01-01", "YS-JAN", 1),
    ("YS-APR", "2020-04-01", "YS-APR", 1),
    ("YE-JUN", "2020-06-30", "YE-JUN", 1),
]


@pytest.mark.parametrize(
    ("freq", "first", "pandas_freq", "season", "unit"),
    [(*grid, unit) for grid in GRIDS for unit in ["s", "ms", "us", "ns"] if (grid[0], unit) != ("ms", "s")],
)
def test_ordinals_and_stamps_agree_with_date_range(freq, first, pandas_freq, season, unit):
    expected = pd.date_range(first, periods=60, freq=pandas_freq).as_unit(unit)
    calendar = calendar_of(freq, expected[0])
    ordinals, exact = calendar.locate(expected)
    assert exact.all()
    assert (np.diff(ordinals) == 1).all()
    again = calendar.stamps(ordinals)
    assert (again == expected).all()
    assert again.dtype == expected.dtype
    assert calendar.freq == freq
    assert calendar.season_length == season


@pytest.mark.parametrize(("freq", "first", "pandas_freq", "season"), GRIDS)
def test_stamps_before_the_epoch_and_the_first_stamp_count_down(freq, first, pandas_freq, season):
    calendar = calendar_of(freq, pd.Timestamp(first).as_unit("us"))
    start = calendar.ordinal("1969-12-30")
    ordinals = np.arange(start - 40, start + 40)
    stamps = calendar.stamps(ordinals)
    assert stamps.is_monotonic_increasing
    located, exact = calendar.locate(stamps)
    assert exact.all()
    assert (located == ordinals).all()


@pytest.mark.parametrize(("freq", "first", "pandas_freq", "season"), [grid for grid in GRIDS if grid[0] != "ms"])
def test_a_stamp_between_two_steps_belongs_to_the_one_before(freq, first, pandas_freq, season):
    grid = pd.date_range(first, periods=30, freq=pandas_freq).as_unit("us")
    calendar = calendar_of(freq, grid[0])
    begin, _ = calendar.locate(grid)
    for shift in (pd.Timedelta("1ms"), (grid[1] - grid[0]) / 3):
        between = (grid + shift).as_unit("us")
        ordinals, exact = calendar.locate(between)
        assert not exact.any()
        # A naive twin: the last stamp of the grid that is not later.
        assert (ordinals == begin[0] + np.searchsorted(grid, between, side="right") - 1).all()


@pytest.mark.parametrize("stamp", ["2020-02-29", "2020-03-01", "2020-03-01 23:59", "1969-12-27", "1969-12-28 12:00"])
def test_a_weekend_belongs_to_the_friday_before(stamp):
    calendar = calendar_of("B", pd.Timestamp("2020-02-27"))
    friday = calendar.stamp(calendar.ordinal(stamp))
    assert friday.day_name() == "Friday"
    assert pd.Timedelta(0) < pd.Timestamp(stamp) - friday < pd.Timedelta("3D")


ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC", "+05:30"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("freq", ["D", "W-SUN", "B", "MS", "ME"])
@pytest.mark.parametrize("begin", ["2024-03-01", "2024-09-20"])
def test_days_and_longer_steps_stay_at_local_midnight_when_the_clocks_change(zone, freq, begin):
    expected = pd.date_range(begin, periods=60, freq=freq).as_unit("us").tz_localize(zone)
    calendar = calendar_of(freq, expected[0])
    ordinals, exact = calendar.locate(expected)
    assert exact.all()
    assert (np.diff(ordinals) == 1).all()
    again = calendar.stamps(ordinals)
    assert (again == expected).all()
    assert str(again.tz) == str(expected.tz)
    assert (again.tz_localize(None) == again.tz_localize(None).normalize()).all()


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("freq", ["h", "30min", "6h"])
@pytest.mark.parametrize("begin", ["2024-03-29 21:30", "2024-10-25 21:30"])
def test_hours_run_on_when_the_clocks_change(zone, freq, begin):
    expected = pd.date_range(begin, periods=200, freq=freq, tz=zone).as_unit("us")
    calendar = calendar_of(freq, expected[0])
    ordinals, exact = calendar.locate(expected)
    assert exact.all()
    assert (np.diff(ordinals) == 1).all()
    assert (calendar.stamps(ordinals) == expected).all()
    step = pd.tseries.frequencies.to_offset(freq)
    assert (calendar.stamps(ordinals + 1) == expected + step).all()


@pytest.mark.parametrize(("day", "hours"), [("2024-03-31", 23), ("2024-10-27", 25), ("2024-06-01", 24)])
def test_an_hourly_day_has_the_hours_of_its_clock(day, hours):
    calendar = calendar_of("h", pd.Timestamp("2024-01-01", tz="Europe/Berlin"))
    next_day = pd.Timestamp(day) + pd.Timedelta("1D")
    assert calendar.ordinal(next_day) - calendar.ordinal(day) == hours


def test_the_night_of_march_has_no_two_o_clock_and_that_of_october_has_two():
    calendar = calendar_of("h", pd.Timestamp("2024-01-01", tz="Europe/Berlin"))
    march = calendar.stamps(calendar.ordinal("2024-03-31") + np.arange(4))
    october = calendar.stamps(calendar.ordinal("2024-10-27") + np.arange(5))
    assert march.hour.tolist() == [0, 1, 3, 4]
    assert october.hour.tolist() == [0, 1, 2, 2, 3]


def test_where_midnight_is_skipped_the_day_begins_with_its_first_moment():
    days = pd.DatetimeIndex(["2018-11-03 00:00", "2018-11-04 01:00", "2018-11-05 00:00"], tz="America/Sao_Paulo")
    calendar = calendar_of("D", days[0])
    ordinals, exact = calendar.locate(days)
    assert exact.all()
    assert (np.diff(ordinals) == 1).all()
    assert (calendar.stamps(ordinals) == days).all()
    assert calendar.ordinal("2018-11-04") == ordinals[1]


def test_where_midnight_comes_twice_the_day_begins_with_the_first():
    days = pd.DatetimeIndex(["2024-11-02 04:00Z", "2024-11-03 04:00Z", "2024-11-04 05:00Z"]).tz_convert(
        "America/Havana"
    )
    calendar = calendar_of("D", days[0])
    ordinals, exact = calendar.locate(days)
    assert exact.all()
    assert (calendar.stamps(ordinals[0] + np.arange(3)) == days).all()


def test_integers_count_in_their_step_and_may_be_negative():
    calendar = integer_calendar(5, -8)
    stamps = pd.Index([-13, -8, -3, 2, 7])
    ordinals, exact = calendar.locate(stamps)
    assert exact.all()
    assert (np.diff(ordinals) == 1).all()
    assert calendar.stamps(ordinals).tolist() == stamps.tolist()
    assert calendar.locate(pd.Index([-7]))[1].tolist() == [False]
    assert calendar.stamp(calendar.ordinal(-4)) == -8
    assert calendar.season_length == 1


@pytest.mark.parametrize(
    ("zone", "stamp", "meant"),
    [
        (None, "2024-05-02 07:30", "2024-05-02 07:00"),
        (None, pd.Timestamp("2024-05-02 07:59:59.999999999"), "2024-05-02 07:00"),
        (None, np.datetime64("2024-05-02T07"), "2024-05-02 07:00"),
        ("Europe/Berlin", "2024-05-02 07:30", "2024-05-02 07:00+02:00"),
        ("Europe/Berlin", pd.Timestamp("2024-05-02 07:30", tz="UTC"), "2024-05-02 09:00+02:00"),
    ],
)
def test_one_stamp_is_read_in_the_zone_of_the_calendar(zone, stamp, meant):
    calendar = calendar_of("h", pd.Timestamp("2024-01-01", tz=zone).as_unit("s"))
    assert calendar.stamp(calendar.ordinal(stamp)) == pd.Timestamp(meant)


@pytest.mark.parametrize(
    ("calendar", "stamp", "error", "message"),
    [
        (calendar_of("h", pd.Timestamp("2024")), 5, TypeError, "holds timestamps"),
        (calendar_of("h", pd.Timestamp("2024")), pd.NaT, TypeError, "holds timestamps"),
        (calendar_of("h", pd.Timestamp("2024")), pd.Timestamp("2024", tz="UTC"), ValueError, "no time zone"),
        (integer_calendar(1, 0), "2024-01-01", TypeError, "counts integers"),
        (integer_calendar(1, 0), 1.0, TypeError, "counts integers"),
        (integer_calendar(1, 0), True, TypeError, "counts integers"),
    ],
)
def test_a_stamp_of_another_kind_is_refused(calendar, stamp, error, message):
    with pytest.raises(error, match=message):
        calendar.ordinal(stamp)


@pytest.mark.parametrize(
    "stamps",
    [
        pd.date_range("2024-01-01", periods=2, unit="ns"),
        pd.date_range("2024-01-01", periods=2, unit="us", tz="UTC"),
        pd.Index([0, 1]),
    ],
)
def test_stamps_of_another_unit_or_without_the_zone_are_not_located_elsewhere(stamps):
    calendar = calendar_of("D", pd.Timestamp("2024-01-01").as_unit("us"))
    with pytest.raises(ValueError, match="this calendar has unit us and time zone None"):
        calendar.locate(stamps)


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("H", (1, "h", None)),
        ("15T", (15, "min", None)),
        ("10S", (10, "s", None)),
        ("M", (1, "ME", None)),
        ("Q", (1, "QE", None)),
        ("Q-NOV", (1, "QE", "NOV")),
        ("A", (1, "YE", None)),
        ("AS-APR", (1, "YS", "APR")),
        ("2w-mon", (2, "W", "MON")),
        (" D ", (1, "D", None)),
    ],
)
def test_old_spellings_mean_what_they_meant(given, parts):
    assert parse_freq(given) == parts


@pytest.mark.parametrize("given", ["", "0h", "-1D", "1.5h", "2B", "W-JAN", "QS-MON", "MS-JAN", "BME", "hour", True, 1])
def test_what_is_no_frequency_is_refused_with_what_is_allowed(given):
    with pytest.raises(ValueError, match=r"`freq` is .*; allowed: a whole number before one of"):
        parse_freq(given)


def test_a_frequency_finer_than_the_stamps_is_refused():
    with pytest.raises(ValueError, match="'ms' is no multiple of 1000000000 ns"):
        calendar_of("ms", pd.Timestamp("2024-01-01").as_unit("s"))


@pytest.mark.parametrize(
    ("freq", "first", "read"),
    [(freq, first, freq) for freq, first, _, _ in GRIDS if freq[0] not in "QY2Wm"]
    + [(freq, "2020-02-27 05:05", freq) for freq in ("min", "30min")]
    + [
        ("2h", "2020-02-27 05:00", "2h"),
        ("2MS", "2020-02-01", "2MS"),
        ("W-MON", "2020-02-24", "W"),
        ("2W-WED", "2020-02-26", "2W"),
        ("QS-FEB", "2020-02-01", "QS"),
        ("QE-NOV", "2020-02-29", "QE"),
        ("2QS", "2020-01-01", "2QS"),
        ("YS-APR", "2020-04-01", "YS"),
        ("YE-JUN", "2020-06-30", "YE"),
    ],
)
@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_frequency_is_read_off_the_stamps(freq, first, read, unit, zone):
    stamps = pd.date_range(first, periods=40, freq=freq).as_unit(unit)
    assert infer_freq(stamps if zone is None else stamps.tz_localize(zone, nonexistent="shift_forward")) == read
    assert infer_freq(stamps.delete([3, 4, 17])) == read


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("freq", ["h", "15min"])
def test_an_hourly_frequency_is_read_across_the_clock_change(zone, freq):
    assert infer_freq(pd.date_range("2024-10-26", periods=60, freq=freq, tz=zone)) == freq


def test_two_days_with_the_clock_change_between_them_are_daily():
    assert infer_freq(pd.DatetimeIndex(["2024-03-31", "2024-04-01"], tz="Europe/Berlin")) == "D"


def test_two_stamps_in_the_hour_that_comes_twice_are_hourly():
    assert infer_freq(pd.DatetimeIndex(["2024-10-27 00:30Z", "2024-10-27 01:30Z"]).tz_convert("Europe/Berlin")) == "h"


def test_one_stamp_has_no_frequency():
    assert infer_freq(pd.DatetimeIndex(["2024-03-31"])) is None
    assert infer_freq(pd.DatetimeIndex(["2024-03-31", "2024-03-31"])) is None
    assert infer_step(np.array([7])) is None


def test_the_most_frequent_step_counts():
    assert infer_step(np.array([0, 2, 4, 4, 6, 7, 8, 20])) == 2
