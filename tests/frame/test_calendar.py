"""Calendars against pandas' own ranges: every frequency, unit and zone, both sides of the clock change."""

import numpy as np
import pandas as pd
import pytest

from forecast.frame import FrameError
from forecast.frame.calendar import calendar_of, integer_calendar
from forecast.frame.frequency import infer_freq, infer_step, parse_freq


def on_day(freq, day):
    """A naive twin of fixed days of the month, which pandas has no frequency for: as `date_range` is called."""
    return lambda first, periods: pd.DatetimeIndex(
        [
            month + pd.Timedelta(days=min(day, month.days_in_month) - 1) + (first - first.normalize())
            for month in pd.date_range(first.normalize().replace(day=1), periods=periods, freq=freq)
        ]
    )


def grid_of(first, periods, freq):
    return freq(pd.Timestamp(first), periods) if callable(freq) else pd.date_range(first, periods=periods, freq=freq)


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
    ("BMS", "2020-02-03", "BMS", 12),
    ("BMS", "2020-02-03 17:30", "BMS", 12),
    ("BME", "2020-02-28", "BME", 12),
    ("2BME", "2020-02-28", "2BME", 6),
    ("BQS-FEB", "2020-02-03", "BQS-FEB", 4),
    ("BQE-DEC", "2020-03-31", "BQE-DEC", 4),
    ("BYS-APR", "2020-04-01", "BYS-APR", 1),
    ("BYE-JUN", "2020-06-30", "BYE-JUN", 1),
    ("SMS-15", "2020-02-15", "SMS-15", 24),
    ("SMS-16", "2020-02-01 06:00", "SMS-16", 24),
    ("SME-15", "2020-02-29", "SME-15", 24),
    ("SME-10", "2020-03-10", "SME-10", 24),
    ("MS+14D", "2020-02-15", on_day("MS", 15), 12),
    ("MS+14D", "2020-02-15 12:00", on_day("MS", 15), 12),
    ("2MS+4D", "2020-02-05", on_day("2MS", 5), 6),
    ("MS+29D", "2020-02-29", on_day("MS", 30), 12),
    ("QS-FEB+9D", "2020-02-10", on_day("QS-FEB", 10), 4),
    ("YS-JUN+14D", "2020-06-15", on_day("YS-JUN", 15), 1),
]


TWINS = {freq: pandas_freq for freq, _, pandas_freq, _ in GRIDS}


@pytest.mark.parametrize(
    ("freq", "first", "pandas_freq", "season", "unit"),
    [(*grid, unit) for grid in GRIDS for unit in ["s", "ms", "us", "ns"] if (grid[0], unit) != ("ms", "s")],
)
def test_ordinals_and_stamps_agree_with_date_range(freq, first, pandas_freq, season, unit):
    expected = grid_of(first, 60, pandas_freq).as_unit(unit)
    calendar = calendar_of(freq, expected[0])
    ordinals, exact = calendar.locate(expected)
    assert exact.all()
    assert (np.diff(ordinals) == 1).all()
    again = calendar.stamps(ordinals)
    assert (again == expected).all()
    assert again.dtype == expected.dtype
    assert calendar.freq == freq
    assert calendar.season_length == season


@pytest.mark.parametrize(
    ("freq", "week"),
    [("h", 168), ("30min", 336), ("7min", None), ("12h", 14), ("D", None), ("W", None), ("MS", None), ("B", None)],
)
def test_a_week_is_told_where_several_steps_make_a_day(freq, week):
    assert calendar_of(freq, pd.Timestamp("2024-01-01")).week_length == week


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
    grid = grid_of(first, 30, pandas_freq).as_unit("us")
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


@pytest.mark.parametrize("stamp", [pd.Period("2024-05"), "2024-05", "2024-05-17", pd.Timestamp("2024-05-31").date()])
def test_a_period_or_a_date_is_read_as_a_stamp(stamp):
    calendar = calendar_of("MS", pd.Timestamp("2024-01-01"))
    assert calendar.stamp(calendar.ordinal(stamp)) == pd.Timestamp("2024-05-01")


@pytest.mark.parametrize(
    ("calendar", "stamp", "error", "message"),
    [
        (calendar_of("h", pd.Timestamp("2024")), 5, TypeError, "holds timestamps"),
        (calendar_of("h", pd.Timestamp("2024")), pd.NaT, TypeError, "holds timestamps"),
        (calendar_of("h", pd.Timestamp("2024")), pd.Timestamp("2024", tz="UTC"), ValueError, "no time zone"),
        (calendar_of("h", pd.Timestamp("2024", tz="Europe/Berlin")), "2024-10-27 02:30", ValueError, "comes twice"),
        (calendar_of("h", pd.Timestamp("2024", tz="Europe/Berlin")), "2024-03-31 02:30", ValueError, "or never"),
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
        ("L", (1, "ms", None)),
        ("U", (1, "us", None)),
        ("N", (1, "ns", None)),
        ("Y", (1, "YE", None)),
        ("A-DEC", (1, "YE", "DEC")),
        ("BM", (1, "BME", None)),
        ("BQ-FEB", (1, "BQE", "FEB")),
        ("BA", (1, "BYE", None)),
        ("BAS-APR", (1, "BYS", "APR")),
        ("SM", (1, "SME", None)),
    ],
)
def test_old_spellings_mean_what_they_meant(given, parts):
    assert parse_freq(given)[:3] == parts


@pytest.mark.parametrize(
    "given",
    [
        *("", "0h", "-1D", "1.5h", "2B", "W-JAN", "QS-MON", "MS-JAN", "BMS-JAN", "hour", "2SMS", "SMS-1", "SMS-28"),
        *("MS+30D", "ME+1D", "BMS+1D", "D+1D", "MS+1h", "steps-1", True, 1),
    ],
)
def test_what_is_no_frequency_is_refused_with_what_is_allowed(given):
    with pytest.raises(ValueError, match=r"`freq` is .*; allowed: a whole number before one of"):
        parse_freq(given)


def test_a_frequency_finer_than_the_stamps_is_refused():
    with pytest.raises(ValueError, match="'ms' is no multiple of 1000000000 ns"):
        calendar_of("ms", pd.Timestamp("2024-01-01").as_unit("s"))


@pytest.mark.parametrize(
    ("freq", "first", "read"),
    [(freq, first, freq) for freq, first, *_ in GRIDS if freq[0] not in "QY2Wm" and freq[:2] not in ("BQ", "BY")]
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
        ("2BME", "2020-02-28", "2BME"),
        ("BQS-FEB", "2020-02-03", "BQS"),
        ("BYE-JUN", "2020-06-30", "BYE"),
        ("2MS+4D", "2020-02-05", "2MS+4D"),
        ("QS-FEB+9D", "2020-02-10", "QS+9D"),
        ("YS-JUN+14D", "2020-06-15", "YS+14D"),
    ],
)
@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_the_frequency_is_read_off_the_stamps(freq, first, read, unit, zone):
    stamps = grid_of(first, 40, TWINS.get(freq, freq)).as_unit(unit)
    assert infer_freq(stamps if zone is None else stamps.tz_localize(zone, nonexistent="shift_forward")) == read
    assert infer_freq(stamps.delete([3, 4, 17])) == read


@pytest.mark.parametrize("freq", ["h", "D", "B", "ME", "QS-JAN", "YE-DEC"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_steps_beyond_what_stamps_can_hold_are_refused(freq, zone):
    calendar = calendar_of(freq, pd.Timestamp("2250-12-31", tz=zone).as_unit("ns"))
    begin = calendar.ordinal("2250-12-31")
    assert calendar.stamp(begin + 5).year > 2249
    with pytest.raises(
        FrameError, match=rf"steps of frequency '{freq}' go beyond what stamps in ns can hold: .*as_unit"
    ):
        calendar.stamps(begin + 150_000 + np.arange(3))


@pytest.mark.parametrize("freq", ["99999999999h", "1000000001D"])
def test_a_frequency_that_no_stamp_can_hold_is_refused(freq):
    with pytest.raises(ValueError, match=r"`freq` is '.*'; allowed"):
        parse_freq(freq)
    with pytest.raises(ValueError, match="`freq` '1000000W' is longer than stamps with a resolution of 1 ns can hold"):
        calendar_of("1000000W", pd.Timestamp("2024-01-01").as_unit("ns"))


@pytest.mark.parametrize("hours", [4, 6, 12])
def test_multiples_of_hours_keep_the_hour_at_which_they_begin(hours):
    stamps = pd.date_range("2024-03-01 03:00", periods=30, freq=f"{hours}h")
    assert infer_freq(stamps) == f"{hours}h"
    calendar = calendar_of(f"{hours}h", stamps[0])
    assert (
        calendar.stamps(calendar.ordinal(stamps[-1]) + np.arange(1, 9)) == stamps[1:9] + (stamps[-1] - stamps[0])
    ).all()


def test_a_frequency_object_is_told_as_the_text_to_give():
    with pytest.raises(ValueError, match="give the text 'ME'; allowed"):
        parse_freq(pd.offsets.MonthEnd())


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
