"""Steps, not clock: what follows no frequency is counted row by row, over the stamps of all series together."""

import numpy as np
import pandas as pd
import pytest

from forecast import Drift, NeuralForecaster, SeasonalNaive, Training
from forecast.frame import FrameError, check_frame, check_rows
from forecast.frame.listed import listed_calendar

HOLIDAYS = pd.to_datetime(["2023-12-25", "2023-12-26", "2024-01-01", "2024-03-29", "2024-04-01", "2024-05-01"])


def trading_days(begin="2023-10-02", periods=200, zone=None):
    return pd.bdate_range(begin, periods=periods, freq="C", holidays=list(HOLIDAYS)).tz_localize(zone)


def office_hours(begin="2024-02-05", weeks=12, zone=None):
    hours = pd.date_range(begin, periods=weeks * 7 * 24, freq="h")
    return hours[(hours.day_of_week < 5) & (hours.hour >= 9) & (hours.hour < 17)].tz_localize(zone)


def frame_of(stamps, ids=("a",)):
    return pd.concat(
        [
            pd.DataFrame({"unique_id": name, "ds": stamps, "y": np.arange(len(stamps)) % 7.0 + at})
            for at, name in enumerate(ids)
        ]
    )


AXES = [trading_days(), trading_days(zone="America/New_York"), office_hours(), office_hours(zone="Europe/Berlin")]


@pytest.mark.parametrize("stamps", AXES, ids=["days", "days in a zone", "hours", "hours in a zone"])
def test_rows_in_time_order_are_consecutive_steps(stamps):
    with pytest.raises(FrameError, match=r'rows in \d+ gaps in all.*freq="steps" takes rows in time order as steps'):
        check_frame(frame_of(stamps))
    panel = check_frame(frame_of(stamps, ids="ab"), freq="steps")
    assert panel.calendar.freq == "steps"
    assert panel.lengths.tolist() == [len(stamps)] * 2
    assert panel.observed.all()
    assert (panel.to_frame()["ds"][: len(stamps)] == stamps).all()
    ordinals, exact = panel.calendar.locate(stamps)
    assert ordinals.tolist() == list(range(len(stamps)))
    assert exact.all()
    assert panel.calendar.ordinal(stamps[5] + pd.Timedelta("1min")) == 5


def test_the_stamps_of_all_series_are_the_calendar_and_one_that_lacks_some_has_a_gap():
    days = trading_days()
    late, early = frame_of(days[3:]), frame_of(days[:-4]).assign(unique_id="b")
    panel = check_frame(pd.concat([late, early]), freq="steps")
    assert panel.first.tolist() == [3, 0]
    assert panel.last.tolist() == [len(days) - 1, len(days) - 5]
    lacking = pd.concat([late, early.drop(index=[10, 11, 50])])
    with pytest.raises(
        FrameError, match=r"2 rows are missing before series 'b' at 2023-10-18.*frequency 'steps'; 3 rows in 2"
    ):
        check_frame(lacking, freq="steps")
    assert (~check_frame(lacking, freq="steps", gaps="mask").observed).sum() == 3
    with pytest.raises(FrameError, match="comes more than once"):
        check_frame(frame_of(days[[0, 1, 1, 2]]), freq="steps")


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/New_York"])
def test_later_steps_of_trading_days_are_business_days(zone):
    days = trading_days(zone=zone)
    calendar = listed_calendar(days)
    expected = pd.bdate_range(days[-1].tz_localize(None) + pd.Timedelta("1D"), periods=40).tz_localize(zone)
    assert (calendar.stamps(len(days) + np.arange(40)) == expected).all()
    assert calendar.season_length == 5


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_later_steps_of_office_hours_are_the_hours_of_the_next_days(zone):
    hours = office_hours(begin="2024-01-08", weeks=30, zone=zone)  # over the clock change of March
    known = hours[:240].delete([50, 51, 52])  # within what is known, hours are missing
    calendar = listed_calendar(known)
    assert (calendar.stamps(len(known) + np.arange(300)) == hours[240:540]).all()
    assert calendar.season_length == 8


def test_where_no_week_is_like_the_other_a_frequency_that_tells_most_stamps_goes_on():
    months = pd.date_range("2015-01-31", periods=60, freq="ME").delete([7, 30])
    calendar = listed_calendar(months)
    assert (calendar.stamps(len(months) + np.arange(5)) == pd.date_range("2020-01-31", periods=5, freq="ME")).all()
    assert calendar.season_length == 12


@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_without_any_rule_later_steps_have_no_stamp_but_their_number(unit, zone):
    distances = np.random.default_rng(0).integers(1, 10**6, 80)
    stamps = (pd.Timestamp("2024-01-01") + pd.to_timedelta(distances.cumsum(), "s")).as_unit(unit).tz_localize(zone)
    forecast = Drift(3).fit(frame_of(stamps), freq="steps").predict()
    assert forecast["ds"].isna().all()
    assert forecast["ds"].dtype == stamps.dtype
    assert (forecast["cutoff"] == stamps[-1]).all()
    assert forecast["step"].tolist() == [1, 2, 3]
    assert listed_calendar(stamps).season_length == 1
    assert listed_calendar(stamps).stamps([-1]).isna().all()


def test_a_few_days_tell_no_weekly_pattern():
    calendar = listed_calendar(
        pd.DatetimeIndex(["2024-05-02 09:00", "2024-05-02 13:00", "2024-05-03 09:00", "2024-05-06 10:30"])
    )
    assert calendar.stamps([4, 5]).isna().all()


def test_integers_go_on_by_their_most_frequent_distance():
    frame = frame_of([1, 2, 3, 5, 6, 7, 20, 21])
    with pytest.raises(FrameError, match='freq="steps"'):
        check_frame(frame)
    forecaster = SeasonalNaive(3).fit(frame, freq="steps")
    assert forecaster.panel_.observed.all()
    forecast = forecaster.predict()
    assert forecast["ds"].tolist() == [22, 23, 24]
    assert forecast["cutoff"].tolist() == [21] * 3
    assert forecaster.predict(frame[:-1])["ds"].tolist() == [21, 22, 23]
    assert forecaster.panel_.calendar.stamps([-2, -1]).tolist() == [-1, 0]


def test_forecasts_of_known_steps_have_their_stamps():
    days = trading_days()
    forecast = SeasonalNaive(5).fit(frame_of(days), freq="steps").predict(cutoffs=[days[-8], days[-3]])
    assert forecast["ds"][:5].tolist() == days[-7:-2].tolist()
    assert forecast["ds"][5:7].tolist() == days[-2:].tolist()
    ragged = pd.concat([frame_of(days), frame_of(days[:-3]).assign(unique_id="b")])
    ends = SeasonalNaive(2).fit(ragged, freq="steps").predict()
    assert ends["cutoff"].tolist() == [days[-1]] * 2 + [days[-4]] * 2
    assert ends["ds"].tolist()[2:] == days[-3:-1].tolist()


def test_rows_that_go_on_make_the_calendar_longer_and_no_known_step_moves():
    days = trading_days()
    begin = check_frame(frame_of(days[:100]), freq="steps").calendar
    more = check_rows(frame_of(days[95:120]), begin)
    assert more.first.tolist() == [95]
    assert more.calendar.stamps(np.arange(120)).tolist() == days[:120].tolist()
    odd = days[95:120].insert(3, days[97] + pd.Timedelta("5h"))
    with pytest.raises(FrameError, match="series 'a' at 2024-02-19 05:00:00 is not on the grid of frequency 'steps'"):
        check_rows(frame_of(odd), begin)


def test_a_stream_goes_on_step_by_step():
    days = trading_days()
    frame = frame_of(days)
    network = NeuralForecaster("gru", 2, context_length=16, training=Training(steps=2))
    forecaster = network.fit(frame[:150], freq="steps")
    stream = forecaster.stream()
    for row in range(150, 154):
        forecast = stream.update(frame[row : row + 1])
    assert forecast["cutoff"].tolist() == [days[153]] * 2
    batch = forecaster.predict(frame[:154])
    np.testing.assert_allclose(forecast["mean"], batch["mean"], rtol=0.01)  # over all values, over a context
    assert forecast["ds"].tolist() == batch["ds"].tolist()
