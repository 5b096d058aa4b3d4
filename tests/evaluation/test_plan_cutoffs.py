"""Where the cutoffs of a plan are: counted from the start or the end, in steps or time, or those of a fixed split."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation import Plan
from forecast.frame import check_frame


def panel_of(length, *, freq="h", zone=None, begin="2024-01-01"):
    ds = np.arange(length) if freq is None else pd.date_range(begin, periods=length, freq=freq, tz=zone)
    return check_frame(pd.DataFrame({"unique_id": "a", "ds": ds, "y": 1.0}))


def stamps(folds):
    return [fold.stamp for fold in folds]


def rows(plan, panel):
    """The cutoffs, as rows counted from the first."""
    return [fold.cutoff - int(panel.first[0]) for fold in plan.folds(panel)]


@pytest.mark.parametrize("stride", [24, "1D", "24h", pd.Timedelta("1D"), timedelta(days=1), np.timedelta64(24, "h")])
def test_a_week_of_hours_after_one_day_holds_six_folds_of_a_day_whether_steps_or_time_are_counted(stride):
    panel = panel_of(168)
    plan = Plan(horizon=24, start="2024-01-01 23:00", stride=stride)
    assert rows(plan, panel) == [23, 47, 71, 95, 119, 143]
    assert plan.folds(panel).digest == Plan(horizon=24, start="2024-01-01 23:00", stride=24).folds(panel).digest


def test_cutoffs_from_a_start_go_on_while_the_whole_horizon_is_in_the_data():
    panel = panel_of(30)
    assert rows(Plan(horizon=4, start=panel.calendar.stamp(int(panel.first[0]) + 5), stride=10), panel) == [5, 15, 25]
    assert rows(Plan(horizon=4, start="2024-01-01 06:00", stride=10), panel) == [6, 16]
    assert rows(Plan(horizon=4, start="2024-01-01 05:00", stride=10, gap=1), panel) == [5, 15]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"start": 5, "end": 13, "stride": 3}, [5, 8, 11]),
        ({"start": 5, "end": 14, "stride": 3}, [5, 8, 11, 14]),
        ({"start": 5, "end": 28, "stride": 7}, [5, 12, 19, 26]),
        ({"start": 5, "n_folds": 2}, [5, 9]),
        ({"end": 17, "n_folds": 3, "stride": 2}, [13, 15, 17]),
        ({"n_folds": 2, "gap": 3}, [18, 22]),
    ],
)
def test_start_and_end_bound_the_cutoffs(arguments, expected):
    assert rows(Plan(horizon=4, **arguments), panel_of(30, freq=None)) == expected


@pytest.mark.parametrize(
    ("freq", "zone", "stride", "steps"),
    [
        ("D", None, "7D", 7),
        ("B", None, "7D", 5),
        ("D", "Europe/Berlin", "14D", 14),  # the clocks change on the way
        ("h", "Europe/Berlin", "7D", 168),
        ("W", None, "14D", 2),
        ("15min", None, "1h", 4),
    ],
)
def test_time_is_counted_in_the_steps_of_the_calendar(freq, zone, stride, steps):
    panel = panel_of(400, freq=freq, zone=zone, begin="2024-02-05")
    given, counted = (Plan(horizon=2, n_folds=2, stride=one).folds(panel) for one in (stride, steps))
    assert stamps(given) == stamps(counted)
    assert given.digest == counted.digest


@pytest.mark.parametrize(
    ("freq", "stride"), [("MS", "31D"), ("D", "36h"), ("h", "90min"), ("B", "1D"), (None, "7D"), ("h", "1ns")]
)
def test_time_that_is_no_whole_number_of_steps_is_refused(freq, stride):
    message = "give a number of steps"
    with pytest.raises(ValueError, match=message) as caught:
        Plan(horizon=2, n_folds=2, stride=stride).folds(panel_of(60, freq=freq))
    assert str(caught.value).startswith("`stride` is ")


def test_a_fixed_split_scores_every_window_of_the_test_rows_once_fitted_on_the_train_rows():
    panel = panel_of(17420, begin="2016-07-01")
    folds = Plan.fixed_split(96, 8640, 2880, 2880).folds(panel)
    begin = int(panel.first[0])
    assert len(folds) == 2785
    assert {(fold.train_start, fold.train_end) for fold in folds} == {(begin, begin + 8639)}
    assert {(fold.validation_start, fold.fit_end) for fold in folds} == {(begin + 8640, begin + 11519)}
    assert {fold.fit_fold for fold in folds} == {0}
    assert (folds[0].test_start, folds[-1].test_end) == (begin + 11520, begin + 14399)
    assert folds[0].context_start == begin  # the first context reaches back into the rows of validation


@pytest.mark.parametrize(("horizon", "windows"), [(96, 2785), (192, 2689), (336, 2545), (720, 2161)])
def test_a_fixed_split_has_as_many_windows_as_the_published_loaders(horizon, windows):
    assert len(Plan.fixed_split(horizon, 8640, 2880, 2880).folds(panel_of(14400))) == windows


def test_a_fixed_split_takes_what_a_plan_takes():
    panel = panel_of(100)
    plan = Plan.fixed_split(4, 50, 20, 30, stride=4, gap=2, context=10)
    assert rows(plan, panel) == [69, 73, 77, 81, 85, 89, 93]
    assert plan.folds(panel)[0].context_start == panel.first[0] + 60
    assert plan.folds(panel)[-1].test_end == panel.last[0]
    assert rows(Plan.fixed_split(4, 50, 0, 50), panel)[0] == 49


def test_deviations_are_those_of_the_train_rows_alone():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"unique_id": np.repeat(["b", "a"], 100), "ds": np.tile(np.arange(100), 2)})
    frame["y"] = rng.normal(size=200)
    frame.loc[[3, 7], "y"] = np.nan
    found = Plan.fixed_split(4, 60, 20, 20).folds(check_frame(frame, gaps="mask")).train_deviations()
    twin = [frame["y"][:60].std(ddof=0), frame["y"][100:160].std(ddof=0)]
    assert found.index.tolist() == ["b", "a"]
    np.testing.assert_allclose(found, twin, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stride": "soon", "n_folds": 1}, "`stride` is 'soon'; allowed: a number of steps, or a time such as '7D'"),
        ({"stride": "-1D", "n_folds": 1}, "of more than 0"),
        ({"stride": np.timedelta64("NaT"), "n_folds": 1}, "of more than 0"),
        ({"stride": "0D", "n_folds": 1}, "of more than 0"),
        ({"end": 9}, "give one of the two"),
        ({"start": 3, "end": 9, "n_folds": 2}, "`start`, `end` and `n_folds` are all given; leave one of them out"),
        ({"start": 3, "cutoffs": [4]}, "`start` belongs to `n_folds` and has no meaning beside `cutoffs`"),
        ({"end": 3, "cutoffs": [4]}, "`end` belongs to `n_folds`"),
        ({"split": (5, 5, 5), "n_folds": 2}, "`split` says where the cutoffs are .*, and `n_folds` is 2"),
        ({"split": (5, 5, 5), "validation": 5}, "and `validation` is 5: leave one of the two out"),
        ({"split": (5, 5)}, r"`split` is \(5, 5\); allowed: how many rows train, validate and test"),
        ({"split": (5, 5, 0)}, "`split` is 0"),
        ({"split": (5, 1, 5)}, "`split` keeps 1 steps for validation; a forecast reaches 2 steps"),
        ({"split": (5, 5, 1)}, "`split` has 1 rows to test; a forecast reaches 2 steps"),
        ({"split": "0.7"}, "`split` is '0.7'; allowed"),
    ],
)
def test_what_says_where_cutoffs_are_has_to_go_together(arguments, message):
    with pytest.raises(ValueError, match=message):
        Plan(horizon=2, **arguments)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(horizon=4, start=27), "`start`: 27 leaves no room for the horizon; give one of 25 or before"),
        (Plan(horizon=4, start=9, end=8), "`start`: 9 comes after `end`, 8"),
        (Plan(horizon=4, start=-1), "`start`: -1 has no history before it; the data run from 0 to 29"),
        (Plan(horizon=4, start=1, end=29), "`end`: 29 has nothing after it to score"),
        (Plan(horizon=4, cutoffs=[27], gap=2), r"`cutoffs`: 27 has nothing after it to score \(`gap` 2\); .* to 26"),
        (Plan(horizon=4, start="soon"), "`start`: the time axis counts integers; got 'soon'"),
        (Plan(horizon=4, start=20, n_folds=4), "`n_folds` is 4 .* but the data hold 3: "),
        (Plan(horizon=4, end=8, n_folds=4), "`n_folds` is 4 .* but the data hold 3: "),
        (Plan.fixed_split(4, 20, 5, 10), "`split` takes 35 rows, and the data have 30"),
        (Plan.fixed_split(4, 15, 5, 10, min_history=21), "`split`: 19: no series is under way with `min_history` = 21"),
        (Plan(horizon=4, start=3, min_history=9), "`start`: 7: no series is under way with `min_history` = 9"),
    ],
)
def test_what_the_data_do_not_hold_is_named(plan, message):
    with pytest.raises((TypeError, ValueError), match=message):
        plan.folds(panel_of(30, freq=None))
