"""Frames of every kind: polars, Arrow and narwhals, Series, ids and stamps in the index; given back as they came."""

import enum
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal
from subprocess import run

import numpy as np
import pandas as pd
import pytest

from forecast.frame import FrameError, Roles, check_frame

DAYS = pd.date_range("2024-03-29", periods=5)
IDS = ["b"] * 5 + ["a"] * 5


def given_back(frame, **door):
    panel = check_frame(frame, **door)
    return panel.form.give(panel.to_frame())


def forecast_like(panel, horizon=2):
    """The frame of a forecast, as far as ids and stamps go."""
    ends = np.repeat(panel.last, horizon)
    return pd.DataFrame(
        {
            "unique_id": panel.ids.repeat(horizon),
            "cutoff": panel.calendar.stamps(ends),
            "ds": panel.calendar.stamps(ends + np.tile(np.arange(1, horizon + 1), len(panel))),
            "step": np.tile(np.arange(1, horizon + 1), len(panel)),
            "prediction": np.float32(1),
        }
    )


# -- polars ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def pl():
    pytest.importorskip("narwhals")
    return pytest.importorskip("polars")


def polars_frame(pl, ids=None, stamps=None, y=None, **columns):
    stamps = pl.Series(list(DAYS.to_pydatetime()) * 2) if stamps is None else stamps
    y = pl.Series(range(10), dtype=pl.Float32) if y is None else y
    return pl.DataFrame({"unique_id": pl.Series(IDS) if ids is None else ids, "ds": stamps, "y": y, **columns})


def polars_ids(pl):
    days, moments = [date(2024, 1, 2), date(2024, 1, 1)], [datetime(2024, 1, 2, 5), datetime(2024, 1, 1)]
    for values, dtype in [
        (["b", "a"], pl.String),
        (["b", "a"], pl.Categorical),
        (["b", "a"], pl.Enum(["z", "a", "b"])),
        ([7, 3], pl.Int8),
        ([7, 3], pl.UInt64),
        ([1.5, -0.5], pl.Float64),
        ([True, False], pl.Boolean),
        (days, pl.Date),
        (moments, pl.Datetime("ms")),
        (moments, pl.Datetime("us", "Europe/Berlin")),
        ([timedelta(1), timedelta(2)], pl.Duration("us")),
        ([Decimal("1.50"), Decimal("2.00")], pl.Decimal(10, 2)),
        ([b"b", b"a"], pl.Binary),
    ]:
        yield pl.Series([values[0]] * 5 + [values[1]] * 5).cast(dtype)


def test_ids_of_every_type_of_polars_come_back_with_it(pl):
    from polars.testing import assert_frame_equal

    for ids in polars_ids(pl):
        frame = polars_frame(pl, ids=ids)
        assert_frame_equal(given_back(frame), frame)
        panel = check_frame(frame)
        assert panel.lengths.tolist() == [5, 5]
        forecast = panel.form.give(forecast_like(panel))
        assert forecast["unique_id"].dtype == ids.dtype
        assert forecast["unique_id"].to_list() == [ids[0]] * 2 + [ids[5]] * 2


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_of_polars_keep_unit_and_zone(pl, unit, zone):
    from polars.testing import assert_frame_equal

    stamps = pl.Series(list(DAYS.to_pydatetime()) * 2).cast(pl.Datetime(unit)).dt.replace_time_zone(zone)
    frame = polars_frame(pl, stamps=stamps)
    assert_frame_equal(given_back(frame), frame)
    panel = check_frame(frame)
    assert panel.calendar.freq == "D"  # over the clock change
    forecast = panel.form.give(forecast_like(panel))
    assert forecast["ds"].dtype == forecast["cutoff"].dtype == stamps.dtype
    assert forecast["ds"].dt.replace_time_zone(None).dt.date().to_list()[:2] == [date(2024, 4, 3), date(2024, 4, 4)]


def test_dates_integers_and_text_of_polars_keep_their_type(pl):
    from polars.testing import assert_frame_equal

    days = pl.Series(list(DAYS.to_pydatetime()) * 2).cast(pl.Date)
    ahead = [date(2024, 4, 3), date(2024, 4, 4)]
    for stamps, following in [
        (days, ahead),
        (days.cast(pl.String), list(map(str, ahead))),
        (pl.Series([*range(120, 125)] * 2, dtype=pl.Int8), [125, 126]),
        (pl.Series([*range(120, 125)] * 2, dtype=pl.UInt32), [125, 126]),
    ]:
        frame = polars_frame(pl, stamps=stamps)
        assert_frame_equal(given_back(frame), frame)
        panel = check_frame(frame)
        forecast = panel.form.give(forecast_like(panel))
        assert forecast["ds"].dtype == stamps.dtype
        assert forecast["ds"].to_list()[:2] == following
    small = check_frame(polars_frame(pl, stamps=pl.Series([*range(123, 128)] * 2, dtype=pl.Int8)))
    assert small.form.give(forecast_like(small))["ds"].to_list()[:2] == [128, 129]


def test_targets_of_every_type_of_polars_are_read(pl):
    for dtype in [pl.Float32, pl.Float64, pl.Int8, pl.UInt64, pl.Decimal(10, 2)]:
        y = pl.Series([0, 1, None, *range(3, 10)]).cast(dtype)
        panel = check_frame(polars_frame(pl, y=y))
        np.testing.assert_array_equal(panel.values, [0, 1, np.nan, *range(3, 10)])
    truth = pl.Series([True, None, *[False] * 8])
    np.testing.assert_array_equal(check_frame(polars_frame(pl, y=truth)).values, [1, np.nan, *[0] * 8])
    nan = pl.Series([0.0, float("nan"), *range(2, 10)], strict=False)
    assert check_frame(polars_frame(pl, y=nan)).observed.sum() == 9


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("y", ["1"] * 10, "column `y` must hold numbers; got '1'"),
        ("y", [float("inf")] * 10, "column `y` holds 10 values that are infinite"),
        ("y", [[1.0]] * 10, "column `y` must hold numbers"),
        ("unique_id", ["a"] * 9 + [None], "column `unique_id` is missing in 1 rows, first in row 9"),
        ("unique_id", [None] * 10, "column `unique_id` is missing in 10 rows"),
        ("unique_id", [["a"]] * 10, "cannot be told apart"),
        ("unique_id", [{"a": 1}] * 10, "cannot be told apart"),
        ("ds", [*range(9), None], "column `ds` is missing in 1 rows, first in row 9"),
        ("ds", ["2024-01-01"] * 9 + [None], "column `ds` is missing in 1 rows, first in row 9"),
        ("ds", [0.5] * 10, "column `ds` must hold timestamps, periods, dates or integers; got 0.5"),
        ("ds", [True] * 10, "Number the steps"),
        ("ds", ["01.02.2024"] * 10, "'01.02.2024' in row 0"),
    ],
)
def test_what_may_not_enter_from_pandas_may_not_from_polars(pl, column, values, message):
    frame = polars_frame(pl).with_columns(pl.Series(column, values, strict=False))
    with pytest.raises(FrameError, match=message):
        check_frame(frame)


def test_a_column_that_polars_does_not_have_is_named_with_those_there_are(pl):
    with pytest.raises(FrameError, match=r"column `sales` is not there; got \['unique_id', 'ds', 'y', 'price'\]"):
        check_frame(polars_frame(pl, price=1.0), columns={"y": "sales"})
    with pytest.raises(FrameError, match="column `promo` has the role known but is not there"):
        check_frame(polars_frame(pl, price=1.0), roles=Roles(known=("promo",)))
    with pytest.raises(FrameError, match="the frame has no rows"):
        check_frame(polars_frame(pl)[:0])


def test_a_lazy_frame_is_collected_and_a_narwhals_frame_is_read(pl):
    import narwhals as nw

    frame = polars_frame(pl)
    assert given_back(frame.lazy()).equals(frame)
    assert given_back(nw.from_native(frame)).equals(frame)
    with pytest.raises(TypeError, match=r"got polars\..*Series"):
        check_frame(frame["y"])


def test_names_are_mapped_and_covariates_read_from_polars(pl):
    frame = polars_frame(
        pl, area=pl.Series(["north"] * 5 + ["south"] * 5, dtype=pl.Categorical), price=range(10), note="x"
    )
    frame = frame.rename({"unique_id": "store", "ds": "week", "y": "sales"})
    panel = check_frame(
        frame,
        columns={"unique_id": "store", "ds": "week", "y": "sales"},
        roles=Roles(static=("area",), known=("price",)),
    )
    assert panel.unused == ("note",)
    again = panel.form.give(panel.to_frame())
    assert again.columns == ["unique_id", "ds", "y", "area", "price"]
    assert again["area"].to_list() == ["north"] * 5 + ["south"] * 5
    assert again["price"].to_list() == list(range(10))


def test_rows_of_polars_are_sorted_and_gaps_masked(pl):
    frame = polars_frame(pl)
    shuffled = frame[[7, 2, 0, 9, 4, 5, 1, 6]]
    panel = check_frame(shuffled, unsorted="sort", gaps="mask")
    again = panel.form.give(panel.to_frame())
    assert again["unique_id"].to_list() == ["a"] * 5 + ["b"] * 5
    assert again["ds"].to_list() == frame["ds"].to_list()
    assert again["y"].fill_nan(None).to_list() == [5, 6, 7, None, 9, 0, 1, 2, None, 4]


def test_polars_is_read_without_arrow_and_pandas_without_narwhals():
    pytest.importorskip("narwhals")
    pytest.importorskip("polars")
    code = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd, polars as pl
from forecast.frame import check_frame
stamps = list(pd.date_range("2024-01-01", periods=4).to_pydatetime())
pandas = pd.DataFrame({"unique_id": "a", "ds": stamps, "y": [1.0, 2.0, 3.0, 4.0]})
check_frame(pandas)
assert "narwhals" not in sys.modules
frame = pl.DataFrame({"unique_id": ["a"] * 4, "ds": stamps, "y": [1.0, None, 3.0, 4.0]})
panel = check_frame(frame)
again = panel.form.give(panel.to_frame())
assert type(again) is pl.DataFrame and again["ds"].to_list() == stamps, again
"""
    done = run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- Arrow -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_tables_of_arrow_come_back_as_tables(unit, zone):
    pytest.importorskip("narwhals")
    pa = pytest.importorskip("pyarrow")
    stamps = pa.array(list(DAYS.tz_localize(zone).to_pydatetime()) * 2, pa.timestamp(unit, tz=zone))
    for ids in [pa.array(IDS), pa.array([7] * 5 + [3] * 5, pa.int16())]:
        table = pa.table({"unique_id": ids, "ds": stamps, "y": pa.array(range(10), pa.float32())})
        again = given_back(table)
        assert again.schema == table.schema
        assert again.equals(table)


def test_dates_of_arrow_come_back_as_dates():
    pytest.importorskip("narwhals")
    pa = pytest.importorskip("pyarrow")
    days = pa.array(list(DAYS.date) * 2)
    table = pa.table({"unique_id": IDS, "ds": days, "y": pa.array([1, None] * 5, pa.int32())})
    again = given_back(table)
    assert again.column("ds").equals(table.column("ds"))
    assert check_frame(table).observed.sum() == 5


# -- pandas ------------------------------------------------------------------------------------------------------------


def pandas_frame(**columns):
    return pd.DataFrame({"unique_id": IDS, "ds": DAYS.append(DAYS), "y": np.arange(10, dtype="float32"), **columns})


def test_ids_and_stamps_in_two_levels_of_the_index_are_taken():
    frame = pandas_frame()
    for indexed in [frame.set_index(["unique_id", "ds"]), frame.set_index(["ds", "unique_id"])]:
        pd.testing.assert_frame_equal(given_back(indexed), frame)
    named = frame.rename(columns={"unique_id": "store", "ds": "week"}).set_index(["store", "week"])
    pd.testing.assert_frame_equal(given_back(named, columns={"unique_id": "store", "ds": "week"}), frame)
    more = frame.assign(area="x").set_index(["area", "unique_id", "ds"])
    pd.testing.assert_frame_equal(given_back(more), frame)
    with pytest.raises(FrameError, match=r"column `unique_id` is not there"):
        check_frame(frame.set_index(["unique_id", "ds"]).rename_axis(["store", "week"]))
    with pytest.raises(FrameError, match=r"It is in the index: make it a column with frame.reset_index\(\)"):
        check_frame(frame.set_index("ds"))


@pytest.mark.parametrize("name", [None, "sales", 3, ("a", 1), date(2024, 1, 1)])
@pytest.mark.parametrize("stamps", [DAYS, DAYS.tz_localize("Europe/Berlin"), DAYS.to_period("D")], ids=str)
def test_a_series_with_stamps_in_its_index_is_one_series_of_its_name(name, stamps):
    panel = check_frame(pd.Series(range(5), index=stamps, name=name))
    assert panel.ids.tolist() == ["y" if name is None else name]
    assert panel.values.tolist() == list(range(5))
    assert panel.form.give(panel.to_frame())["ds"].tolist() == list(stamps)


def test_a_series_with_ids_and_stamps_in_its_index_is_several():
    frame = pandas_frame()
    series = frame.set_index(["unique_id", "ds"])["y"]
    for indexed in [
        series,
        series.rename_axis([None, None]),
        series.swaplevel(),
        series.rename_axis(["store", "week"]),
    ]:
        pd.testing.assert_frame_equal(given_back(indexed), frame)
    with pytest.raises(FrameError, match="ids first, stamps second"):
        check_frame(series.swaplevel().rename_axis([None, None]))


@pytest.mark.parametrize("index", [None, [5, 6, 7, 8, 9], list("abcde"), list(DAYS.strftime("%Y-%m-%d"))])
def test_a_series_without_stamps_in_its_index_is_refused_with_the_remedy(index):
    with pytest.raises(FrameError, match=r"`frame` is a Series whose index holds .* allowed: timestamps or periods"):
        check_frame(pd.Series(range(5), index=index))


def test_columns_without_a_purpose_are_told_and_not_used():
    panel = check_frame(pandas_frame(price=1.0, note=[[1]] * 10))
    assert panel.unused == ("price", "note")
    assert repr(panel).endswith(", unused price, note)")
    assert panel.to_frame().columns.tolist() == ["unique_id", "ds", "y"]
    assert panel.take(np.array([1])).until(int(panel.last[0])).unused == ("price", "note")
    assert check_frame(pandas_frame()).unused == ()


class Shop(enum.Enum):
    NORTH = 1
    SOUTH = 2


@pytest.mark.parametrize(
    "ids",
    [
        [Shop.SOUTH, Shop.NORTH],
        [frozenset([1, 2]), frozenset([3])],
        [Decimal("1.0"), Decimal("2.50")],
        [("a", date(2024, 1, 1)), ("a", None)],
        [b"b", b"a"],
        [2.5, -1.5],
        [True, False],
        [date(2024, 1, 2), date(2024, 1, 1)],
        [pd.Timestamp("2024-01-02", tz="Europe/Berlin"), pd.Timestamp("2024-01-01", tz="Europe/Berlin")],
        [pd.Period("2024-02", "M"), pd.Period("2024-01", "M")],
        [pd.Timedelta("2D"), pd.Timedelta("1D")],
        [1, "one"],
        [2, 2.5],
        [np.float32(1.5), np.float32(0.5)],
        [(), ((),)],
    ],
    ids=repr,
)
def test_ids_of_any_hashable_kind_come_back_as_they_came(ids):
    column = pd.Series(
        [ids[0]] * 5 + [ids[1]] * 5,
        dtype=None if len(set(map(type, ids))) == 1 and not isinstance(ids[0], tuple) else object,
    )
    frame = pandas_frame(unique_id=column)
    again = given_back(frame)
    pd.testing.assert_frame_equal(again, frame)
    assert [type(name) for name in again["unique_id"]] == [type(name) for name in column]
    shuffled = frame.iloc[[8, 1, 0, 5, 2, 9, 6, 3, 4, 7]]
    assert given_back(shuffled, unsorted="sort")["unique_id"].tolist() == [ids[1]] * 5 + [ids[0]] * 5


@pytest.mark.parametrize("pair", [[1, True], [1, 1.0], [0, False], [Decimal(1), 1], [2.0, Decimal(2)]], ids=str)
@pytest.mark.parametrize("unsorted", ["error", "sort"])
def test_ids_of_two_types_that_are_equal_are_refused_as_they_would_become_one(pair, unsorted):
    frame = pandas_frame(unique_id=pd.Series([pair[0]] * 5 + [pair[1]] * 5, dtype=object))
    frame["ds"] = pd.date_range("2024-01-01", periods=10)
    with pytest.raises(FrameError, match=r"cannot be told apart .* equals"):
        check_frame(frame, unsorted=unsorted)


@pytest.mark.parametrize("name", [[1], {"a": 1}, {1}, np.zeros(2), np.zeros(1)], ids=lambda name: type(name).__name__)
def test_ids_that_cannot_be_hashed_are_refused(name):
    frame = pandas_frame(unique_id=pd.Series([name] * 10, dtype=object))
    with pytest.raises(FrameError, match="column `unique_id`: ids that cannot be told apart"):
        check_frame(frame)


def test_ids_of_a_dtype_that_pandas_cannot_label_rows_with_are_refused():
    assert check_frame(pandas_frame(unique_id=np.float32([2, 2, 2, 2, 2, 1, 1, 1, 1, 1]))).ids.dtype == "float32"
    with pytest.raises(FrameError, match=r"float16.*astype\('float32'\)"):
        check_frame(pandas_frame(unique_id=np.float16([2, 2, 2, 2, 2, 1, 1, 1, 1, 1])))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (10**400, "1 values that are infinite or beyond float32"),
        (Decimal("Infinity"), "first Decimal.'Infinity'. in series 'b' at 2024-04-01"),
        ("3", "must hold numbers; got '3'"),
        (timedelta(1), "must hold numbers; got datetime.timedelta"),
        (Decimal("sNaN"), "column `y` holds a signalling NaN"),
    ],
    ids=["huge", "infinite", "text", "distance", "signal"],
)
def test_objects_that_are_no_finite_numbers_are_refused(value, message):
    values = [Decimal(1), 2, None, value, *range(6)]
    with pytest.raises(FrameError, match=message):
        check_frame(pandas_frame(y=pd.Series(values, dtype=object)))


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan, Decimal("NaN")])
def test_what_stands_for_nothing_among_objects_is_missing(missing):
    values = [Decimal(1), 2, missing, 3.5, *range(6)]
    panel = check_frame(pandas_frame(y=pd.Series(values, dtype=object)))
    assert np.flatnonzero(~panel.observed).tolist() == [2]
