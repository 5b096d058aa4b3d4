"""Calendar features against what the clock says of one stamp at a time."""

import sys
from datetime import date
from math import cos, pi, sin

import numpy as np
import pandas as pd
import pytest

from forecast.frame import FrameError
from forecast.frame.calendar import calendar_of, integer_calendar
from forecast.frame.features import calendar_features, feature_names
from forecast.frame.listed import listed_calendar

NAMES = ("minute", "hour", "weekday", "monthday", "month", "yearday", "week", "quarter", "weekend")


def calendar(freq="h", stamp="2024-03-29", zone=None, unit="us"):
    return calendar_of(freq, pd.Timestamp(stamp, tz=zone).as_unit(unit))


def phase(name, stamp):
    """The twin: how much of a cycle has gone by at one stamp, by its own clock."""
    day = date(stamp.year, stamp.month, stamp.day)
    seconds = stamp.hour * 3600 + stamp.minute * 60 + stamp.second
    year = (date(stamp.year + 1, 1, 1) - date(stamp.year, 1, 1)).days
    month = date(stamp.year + stamp.month // 12, stamp.month % 12 + 1, 1) - date(stamp.year, stamp.month, 1)
    iso_year, week, _ = day.isocalendar()
    return {
        "minute": seconds % 3600 / 3600,
        "hour": seconds / 86400,
        "weekday": day.weekday() / 7,
        "monthday": (day.day - 1) / month.days,
        "month": (day.month - 1) / 12,
        "yearday": (day - date(stamp.year, 1, 1)).days / year,
        "week": (week - 1) / date(iso_year, 12, 28).isocalendar()[1],
        "quarter": (day.month - 1) // 3 / 4,
    }[name]


def naive(stamps, names):
    rows = []
    for stamp in stamps:
        row = []
        for name in names:
            if name == "weekend":
                row.append(stamp.day_name() in ("Saturday", "Sunday"))
            else:
                angle = 2 * pi * phase(name, stamp)
                row += [sin(angle), cos(angle)]
        rows.append(row)
    return np.array(rows, dtype="float32")


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata"])
@pytest.mark.parametrize(
    ("freq", "begin", "steps"),
    [
        ("h", "2024-03-29", 72),  # the clocks change in Berlin
        ("30min", "2024-10-05", 96),  # and at Lord Howe
        ("D", "2018-10-30", 400),  # no midnight in Sao Paulo
        ("7min", "2023-12-31 22:00", 40),
        ("W-WED", "2019-12-25", 120),  # a year of 53 weeks
        ("B", "2020-12-28", 20),
        ("ME", "2023-01-31", 30),
        ("QS", "1899-01-01", 12),
        ("YE", "1950-12-31", 20),
    ],
)
def test_features_are_what_the_local_clock_says(freq, begin, steps, zone):
    axis = calendar(freq, begin, zone)
    ordinals = np.arange(axis.ordinal(begin), axis.ordinal(begin) + steps)
    features = calendar_features(axis, NAMES, ordinals)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, naive(axis.stamps(ordinals), NAMES), atol=1e-6)


def test_ordinals_may_have_any_shape_and_come_in_any_order():
    axis = calendar()
    ordinals = np.random.default_rng(0).integers(0, 500, size=(7, 3, 5))
    features = calendar_features(axis, NAMES, ordinals)
    assert features.shape == (7, 3, 5, 17)
    np.testing.assert_array_equal(features.reshape(-1, 17), calendar_features(axis, NAMES, ordinals.ravel()))
    np.testing.assert_allclose(features[2, 1], naive(axis.stamps(ordinals[2, 1]), NAMES), atol=1e-6)


def test_no_ordinals_tell_how_many_features_there_are():
    assert calendar_features(calendar(), ("hour", "weekend"), np.array([], dtype="int64")).shape == (0, 3)
    assert calendar_features(calendar(), (), np.arange(4)).shape == (4, 0)


def test_the_end_of_a_cycle_lies_beside_its_beginning():
    axis = calendar("h", "2023-12-31")
    features = calendar_features(axis, ("hour", "yearday"), axis.ordinal("2023-12-31") + np.arange(48))
    jumps = np.abs(np.diff(features, axis=0)).max(axis=0)
    assert (jumps < 0.3).all()


# -- asking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freqs", "names"),
    [
        (["s", "min", "15min", "30min"], ("minute", "hour", "weekday", "yearday")),
        (["h", "2h", "12h"], ("hour", "weekday", "yearday")),
        (["D", "B", "2D", "24h"], ("weekday", "monthday", "yearday")),
        (["W", "W-TUE", "7D", "2W"], ("yearday",)),
        (["MS", "ME", "2MS"], ("month",)),
        (["QS", "QE-NOV", "3MS", "6MS"], ("quarter",)),
        (["YS", "YE-MAR", "12MS", "2YS", "100YS"], ()),
    ],
)
def test_auto_asks_for_what_varies_at_the_frequency(freqs, names):
    for freq in freqs:
        for unit in ("s", "ns"):
            axis = calendar(freq, unit=unit)
            assert feature_names(axis, "auto") == names, freq
            features = calendar_features(axis, names, np.arange(40))
            assert (np.ptp(features, axis=0) > 0).all() or freq in ("s", "min", "15min", "30min", "h", "2h")


def test_auto_asks_for_nothing_where_stamps_are_integers():
    assert feature_names(integer_calendar(1, 0), "auto") == ()


@pytest.mark.parametrize("asked", [None, (), []])
def test_nothing_is_asked_for(asked):
    assert feature_names(calendar(), asked) == ()


def test_names_come_back_as_they_were_asked_for():
    assert feature_names(calendar("D"), ["weekend", "hour"]) == ("weekend", "hour")


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ("hour", TypeError, "the text 'hour'; allowed: 'auto', or several names, as in \\('hour',\\)"),
        (("hour", "hours"), ValueError, "asks for 'hours'; allowed: minute, hour, weekday"),
        (("hour", 3), ValueError, "asks for 3; allowed"),
        (("hour", "week", "hour"), ValueError, "asks for 'hour' twice"),
    ],
)
def test_other_names_are_refused(asked, error, message):
    with pytest.raises(error, match=message):
        feature_names(calendar(), asked)


def test_integers_have_no_date():
    with pytest.raises(ValueError, match="'hour', but the time axis counts integers"):
        feature_names(integer_calendar(1, 0), ("hour",))


# -- steps without a rule --------------------------------------------------------------------------------------------


def listed(stamps):
    return listed_calendar(pd.DatetimeIndex(stamps))


def test_steps_without_a_rule_have_features_of_their_stamps():
    hours = pd.date_range("2024-01-01", "2024-03-01", freq="h")
    open_hours = hours[(hours.day_of_week < 5) & (hours.hour >= 9) & (hours.hour < 17)]
    axis = listed(open_hours)
    assert feature_names(axis, "auto") == ("hour", "weekday", "yearday")
    ordinals = np.arange(len(open_hours))
    np.testing.assert_allclose(calendar_features(axis, NAMES, ordinals), naive(open_hours, NAMES), atol=1e-6)


def irregular():
    return pd.Timestamp("2024-01-01") + pd.to_timedelta(np.cumsum(np.arange(1, 40) ** 2 % 23), unit="D")


def test_later_steps_whose_stamps_nobody_knows_have_no_features():
    axis = listed(irregular())
    assert axis.stamps([100]).isna().all()
    assert feature_names(axis, ("weekday",)) == ("weekday",)
    for ordinals in ([3, 100], [100]):
        with pytest.raises(FrameError, match=r"calendar features \(weekday\) need the stamp of every step"):
            calendar_features(axis, ("weekday",), np.array(ordinals))


def test_what_lies_before_the_first_of_such_steps_is_missing():
    axis = listed(irregular())
    names = tuple(name for name in NAMES if name != "week")
    features = calendar_features(axis, names, np.arange(-2, 5))
    assert np.isnan(features[:2]).all()
    np.testing.assert_allclose(features[2:], naive(irregular()[:5], names), atol=1e-6)
    assert np.isnan(calendar_features(axis, NAMES, np.array([-7]))).all()


# -- holidays --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "country", "part"),
    [("holidays:US", "US", None), ("holidays:DE", "DE", None), ("holidays:DE-BY", "DE", "BY")],
)
@pytest.mark.parametrize("zone", [None, "Pacific/Auckland"])
def test_a_holiday_is_one_all_day_long_by_the_local_clock(name, country, part, zone):
    holidays = pytest.importorskip("holidays", reason="needs the extra `calendar`")
    axis = calendar("h", "2023-12-20", zone)
    assert feature_names(axis, (name,)) == (name,)
    ordinals = axis.ordinal("2023-12-20") + np.arange(24 * 30)
    days = holidays.country_holidays(country, subdiv=part)
    expected = [[stamp.date() in days] for stamp in axis.stamps(ordinals)]
    assert 24 < np.sum(expected) < 24 * 10
    np.testing.assert_array_equal(calendar_features(axis, (name,), ordinals), expected)


def test_a_holiday_that_is_kept_in_the_year_before_is_one_whatever_else_is_asked():
    pytest.importorskip("holidays", reason="needs the extra `calendar`")
    axis = calendar("D", "2021-12-31")  # a Friday; New Year's Day of 2022 is kept on it
    assert calendar_features(axis, ("holidays:US",), [axis.ordinal("2021-12-31")]).tolist() == [[1.0]]
    wide = axis.ordinal("2021-06-01") + np.arange(600)
    alone = [calendar_features(axis, ("holidays:US",), [ordinal])[0] for ordinal in wide[::7]]
    np.testing.assert_array_equal(calendar_features(axis, ("holidays:US",), wide)[::7], alone)


@pytest.mark.parametrize("name", ["holidays:XX", "holidays:US-ZZ", "holidays:"])
def test_holidays_that_nobody_knows_are_refused(name):
    pytest.importorskip("holidays", reason="needs the extra `calendar`")
    with pytest.raises(ValueError, match=f"asks for '{name}'"):
        feature_names(calendar("D"), (name,))


def test_holidays_without_the_library_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(ModuleNotFoundError, match=r"'holidays:US'.*pip install 'foretell\[calendar\]'"):
        feature_names(calendar("D"), ("holidays:US",))
