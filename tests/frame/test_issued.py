"""Covariates that are forecasts: through the door with their issue times, read from then on, cut, saved and back."""

import re

import numpy as np
import pandas as pd
import pytest

from forecast.frame import FrameError, Roles, check_frame
from forecast.frame.covariates import NEVER
from forecast.panel_files import panel_from_json, panel_to_json

ROLES = Roles(known=("price",), forecasted={"warmth": "issued", "sky": "issued", "wind": "told"})


def make(freq="h", begin="2024-03-30", rows=(30, 22), zone=None, unit="ns", seed=0) -> pd.DataFrame:
    """Two series; forecasts are issued up to 7 steps before their time, and up to 3 after, mostly between two steps."""
    rng, pieces = np.random.default_rng(seed), []
    for name, count in zip("ba", rows, strict=True):
        ds = pd.date_range(begin, periods=count, freq=freq, tz=zone).as_unit(unit)
        step = (ds[-1] - ds[0]) / (count - 1)
        early = [pd.DatetimeIndex(ds - step * rng.integers(-12, 28, count) / 4).as_unit("ns") for _ in range(2)]
        pieces.append(
            pd.DataFrame(
                {
                    "unique_id": name,
                    "ds": ds,
                    "y": rng.normal(size=count),
                    "price": rng.normal(size=count),
                    "warmth": np.float32(rng.normal(15, 4, count)),
                    "sky": rng.choice(["grey", "blue"], count),
                    "wind": np.where(rng.random(count) < 0.2, np.nan, np.float32(rng.random(count))),
                    "issued": early[0],
                    "told": early[1],
                }
            )
        )
    frame = pd.concat(pieces, ignore_index=True)
    frame.loc[frame["wind"].isna(), "told"] = pd.NaT
    return frame


def known_at(frame: pd.DataFrame, cutoff) -> pd.DataFrame:
    """The twin: the frame up to the last step, without the forecasts that had not been issued by a cutoff."""
    frame = frame.copy()
    for column, issue in ROLES.forecasted.items():
        frame.loc[~(frame[issue] <= cutoff), column] = None
    return frame


def read_at(panel, cutoff: int, column: str) -> dict:
    """What a panel lets a forecast from a cutoff read of a forecasted column, by series and stamp."""
    beside = panel.covariates
    names = [one.name for one in beside.known.columns]
    place = names.index(column)
    at = beside.forecasted.index(place)
    found = {}
    for series, name in enumerate(panel.ids):
        rows = np.arange(beside.starts[series], beside.stops[series])
        ordinals = beside.first[series] + np.arange(len(rows))
        readable = (ordinals + beside.late[rows, at] <= cutoff) & np.isfinite(beside.known.numbers[rows, place])
        values = np.asarray(beside.known.values(rows)[column], dtype=object)
        stamps = panel.calendar.stamps(ordinals)
        found |= {(name, stamps[row]): values[row] for row in np.flatnonzero(readable)}
    return found


def said(frame: pd.DataFrame, column: str) -> dict:
    frame = frame.dropna(subset=[column])
    return dict(zip(zip(frame["unique_id"], frame["ds"], strict=True), frame[column], strict=True))


KINDS = [
    ("h", {}),
    ("h", {"zone": "Europe/Berlin"}),  # the clocks change
    ("D", {"zone": "Europe/Berlin"}),
    ("D", {"unit": "s"}),
    ("B", {}),
    ("MS", {}),
    ("15min", {"begin": "1969-12-31 20:00", "unit": "s"}),
]


@pytest.mark.parametrize("detached", [False, True])
@pytest.mark.parametrize(("freq", "how"), KINDS, ids=[f"{freq} {how}" for freq, how in KINDS])
def test_at_a_cutoff_what_had_been_issued_may_be_read_and_nothing_else(freq, how, detached):
    frame = make(freq, **how)
    panel = check_frame(frame, roles=ROLES)
    for stamp in frame["ds"][[0, 3, 11, 20]]:
        cutoff = panel.calendar.ordinal(stamp)
        cut = panel.until(cutoff)
        cut = cut.detached() if detached else cut
        known = known_at(frame, stamp)
        for column in ROLES.forecasted:
            assert read_at(cut, cutoff, column) == said(known, column)
            if detached:  # nor is anything else there
                assert read_at(cut, cutoff + 1000, column) == said(known, column)


def test_a_stamp_between_two_steps_counts_from_the_later_one():
    frame = make().iloc[:30]
    frame = frame.assign(issued=frame["ds"].iloc[5] + pd.Timedelta(minutes=30))
    panel = check_frame(frame, roles=ROLES)
    at_five, at_six = (panel.calendar.ordinal(frame["ds"].iloc[place]) for place in (5, 6))
    assert read_at(panel, at_five, "warmth") == {}
    assert len(read_at(panel, at_six, "warmth")) == 30


def test_one_panel_is_forecast_from_at_many_cutoffs_without_a_copy():
    panel = check_frame(make(), roles=ROLES)
    cut = panel.until(panel.calendar.ordinal("2024-03-30 12:00"))
    assert cut.covariates.late is panel.covariates.late
    assert not np.shares_memory(cut.detached().covariates.late, panel.covariates.late)
    assert panel.covariates.late.dtype == np.dtype("int32")


def test_a_category_that_was_issued_later_is_not_even_a_category():
    frame = make()
    frame.loc[25, ["sky", "issued"]] = ["green", frame["ds"].iloc[20]]
    panel = check_frame(frame, roles=ROLES)
    for place, there in ((19, False), (20, True)):
        cut = panel.until(panel.calendar.ordinal(frame["ds"].iloc[place])).detached()
        assert ("green" in cut.covariates.known.columns[2].categories) == there


# -- and back ----------------------------------------------------------------------------------------------------------


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its issue times as the steps from which on they count."""
    return frame.assign(**{name: frame[name].dt.ceil("h") for name in ("issued", "told")})


def same_frame(came, frame):
    came, frame = (one.astype(object).where(one.notna(), None) for one in (came, frame.reset_index(drop=True)))
    pd.testing.assert_frame_equal(came, frame, rtol=1e-6)


def test_values_and_the_steps_from_which_on_they_count_come_back():
    panel = check_frame(make(), roles=ROLES)
    same_frame(panel.to_frame(), rounded(make()))
    assert repr(panel).endswith(", known price, forecasted warmth, sky, wind)")
    assert ROLES.columns() == list(make())[3:]


def test_what_is_saved_comes_back_as_it_was():
    panel = check_frame(make(), roles=ROLES)
    back = panel_from_json(*panel_to_json(panel))
    same_frame(back.to_frame(), rounded(make()))
    assert [one.issued for one in back.covariates.known.columns] == [None, "issued", "issued", "told"]
    assert np.array_equal(back.covariates.late, panel.covariates.late)


def test_what_is_saved_of_ordinary_columns_has_no_issue_times():
    panel = check_frame(make(), roles=Roles(known=("price", "warmth")))
    assert panel.covariates.late is None
    assert "covariates.late" not in panel_to_json(panel)[1]
    assert panel_from_json(*panel_to_json(panel)).covariates.late is None


@pytest.mark.parametrize("order", ["back", "mixed"])
def test_rows_are_sorted_with_their_issue_times(order):
    order = np.arange(52)[::-1] if order == "back" else np.random.default_rng(1).permutation(52)
    frame = make().iloc[order]
    names = list(dict.fromkeys(frame["unique_id"]))
    expected = pd.concat([make()[make()["unique_id"] == name] for name in names])
    same_frame(check_frame(frame, roles=ROLES, unsorted="sort").to_frame(), rounded(expected))


@pytest.mark.parametrize("gaps", ["mask", "fill"])
def test_rows_that_are_left_out_say_nothing_or_what_was_said_before_and_from_then_on(gaps):
    frame = make().drop(index=[4, 5, 33])
    panel = check_frame(frame, roles=ROLES, gaps=gaps)
    pieces = []
    for name, piece in frame.groupby("unique_id", sort=False):
        whole = piece.set_index("ds").asfreq("h").reset_index().assign(unique_id=name)
        if gaps == "fill":
            columns = {"warmth": "issued", "wind": "told"}
            for column, issue in columns.items():
                whole[issue] = whole[issue].where(whole[column].notna()).ffill()
                whole[column] = whole[column].ffill()
            whole[["sky", "price"]] = whole[["sky", "price"]].ffill()
        pieces.append(whole)
    same_frame(panel.to_frame(), rounded(pd.concat(pieces)[list(frame)]))


# -- stamps of every kind ----------------------------------------------------------------------------------------------


def late_of(frame, **door) -> list[int]:
    roles = Roles(forecasted={"warmth": "issued"})
    return check_frame(frame, roles=roles, **door).covariates.late[:, 0].tolist()


def small(ds, issued, warmth=(1.0, 2.0, 3.0, 4.0)) -> pd.DataFrame:
    return pd.DataFrame({"unique_id": "a", "ds": ds, "y": 1.5, "warmth": warmth, "issued": issued})


DAYS = pd.date_range("2024-05-01", periods=4)


@pytest.mark.parametrize(
    ("ds", "issued"),
    [
        (DAYS, ["2024-04-30", "2024-05-02", "2024-05-04", "2024-05-01"]),
        (DAYS.to_period("D"), pd.PeriodIndex(["2024-04-30", "2024-05-02", "2024-05-04", "2024-05-01"], freq="D")),
        (DAYS.to_period("D"), pd.DatetimeIndex(["2024-04-29 07:00", "2024-05-02", "2024-05-03 18:00", "2024-05-01"])),
        (DAYS.date, pd.to_datetime(["2024-04-30", "2024-05-02", "2024-05-04", "2024-05-01"]).date),
        (DAYS.strftime("%Y-%m-%d"), pd.DatetimeIndex(["2024-04-29 23:59", "2024-05-02", "2024-05-04", "2024-05-01"])),
        (DAYS.tz_localize("UTC"), pd.to_datetime(["2024-04-30T02:00+02:00", "2024-05-02T02:00+02:00",
            "2024-05-03T20:00-04:00", "2024-05-01T00:00+00:00"], utc=True).tz_convert("Asia/Tokyo")),
        ([10, 20, 30, 40], [0, 20, 31, 1]),
        ([10, 20, 30, 40], pd.array([0, 15, 40, 9], dtype="Int64")),
    ],
    ids=["text", "periods", "timestamps for periods", "dates", "timestamps for text", "zones", "integers", "Int64"],
)  # fmt: skip
def test_issue_times_are_stamps_of_any_kind(ds, issued):
    expected = [-1, 0, 1, -3]
    assert late_of(small(ds, issued)) == expected


def test_issue_times_of_missing_values_may_be_missing_whatever_the_stamps():
    for ds, issued in [(DAYS, [None, "2024-05-02", None, "2024-05-01"]), ([1, 2, 3, 4], [None, 2, None, 1])]:
        assert late_of(small(ds, issued, (np.nan, 2.0, None, 4.0))) == [NEVER, 0, NEVER, -3]
    assert late_of(small(DAYS, None, None)) == [NEVER] * 4


def test_steps_without_a_rule_are_counted_as_they_come():
    ds = pd.to_datetime(["2024-05-02", "2024-05-03", "2024-05-07", "2024-05-20"])
    issued = pd.DatetimeIndex(["2024-01-01", "2024-05-02 12:00", "2024-05-09", "2024-05-05"])
    assert late_of(small(ds, issued), freq="steps") == [0, 0, 1, -1]


@pytest.mark.parametrize("times", ["stamps", "integers"])
def test_a_frame_of_polars_says_the_same(times):
    pl = pytest.importorskip("polars")
    frame = make()
    if times == "integers":
        begin = frame["ds"].min()
        for name in ("ds", "issued", "told"):
            frame[name] = ((frame[name] - begin) // pd.Timedelta("1h")).astype("Int64")
        frame["ds"] = frame["ds"].astype("int64")
    columns = {name: frame[name].astype(object).where(frame[name].notna(), None).to_list() for name in frame}
    other = check_frame(pl.DataFrame(columns), roles=ROLES)
    assert np.array_equal(other.covariates.late, check_frame(frame, roles=ROLES).covariates.late)


# -- what may not enter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame.loc.__setitem__((34, "told"), pd.NaT) or frame.loc.__setitem__((34, "wind"), 0.5),
            "column `told` is missing in series 'a' at 2024-03-30 04:00:00, where `wind` is 0.5 (1 such rows in all)",
        ),
        (
            lambda frame: frame.__setitem__("issued", frame["issued"].dt.tz_localize("UTC")),
            "column `issued` holds timestamps in a time zone",
        ),
        (lambda frame: frame.__setitem__("issued", 3), "column `issued` holds integers, first 3 in series 'b'"),
        (lambda frame: frame.__setitem__("issued", 3.5), "column `issued` must hold timestamps"),
        (lambda frame: frame.__setitem__("issued", "noon"), "column `issued` must hold timestamps"),
        (lambda frame: frame.pop("issued"), "column `issued` has the role issue time but is not there"),
        (lambda frame: frame.pop("sky"), "column `sky` has the role forecasted but is not there"),
    ],
    ids=["none", "zone", "integers", "floats", "text", "not there", "no value"],
)
def test_forecasts_of_which_nobody_knows_the_issue_time_are_refused(change, message):
    frame = make()
    change(frame)
    with pytest.raises(FrameError, match=re.escape(message)):
        check_frame(frame, roles=ROLES)


@pytest.mark.parametrize(
    ("roles", "error", "message"),
    [
        (Roles(forecasted=("warmth",)), TypeError, "forecasted is ('warmth',); allowed: column -> that of its issue"),
        (Roles(forecasted={"warmth": ["issued"]}), TypeError, "issue times of `warmth` are ['issued']; allowed: the"),
        (Roles(forecasted={"warmth": None}), TypeError, "issue times of `warmth` are None"),
        (Roles(forecasted={"warmth": "ds"}), FrameError, "column `ds` cannot be both ds and issue time"),
        (Roles(known=("warmth",), forecasted={"warmth": "issued"}), FrameError, "cannot be both known and forecasted"),
        (Roles(past=("issued",), forecasted={"warmth": "issued"}), FrameError, "cannot be both past and issue time"),
    ],
)  # fmt: skip
def test_roles_that_cannot_be_are_refused(roles, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_frame(make(), roles=roles)
