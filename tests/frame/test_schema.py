"""The door: every kind of frame that may enter; for every other one an error that says what, where and what to do."""

import re
import tracemalloc
import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from forecast.frame import FrameError, Panel, Roles, as_panel, check_frame

WORDS = ("unique_id", "ds", "y")


def make(ids=("a", "b"), rows=6, begin="2024-01-01", freq="D", **columns):
    """A clean frame: y counts up over the whole frame."""
    stamps = pd.date_range(begin, periods=rows, freq=freq) if freq else pd.RangeIndex(rows).to_series()
    frame = pd.DataFrame({"unique_id": np.repeat(list(ids), rows), "ds": np.tile(stamps.to_numpy(), len(ids))})
    return frame.assign(y=np.arange(len(frame), dtype="float64"), **columns)


def one(stamps, y=None, **columns):
    """A frame of the single series "a"."""
    return pd.DataFrame({"unique_id": "a", "ds": stamps, "y": range(len(stamps)) if y is None else y, **columns})


def refuses(frame, *parts, error=FrameError, **door):
    """Assert that the door is closed, with every part in the message, and that it left the frame alone."""
    before = frame.copy(deep=True)
    with pytest.raises(error) as caught:
        check_frame(frame, **door)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    pd.testing.assert_frame_equal(frame, before)


# -- what may enter --------------------------------------------------------------------------------------------------


def test_a_clean_frame_becomes_a_panel_of_contiguous_arrays():
    panel = check_frame(make())
    assert panel.ids.tolist() == ["a", "b"]
    assert panel.ids.name == "unique_id"
    assert panel.values.tolist() == list(range(12))
    assert panel.values.dtype == np.float32
    assert panel.values.flags.c_contiguous
    assert panel.values.flags.writeable
    assert panel.observed.all()
    assert (panel.starts.tolist(), panel.stops.tolist()) == ([0, 6], [6, 12])
    assert panel.calendar.freq == "D"


def test_the_frame_is_left_as_it_is():
    frame = make().iloc[[3, 1, 0, 2, 4, 5, 6, 8, 9, 10, 11]]
    frame.loc[8, "y"] = np.nan
    before = frame.copy(deep=True)
    panel = check_frame(frame, unsorted="sort", gaps="fill")
    panel.values[:] = -1
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("dtype", ["float32", "Float32"])
def test_read_only_arrays_may_enter_and_the_panel_does_not_share_them(dtype):
    y = np.arange(6, dtype="float32")
    y.flags.writeable = False
    column = pd.Series(y, copy=False) if dtype == "float32" else pd.Series(y, copy=False).astype(dtype)
    frame = pd.DataFrame({"unique_id": "a", "ds": pd.date_range("2024", periods=6), "y": column}, copy=False)
    panel = check_frame(frame)
    panel.values[0] = 5
    assert frame["y"].tolist() == list(range(6))


@pytest.mark.parametrize("index", [[0] * 12, list("abcdefghijkl"), pd.MultiIndex.from_product([[1, 2], range(6)])])
def test_the_labels_of_the_rows_do_not_matter(index):
    frame = make()
    frame.index = index
    panel = check_frame(frame.iloc[::-1], unsorted="sort")
    assert panel.ids.tolist() == ["b", "a"]
    assert panel.values.tolist() == [*range(6, 12), *range(6)]


@pytest.mark.parametrize(
    "y",
    [
        np.arange(6, dtype="float16"),
        np.arange(6, dtype="int8"),
        np.arange(6, dtype="uint64"),
        pd.array([0, 1, None, 3, 4, 5], dtype="Int64"),
        pd.array([0, 1, None, 3, 4, 5], dtype="Float64"),
        pd.array([False, True, None, True, True, False], dtype="boolean"),
        np.array([False, True, False, True, True, False]),
        pd.array([Decimal("0.5"), Decimal(1), None, Decimal(3), Decimal(4), Decimal(5)], dtype=object),
        pd.array([Decimal(1), 2.5, pd.NA, np.float32(3), 4, True], dtype=object),
        pd.array([0.5, np.nan, 1.0, 2.0, 3.0, 4.0], dtype="float64"),
    ],
    ids=lambda y: f"{y.dtype} {y[0]!r}",
)
def test_numbers_of_any_dtype_become_float32(y):
    expected = [np.nan if pd.isna(value) else float(value) for value in y]
    panel = check_frame(one(pd.date_range("2024", periods=6), y))
    np.testing.assert_array_equal(panel.values, np.array(expected, dtype="float32"))
    np.testing.assert_array_equal(panel.observed, ~np.isnan(expected))


def test_columns_backed_by_arrow_may_enter():
    pytest.importorskip("pyarrow", reason="needs the extra `parquet`")
    stamps = pd.date_range("2024-03-29", periods=4, tz="Europe/Berlin")
    frame = one(stamps, [1, None, 3, 4]).convert_dtypes(dtype_backend="pyarrow")
    panel = check_frame(frame)
    np.testing.assert_array_equal(panel.values, np.array([1, np.nan, 3, 4], dtype="float32"))
    assert panel.to_frame()["ds"].tolist() == stamps.tolist()


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2],
        np.array([7, 3], dtype="int32"),
        ["b", "a"],
        [1, "1"],
        [("store", 1), "store"],
        [("x", 1), ("y", 2)],
        [True, "True"],
        [1.5, 2.5],
        [date(2024, 1, 1), 3],
        pd.Timestamp("2024") + pd.to_timedelta([1, 0], "D"),
    ],
    ids=str,
)
@pytest.mark.parametrize("unsorted", [False, True])
def test_ids_may_be_anything_that_can_be_hashed(ids, unsorted):
    names = list(ids)
    column = pd.Series([names[0]] * 3 + [names[1]] * 3, dtype=getattr(ids, "dtype", None) or _dtype(names))
    frame = pd.DataFrame({"unique_id": column, "ds": [*pd.date_range("2024", periods=3)] * 2, "y": range(6)})
    if unsorted:
        frame = frame.iloc[[0, 3, 1, 4, 5, 2]]
    panel = check_frame(frame, unsorted="sort" if unsorted else "error")
    assert panel.ids.tolist() == names
    assert panel.values.tolist() == list(range(6))
    assert panel.ids.dtype == column.dtype
    again = panel.to_frame()
    assert again["unique_id"].tolist() == column.tolist()
    assert again["unique_id"].dtype == column.dtype


def _dtype(names):
    return None if len({type(name) for name in names}) == 1 and not isinstance(names[0], tuple) else object


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_ids_keep_their_dtype(dtype):
    frame = make(ids=("z", "a")).astype({"unique_id": dtype})
    panel = check_frame(frame)
    assert panel.ids.tolist() == ["z", "a"]
    assert panel.ids.dtype == frame["unique_id"].dtype
    pd.testing.assert_frame_equal(panel.to_frame().astype({"y": "float64"}), frame)


def test_categories_without_rows_are_no_series():
    frame = make(ids=("z", "a")).astype({"unique_id": pd.CategoricalDtype(["a", "m", "z"])})
    assert check_frame(frame).ids.tolist() == ["z", "a"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
def test_stamps_keep_unit_and_zone(unit, zone):
    stamps = pd.date_range("2024-03-29", periods=6, freq="D", tz=zone).as_unit(unit)
    panel = check_frame(one(stamps))
    assert panel.calendar.freq == "D"
    assert panel.to_frame()["ds"].dtype == stamps.dtype
    assert (panel.to_frame()["ds"] == stamps).all()


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "uint64", "Int64", "int32"])
def test_integer_stamps_of_any_size_may_enter(dtype):
    panel = check_frame(one(pd.array([0, 50, 100], dtype=dtype)))
    assert panel.calendar.freq == "50"
    assert panel.to_frame()["ds"].tolist() == [0, 50, 100]


def test_integer_stamps_may_be_negative_and_leave_gaps():
    panel = check_frame(one([-6, -4, -2, 2, 4]), gaps="mask")
    assert panel.calendar.freq == "2"
    np.testing.assert_array_equal(panel.values, [0, 1, 2, np.nan, 3, 4])
    assert panel.to_frame()["ds"].tolist() == [-6, -4, -2, 0, 2, 4]
    far = check_frame(one(np.array([-128, 127], dtype="int8")))
    assert far.calendar.freq == "255"


def test_names_are_mapped_once_and_a_column_of_our_name_does_not_disturb():
    frame = make().rename(columns={"unique_id": "store", "ds": "week", "y": "sales"}).assign(y="not the target")
    panel = check_frame(frame, columns={"unique_id": "store", "ds": "week", "y": "sales"})
    assert panel.ids.name == "unique_id"
    assert panel.to_frame().columns.tolist() == list(WORDS)
    assert panel.values.tolist() == list(range(12))


def test_messages_use_the_names_of_the_frame():
    frame = make().rename(columns={"unique_id": "store", "ds": "week", "y": "sales"})
    names = {"unique_id": "store", "ds": "week", "y": "sales"}
    refuses(pd.concat([frame, frame]), "column `store`", "sort_values(['store', 'week'])", columns=names)
    refuses(frame.drop(index=2), "column `week`", columns=names)
    refuses(frame.assign(sales=np.inf), "column `sales`", columns=names)
    refuses(frame, "observed values of `sales`", columns=names, min_length=7)


def test_covariates_with_a_role_must_be_there_once():
    frame = make(price=1.0, area="north")
    roles = Roles(static=("area",), known=("price",))
    assert check_frame(frame, roles=roles).values.tolist() == list(range(12))
    refuses(frame, "column `promo` has the role known", "['unique_id', 'ds', 'y', 'price', 'area']",
            roles=Roles(known=("promo",)))  # fmt: skip
    refuses(frame, "column `price` cannot be both known and past", roles=Roles(known=("price",), past=("price",)))
    refuses(frame, "column `y` cannot be both y and delayed", roles=Roles(delayed={"y": 2}))
    refuses(frame, "known is the text 'price'", "('price',)", roles=Roles(known="price"), error=TypeError)


def test_one_row_among_long_series_is_a_series():
    frame = pd.concat([make(ids="a", rows=1), make(ids="b", rows=40), make(ids="c", rows=1, begin="2024-01-09")])
    panel = check_frame(frame)
    assert panel.lengths.tolist() == [1, 40, 1]
    assert panel.calendar.freq == "D"


def test_the_frequency_is_read_off_the_longest_series():
    sparse = make(ids="a").iloc[[0, 2, 4]]
    panel = check_frame(pd.concat([sparse, make(ids="b", rows=9)]), gaps="mask")
    assert panel.calendar.freq == "D"
    assert panel.lengths.tolist() == [5, 9]


@pytest.mark.parametrize(
    ("old", "freq"), [("H", "h"), ("30T", "30min"), ("M", "ME"), ("Q", "QE-DEC"), ("A", "YE-DEC"), ("AS", "YS-JAN")]
)
def test_frequencies_may_be_spelled_the_old_way(old, freq):
    stamps = pd.date_range("2024-01-01", periods=5, freq=freq)
    assert check_frame(one(stamps), freq=old).calendar.freq == freq


def test_a_panel_is_given_back_and_takes_no_options():
    panel = as_panel(make(), min_length=2)
    assert isinstance(panel, Panel)
    assert as_panel(panel) is panel
    with pytest.raises(TypeError, match="`gaps`, `freq`: the panel is already checked"):
        as_panel(panel, gaps="mask", freq="D")


# -- what a frame is called ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame", [None, {"y": [1]}, np.zeros(3), [1.0], "sales.csv", object()], ids=lambda frame: type(frame).__name__
)
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(TypeError, match=r"must be a DataFrame of pandas .*, with unique_id, ds, y; got .*\.\w+"):
        check_frame(frame)


def test_columns_that_are_not_there_are_named_with_the_remedy():
    refuses(make().drop(columns="y"), "column `y` is not there; got ['unique_id', 'ds']", "columns={'y': ...}")
    refuses(make(), "column `sales` is not there", columns={"y": "sales"})
    refuses(make().set_index("ds"), "column `ds` is not there", "frame.reset_index()")
    refuses(make(), "`columns` names 'target'; allowed keys: 'unique_id', 'ds', 'y'", columns={"target": "y"},
            error=ValueError)  # fmt: skip


def test_columns_must_be_distinct():
    twice = pd.concat([make(), make()[["y"]]], axis=1)
    refuses(twice, "column `y` comes twice")
    refuses(make(), "column `ds` cannot be both ds and y", columns={"y": "ds"})
    nested = pd.concat({"data": make()}, axis=1)
    refuses(nested, "the columns have 2 levels")


def test_an_empty_frame_is_refused():
    refuses(make().iloc[:0], "the frame has no rows")
    refuses(pd.DataFrame(), "column `unique_id` is not there")


@pytest.mark.parametrize(
    ("door", "parts"),
    [
        ({"gaps": "drop"}, ("`gaps` is 'drop'", "'error', 'mask', 'fill'")),
        ({"unsorted": True}, ("`unsorted` is True", "'error', 'sort'")),
        ({"short": "pad"}, ("`short` is 'pad'", "'error', 'drop'")),
        ({"min_length": 0}, ("`min_length` is 0", "1 or more")),
        ({"min_length": 2.5}, ("`min_length` is 2.5", "1 or more")),
        ({"freq": "fortnight"}, ("`freq` is 'fortnight'", "'15min'")),
        ({"freq": True}, ("`freq` is True", "'15min'")),
        ({"freq": 1}, ("`freq` is 1", "'15min'")),
    ],
)
def test_options_that_are_not_allowed_are_refused(door, parts):
    refuses(make(), *parts, error=ValueError, **door)


@pytest.mark.parametrize("freq", ["h", True, False, 0, -1, 1.5, "1.5"])
def test_integer_stamps_take_only_whole_steps(freq):
    refuses(one([0, 1, 2]), f"`freq` is {freq!r}", "`ds` holds integers", "1 or more", error=ValueError, freq=freq)
    assert (
        check_frame(one([0, 1, 2]), freq="1").calendar.freq == check_frame(one([0, 1, 2]), freq=1).calendar.freq == "1"
    )


# -- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_id_is_refused(missing):
    frame = make().astype({"unique_id": object})
    frame.iloc[[4, 7], 0] = missing
    refuses(frame, "column `unique_id` is missing in 2 rows, first in row 4", "dropna(subset=['unique_id'])")


def test_an_id_that_cannot_be_hashed_is_refused():
    frame = make()
    frame["unique_id"] = [["a"]] * len(frame)
    refuses(frame, "column `unique_id`", "unhashable type: 'list'", "that can be hashed, tuples of them")


# -- stamps: kinds ---------------------------------------------------------------------------------------------------

DAYS = pd.date_range("2024-01-01", periods=3)


@pytest.mark.parametrize(
    ("stamps", "parts"),
    [
        (DAYS.strftime("%d.%m.%Y"), ("'01.01.2024'", "pd.to_datetime(frame['ds'], format=...)")),
        (DAYS.strftime("%Y-%m-%d").astype("category"), ("'2024-01-01'", "categorical", "pd.to_datetime(frame['ds'])")),
        ([DAYS[0], "2024-01-02", 3], ("Timestamp('2024-01-01 00:00:00')", "mixed", "pd.to_datetime(frame['ds'])")),
        ([0.0, 1.0, 2.0], ("0.0", "float64", "astype('int64')")),
        ([True, False, True], ("True", "bool", "Number the steps")),
        (DAYS - DAYS[0], ("timedelta64",)),
        (
            pd.Series([pd.Timestamp("2024-01-01", tz=zone) for zone in ["+01:00", "+02:00", "+03:00"]], dtype=object),
            ("2024-01-01 00:00:00+0100", "utc=True", "tz_convert"),
        ),
    ],
    ids=["text", "categories", "mixed", "floats", "bools", "distances", "mixed zones"],
)
def test_stamps_of_another_kind_are_refused_with_the_remedy(stamps, parts):
    refuses(one(stamps), "column `ds` must hold timestamps, periods, dates or integers", "row 0", *parts)


@pytest.mark.parametrize("kind", ["dates", "integers"])
def test_a_missing_stamp_is_refused(kind):
    frame = make()
    if kind == "integers":
        frame["ds"] = pd.array([*range(6)] * 2, dtype="Int64")
    frame.loc[[8, 9], "ds"] = None
    refuses(frame, "column `ds` is missing in 2 rows, first in row 8", "dropna(subset=['ds'])")
    refuses(frame.assign(ds=pd.NaT), "column `ds` is missing in 12 rows, first in row 0")


def test_integers_too_far_apart_to_subtract_are_refused():
    refuses(one([-(2**62), 0, 2**62]), "column `ds` goes from -4611686018427387904", "2**61")
    refuses(one(np.array([0, 1, 2**63 + 5], dtype="uint64")), "column `ds` goes from 0 to 9223372036854775813")


# -- order -----------------------------------------------------------------------------------------------------------


def test_rows_that_go_back_in_time_are_refused_or_sorted():
    frame = make().iloc[[0, 1, 2, 3, 4, 5, 6, 8, 7, 9, 11, 10]]
    refuses(
        frame,
        "column `ds`: series 'b' at 2024-01-02 00:00:00 comes after 2024-01-03 00:00:00 (2 rows go back in time)",
        "frame.sort_values(['unique_id', 'ds'])",
        'unsorted="sort"',
    )
    panel = check_frame(frame, unsorted="sort")
    assert panel.values.tolist() == list(range(12))


def test_rows_sorted_by_time_across_series_are_refused_as_such_or_sorted():
    frame = make(ids=("z", "m", "a")).sort_values("ds", kind="stable")
    refuses(
        frame,
        "column `unique_id`: series 'z' at 2024-01-02 00:00:00 comes after rows of another series "
        "(15 such returns, to 3 of 3 series)",
        "The frame is sorted by time across series",
        'unsorted="sort"',
    )
    panel = check_frame(frame, unsorted="sort")
    assert panel.ids.tolist() == ["z", "m", "a"]
    assert panel.values.tolist() == list(range(18))


def test_series_in_pieces_are_refused_without_a_word_on_time():
    frame = make().iloc[[0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 4, 5]]
    with pytest.raises(FrameError, match="series 'a' at 2024-01-04") as caught:
        check_frame(frame)
    assert "sorted by time" not in str(caught.value)
    assert check_frame(frame, unsorted="sort").values.tolist() == list(range(12))


def test_sorting_keeps_every_other_option():
    frame = make().rename(columns={"y": "sales"}).iloc[[5, 4, 3, 0, 1, 6, 8, 10, 11]]
    door = {"columns": {"y": "sales"}, "unsorted": "sort", "freq": "D"}
    refuses(frame, "1 rows are missing before series 'a' at 2024-01-04", **door)
    panel = check_frame(frame, gaps="fill", **door)
    np.testing.assert_array_equal(panel.values, [0, 1, 1, 3, 4, 5, 6, 6, 8, 8, 10, 11])
    with pytest.warns(UserWarning, match="series 'b' has 4 observed values of `sales`"):
        assert check_frame(frame, gaps="mask", short="drop", min_length=5, **door).ids.tolist() == ["a"]


# -- grid, repeats, gaps: in any series, the first and how many ------------------------------------------------------


def test_a_repeat_in_the_last_of_many_series_is_found():
    frame = make(ids=[f"s{number}" for number in range(150)])
    frame = pd.concat([frame, frame.iloc[[-1, -1]]])
    refuses(
        frame,
        "column `ds`: series 's149' at 2024-01-06 00:00:00 comes more than once (2 repeated rows in all)",
        "frame.drop_duplicates(['unique_id', 'ds'])",
    )
    for door in [{"unsorted": "sort"}, {"gaps": "mask"}, {"gaps": "fill"}]:
        refuses(frame, "series 's149' at 2024-01-06 00:00:00 comes more than once", **door)


def test_a_repeat_that_sorting_brings_to_light_is_refused():
    frame = pd.concat([make(), make(ids="a", rows=1)])
    refuses(frame, "series 'a' at 2024-01-01 00:00:00 comes more than once (1 repeated", unsorted="sort")


@pytest.mark.parametrize(
    ("good", "other", "freq", "message"),
    [
        (("2024-01-01", "h"), ("2024-01-01 00:30", "h"), None, "series 'b' at 2024-01-01 00:30:00 is not on the grid "
         "of frequency 'h', which goes from 2024-01-01 00:00:00 to 2024-01-01 01:00:00 (6 rows off it in all)"),
        (("2024-01-01", "W-MON"), ("2024-01-02", "W-TUE"), None, "series 'b' at 2024-01-02 00:00:00 is not on the grid "
         "of frequency 'W-MON', which goes from 2024-01-01 00:00:00 to 2024-01-08 00:00:00 (6 rows"),
        (("2024-01-01", "D"), ("2024-01-01", "12h"), None, "series 'b' at 2024-01-01 12:00:00 is not on the grid of "
         "frequency 'D', which goes from 2024-01-01 00:00:00 to 2024-01-02 00:00:00 (3 rows"),
        (("2024-01-01", "MS"), ("2024-01-31", "ME"), None, "series 'b' at 2024-01-31 00:00:00 is not on the grid of "
         "frequency 'MS'"),
        (("2024-01-01", "MS"), ("2024-01-01", "MS"), "ME", "series 'a' at 2024-01-01 00:00:00 is not on the grid of "
         "frequency 'ME', which goes from 2023-12-31 00:00:00 to 2024-01-31 00:00:00 (12 rows"),
        (("2024-01-01", "QS-JAN"), ("2024-02-01", "QS-FEB"), None, "series 'b' at 2024-02-01 00:00:00 is not on the "
         "grid of frequency 'QS-JAN'"),
        (("2024-01-01", "B"), ("2024-01-05", "D"), "B", "series 'b' at 2024-01-06 00:00:00 is not on the grid of "
         "frequency 'B', which goes from 2024-01-05 00:00:00 to 2024-01-08 00:00:00 (2 rows"),
        (("2024-01-01", "D"), ("2024-01-01", "D"), "W-WED", "series 'a' at 2024-01-01 00:00:00 is not on the grid of "
         "frequency 'W-WED', which goes from 2023-12-27 00:00:00 to 2024-01-03 00:00:00 (10 rows"),
        (("2024-01-01", "D"), ("2024-01-01", "D"), "2D", "series 'a' at 2024-01-02 00:00:00 is not on the grid"),
        (("2024-01-15", "31D"), ("2024-01-15", "30D"), None, "series 'b' at 2024-02-14 00:00:00 is not on the grid"),
    ],
)  # fmt: skip
def test_a_series_on_another_grid_is_refused(good, other, freq, message):
    frame = pd.concat([make(ids="a", begin=good[0], freq=good[1]), make(ids="b", begin=other[0], freq=other[1])])
    refuses(frame, "column `ds`", message, "Give the right `freq`", freq=freq)
    refuses(frame, message, freq=freq, gaps="fill", unsorted="sort")


def test_integers_off_the_grid_are_refused():
    frame = pd.concat([one([0, 10, 20]), one([5, 15]).assign(unique_id="b")])
    refuses(
        frame, "series 'b' at 5 is not on the grid of frequency '10', which goes from 0 to 10 (2 rows off it in all)"
    )


def test_days_at_another_local_time_are_refused():
    stamps = pd.date_range("2024-03-29", periods=5, tz="Europe/Berlin").to_list()
    stamps[2:] = [stamp + pd.Timedelta("1h") for stamp in stamps[2:]]
    refuses(
        one(stamps), "series 'a' at 2024-03-31 01:00:00+01:00 is not on the grid of frequency 'D'", "(3 rows off it"
    )


def test_days_counted_in_fixed_seconds_leave_the_grid_when_the_clocks_change():
    stamps = pd.date_range("2024-03-29", periods=5, freq="24h", tz="Europe/Berlin")
    refuses(one(stamps), "series 'a' at 2024-04-01 01:00:00+02:00 is not on the grid of frequency 'D'", freq="D")
    assert check_frame(one(stamps), freq="24h").lengths.tolist() == [5]


def test_where_midnight_is_skipped_a_daily_series_is_still_daily():
    days = pd.DatetimeIndex(["2018-11-04 01:00", "2018-11-05", "2018-11-06", "2018-11-07"], tz="America/Sao_Paulo")
    panel = check_frame(one(days))
    assert panel.calendar.freq == "D"
    assert (panel.to_frame()["ds"] == days).all()


def test_missing_rows_are_refused_with_the_first_and_the_totals():
    frame = make().drop(index=[2, 3, 9])
    refuses(
        frame,
        "column `ds`: 2 rows are missing before series 'a' at 2024-01-05 00:00:00 (after 2024-01-02 00:00:00, "
        "frequency 'D'; 3 rows in 2 gaps in all)",
        'gaps="mask"',
        'gaps="fill"',
    )


def test_missing_rows_are_masked_on_demand():
    panel = check_frame(make().drop(index=[2, 3, 9]), gaps="mask")
    np.testing.assert_array_equal(panel.values, [0, 1, np.nan, np.nan, 4, 5, 6, 7, 8, np.nan, 10, 11])
    np.testing.assert_array_equal(panel.observed, ~np.isnan(panel.values))


def test_missing_rows_and_values_are_filled_on_demand_but_never_count_as_observed():
    frame = make(ids=("a", "b", "c")).drop(index=[2, 3, 9])
    frame.loc[[5, 6, 7, 12, 17], "y"] = np.nan
    panel = check_frame(frame, gaps="fill")
    nan = np.nan
    # What comes before the first value of a series stays missing: nothing may come from the series before.
    np.testing.assert_array_equal(panel.values, [0, 1, 1, 1, 4, 4, nan, nan, 8, 8, 10, 11, nan, 13, 14, 15, 16, 16])
    assert np.flatnonzero(~panel.observed).tolist() == [2, 3, 5, 6, 7, 9, 12, 17]


def test_a_gap_over_many_blocks_of_rows_and_one_between_blocks_are_kept():
    size = 1 << 16
    stamps = pd.date_range("2000", periods=6 * size, freq="min")
    kept = np.r_[0:size, 4 * size : 6 * size]
    panel = check_frame(one(stamps[kept], kept.astype("float64")), gaps="mask")
    assert len(panel.values) == 6 * size
    assert panel.observed.sum() == 3 * size
    assert (panel.values[panel.observed] == kept).all()
    refuses(one(stamps[kept]), f"{3 * size} rows are missing before series 'a' at {stamps[4 * size]}")
    refuses(one(stamps[np.r_[0:2, 4 : 2 * size, 3 * size : 4 * size]]), f"{size + 2} rows in 2 gaps in all")
    refuses(one(stamps[np.r_[0 : size + 1, size]]), f"series 'a' at {stamps[size]} comes more than once")
    refuses(one(stamps[np.r_[0:size, size - 2]]), f"series 'a' at {stamps[size - 2]} comes after {stamps[size - 1]}")


def test_series_that_change_at_the_edges_of_blocks_are_told_apart():
    size = 1 << 16
    lengths = [size - 1, 1, 1, size, 2, size + 1]
    frame = pd.DataFrame(
        {
            "unique_id": np.repeat(range(len(lengths)), lengths),
            "ds": np.concatenate([np.arange(length) for length in lengths]),
            "y": 0.0,
        }
    )
    panel = check_frame(frame)
    assert panel.lengths.tolist() == lengths


@pytest.mark.parametrize("gaps", ["mask", "fill"])
def test_a_gap_too_wide_to_make_room_for_is_refused(gaps):
    refuses(
        one([0, 1, 2, 10**9]),
        "column `ds`: 999999997 rows are missing at frequency '1' beside 4 given",
        "first before series 'a' at 1000000000",
        "correct the stamps",
        gaps=gaps,
    )
    refuses(one([0, 1, 2, 10**9]), "999999997 rows are missing before series 'a' at 1000000000")
    stamps = pd.DatetimeIndex(["1970-01-01", "2024-01-01 00:00:00", "2024-01-01 00:00:01", "2024-01-01 00:00:02"])
    refuses(one(stamps), "rows are missing at frequency 's' beside 4 given", gaps=gaps)


def test_a_frequency_that_cannot_be_read_must_be_given():
    single = make(rows=1)
    refuses(single, "cannot be read off column `ds`", "series, 'a', has 1 rows from 2024-01-01 00:00:00", "Give `freq`")
    assert check_frame(single, freq="MS").calendar.freq == "MS"
    refuses(one([3]), "cannot be read off column `ds`", "from 3 to 3", "Give `freq`")
    assert check_frame(one([3]), freq=2).to_frame()["ds"].tolist() == [3]
    refuses(one([3, 3, 3]), "cannot be read off column `ds`")


# -- the target ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
def test_infinite_values_are_refused(value):
    frame = make()
    frame.loc[[8, 10], "y"] = value
    refuses(
        frame,
        f"column `y` holds 2 values that are infinite or beyond float32 (3.4e38), first {value!r} in series 'b' at "
        "2024-01-03 00:00:00",
        "by NaN where they are unknown",
    )


@pytest.mark.parametrize(
    ("y", "came"),
    [
        (pd.Series([1.0, None, "n/a", 4, 5, "x"], dtype=object), "'n/a'"),
        (pd.Series([1.0, None, date(2024, 1, 1), 4, 5, 6], dtype=object), "datetime.date(2024, 1, 1)"),
        (pd.Series([1.0, None, [2], 4, 5, 6], dtype=object), "[2]"),
        (pd.Series([1.0, None, 2 + 1j, 4, 5, 6], dtype=object), "(2+1j)"),
        (pd.Series([None, None, "3", "4", "5", "6"]), "'3'"),
        (pd.Series([None, None, "3", "4", "5", "6"], dtype="category"), "'3'"),
        (pd.Series([None, None, *pd.date_range("2024", periods=4)]), "Timestamp('2024-01-01 00:00:00')"),
    ],
)
def test_what_is_no_number_is_refused(y, came):
    frame = make(ids="a").assign(y=y)
    refuses(
        frame, f"column `y` must hold numbers; got {came}", "in series 'a' at 2024-01-03", "pd.to_numeric(frame['y']"
    )
    refuses(make(ids="a").assign(y=1j), "column `y` must hold numbers; got 1j (complex128)")


def test_ids_and_values_read_as_python_prints_them():
    frame = make(ids=(1, 2)).drop(index=7)
    refuses(frame, "before series 2 at 2024-01-03")


# -- length ----------------------------------------------------------------------------------------------------------


def test_a_series_without_any_value_is_refused_or_left_out():
    frame = make(ids=("a", "b", "c"))
    frame.loc[frame["unique_id"] == "b", "y"] = np.nan
    message = "series 'b' has 0 observed values of `y`; at least 1 are needed (1 of 3 series are too short)"
    for gaps in ("error", "mask", "fill"):
        refuses(frame, message, 'short="drop"', gaps=gaps)
    with pytest.warns(UserWarning, match=re.escape(f"left out: {message}: ['b']")) as caught:
        panel = check_frame(frame, short="drop")
    assert caught[0].filename == __file__
    assert panel.ids.tolist() == ["a", "c"]
    assert [values.tolist() for values, _ in panel] == [[*range(6)], [*range(12, 18)]]


def test_only_observed_values_make_a_series_long():
    frame = make()
    frame.loc[[1, 2, 8], "y"] = np.nan
    refuses(frame, "series 'a' has 4 observed values of `y`; at least 5 are needed (1 of 2", min_length=5, gaps="fill")
    refuses(frame, "(2 of 2 series are too short)", min_length=6, short="drop")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(check_frame(frame, min_length=4, short="drop")) == 2


def test_many_series_left_out_are_listed_in_part():
    frame = pd.concat([make(ids=range(12), rows=2), make(ids=[99], rows=9)])
    with pytest.warns(
        UserWarning, match=re.escape("(12 of 13 series are too short): [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] ...")
    ):
        assert check_frame(frame, min_length=3, short="drop").ids.tolist() == [99]


# -- size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", ["error", "mask", "fill"])
@pytest.mark.parametrize(
    ("series", "rows", "freq", "zone"),
    [(1000, 1000, "h", None), (1, 1_000_000, "min", None), (1000, 1000, "D", "Europe/Berlin")],
)
def test_the_door_takes_less_than_three_times_the_floats(series, rows, freq, zone, gaps):
    stamps = pd.date_range("2000", periods=rows, freq=freq)
    frame = pd.DataFrame(
        {
            "unique_id": np.repeat(range(series), rows),
            "ds": np.tile(stamps.to_numpy(), series),
            "y": np.random.default_rng(0).normal(size=series * rows),
        }
    )
    if zone:
        frame["ds"] = frame["ds"].dt.tz_localize(zone)
    if gaps != "error":
        frame = frame.drop(index=frame.index[5 :: rows // 4])
    check_frame(frame.iloc[:9], gaps=gaps)
    tracemalloc.start()
    panel = check_frame(frame, gaps=gaps)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(panel.values) == series * rows
    assert peak < 3 * panel.values.nbytes


@pytest.mark.parametrize(
    ("argument", "value"),
    [("columns", ["y"]), ("roles", {"known": ("price",)}), ("roles", ["price"])],
)
def test_names_and_roles_of_another_kind_are_named(argument, value):
    with pytest.raises(TypeError, match=f"`{argument}` is .*; allowed: "):
        check_frame(make(), **{argument: value})


@pytest.mark.parametrize("small", [1e12 + np.arange(5) % 2, 1e-50 * np.arange(5), 2**40 + np.arange(5)])
def test_a_series_whose_movement_float32_cannot_tell_is_told_of(small):
    fine = pd.DataFrame({"unique_id": "fine", "ds": range(5), "y": np.ones(5)})
    few = fine.assign(unique_id="missing", y=fine["y"].where(fine["ds"] > 3))
    frame = pd.concat([fine, fine.assign(unique_id="small", y=small), few], ignore_index=True)
    with pytest.warns(UserWarning, match=r"`y`: series 'small' moves from .* one number in float32.*\(1 such series\)"):
        check_frame(frame)
    check_frame(frame.assign(y=frame["y"].where(frame["unique_id"] != "small", small[0])))


def test_decimals_that_move_by_less_than_float32_can_tell_are_told_of():
    small = [Decimal("1e12"), Decimal("1e12") + 1, None]
    with pytest.warns(UserWarning, match="series 'a' moves"):
        check_frame(pd.DataFrame({"unique_id": "a", "ds": range(3), "y": small}))
