"""Wide frames made long: every kind of frame and of time axis, series that begin and end apart."""

import numpy as np
import pandas as pd
import pytest

from forecast import check_frame, from_wide
from forecast.frame import FrameError

NAN = np.nan


def wide(index=None, **columns):
    columns = columns or {"z": [1.0, 2, 3, 4], "a": [NAN, 1, NAN, 3], "m": [5, NAN, NAN, NAN]}
    return pd.DataFrame(columns, index=pd.date_range("2024-01-31", periods=4, freq="ME") if index is None else index)


def test_missing_values_at_the_ends_of_a_series_are_no_rows_and_those_within_are_missing_values():
    frame = wide()
    long = from_wide(frame)
    assert long.columns.tolist() == ["unique_id", "ds", "y"]
    assert long["unique_id"].tolist() == ["z"] * 4 + ["a"] * 3 + ["m"]
    assert long["ds"].tolist() == [*frame.index, *frame.index[1:], frame.index[0]]
    np.testing.assert_array_equal(long["y"], [1, 2, 3, 4, 1, NAN, 3, 5])
    panel = check_frame(long)
    assert panel.calendar.freq == "ME"
    assert panel.lengths.tolist() == [4, 3, 1]


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-03-29", periods=4, tz="Europe/Berlin").as_unit("s"),
        pd.period_range("2024-01", periods=4, freq="M"),
        pd.RangeIndex(4),
        pd.Index([10, 20, 30, 40]),
        pd.Index(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], dtype=object),
    ],
    ids=lambda index: str(index.dtype),
)
def test_the_index_holds_the_stamps_of_any_kind(index):
    frame = wide(index)
    panel = check_frame(from_wide(frame))
    again = panel.form.give(panel.to_frame())
    assert again["ds"].tolist() == [*index, *index[1:], index[0]]
    named = from_wide(frame.rename_axis("week").reset_index(), time="week")
    pd.testing.assert_frame_equal(named, from_wide(frame))


def test_ids_are_the_names_of_columns_whatever_they_are():
    columns = pd.MultiIndex.from_tuples([("store", 1), ("store", 2)])
    frame = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=columns)
    assert check_frame(from_wide(frame)).ids.tolist() == [("store", 1), ("store", 2)]
    numbered = frame.set_axis(pd.Index([7, 3], dtype="int8"), axis=1)
    assert check_frame(from_wide(numbered)).ids.dtype == "int8"
    assert from_wide(frame.set_axis(pd.CategoricalIndex(["b", "a"]), axis=1))["unique_id"].dtype == "category"


def test_columns_may_be_chosen_and_their_dtypes_stay():
    frame = wide(z=pd.array([1, None, 3, 4], dtype="Int64"), a=pd.array([1, 2, None, None], dtype="Int64"), note="x")
    long = from_wide(frame, ids=["a", "z"])
    assert long["unique_id"].tolist() == ["a"] * 2 + ["z"] * 4
    assert long["y"].dtype == "Int64"
    with pytest.raises(FrameError, match="column `note` holds 'x', which is no value of a series"):
        check_frame(from_wide(frame[["note"]]))


def test_a_series_without_any_value_keeps_its_rows_and_the_door_tells_of_it():
    long = from_wide(wide(a=[1.0, 2, 3, 4], b=[NAN] * 4))
    assert (long["unique_id"] == "b").sum() == 4
    with pytest.raises(FrameError, match="series 'b' has 0 observed values"):
        check_frame(long)
    with pytest.warns(UserWarning, match="left out: series 'b'"):
        assert check_frame(long, short="drop").ids.tolist() == ["a"]


def test_a_wide_frame_of_polars_or_arrow_becomes_a_long_one_of_the_same_kind():
    pytest.importorskip("narwhals")
    pl = pytest.importorskip("polars")
    frame = wide().rename_axis("week").reset_index()
    native = pl.DataFrame({name: frame[name].to_list() for name in frame}, strict=False)
    expected = from_wide(wide())
    for given in [native, native.with_columns(pl.col("a", "m").fill_nan(None)), native.lazy()]:
        long = from_wide(given)
        assert type(long) is pl.DataFrame
        for name in expected:
            got = long[name].to_numpy() if name == "y" else long[name].to_list()
            np.testing.assert_array_equal(got, expected[name].to_numpy() if name == "y" else expected[name].to_list())
    assert from_wide(native, ids=["m", "z"], time="week")["unique_id"].to_list() == ["m"] + ["z"] * 4
    with pytest.raises(FrameError, match="`time` is not given, and 0 columns hold timestamps"):
        from_wide(native.drop("week"))
    with pytest.raises(FrameError, match="column `day` is not there"):
        from_wide(native, time="day")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"ids": "a"}, TypeError, "`ids` is the text 'a'"),
        ({"ids": ["b"]}, FrameError, "`ids`: column `b` is no series"),
        ({"ids": []}, FrameError, "no series"),
        ({"ids": ["a", "z"], "time": "z"}, FrameError, "`ids`: column `z` is no series"),
        ({"time": "week"}, FrameError, "column `week` is not there"),
    ],
)
def test_what_is_no_wide_frame_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        from_wide(wide(), **arguments)
    with pytest.raises(FrameError, match="column `z` comes twice"):
        from_wide(pd.concat([wide(), wide()], axis=1))
    with pytest.raises(FrameError, match="the index has 2 levels"):
        from_wide(wide(pd.MultiIndex.from_product([[1, 2], [1, 2]])))
    for frame in [None, [1, 2], {"a": [1]}, pd.Series([1.0])]:
        with pytest.raises(TypeError, match="a column for each series; got"):
            from_wide(frame)


@pytest.mark.parametrize(("column", "values"), [("unique_id", ["a", "b"]), ("ds", pd.date_range("2024", periods=2))])
def test_a_column_that_holds_no_numbers_is_no_series(column, values):
    frame = pd.DataFrame({"north": [1.0, 2.0], column: values})
    with pytest.raises(FrameError, match=f"column `{column}` holds .* no value of a series; allowed: numbers"):
        from_wide(frame)


def test_a_column_of_polars_that_holds_no_numbers_is_no_series():
    frame = pytest.importorskip("polars").DataFrame({"ds": [pd.Timestamp("2024-01-01")], "kind": ["a"]})
    with pytest.raises(FrameError, match="column `kind` holds 'a', which is no value"):
        from_wide(frame)
