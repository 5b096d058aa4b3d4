"""The future of known covariates: which rows are needed, how they are given, and what is said where they do not fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from forecast.ahead import check_known, future_rows, with_future
from forecast.baselines import Naive
from forecast.frame import FrameError, Roles, check_frame
from forecast.origins import origins_of

ROLES = Roles(static=("size",), known=("price", "promo"), past=("rain",), delayed={"sold": 2})
H = 12
ENDS = {"b": "2024-05-01", "a": "2024-05-04"}
HELP = "forecaster.future_frame() gives the rows to fill in"


def make(begin="2024-04-20", last=ENDS, **columns):
    pieces = [pd.DataFrame({"unique_id": name, "ds": pd.date_range(begin, end)}) for name, end in last.items()]
    frame = pd.concat(pieces, ignore_index=True)
    at = np.arange(len(frame))
    frame = frame.assign(
        y=at * 0.5, size=frame["unique_id"].map({"b": 1.0, "a": 2.0}), price=at % 7 + 0.25,
        promo=np.where(at % 3, "none", "half"), rain=at * 0.1, sold=at * 2.0,
    )  # fmt: skip
    return frame.assign(**columns)


def ahead(steps=H, skipped=0):
    """What is known of the steps after each series' end."""
    pieces = [
        pd.DataFrame({"unique_id": name, "ds": pd.date_range(end, periods=steps + 1)[1 + skipped :]})
        for name, end in ENDS.items()
    ]
    frame = pd.concat(pieces, ignore_index=True)
    at = np.arange(len(frame))
    return frame.assign(price=100.0 + at, promo=np.where(at % 2, "half", "none"))


def panel(**door):
    return check_frame(make(), roles=ROLES, **door)


def accept(future, horizon=H, history=None, **door):
    history = panel() if history is None else history
    told = with_future(history, future, door)
    check_known(told, origins_of(told), horizon)
    return told


def refuses(future, *parts, error=FrameError, **given):
    with pytest.raises(error) as caught:
        accept(future, **given)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def known(told, name, ordinals):
    """Give the known values of a series at ordinals, as a frame of names to values."""
    beside, at = told.covariates, told.ids.get_loc(name)
    rows = beside.starts[at] + np.asarray(ordinals) - beside.first[at]
    assert (rows >= beside.starts[at]).all()
    assert (rows < beside.stops[at]).all()
    return pd.DataFrame(beside.known.values(rows))


def assert_known(told, future, horizon=H):
    """What a panel knows of the steps after each series' end is what the frame says."""
    for at, name in enumerate(told.ids):
        ordinals = told.last[at] + 1 + np.arange(horizon)
        expected = future[(future["unique_id"] == name) & future["ds"].isin(told.calendar.stamps(ordinals))]
        came = known(told, name, ordinals)
        assert came["price"].tolist() == expected["price"].tolist()
        assert came["promo"].tolist() == expected["promo"].tolist()


# -- which rows ------------------------------------------------------------------------------------------------------


def test_exactly_the_rows_of_the_horizon_are_taken():
    told = accept(ahead())
    assert_known(told, ahead())
    pd.testing.assert_frame_equal(told.to_frame(), panel().to_frame())  # the history is as it was


@pytest.mark.parametrize("horizon", [1, 3, H])
def test_rows_beyond_the_horizon_do_no_harm(horizon):
    assert_known(accept(ahead(H + 5), horizon), ahead(H + 5), horizon)


def test_history_and_future_may_come_in_one_frame():
    both = pd.concat([make(), ahead()]).sort_values(["unique_id", "ds"], ascending=[False, True])
    assert_known(accept(both), ahead())


def test_rows_of_the_past_are_not_read():
    both = pd.concat([make(price=-1.0, promo="other", size=9.0), ahead()])
    told = accept(both.sort_values(["unique_id", "ds"]))
    assert_known(told, ahead())
    pd.testing.assert_frame_equal(told.to_frame(), panel().to_frame())


def test_rows_in_which_nothing_else_is_known_may_stand_in_the_history_too():
    longer = pd.concat([make(), ahead().assign(size=1.0)]).sort_values(["unique_id", "ds"])
    longer["size"] = longer["unique_id"].map({"b": 1.0, "a": 2.0})
    history = check_frame(longer, roles=ROLES)
    cutoffs = [history.calendar.ordinal("2024-05-01")]
    check_known(history, origins_of(history, cutoffs), H)


@pytest.mark.parametrize(
    ("future", "name", "first", "step", "begin", "end"),
    [
        (ahead(H - 1), "b", "2024-05-13", 12, "2024-05-02", "2024-05-13"),
        (ahead(H + 1, skipped=1), "b", "2024-05-02", 1, "2024-05-02", "2024-05-13"),
        (ahead().query("unique_id == 'b'"), "a", "2024-05-05", 1, "2024-05-05", "2024-05-16"),
        (ahead().query("unique_id == 'a'"), "b", "2024-05-02", 1, "2024-05-02", "2024-05-13"),
        (ahead().drop(index=[3, 4, 20]), "b", "2024-05-05", 4, "2024-05-02", "2024-05-13"),
        (ahead().drop(index=20), "a", "2024-05-13", 9, "2024-05-05", "2024-05-16"),
    ],
    ids=["one too few", "one step late", "first series only", "second series only", "hole in both", "hole in one"],
)
def test_rows_that_are_missing_are_named(future, name, first, step, begin, end):
    refuses(
        future,
        f"series {name!r}: `price` is not known at {first} 00:00:00 (step {step}); "
        f"expected {begin} 00:00:00 to {end} 00:00:00, 12 rows",
        HELP,
    )


@pytest.mark.parametrize("column", ["price", "promo"])
def test_a_value_that_is_missing_in_the_future_is_named(column):
    future = ahead()
    future.loc[[14, 16], column] = None
    refuses(future, f"series 'a': `{column}` is not known at 2024-05-07 00:00:00 (step 3)", HELP)


def test_a_value_that_is_missing_beyond_the_horizon_does_no_harm():
    future = ahead(H + 2)
    future.loc[[12, 13], "price"] = np.nan
    assert_known(accept(future), ahead(H + 2))


def test_a_value_that_is_missing_in_the_history_is_no_matter():
    history = check_frame(make(price=np.nan, promo=None), roles=ROLES)
    cutoffs = [history.calendar.ordinal("2024-04-22")]
    check_known(history, origins_of(history, cutoffs), 5)


def test_without_a_future_the_steps_after_the_end_are_not_known():
    history = panel()
    with pytest.raises(FrameError, match="series 'b': `price` is not known at 2024-05-02 00:00:00 "):
        check_known(history, origins_of(history), 2)


def test_a_cutoff_in_the_past_needs_only_the_rows_after_the_end():
    history = panel()
    cutoff = [history.calendar.ordinal("2024-04-28")]
    check_known(history, origins_of(history, cutoff), 3)
    with pytest.raises(FrameError) as caught:
        check_known(history, origins_of(history, cutoff), 5)
    assert "series 'b': `price` is not known at 2024-05-02 00:00:00 (step 4)" in str(caught.value)
    assert "expected 2024-05-02 00:00:00 to 2024-05-03 00:00:00, 2 rows" in str(caught.value)


def test_a_panel_that_is_cut_knows_what_was_known_ahead():
    cut = panel().until(panel().calendar.ordinal("2024-04-25"))
    check_known(cut, origins_of(cut), 6)
    told = accept(make(price=7.0), history=cut, horizon=6)
    assert known(told, "b", cut.last[0] + 1 + np.arange(6))["price"].tolist() == [7.0] * 6


# -- how they are given ----------------------------------------------------------------------------------------------


def test_columns_may_be_named_as_in_the_history_or_as_ours():
    columns = {"unique_id": "store", "ds": "day", "y": "sales"}
    history = check_frame(make().rename(columns=columns), roles=ROLES, columns=columns)
    for future in (ahead(), ahead().rename(columns=columns), ahead().rename(columns={"ds": "day"})):
        assert_known(accept(future, history=history, columns=columns), ahead())


@pytest.mark.parametrize("order", [np.arange(24)[::-1], np.random.default_rng(0).permutation(24)])
def test_rows_out_of_order_are_sorted_where_the_door_says_so(order):
    refuses(ahead().iloc[order], "Sort with", HELP)
    assert_known(accept(ahead().iloc[order], unsorted="sort"), ahead())


def test_series_may_come_in_another_order():
    assert_known(accept(ahead().iloc[[*range(12, 24), *range(12)]]), ahead())


def test_new_categories_follow_those_of_the_history():
    told = accept(ahead().assign(promo="gift"))
    before = panel().covariates.known.columns[1].categories
    assert told.covariates.known.columns[1].categories.tolist() == [*before, "gift"]
    assert_known(told, ahead().assign(promo="gift"))


@pytest.mark.parametrize("kind", ["category", "string", object])
def test_a_category_is_told_by_its_value_whatever_the_dtype(kind):
    told = accept(ahead().astype({"promo": kind}))
    assert told.covariates.known.columns[1].categories.equals(panel().covariates.known.columns[1].categories)
    assert_known(told, ahead())


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_stamps_may_have_another_unit(unit):
    assert_known(accept(ahead().assign(ds=lambda frame: frame["ds"].dt.as_unit(unit))), ahead())


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "America/New_York"])
def test_stamps_may_have_another_zone(zone):
    def local(frame):
        return frame.assign(ds=frame["ds"].dt.tz_localize("Europe/Berlin"))

    future = local(ahead())
    history = check_frame(local(make()), roles=ROLES)
    assert_known(accept(future.assign(ds=future["ds"].dt.tz_convert(zone)), history=history), future)


def test_integer_stamps_work_alike():
    def counted(frame):
        return frame.assign(ds=(frame["ds"] - pd.Timestamp("2024-01-01")).dt.days)

    history = check_frame(counted(make()), roles=ROLES)
    assert_known(accept(counted(ahead()), history=history), counted(ahead()))
    refuses(counted(ahead(H - 1)), "is not known at 133 (step 12); expected 122 to 133, 12 rows", history=history)


@pytest.mark.parametrize("kind", ["DataFrame", "LazyFrame"])
def test_a_future_of_polars_fits_a_history_of_either_kind(kind):
    pl = pytest.importorskip("polars")
    future = pl.DataFrame({name: column.to_list() for name, column in ahead().items()})
    future = future if kind == "DataFrame" else future.lazy()
    assert_known(accept(future), ahead())
    history = pl.DataFrame({name: column.to_list() for name, column in make().items()})
    assert_known(accept(future, history=check_frame(history, roles=ROLES)), ahead())


def test_steps_without_a_rule_go_on_with_the_stamps_of_the_future():
    opened = pd.date_range("2024-01-01", periods=80)[np.random.default_rng(1).permutation(80)[:60]].sort_values()
    frame = pd.DataFrame({"unique_id": "a", "ds": opened[:50], "y": 1.0, "price": 2.0})
    history = check_frame(frame, freq="steps", roles=Roles(known=("price",)))
    future = pd.DataFrame({"unique_id": "a", "ds": opened[50:55], "price": [1.0, 2.0, 3.0, 4.0, 5.0]})
    told = accept(future, horizon=5, history=history)
    assert told.calendar.stamps(told.last[0] + 1 + np.arange(5)).tolist() == opened[50:55].tolist()
    assert known(told, "a", told.last[0] + 1 + np.arange(5))["price"].tolist() == [1, 2, 3, 4, 5]


def test_steps_whose_stamps_nobody_knows_are_counted():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.cumsum(np.arange(1, 40) ** 2 % 23 + 1), unit="D")
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": 1.0, "price": 2.0})
    history = check_frame(frame, freq="steps", roles=Roles(known=("price",)))
    rows = future_rows(history, 3)
    assert rows["ds"].isna().all()
    with pytest.raises(FrameError) as caught:
        check_known(history, origins_of(history), 3)
    assert f"`price` is not known (step 1); expected 3 rows after {days[-1]}. Give" in str(caught.value)
    refuses(rows.assign(price=1.0), "`future`: column `ds` is missing in 3 rows", history=history)
    filled = rows.assign(price=1.0, ds=days[-1] + pd.to_timedelta([2, 3, 9], unit="D"))
    told = accept(filled, 3, history)
    assert told.calendar.stamps(told.last[0] + 1 + np.arange(3)).tolist() == filled["ds"].tolist()


# -- what does not fit -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda future: future.drop(columns="promo"), ["column `promo` has the role known but is not there"]),
        (lambda future: future.drop(columns="ds"), ["column `ds` is not there"]),
        (lambda future: future.assign(unique_id=future["unique_id"].replace("a", "c")), ["series 'c' is not in the"]),
        (lambda future: future.assign(unique_id=future["unique_id"].map({"b": 1, "a": 2})), ["series 1 of type int"]),
        (lambda future: future.assign(ds=np.arange(len(future))), ["column `ds` holds integers", "timestamps"]),
        (lambda future: future.assign(ds=future["ds"].dt.tz_localize("UTC")), ["in a time zone", "without time zone"]),
        (lambda future: future.assign(ds=future["ds"] + pd.Timedelta("1h")), ["`ds`: series 'b' at 2024-05-02 01:00"]),
        (lambda future: future.iloc[[0, 1, 1, 2]], ["series 'b' at 2024-05-03 00:00:00 comes more than once"]),
        (lambda future: future.assign(price="dear"), ["column `price` must hold numbers; got 'dear'", "series 'b'"]),
        (lambda future: future.assign(price=np.inf), ["column `price`", "infinite"]),
        (lambda future: future[:0], ["no rows"]),
    ],
)
def test_what_may_not_enter_is_named_as_part_of_the_future(change, parts):
    refuses(change(ahead()), "`future`: ", HELP, *parts)


@pytest.mark.parametrize("future", [3, {"price": 1.0}, "tomorrow", np.zeros((3, 2))])
def test_a_future_is_a_frame(future):
    refuses(future, "`future`: ", error=TypeError)


def test_a_future_that_ends_before_the_series_do_is_refused():
    refuses(make(), "`future` has no row after the end of its series: 'b' ends at 2024-05-01", HELP)


def test_a_future_far_away_is_refused_before_room_is_made_for_it():
    hourly = pd.DataFrame(
        {"unique_id": "a", "ds": pd.date_range("2024-01-01", periods=9, freq="s"), "y": 1.0, "p": 1.0}
    )
    history = check_frame(hourly, roles=Roles(known=("p",)))
    future = pd.DataFrame({"unique_id": "a", "ds": [pd.Timestamp("2190-01-01")], "p": 1.0})
    refuses(future, "rows out between the ends of the series and its own rows", HELP, history=history)


@pytest.mark.parametrize("roles", [None, Roles(past=("rain",), static=("size",), weight="price")])
def test_a_future_is_refused_where_nothing_of_it_would_be_read(roles):
    history = check_frame(make(), roles=roles)
    refuses(ahead(), "`future` was given, but no column has the role known", error=ValueError, history=history)
    check_known(history, origins_of(history), H)


# -- the rows to fill in ---------------------------------------------------------------------------------------------


def test_the_rows_to_fill_in_are_those_that_are_taken():
    rows = future_rows(panel(), H)
    assert list(rows) == ["unique_id", "ds", "price", "promo"]
    assert rows[["price", "promo"]].isna().all(axis=None)
    pd.testing.assert_frame_equal(rows[["unique_id", "ds"]], ahead()[["unique_id", "ds"]], check_dtype=False)
    filled = rows.assign(price=ahead()["price"], promo=ahead()["promo"])
    assert_known(accept(filled), ahead())
    refuses(rows, "series 'b': `price` is not known at 2024-05-02")


def test_rows_to_fill_in_can_be_filled_by_places():
    rows = future_rows(panel(), 2)
    rows.loc[:, "price"] = 2.5
    rows.loc[rows["unique_id"] == "a", "promo"] = "gift"
    rows.loc[rows["unique_id"] == "b", "promo"] = "half"
    assert_known(accept(rows, 2), rows, 2)


@pytest.mark.parametrize("cutoffs", [["2024-05-01"], ["2024-04-30", "2024-05-01"], ["2024-05-01", "2024-04-26"]])
def test_rows_to_fill_in_for_cutoffs_are_those_after_the_ends(cutoffs):
    history = panel()
    rows = future_rows(history, 5, cutoffs)
    assert rows.duplicated(["unique_id", "ds"]).sum() == 0
    filled = rows.assign(price=1.0, promo="half")
    told = with_future(history, filled, {})
    origins = origins_of(told, [told.calendar.ordinal(cutoff) for cutoff in cutoffs])
    check_known(told, origins, 5)
    for left_out in range(len(rows)):  # and none of them is there in vain
        with pytest.raises(FrameError, match="is not known at"):
            check_known(with_future(history, filled.drop(index=left_out), {}), origins, 5)


def test_without_known_columns_the_rows_to_fill_in_are_ids_and_stamps():
    assert list(future_rows(check_frame(make()), 3)) == ["unique_id", "ds"]
    assert len(future_rows(check_frame(make()), 3)) == 6


@pytest.mark.parametrize("categories", [[1, 2], ["x", "y"], [("a", 1), ("b", 2)]])
def test_rows_to_fill_in_are_empty_for_categories_of_every_type(categories):
    promo = pd.Series(pd.Categorical.from_codes(np.arange(len(make())) % 2, pd.Index(categories, tupleize_cols=False)))
    rows = future_rows(check_frame(make(promo=promo), roles=ROLES), 3)
    assert rows["promo"].isna().all()
    assert len(rows) == 6


def test_only_frames_of_panels_without_series_need_no_rows():
    empty = panel().take(np.array([], dtype="int64"))
    assert len(future_rows(empty, 3)) == 0
    check_known(empty, origins_of(empty), 3)


# -- as a forecaster has it ------------------------------------------------------------------------------------------


def test_a_forecaster_takes_the_rows_that_it_gave_to_fill_in():
    fitted = Naive(horizon=3).fit(make(w=1.0), roles=replace(ROLES, weight="w"))
    future = fitted.future_frame()
    future["price"], future["promo"] = 1.0, "half"
    pd.testing.assert_frame_equal(fitted.predict(future=future), fitted.predict())
    with pytest.raises(FrameError, match="`future`: column `promo` has the role known but is not there"):
        fitted.predict(future=future.drop(columns="promo"))


def test_a_frame_to_predict_from_needs_no_weights():
    fitted = Naive(horizon=3).fit(make(w=1.0), roles=replace(ROLES, weight="w"))
    pd.testing.assert_frame_equal(fitted.predict(make()), fitted.predict())
