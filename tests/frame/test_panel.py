"""Cutting and reading panels, against naive twins on the long frame; and the round trip of any frame."""

from datetime import UTC

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecast.frame import check_frame


def ragged():
    """Three series that begin and end at different days, with a gap, missing values and one row only."""
    pieces = {"z": ("2024-01-03", 8), "a": ("2024-01-01", 5), "m": ("2024-01-06", 1), "k": ("2024-01-05", 12)}
    frame = pd.concat(
        [
            pd.DataFrame({"unique_id": name, "ds": pd.date_range(begin, periods=rows)})
            for name, (begin, rows) in pieces.items()
        ],
        ignore_index=True,
    )
    frame["y"] = np.arange(len(frame), dtype="float64")
    frame.loc[[2, 9, 20], "y"] = np.nan
    return frame.drop(index=[4, 17, 18])


@pytest.fixture
def panel():
    return check_frame(ragged(), gaps="mask")


def regular(frame):
    """The naive twin of a panel's frame: every series asked for day by day."""
    pieces = [
        piece.set_index("ds").asfreq("D").reset_index().assign(unique_id=name)
        for name, piece in frame.groupby("unique_id", sort=False)
    ]
    return pd.concat(pieces, ignore_index=True)[["unique_id", "ds", "y"]].astype({"y": "float32"})


def assert_same(panel, frame):
    pd.testing.assert_frame_equal(panel.to_frame(), frame.reset_index(drop=True), check_dtype=False)


DAYS = pd.date_range("2023-12-31", "2024-01-18")


def test_the_long_frame_comes_back_regular(panel):
    assert_same(panel, regular(ragged()))
    assert panel.to_frame()["y"].dtype == np.float32


@pytest.mark.parametrize("day", DAYS)
def test_until_keeps_what_was_known_at_the_cutoff(panel, day):
    cut = panel.until(panel.calendar.ordinal(day))
    frame = regular(ragged())
    assert_same(cut, frame[frame["ds"] <= day])
    assert (cut.last <= panel.calendar.ordinal(day)).all()


@pytest.mark.parametrize("day", DAYS)
def test_since_keeps_what_comes_from_then_on(panel, day):
    cut = panel.since(panel.calendar.ordinal(day))
    frame = regular(ragged())
    assert_same(cut, frame[frame["ds"] >= day])
    assert (cut.first >= panel.calendar.ordinal(day)).all()


def test_cuts_compose_in_either_order(panel):
    begin, end = panel.calendar.ordinal("2024-01-05"), panel.calendar.ordinal("2024-01-07")
    frame = regular(ragged())
    inside = frame[frame["ds"].between("2024-01-05", "2024-01-07")]
    assert_same(panel.until(end).since(begin), inside)
    assert_same(panel.since(begin).until(end), inside)


@pytest.mark.parametrize("series", [[0], [2, 0], [True, False, False, True], []])
def test_take_gives_series_in_the_order_asked_for(panel, series):
    series = np.array(series, dtype=bool if True in series else "int64")
    taken = panel.take(series)
    names = list(panel.ids[series])
    frame = regular(ragged())
    assert taken.ids.tolist() == names
    assert len(taken) == len(names)
    assert_same(taken, pd.concat([frame[:0], *(frame[frame["unique_id"] == name] for name in names)]))


def test_cutting_makes_views_and_never_copies(panel):
    middle = panel.calendar.ordinal("2024-01-06")
    for cut in [panel.until(middle), panel.since(middle), panel.take(np.array([1, 0]))]:
        assert cut.values is panel.values
        assert cut.observed is panel.observed
    for values, observed in panel.until(middle):
        assert np.shares_memory(values, panel.values)
        assert np.shares_memory(observed, panel.observed)


def test_iterating_gives_the_values_of_each_series(panel):
    frame = regular(ragged())
    for name, (values, observed) in zip(panel.ids, panel, strict=True):
        expected = frame.loc[frame["unique_id"] == name, "y"].to_numpy()
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(observed, ~np.isnan(expected))


@pytest.mark.parametrize("gaps", ["mask", "fill"])
def test_at_gives_actuals_and_nan_elsewhere(gaps):
    panel = check_frame(ragged(), gaps=gaps)
    twin = ragged().set_index(["unique_id", "ds"])["y"]
    ordinals = np.array([panel.calendar.ordinal(day) for day in DAYS])
    expected = [[twin.get((name, day), np.nan) for day in DAYS] for name in panel.ids]
    np.testing.assert_array_equal(panel.at(np.arange(len(panel))[:, None], ordinals), np.float32(expected))
    assert panel.at(np.array([0]), ordinals[:1]).dtype == np.float32


def test_at_does_not_look_beyond_a_cutoff(panel):
    cutoff = panel.calendar.ordinal("2024-01-06")
    cut = panel.until(cutoff)
    assert np.isnan(cut.at(np.arange(len(cut))[:, None], cutoff + np.arange(1, 20))).all()


def test_the_representation_says_what_is_inside(panel):
    assert repr(panel) == "Panel(4 series, 26 rows, 6 missing, freq D, 2024-01-01 00:00:00 to 2024-01-16 00:00:00)"
    assert repr(panel.take(np.array([], dtype="int64"))) == "Panel(empty)"


FREQS = ["s", "15min", "h", "D", "B", "W-TUE", "MS", "ME", "QS-FEB", "YE-MAR", "3D", None]
ZONES = [None, "UTC", "Europe/Berlin", "America/New_York", UTC, "+05:45"]


@st.composite
def frames(draw):
    """Draw any valid frame, with its frequency: ragged series in any order of ids, gaps, NaN, units, zones."""
    freq = draw(st.sampled_from(FREQS))
    size = draw(st.integers(3, 40))
    if freq is None:
        axis = pd.Index(draw(st.integers(-(2**60), 2**60)) + np.arange(size) * draw(st.integers(1, 1000)))
    else:
        begin = draw(st.datetimes(pd.Timestamp("1950-01-01"), pd.Timestamp("2090-01-01")))
        begin = pd.Timestamp(begin).floor("s" if freq == "s" else "min" if freq in ("15min", "h") else "D")
        unit, zone = draw(st.sampled_from(["s", "ms", "us", "ns"])), draw(st.sampled_from(ZONES))
        axis = pd.date_range(begin, periods=size, freq=freq).as_unit(unit)
        if zone is not None:
            absolute = freq in ("s", "15min", "h")
            axis = axis.tz_localize("UTC").tz_convert(zone) if absolute else axis.tz_localize(zone)
    kind = draw(st.sampled_from([st.text(max_size=3), st.integers(-9, 9)]))
    pieces = []
    for name in draw(st.lists(kind, min_size=1, max_size=5, unique=True)):
        begin = draw(st.integers(0, size - 2))
        kept = np.flatnonzero(draw(st.lists(st.booleans(), min_size=size - begin, max_size=size - begin)))
        stamps = axis[begin:][kept] if len(kept) else axis[begin : begin + 1]
        y = draw(
            st.lists(
                st.floats(-1e30, 1e30) | st.just(np.nan) | st.integers(-5, 5),
                min_size=len(stamps),
                max_size=len(stamps),
            )
        )
        y[draw(st.integers(0, len(stamps) - 1))] = 1.5  # every series has a value
        pieces.append(
            pd.DataFrame({"unique_id": [name] * len(stamps), "ds": stamps, "y": np.array(y, dtype="float64")})
        )
    step = int(axis[1] - axis[0]) if freq is None else freq
    return pd.concat(pieces, ignore_index=True), step, draw(st.permutations(range(sum(map(len, pieces)))))


@settings(max_examples=120, deadline=None, derandomize=True)
@given(frames())
def test_any_valid_frame_comes_back_equal_up_to_float32(drawn):
    frame, freq, order = drawn
    panel = check_frame(frame, freq=freq, gaps="mask")
    again = panel.to_frame()
    # The rows that came are all there, in their order; every row between them is missing.
    came = (
        again.merge(frame[["unique_id", "ds"]], how="left", on=["unique_id", "ds"], indicator=True)["_merge"] == "both"
    )
    expected = frame.astype({"y": "float32"})
    pd.testing.assert_frame_equal(again[came.to_numpy()].reset_index(drop=True), expected)
    assert again.loc[~came.to_numpy(), "y"].isna().all()
    np.testing.assert_array_equal(panel.observed, again["y"].notna())
    # Sorting on demand gives the same series, whatever the order of the rows.
    shuffled = check_frame(frame.iloc[list(order)], freq=freq, gaps="mask", unsorted="sort")
    positions = shuffled.ids.get_indexer(panel.ids)
    pd.testing.assert_frame_equal(shuffled.take(positions).to_frame(), again)
    # A regular frame needs no policy, and its panel is the same.
    regular = check_frame(again, freq=freq)
    np.testing.assert_array_equal(regular.values, panel.values)
    np.testing.assert_array_equal(regular.first, panel.first)


def test_a_detached_panel_holds_the_same_rows_and_no_others():
    whole = check_frame(ragged(), gaps="mask")
    cut = whole.until(int(whole.first.min()) + 9).since(int(whole.first.min()) + 3).take(np.array([2, 0]))
    detached = cut.detached()
    pd.testing.assert_frame_equal(detached.to_frame(), cut.to_frame())
    assert len(detached.values) == len(detached.observed) == int(cut.lengths.sum()) < len(whole.values)
    assert not np.shares_memory(detached.values, whole.values)


@pytest.mark.parametrize("ids", [["b", "a"], [7, 3], [2.5, 1.5], list(pd.to_datetime(["2024-01-02", "2024-01-01"]))])
def test_an_id_is_told_as_the_plain_value_that_it_is(ids):
    frame = pd.DataFrame({"unique_id": ids, "ds": [1, 1], "y": 0.0})
    panel = check_frame(frame, freq=1)
    assert [panel.id_of(series) for series in (0, 1)] == ids
    assert not any(isinstance(panel.id_of(series), np.generic) for series in (0, 1))
