"""A panel as JSON and arrays comes back as it was: series, calendar, columns with a role, the form of its frame."""

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from forecast.frame import Roles, check_frame
from forecast.panel_files import panel_from_json, panel_to_json

ARRAYS = ("values", "observed", "starts", "stops", "first")


def make(ids=("a", "b"), stamps=None, **columns):
    stamps = pd.date_range("2024-01-01", periods=5) if stamps is None else stamps
    names = pd.Series(list(ids) if not isinstance(ids, pd.Series) else ids).repeat(len(stamps))
    ds = pd.Series(stamps).iloc[np.tile(np.arange(len(stamps)), len(ids))]
    frame = pd.DataFrame({"unique_id": names.array, "ds": ds.array, "y": np.arange(len(names)) * 0.5})
    return frame.assign(**columns)


def there_and_back(panel):
    note, arrays = panel_to_json(panel)
    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    note = json.loads(json.dumps(note, allow_nan=False))
    return panel_from_json(note, {name: array.copy() for name, array in arrays.items()})


def assert_index_equal(came, expected):
    pd.testing.assert_index_equal(came, expected, exact=True)
    assert [type(value) for value in came] == [type(value) for value in expected]


def assert_same(panel, expected):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(panel, name), getattr(expected, name))
        assert getattr(panel, name).dtype == getattr(expected, name).dtype
    assert_index_equal(panel.ids, expected.ids)
    ordinals = expected.first[0] + np.arange(-3, 40)
    assert_index_equal(panel.calendar.stamps(ordinals), expected.calendar.stamps(ordinals))
    for name in ("freq", "unit", "season_length"):
        assert getattr(panel.calendar, name) == getattr(expected.calendar, name)
    assert panel.form == expected.form
    assert panel.unused == expected.unused
    pd.testing.assert_frame_equal(panel.to_frame(), expected.to_frame())


# -- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        ("a", "ü\n\"'"),
        (3, -7),
        (True, False),
        (1.5, 1e300),
        (Decimal("1.10"), Decimal(2)),
        (date(2024, 5, 1), date(2023, 1, 1)),
        (datetime(2024, 5, 1, 12, 30), datetime(2023, 1, 1)),
        (datetime(2024, 5, 1, 12, 30, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC)),
        (time(12, 30), time(1)),
        (pd.Timestamp("2024-05-01 12:30:00.000001"), pd.Timestamp("2023-01-01")),
        (pd.Timestamp("2024-05-01", tz="Europe/Berlin"), pd.Timestamp("2023-01-01", tz="Europe/Berlin")),
        (pd.Timedelta("1h"), pd.Timedelta("-3 days")),
        (pd.Period("2024-05", "M"), pd.Period("2023-01", "M")),
        (("a", 1), ("b", 2)),
        (("a", ("b", None, date(2024, 1, 1))), ("c", 1.5)),
        (frozenset([1, 2]), frozenset()),
        (b"ab", b"\xff"),
        (UUID(int=1), UUID(int=2)),
        ("1", 1),
        (1, 2.5, "a", ("b",)),
        (float("inf"), -float("inf")),
    ],
    ids=repr,
)
def test_ids_come_back_as_they_were(ids):
    frame = make(range(len(ids)))
    names = np.empty(len(ids), dtype=object)
    names[:] = ids
    for kind in (object, None):
        given = pd.Series(names, dtype=object)
        if kind is None:
            given = given.infer_objects()
        panel = check_frame(frame.assign(unique_id=given.repeat(5).array))
        assert_same(there_and_back(panel), panel)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "float32", "Int64", "string", "category", "datetime64[s]", "period[D]", "boolean"]
)
def test_ids_keep_their_dtype(dtype):
    values = [True, False] if dtype == "boolean" else pd.to_datetime(["2024-05-01", "2024-05-02"])
    if dtype in ("int8", "uint16", "float32", "Int64", "string", "category"):
        values = ["7", "9"]
    if dtype == "category":
        ids = pd.Series(pd.Categorical(values, categories=["8", "9", "7"], ordered=True))
    elif dtype == "period[D]":
        ids = pd.Series(values.to_period("D"))
    else:
        ids = pd.Series(values).astype("int64" if dtype[:3] in ("int", "uin", "flo", "Int") else object).astype(dtype)
    panel = check_frame(make(ids))
    assert panel.ids.dtype == ids.dtype
    assert_same(there_and_back(panel), panel)


@pytest.mark.parametrize("odd", [Fraction(1, 3), ("a", Fraction(1, 3)), complex(1)])
def test_ids_that_cannot_be_written_are_named(odd):
    ids = np.empty(2, dtype=object)
    ids[:] = ["a", odd]
    panel = check_frame(make(range(2)).assign(unique_id=ids.repeat(5)))
    with pytest.raises(TypeError, match=r"`unique_id`: .* cannot be saved; allowed: texts, truth values"):
        panel_to_json(panel)


# -- calendars -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stamps",
    [
        range(3, 23, 4),
        pd.date_range("2024-03-29", periods=5, tz="Europe/Berlin", unit="s"),
        pd.date_range("2024-03-29 07:30", periods=5, freq="15min", unit="ns"),
        pd.date_range("2024-01-31", periods=5, freq="ME"),
        pd.date_range("2024-01-15", periods=5, freq="MS") + pd.Timedelta(days=14),
        pd.date_range("2024-02-01", periods=5, freq="QS-FEB"),
        pd.date_range("2024-01-01", periods=5, freq="W-TUE"),
        pd.date_range("2024-03-29", periods=5, freq="h", tz="Asia/Kolkata"),
        pd.date_range("2024-03-29", periods=5, freq="h", tz=timezone(timedelta(hours=3))),
        pd.date_range("2024-03-29", periods=5, freq="B"),
        pd.period_range("2024-01", periods=5, freq="M"),
        pd.Index([f"2024-05-0{day}" for day in range(1, 6)]),
        [date(2024, 5, day) for day in range(1, 6)],
    ],
    ids=lambda stamps: str(stamps[-1]),
)
def test_calendars_and_stamps_come_back_as_they_were(stamps):
    panel = check_frame(make(stamps=stamps))
    assert_same(there_and_back(panel), panel)


@pytest.mark.parametrize("days", [1, 3])
def test_steps_without_a_rule_come_back_with_what_follows_them(days):
    hours = pd.date_range("2024-01-01", periods=24 * 7 * 8, freq="h", tz="Europe/Berlin")
    opened = hours[(hours.day_of_week < 5) & (hours.hour >= 9) & (hours.hour < 17)]
    opened = opened[np.random.default_rng(0).permutation(len(opened))[: len(opened) - days]].sort_values()
    for stamps in (opened, pd.Index([0, 3, 4, 9, 12]), pd.date_range("2024-01-01", periods=2000)[np.arange(40) ** 2]):
        panel = check_frame(make(stamps=stamps), freq="steps")
        back = there_and_back(panel)
        assert_same(back, panel)
        later = np.arange(len(stamps), len(stamps) + 200)
        assert back.calendar.stamps(later).equals(panel.calendar.stamps(later))


# -- columns with a role ---------------------------------------------------------------------------------------------

ROLES = Roles(static=("area", "size"), known=("price", 7), past=(("a", 1),), delayed={"sold": 3}, weight="w")


def beside():
    at = np.arange(10)
    return {
        "area": ["north"] * 5 + ["south"] * 5,
        "size": [1.0] * 5 + [np.nan] * 5,
        "price": at * 1.25,
        7: pd.Categorical([3, 1, None, 2, 1] * 2, categories=[1, 2, 3]),
        ("a", 1): [("x", 1), ("y", date(2024, 1, 1)), None, ("x", 1), ("z", 2.5)] * 2,
        "sold": [None, "few", "many", "few", "none"] * 2,
        "w": at % 3,
    }


def with_roles(roles=ROLES):
    frame = make(extra=1)
    for name, values in beside().items():
        frame[name] = pd.Series(values)
    return check_frame(frame, roles=roles)


@pytest.mark.parametrize(
    "roles",
    [
        ROLES,
        Roles(static=ROLES.static),
        Roles(known=ROLES.known),
        Roles(past=ROLES.past),
        Roles(delayed=ROLES.delayed),
        Roles(weight="w"),
    ],
    ids=["all", "static", "known", "past", "delayed", "weight"],
)
def test_columns_with_a_role_come_back_as_they_were(roles):
    panel = with_roles(roles)
    for cut in (panel, panel.detached(), panel.until(panel.first[0] + 2).detached()):
        back = there_and_back(cut)
        assert_same(back, cut)
        assert (back.weights is None) == (roles.weight is None)
        for name in ("static", "past", "known") if cut.covariates else ():
            came, expected = getattr(back.covariates, name), getattr(cut.covariates, name)
            np.testing.assert_array_equal(came.numbers, expected.numbers)
            for column, before in zip(came.columns, expected.columns, strict=True):
                assert (column.name, column.delay) == (before.name, before.delay)
                assert (column.categories is None) == (before.categories is None)
                if before.categories is not None:
                    assert_index_equal(column.categories, before.categories)
        for name in ("starts", "stops", "first") if cut.covariates else ():
            np.testing.assert_array_equal(getattr(back.covariates, name), getattr(cut.covariates, name))


def test_arrays_go_through_safetensors():
    numpy = pytest.importorskip("safetensors.numpy")
    panel = with_roles(Roles(static=ROLES.static))  # with tables that have no columns
    note, arrays = panel_to_json(panel.detached())
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    assert_same(panel_from_json(note, numpy.load(numpy.save(arrays))), panel)


# -- the form of the frame -------------------------------------------------------------------------------------------


def test_the_form_of_a_frame_of_polars_comes_back():
    pl = pytest.importorskip("polars")
    ids = pl.Series(["a"] * 5 + ["b"] * 5)
    stamps = pl.Series(pd.date_range("2024-01-01", periods=5, tz="Europe/Berlin").tolist() * 2)
    for kind in (pl.String, pl.Categorical, pl.Enum(["b", "a"])):
        frame = pl.DataFrame({"unique_id": ids.cast(kind), "ds": stamps, "y": range(10), "more": 1})
        panel = check_frame(frame)
        back = there_and_back(panel)
        assert_same(back, panel)
        assert back.form.give(back.to_frame()).equals(frame.drop("more").cast({"y": pl.Float32}))
    days = frame.with_columns(pl.col("ds").dt.date(), unique_id=pl.Series([1] * 5 + [2] * 5, dtype=pl.Int16))
    panel = check_frame(days)
    assert_same(there_and_back(panel), panel)
