import numpy as np
import pandas as pd
import pytest

from forecast.evaluation import Plan
from forecast.frame import check_frame


def panel_of(lengths, *, begins=None, freq="h", zone=None, missing=()):
    """Series a, b, ... of 1, 2, 3, ...; each begins so many steps after the first stamp."""
    rows = []
    for place, length in enumerate(lengths):
        begin = begins[place] if begins else 0
        stamps = (
            np.arange(begin, begin + length)
            if freq is None
            else pd.date_range("2024-01-01", periods=begin + length, freq=freq, tz=zone)[begin:]
        )
        y = np.arange(1.0, length + 1)
        y[[row for series, row in missing if series == place]] = np.nan
        rows.append(pd.DataFrame({"unique_id": chr(97 + place), "ds": stamps, "y": y}))
    return check_frame(pd.concat(rows))


def hour(step):
    return pd.Timestamp("2024-01-01") + pd.Timedelta(hours=step)


def test_cutoffs_are_counted_back_so_that_the_last_fold_has_every_step():
    panel = panel_of([30, 20])
    folds = Plan(horizon=4, n_folds=3).folds(panel)
    assert [fold.stamp for fold in folds] == [hour(17), hour(21), hour(25)]
    assert [fold.number for fold in folds] == [0, 1, 2]
    assert folds[-1].test_end == panel.last.max()


def test_a_stride_below_the_horizon_gives_overlapping_test_spans():
    folds = Plan(horizon=4, n_folds=3, stride=1).folds(panel_of([30]))
    assert [fold.stamp for fold in folds] == [hour(23), hour(24), hour(25)]
    assert folds[1].test_start <= folds[0].test_end


def test_cutoffs_can_be_given_and_a_stamp_between_two_steps_stands_for_the_one_before():
    folds = Plan(horizon=4, cutoffs=["2024-01-01 05:00", hour(9) + pd.Timedelta(minutes=30)]).folds(panel_of([30]))
    assert [fold.stamp for fold in folds] == [hour(5), hour(9)]


@pytest.mark.parametrize(
    ("refit", "expected"),
    [
        ("every", [0, 1, 2, 3, 4]),
        ("never", [0, 0, 0, 0, 0]),
        (2, [0, 0, 2, 2, 4]),
        (9, [0, 0, 0, 0, 0]),
        (1, [0, 1, 2, 3, 4]),
    ],
)
def test_refit_says_whose_fit_a_fold_uses_and_the_training_rows_are_those_of_that_fit(refit, expected):
    folds = Plan(horizon=2, n_folds=5, refit=refit).folds(panel_of([30]))
    assert [fold.fit_fold for fold in folds] == expected
    assert [fold.train_end for fold in folds] == [folds[source].cutoff for source in expected]


def test_an_expanding_window_begins_with_the_data_and_a_sliding_one_has_the_same_number_of_steps():
    panel = panel_of([30])
    expanding = Plan(horizon=2, n_folds=4).folds(panel)
    sliding = Plan(horizon=2, n_folds=4, window=5).folds(panel)
    assert {fold.train_start for fold in expanding} == {int(panel.first[0])}
    assert {fold.train_end - fold.train_start + 1 for fold in sliding} == {5}
    assert [fold.train_end for fold in sliding] == [fold.cutoff for fold in sliding]


def test_a_sliding_window_longer_than_the_history_begins_with_the_data():
    panel = panel_of([30])
    assert Plan(horizon=2, n_folds=1, window=500).folds(panel)[0].train_start == panel.first[0]


def test_series_take_part_while_they_are_under_way():
    panel = panel_of([30, 10, 12], begins=[0, 0, 18])  # b has rows 0..9, c has 18..29
    plan = Plan(horizon=2, cutoffs=[hour(step) for step in (8, 9, 17, 18, 27)])
    assert [list(fold.series) for fold in plan.folds(panel)] == [[0, 1], [0], [0], [0, 2], [0, 2]]


def test_series_take_part_once_they_have_enough_observed_values():
    panel = panel_of([30, 30], missing=[(1, row) for row in range(10)])
    plan = Plan(horizon=2, cutoffs=[hour(step) for step in (3, 9, 12, 13)], min_history=4)
    assert [list(fold.series) for fold in plan.folds(panel)] == [[0], [0], [0], [0, 1]]


def test_eligibility_is_the_same_as_counted_row_by_row():
    rng = np.random.default_rng(0)
    lengths, begins = rng.integers(5, 40, 12), rng.integers(0, 20, 12)
    missing = [(s, r) for s in range(12) for r in range(lengths[s]) if rng.random() < 0.3 and r]
    panel = panel_of(lengths, begins=list(begins), missing=missing)
    for fold in Plan(horizon=3, n_folds=20, stride=1, min_history=3).folds(panel):
        twin = []
        for s, (_, observed) in enumerate(panel):
            until = fold.cutoff - int(panel.first[s]) + 1
            if 1 <= until < len(observed) and observed[:until].sum() >= 3:
                twin.append(s)
        assert list(fold.series) == twin


def test_the_table_has_a_row_per_fold_and_counts_what_is_scored():
    panel = panel_of([30, 27], missing=[(0, 28)])
    table = Plan(horizon=4, n_folds=2, refit="never").table(panel)
    assert list(table.columns) == [
        "fold",
        "cutoff",
        "train_start",
        "train_end",
        "validation_start",
        "context_start",
        "test_start",
        "test_end",
        "fit_fold",
        "gap",
        "series",
        "points",
    ]
    assert table["cutoff"].tolist() == [hour(21), hour(25)]
    assert table["train_start"].tolist() == [hour(0)] * 2
    assert table["train_end"].tolist() == [hour(21)] * 2
    assert table["test_start"].tolist() == [hour(22), hour(26)]
    assert table["test_end"].tolist() == [hour(25), hour(29)]
    assert table["validation_start"].isna().all()
    assert table["series"].tolist() == [2, 2]
    assert table["points"].tolist() == [8, 3 + 1]


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_the_table_tells_time_as_the_frame_does(zone):
    table = Plan(horizon=2, n_folds=2).table(panel_of([20], freq="D", zone=zone))
    kinds = {str(table[name].dtype) for name in ("cutoff", "train_start", "train_end", "validation_start", "test_end")}
    assert len(kinds) == 1
    assert str(table["cutoff"].dt.tz) == str(zone)


def test_integer_time_is_planned_alike():
    panel = panel_of([30], freq=None)
    table = Plan(horizon=4, cutoffs=[9, 19]).table(panel)
    assert table[["cutoff", "test_start", "test_end"]].to_numpy().tolist() == [[9, 10, 13], [19, 20, 23]]


def test_months_are_counted_by_the_calendar():
    folds = Plan(horizon=12, n_folds=2).folds(panel_of([48], freq="MS"))
    assert [fold.stamp for fold in folds] == [pd.Timestamp("2025-12-01"), pd.Timestamp("2026-12-01")]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"horizon": 0, "n_folds": 1}, ValueError, "`horizon` is 0; allowed: a whole number of 1 or more"),
        ({"horizon": 2.0, "n_folds": 1}, TypeError, "`horizon` is 2.0"),
        ({"horizon": 2}, ValueError, "`cutoffs` is None and `n_folds` is None; give one of the two"),
        ({"horizon": 2, "n_folds": 1, "cutoffs": [hour(3)]}, ValueError, "give one of the two"),
        ({"horizon": 2, "n_folds": 0}, ValueError, "`n_folds` is 0"),
        ({"horizon": 2, "n_folds": 2, "stride": 0}, ValueError, "`stride` is 0"),
        ({"horizon": 2, "n_folds": 2, "stride": -3}, ValueError, "`stride` is -3"),
        ({"horizon": 2, "cutoffs": [hour(3)], "stride": 2}, ValueError, "`stride` belongs to `n_folds`"),
        ({"horizon": 2, "cutoffs": []}, ValueError, "`cutoffs` is \\[\\]; allowed: a list of one or more"),
        ({"horizon": 2, "cutoffs": "2024-01-01"}, ValueError, "allowed: a list of one or more"),
        ({"horizon": 2, "n_folds": 2, "refit": 0}, ValueError, "`refit` is 0"),
        ({"horizon": 2, "n_folds": 2, "refit": True}, ValueError, "`refit` is True; allowed: 'every' or 'never'"),
        ({"horizon": 2, "n_folds": 2, "refit": "often"}, ValueError, "`refit` is 'often'"),
        ({"horizon": 2, "n_folds": 2, "window": "sliding"}, ValueError, "`window` is 'sliding'; allowed: 'expanding'"),
        ({"horizon": 2, "n_folds": 2, "window": np.array([1, 2])}, ValueError, "`window` is array"),
        ({"horizon": 2, "n_folds": 2, "window": 0}, ValueError, "`window` is 0"),
        ({"horizon": 2, "n_folds": 2, "min_history": 0}, ValueError, "`min_history` is 0"),
        ({"horizon": 2, "n_folds": 2, "season_length": 0}, ValueError, "`season_length` is 0"),
    ],
)
def test_arguments_that_are_not_allowed_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        Plan(**arguments)


@pytest.mark.parametrize(
    ("cutoffs", "message"),
    [
        ([hour(-1)], "2023-12-31 23:00:00 has no history before it; the data run from 2024-01-01 00:00:00 to"),
        ([hour(29)], "has nothing after it to score.*give cutoffs from 2024-01-01 00:00:00 to 2024-01-02 04:00:00"),
        ([hour(400)], "has nothing after it to score"),
        ([hour(9), hour(5)], "2024-01-01 05:00:00 stands after the later 2024-01-01 09:00:00; give each once, rising"),
        ([hour(9), hour(9)], "is the same time as"),
        ([hour(9), hour(9) + pd.Timedelta(minutes=1)], "is the same time as"),
    ],
)
def test_cutoffs_that_the_data_do_not_hold_are_named(cutoffs, message):
    with pytest.raises(ValueError, match=message):
        Plan(horizon=2, cutoffs=cutoffs).folds(panel_of([30]))


@pytest.mark.parametrize(
    ("cutoff", "error", "message"),
    [
        ("in spring", ValueError, "`cutoffs` holds 'in spring': "),
        (5, TypeError, "`cutoffs`: the time axis holds timestamps; got 5"),
        (None, TypeError, "`cutoffs`: the time axis holds timestamps; got None"),
        (hour(3).tz_localize("UTC"), ValueError, "`cutoffs` holds .*: the frame's stamps have no time zone"),
    ],
)
def test_cutoffs_that_are_no_stamps_of_the_calendar_are_named(cutoff, error, message):
    with pytest.raises(error, match=message):
        Plan(horizon=2, cutoffs=[cutoff]).folds(panel_of([30]))


def test_a_plan_asks_for_a_panel():
    plan, frame = Plan(horizon=2, n_folds=1), panel_of([30]).to_frame()
    for ask in (plan.folds, plan.table):
        with pytest.raises(TypeError, match=r"`panel` is a DataFrame; give a Panel: check_frame\(frame\)"):
            ask(frame)


def test_the_cutoff_just_before_the_last_stamp_is_allowed():
    panel = panel_of([30])
    assert Plan(horizon=2, cutoffs=[hour(28)]).table(panel)["points"].tolist() == [1]


@pytest.mark.parametrize(("n_folds", "held"), [(8, 7), (1000, 7), (10**12, 7)])
def test_more_folds_than_the_data_hold_are_refused_with_their_number(n_folds, held):
    panel = panel_of([30])  # cutoffs 25, 21, ... 1
    assert len(Plan(horizon=4, n_folds=held).folds(panel)) == held
    with pytest.raises(ValueError, match=f"`n_folds` is {n_folds} .*but the data hold {held}: "):
        Plan(horizon=4, n_folds=n_folds).folds(panel)
    with pytest.raises(ValueError, match=f"`n_folds` is {n_folds} .*but the data hold {held}: "):
        Plan(horizon=4, n_folds=n_folds, start=hour(1)).folds(panel)


def test_more_folds_than_stamps_can_tell_are_refused_too():
    with pytest.raises(ValueError, match="but the data hold 3: "):
        Plan(horizon=4, n_folds=5000).folds(panel_of([16], freq="YS"))


def test_a_fold_without_any_series_is_named():
    panel = panel_of([10, 10], begins=[0, 20])
    with pytest.raises(ValueError, match=r"`cutoffs`: 2024-01-01 15:00:00: no series is under way .* at fold 1"):
        Plan(horizon=2, cutoffs=[hour(5), hour(15), hour(25)]).folds(panel)


def test_too_little_history_for_any_series_is_named():
    with pytest.raises(ValueError, match="but the data hold 0: no series is under way with `min_history` = 29"):
        Plan(horizon=2, n_folds=2, min_history=29).folds(panel_of([30]))
