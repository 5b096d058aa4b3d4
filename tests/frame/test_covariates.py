"""Columns with a role: through the door, cut with the panel, and back; what they may hold, and what they may not."""

import re
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from forecast.frame import FrameError, Roles, check_frame, check_rows

ROLES = Roles(
    static=("area", "size"), known=("price", "promo"), past=("rain", "sky"), delayed={"sold": 2, "agent": 1}, weight="w"
)


def make(**columns):
    """Three series that begin and end at different days, with columns of every role, numbers and categories."""
    pieces = [
        pd.DataFrame({"unique_id": name, "ds": pd.date_range(begin, periods=rows)})
        for name, begin, rows in [("b", "2024-05-01", 9), ("a", "2024-05-03", 12), ("c", "2024-04-29", 4)]
    ]
    frame = pd.concat(pieces, ignore_index=True)
    at = np.arange(len(frame))
    frame = frame.assign(
        y=at + 0.5,
        area=frame["unique_id"].map({"b": "north", "a": "south", "c": "north"}),
        size=frame["unique_id"].map({"b": 1.5, "a": 2.5, "c": np.nan}),
        price=at * 1.25,
        promo=np.where(at % 3, "none", "half"),
        rain=np.where(at % 5, at * 0.1, np.nan),
        sky=np.where(at % 4, "grey", None),
        sold=at * 2.0,
        agent=[f"agent {place // 4}" for place in at],
        w=1.0 + at % 2,
    )
    return frame.assign(**columns)


def to_door(**door):
    return check_frame(make(), roles=ROLES, **door)


def refuses(frame, *parts, roles=ROLES, error=FrameError, **door):
    before = frame.copy(deep=True)
    with pytest.raises(error) as caught:
        check_frame(frame, roles=roles, **door)
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    pd.testing.assert_frame_equal(frame, before)


def assert_same(panel, frame):
    came, frame = panel.to_frame(), frame.reset_index(drop=True)
    came, frame = (each.astype(object).where(each.notna(), None) for each in (came, frame))  # None and NaN alike
    pd.testing.assert_frame_equal(came, frame, rtol=1e-6)


# -- through the door and back ---------------------------------------------------------------------------------------


def test_columns_of_every_role_come_back_in_the_order_of_the_roles():
    assert_same(to_door(), make())


def test_a_panel_says_which_columns_have_which_role():
    assert repr(to_door()).endswith(
        ", static area, size, known price, promo, past rain, sky, delayed sold, agent, weight w)"
    )


def test_without_roles_a_panel_has_neither_covariates_nor_weights():
    panel = check_frame(make())
    assert panel.covariates is None
    assert panel.weights is None
    assert list(panel.to_frame()) == ["unique_id", "ds", "y"]


def test_covariates_are_tables_of_float32_beside_the_values():
    panel = to_door()
    beside = panel.covariates
    assert [column.name for column in beside.columns] == [*ROLES.columns()[:-1]]
    assert beside.static.numbers.shape == (3, 2)
    assert beside.past.numbers.shape == (25, 4)
    assert beside.known.numbers.shape == (25, 2)
    assert {table.numbers.dtype for table in (beside.static, beside.past, beside.known)} == {np.dtype("float32")}
    assert [column.delay for column in beside.past.columns] == [0, 0, 2, 1]
    np.testing.assert_array_equal(beside.starts, panel.starts)
    np.testing.assert_array_equal(beside.first, panel.first)
    assert panel.weights.dtype == np.float32


@pytest.mark.parametrize("order", [np.arange(25)[::-1], np.random.default_rng(0).permutation(25)])
def test_rows_are_sorted_with_their_columns(order):
    frame = make().iloc[order]
    names = list(dict.fromkeys(frame["unique_id"]))
    expected = pd.concat([make()[make()["unique_id"] == name] for name in names])
    assert_same(check_frame(frame, roles=ROLES, unsorted="sort"), expected)


TEMPORAL = ["price", "promo", "rain", "sky", "sold", "agent"]


@pytest.mark.parametrize("gaps", ["mask", "fill"])
def test_where_rows_are_missing_values_keep_their_stamps(gaps):
    frame = make().drop(index=[2, 3, 10, 18])
    panel = check_frame(frame, roles=ROLES, gaps=gaps)
    pieces = []
    for name, piece in frame.groupby("unique_id", sort=False):
        whole = piece.set_index("ds").asfreq("D").reset_index().assign(unique_id=name)
        whole[["area", "size"]] = piece[["area", "size"]].iloc[0].to_list()
        whole["w"] = whole["w"].fillna(0)
        if gaps == "fill":
            whole[TEMPORAL] = whole[TEMPORAL].ffill()
        pieces.append(whole)
    assert_same(panel, pd.concat(pieces)[list(make())])


def test_other_names_for_the_three_columns_leave_those_with_a_role_alone():
    frame = make().rename(columns={"unique_id": "store", "y": "sales"})
    assert_same(check_frame(frame, roles=ROLES, columns={"unique_id": "store", "y": "sales"}), make())


def test_rows_that_go_on_carry_their_columns():
    panel = to_door()
    frame = make()[lambda frame: frame["ds"] > "2024-05-05"]
    assert_same(check_rows(frame, panel.calendar, roles=ROLES), frame)


def test_a_static_value_may_be_told_once():
    frame = make()
    frame.loc[frame.duplicated("unique_id"), ["area", "size"]] = None
    assert_same(check_frame(frame, roles=ROLES), make())


# -- numbers and categories ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        np.arange(25),
        np.arange(25) % 2 == 0,
        pd.array([None, *range(24)], dtype="Int32"),
        pd.array([None, *[True, False] * 12], dtype="boolean"),
        [Decimal(at) / 4 for at in range(25)],
        [True, None, Decimal(2), 3.5, np.float32(4)] * 5,
        [None] * 25,
    ],
    ids=["int", "bool", "Int32", "boolean", "Decimal", "objects", "nothing"],
)
def test_numbers_of_every_kind_stay_numbers(values):
    frame = make().assign(price=pd.Series(values))
    table = check_frame(frame, roles=ROLES).covariates.known
    assert table.columns[0].categories is None
    expected = [np.nan if pd.isna(value) else float(value) for value in values]
    np.testing.assert_array_equal(table.numbers[:, 0], np.float32(expected))


@pytest.mark.parametrize(
    "values",
    [
        ["x", "y", None, "x", "z"] * 5,
        pd.Categorical([3, 1, None, 1, 2] * 5, categories=[1, 2, 3, 4]),
        pd.Categorical(["b", "a", "a", None, "b"] * 5, ordered=True),
        [("a", 1), ("b", 2), None, ("a", 1), ("c", 3)] * 5,
        pd.array(["x", "y", None, "x", "z"] * 5, dtype="string"),
    ],
    ids=["text", "numbered categories", "ordered categories", "tuples", "string"],
)
def test_everything_else_is_categories_by_value(values):
    column = pd.Series(values)
    table = check_frame(make().assign(price=column), roles=ROLES).covariates.known
    categories, numbers = table.columns[0].categories, table.numbers[:, 0]
    given = column.tolist()
    assert categories.tolist() == list(dict.fromkeys(value for value in given if pd.isna(value) is not True))
    for value, number in zip(given, numbers, strict=True):
        assert (np.isnan(number) and pd.isna(value)) or categories[int(number)] == value


def test_columns_may_be_called_by_what_is_no_text():
    frame = make().rename(columns={"price": 7, "sky": ("a", "b"), "w": 0})
    roles = Roles(known=(7,), past=(("a", "b"),), weight=0)
    expected = frame[["unique_id", "ds", "y", 7, ("a", "b"), 0]]
    assert_same(check_frame(frame, roles=roles), expected)


@pytest.mark.parametrize(
    ("column", "value", "parts"),
    [
        ("price", np.inf, ["column `price`", "infinite", "series 'a' at 2024-05-05"]),
        ("rain", -np.inf, ["column `rain`", "infinite"]),
        ("size", 1e39, ["column `size`", "beyond float32"]),
        ("sold", np.inf, ["column `sold`"]),
    ],
)
def test_infinite_covariates_are_refused(column, value, parts):
    frame = make()
    frame.loc[11, column] = value
    refuses(frame, *parts)


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        (["n/a", *range(24)], ["holds numbers and other things", "'n/a'", "series 'b' at 2024-05-01"]),
        (pd.date_range("2024", periods=25), ["datetime64"]),
        ([date(2024, 5, 1)] * 25, ["date"]),
        (pd.period_range("2024", periods=25), ["period"]),
        (np.arange(25) * 1j, ["complex"]),
        ([["a"], *"b" * 24], ["cannot be told apart"]),
    ],
    ids=["mixed", "timestamps", "dates", "periods", "complex", "lists"],
)
def test_what_is_neither_numbers_nor_categories_is_refused(values, parts):
    frame = make().assign(sky=pd.Series(values))
    refuses(frame, "column `sky`", "allowed: numbers, truth values, text and categories", *parts)


def test_dates_may_be_categories_when_called_so():
    frame = make().assign(sky=pd.Series([date(2024, 5, 1), date(2024, 5, 2)] * 12 + [None]).astype("category"))
    assert check_frame(frame, roles=ROLES).to_frame()["sky"].tolist()[:2] == [date(2024, 5, 1), date(2024, 5, 2)]


# -- static values and weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "other"), [("size", 3.5, "2.5"), ("area", "west", "'south'")], ids=["number", "category"]
)
def test_a_static_column_that_changes_within_a_series_is_refused(column, value, other):
    frame = make()
    frame.loc[[13, 15], column] = value
    refuses(frame, f"column `{column}` is static", f"{value!r} in series 'a' at 2024-05-07", f"{other} at 2024-05-03")


def test_the_same_two_values_in_two_series_are_no_change():
    frame = make(area="north")
    assert check_frame(frame, roles=ROLES).covariates.static.numbers[:, 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize("value", [-1.0, np.nan, -0.001])
def test_weights_are_zero_or_more_in_every_row(value):
    frame = make()
    frame.loc[[12, 14], "w"] = value
    refuses(frame, "column `w` holds weights", f"{value!r} in series 'a' at 2024-05-06", "2 such rows")


def test_weights_are_finite_numbers():
    refuses(make(w="heavy"), "column `w` must hold numbers", "'heavy'")
    refuses(make(w=np.inf), "column `w`", "infinite")


def test_weights_that_are_zero_wherever_there_is_a_value_are_refused():
    refuses(make(w=0), "column `w` is 0")
    frame = make(w=0)
    frame.loc[4, ["w", "y"]] = [1, np.nan]
    refuses(frame, "column `w` is 0")


def test_whole_numbers_and_truth_values_are_weights():
    panel = check_frame(make(w=[True, False] * 12 + [True]), roles=ROLES)
    assert panel.weights.tolist() == [1, 0] * 12 + [1]


# -- roles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "error", "message"),
    [
        (Roles(known=("nothing",)), FrameError, "column `nothing` has the role known but is not there"),
        (Roles(weight="nothing"), FrameError, "column `nothing` has the role weight but is not there"),
        (Roles(known=("price",), past=("price",)), FrameError, "column `price` cannot be both known and past"),
        (Roles(past=("w",), weight="w"), FrameError, "column `w` cannot be both past and weight"),
        (Roles(known="price"), TypeError, "known is the text 'price'; allowed: several names, as in ('price',)"),
        (Roles(weight=("w",)), TypeError, "weight is ('w',); allowed: the name of one column"),
        (Roles(delayed={"sold": 0}), ValueError, "column `sold` is delayed by 0; allowed: whole steps, 1 or more"),
        (Roles(delayed={"sold": -1}), ValueError, "delayed by -1"),
        (Roles(delayed={"sold": 1.5}), ValueError, "delayed by 1.5"),
        (Roles(delayed={"sold": True}), ValueError, "delayed by True"),
        (Roles(delayed=("sold",)), TypeError, "delayed is ('sold',); allowed: column -> steps"),
    ],
)
def test_roles_that_cannot_be_are_refused(roles, error, message):
    with pytest.raises(error, match=re.escape(message)):
        check_frame(make(), roles=roles)


def test_a_covariate_may_not_be_called_as_one_of_the_three_columns():
    frame = make().rename(columns={"y": "sales", "price": "y"})
    refuses(
        frame, "column `y` has the role known, but 'y' is what `sales` is called here", "call it otherwise",
        roles=Roles(known=("y",)), columns={"y": "sales"},
    )  # fmt: skip


# -- cut with the panel ----------------------------------------------------------------------------------------------

DAYS = pd.date_range("2024-05-02", "2024-05-15")


@pytest.mark.parametrize("day", DAYS[::3])
def test_cuts_carry_the_covariates_of_their_rows(day):
    panel, frame = to_door(), make()
    ordinal = panel.calendar.ordinal(day)
    assert_same(panel.until(ordinal), frame[frame["ds"] <= day])
    assert_same(panel.since(ordinal), frame[frame["ds"] >= day])
    inside = frame["ds"].between("2024-05-03", day)
    assert_same(panel.until(ordinal).since(panel.calendar.ordinal("2024-05-03")), frame[inside])


def test_take_carries_the_covariates_of_its_series():
    frame = make().set_index("unique_id")
    assert_same(to_door().take(np.array([2, 0])), frame.loc[["c", "b"]].reset_index())


def test_cuts_copy_nothing():
    panel = to_door()
    cut = panel.until(panel.calendar.ordinal("2024-05-07")).since(panel.calendar.ordinal("2024-05-04"))
    assert cut.weights is panel.weights
    assert cut.covariates.past.numbers is panel.covariates.past.numbers
    assert cut.covariates.known.numbers is panel.covariates.known.numbers


def test_known_covariates_go_on_after_a_cutoff_and_others_do_not():
    panel = to_door()
    cut = panel.until(panel.calendar.ordinal("2024-05-04"))
    for panel_ in (cut, cut.detached()):
        beside = panel_.covariates
        rows = {name: beside.stops[at] - beside.starts[at] for at, name in enumerate(panel_.ids)}
        assert rows == {"b": 9, "a": 12, "c": 4}
    assert len(cut.detached().covariates.past.numbers) == cut.lengths.sum() == len(cut.detached().weights)


def naive_detached(frame, day):
    """The twin: the rows up to a day, with delayed values only where they were known at the last of them."""
    kept = frame[frame["ds"] <= day].copy()
    for column, delay in ROLES.delayed.items():
        kept.loc[kept["ds"] + pd.Timedelta(days=delay) > kept["ds"].max(), column] = None
    return kept


@pytest.mark.parametrize("years", [0, -100])  # ordinals count from 1970 on, and back
@pytest.mark.parametrize("day", DAYS[::3])
def test_a_detached_panel_has_of_delayed_columns_what_was_known(day, years):
    frame, day = make(), day + pd.DateOffset(years=years)
    frame["ds"] += pd.DateOffset(years=years)
    panel = check_frame(frame, roles=ROLES)
    assert_same(panel.until(panel.calendar.ordinal(day)).detached(), naive_detached(frame, day))


def test_a_panel_without_series_can_be_detached():
    assert len(to_door().take(np.zeros(3, dtype=bool)).detached()) == 0


def test_a_detached_panel_shares_no_memory():
    panel = to_door()
    copy = panel.detached()
    for mine, theirs in [
        (copy.weights, panel.weights),
        *((getattr(copy.covariates, name).numbers, getattr(panel.covariates, name).numbers)
          for name in ("static", "past", "known")),
    ]:  # fmt: skip
        assert not np.shares_memory(mine, theirs)


def test_what_has_been_cut_off_leaves_no_trace_in_a_detached_panel():
    frame, cutoff = make(), pd.Timestamp("2024-05-06")
    changed = frame.copy()
    after = changed["ds"] > cutoff
    changed.loc[after, ["y", "rain", "sold", "w"]] = 1e9
    changed.loc[after, ["sky", "agent"]] = "never seen before"
    late = changed["ds"] > cutoff - pd.Timedelta(days=2)
    changed.loc[late & (changed["unique_id"] != "c"), "sold"] = -1e9  # not yet known at the cutoff
    cuts = [check_frame(each, roles=ROLES) for each in (frame, changed)]
    one, other = (cut.until(cut.calendar.ordinal(cutoff)).detached() for cut in cuts)
    for mine, theirs in [(one.values, other.values), (one.weights, other.weights)]:
        np.testing.assert_array_equal(mine, theirs)
    for name in ("static", "past", "known"):
        mine, theirs = getattr(one.covariates, name), getattr(other.covariates, name)
        np.testing.assert_array_equal(mine.numbers, theirs.numbers)
        for left, right in zip(mine.columns, theirs.columns, strict=True):
            assert (left.name, left.delay) == (right.name, right.delay)
            assert (left.categories is None) == (right.categories is None)
            assert left.categories is None or left.categories.equals(right.categories)


@pytest.mark.parametrize(
    "roles",
    [
        Roles(static=ROLES.static),
        Roles(known=ROLES.known),
        Roles(past=ROLES.past),
        Roles(delayed=ROLES.delayed),
        Roles(weight=ROLES.weight),
    ],
    ids=["static", "known", "past", "delayed", "weight"],
)
def test_every_role_works_without_the_others(roles):
    panel = check_frame(make(), roles=roles)
    frame = make()[["unique_id", "ds", "y", *roles.columns()]]
    assert_same(panel, frame)
    cutoff = pd.Timestamp("2024-05-05")
    assert_same(panel.until(panel.calendar.ordinal(cutoff)), frame[frame["ds"] <= cutoff])
    assert_same(panel.since(panel.calendar.ordinal(cutoff)), frame[frame["ds"] >= cutoff])
    expected = frame if not roles.delayed else naive_detached(frame, frame["ds"].max())
    assert_same(panel.detached(), expected)


# -- frames of other kinds -------------------------------------------------------------------------------------------


def test_columns_of_polars_are_read_alike():
    pl = pytest.importorskip("polars")
    whole = make().astype(object).where(make().notna(), None)
    frame = pl.DataFrame({name: column.to_list() for name, column in whole.items()})
    frame = frame.with_columns(
        pl.col("promo").cast(pl.Categorical), pl.col("area").cast(pl.Enum(["south", "north"])),
        price=pl.col("price").cast(pl.Decimal(10, 2)), w=pl.col("w") == 1,
    )  # fmt: skip
    panel = check_frame(frame, roles=ROLES)
    expected = make(w=make()["w"] == 1).astype({"w": float})
    assert_same(panel, expected)
    assert panel.form.give(panel.to_frame())["promo"].to_list() == make()["promo"].tolist()


def test_columns_of_arrow_are_read_alike():
    pa = pytest.importorskip("pyarrow")
    assert_same(check_frame(pa.Table.from_pandas(make(), preserve_index=False), roles=ROLES), make())
    assert_same(check_frame(make().convert_dtypes(dtype_backend="pyarrow"), roles=ROLES), make())
