"""What each fold fits on, keeps for validation, reads and is scored on; which series are in it; told, drawn, hashed."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from forecast import plots
from forecast.evaluation import Plan
from forecast.frame import Roles, check_frame


def frame_of(lengths, *, begins=None, freq=None, missing=()):
    """Series a, b, ... of 1, 2, 3, ...; each begins so many steps after the first stamp."""
    parts = []
    for place, length in enumerate(lengths):
        begin = begins[place] if begins else 0
        ds = np.arange(begin, begin + length)
        if freq is not None:
            ds = pd.date_range("2024-01-01", periods=begin + length, freq=freq)[begin:]
        y = np.arange(1.0, length + 1)
        y[[row for series, row in missing if series == place]] = np.nan
        parts.append(pd.DataFrame({"unique_id": chr(97 + place), "ds": ds, "y": y}))
    return pd.concat(parts, ignore_index=True)


def panel_of(lengths, **options):
    return check_frame(frame_of(lengths, **options))


# -- spans -----------------------------------------------------------------------------------------


def test_after_a_gap_the_steps_of_the_horizon_are_scored_counted_in_time_and_not_in_rows():
    folds = Plan(horizon=3, n_folds=2, gap=4).folds(panel_of([30] * 5))
    assert [(fold.cutoff, fold.test_start, fold.test_end) for fold in folds] == [(19, 24, 26), (22, 27, 29)]


def test_validation_and_embargo_lie_between_what_is_learned_from_and_the_cutoff():
    fold = Plan(horizon=2, n_folds=1, validation=6, embargo=3, gap=1).folds(panel_of([30]))[0]
    assert (fold.cutoff, fold.fit_end) == (26, 26)
    assert (fold.validation_start, fold.train_end) == (21, 17)
    assert (fold.test_start, fold.test_end) == (28, 29)


def test_an_embargo_without_validation_of_the_plan_is_counted_from_the_cutoff():
    fold = Plan(horizon=2, n_folds=1, embargo=3).folds(panel_of([30]))[0]
    assert (fold.train_end, fold.fit_end, fold.validation_start) == (24, 27, None)
    assert Plan(horizon=2, n_folds=1, validation=0).folds(panel_of([30]))[0].train_end == 27


def test_a_sliding_window_holds_the_rows_of_validation_too():
    fold = Plan(horizon=2, n_folds=1, window=10, validation=4).folds(panel_of([30]))[0]
    assert (fold.train_start, fold.train_end, fold.validation_start, fold.fit_end) == (18, 23, 24, 27)


@pytest.mark.parametrize("refit", ["every", "never", 2])
def test_folds_that_do_not_fit_move_what_is_read_and_scored_and_nothing_else(refit):
    folds = Plan(horizon=2, n_folds=4, refit=refit, validation=2, context=5).folds(panel_of([30]))
    for fold in folds:
        own = folds[fold.fit_fold]
        assert (fold.train_end, fold.validation_start, fold.fit_end) == (own.cutoff - 2, own.cutoff - 1, own.cutoff)
        assert (fold.context_start, fold.test_start) == (fold.cutoff - 4, fold.cutoff + 1)


def test_targets_are_in_one_part_of_a_fold_only_while_contexts_reach_back():
    for fold in Plan(horizon=3, n_folds=5, gap=2, validation=7, embargo=1, context=20).folds(panel_of([60])):
        assert fold.train_end < fold.validation_start <= fold.fit_end < fold.test_start
        assert fold.context_start < fold.validation_start


def test_the_rows_of_a_fold_are_copies_of_its_own():
    panel = panel_of([30, 12, 8], begins=[0, 3, 22])
    fold = Plan(horizon=2, n_folds=1).folds(panel)[0]
    rows = fold.rows(panel, 10, 25)
    assert rows.to_frame().groupby("unique_id")["ds"].agg(["min", "max"]).to_numpy().tolist() == [
        [10, 25],
        [10, 14],
        [22, 25],
    ]
    assert len(rows.values) == 16 + 5 + 4


# -- series ----------------------------------------------------------------------------------------


def test_a_series_needs_a_row_after_the_gap():
    panel = panel_of([30, 25])
    assert [list(fold.series) for fold in Plan(horizon=2, cutoffs=[21, 22, 23], gap=2).folds(panel)] == [
        [0, 1],
        [0],
        [0],
    ]


def test_a_series_needs_an_observed_value_in_the_context():
    panel = panel_of([30, 30], missing=[(1, row) for row in range(10, 20)])
    plan = Plan(horizon=2, cutoffs=[11, 12, 19, 20], context=3)
    assert [list(fold.series) for fold in plan.folds(panel)] == [[0, 1], [0], [0], [0, 1]]


def test_it_is_told_which_series_are_in_which_fold_and_why_others_are_not():
    panel = panel_of([30, 12, 12, 30], begins=[0, 0, 18, 0], missing=[(3, row) for row in range(9, 30)])
    plan = Plan(horizon=2, cutoffs=[5, 11, 18, 27], min_history=4, context=10)
    assert [tuple(row) for row in plan.series_table(panel).to_numpy()] == [
        ("a", "takes part", 0, 3, ""),
        ("b", "takes part", 0, 0, ""),
        ("b", "has ended", 1, 3, "ends at 11, with nothing to score after the cutoff 11"),
        ("c", "begins later", 0, 1, "begins at 18, after the cutoff 5"),
        ("c", "cold start", 2, 2, "1 of 4 observed values (`min_history`) up to the cutoff 18"),
        ("c", "takes part", 3, 3, ""),
        ("d", "takes part", 0, 1, ""),
        ("d", "nothing to read", 2, 3, "nothing observed in the `context` of 10 rows up to the cutoff 18"),
    ]


def test_the_stretches_of_series_are_those_of_the_folds():
    rng = np.random.default_rng(0)
    lengths, begins = rng.integers(5, 40, 12), rng.integers(0, 20, 12)
    missing = [(s, r) for s in range(12) for r in range(lengths[s]) if rng.random() < 0.6 and r]
    panel = panel_of(lengths, begins=list(begins), missing=missing)
    folds = Plan(horizon=3, n_folds=20, stride=1, min_history=3, context=4).folds(panel)
    table = folds.series_table()
    for fold in folds:
        now = table[(table["first_fold"] <= fold.number) & (fold.number <= table["last_fold"])]
        assert now["unique_id"].tolist() == list(panel.ids)
        taking = now["unique_id"][now["status"] == "takes part"]
        assert panel.ids[fold.series].tolist() == taking.tolist()
        assert (now["why"] == "").tolist() == (now["status"] == "takes part").tolist()


def test_points_are_counted_step_by_step():
    panel = panel_of([30, 27], missing=[(0, 28)])
    folds = Plan(horizon=4, n_folds=2, refit="never").folds(panel)
    assert folds.points.tolist() == [[2, 2, 2, 2], [2, 1, 0, 1]]


# -- cutoffs of each series' own -------------------------------------------------------------------


def test_cutoffs_can_be_counted_back_from_the_end_of_each_series():
    panel = panel_of([30, 12, 20], begins=[0, 4, 0])  # the last rows are 29, 15, 19
    folds = Plan(horizon=3, n_folds=2, align="ends", gap=1).folds(panel)
    assert [fold.cutoffs.tolist() for fold in folds] == [[22, 8, 12], [25, 11, 15]]
    assert [fold.cutoff for fold in folds] == [22, 25]
    rows = folds[1].rows(panel, folds[1].train_start, folds[1].train_end)
    assert rows.last.tolist() == [25, 11, 15]
    assert folds.points.tolist() == [[3, 3, 3]] * 2
    window = Plan(horizon=3, n_folds=2, align="ends", window=4).folds(panel)[1]
    rows = window.rows(panel, window.train_start, window.train_end)
    assert (rows.first.tolist(), rows.last.tolist()) == ([23, 9, 13], [26, 12, 16])


def test_delayed_values_are_hidden_as_of_the_cutoff_of_each_series():
    frame = frame_of([30, 20]).assign(late=1.0)
    panel = check_frame(frame, roles=Roles(delayed={"late": 2}))
    fold = Plan(horizon=3, n_folds=1, align="ends").folds(panel)[0]
    hidden = fold.rows(panel, fold.train_start, fold.train_end).to_frame().query("late.isna()")
    assert hidden.groupby("unique_id")["ds"].apply(list).to_dict() == {"a": [25, 26], "b": [15, 16]}


def test_series_that_are_too_short_for_their_own_cutoffs_are_told():
    panel = panel_of([30, 5])
    table = Plan(horizon=3, n_folds=2, align="ends", min_history=3).series_table(panel)
    assert table["status"].tolist() == ["takes part", "begins later", "cold start"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cutoffs": [3]}, "`cutoffs` is .*, a time that all series share, and `align` is 'ends'"),
        ({"start": 3}, "`start` is 3, a time that all series share"),
        ({"split": (5, 5, 5)}, "`split` is "),
        ({"n_folds": 1, "validation": 4}, "`validation` is 4, which is counted back from a cutoff that all"),
        ({"n_folds": 1, "embargo": 4}, "`embargo` is 4"),
    ],
)
def test_what_all_series_share_does_not_go_with_cutoffs_of_their_own(arguments, message):
    with pytest.raises(ValueError, match=message):
        Plan(horizon=2, align="ends", **arguments)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"gap": -1}, ValueError, "`gap` is -1; allowed: a whole number of 0 or more"),
        ({"gap": 1.5}, ValueError, "`gap` is 1.5"),
        ({"gap": True}, ValueError, "`gap` is True"),
        ({"embargo": None}, ValueError, "`embargo` is None"),
        ({"validation": -2}, ValueError, "`validation` is -2"),
        ({"validation": 3, "gap": 2}, ValueError, "`validation` keeps 3 steps .*; a forecast reaches 4 steps"),
        ({"window": 6, "validation": 4, "embargo": 2}, ValueError, "`window` is 6, of which `validation` of 4 and"),
        ({"context": 0}, ValueError, "`context` is 0"),
        ({"align": "left"}, ValueError, "`align` is 'left'; allowed: 'calendar' or 'ends'"),
        ({"align": None}, ValueError, "`align` is None"),
        ({"lookahead_across_series": 1}, TypeError, "`lookahead_across_series` is 1; allowed: True or False"),
    ],
)
def test_spans_that_are_not_allowed_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        Plan(horizon=2, n_folds=1, **arguments)


def test_a_fit_without_rows_to_learn_from_is_named():
    with pytest.raises(ValueError, match="`validation` of 20 and `embargo` of 5 steps leave fold 0, cutoff 24"):
        Plan(horizon=2, cutoffs=[24], validation=20, embargo=5).folds(panel_of([30]))
    assert Plan(horizon=2, cutoffs=[24], validation=20, embargo=4).folds(panel_of([30]))[0].train_end == 0


# -- told, drawn, hashed ---------------------------------------------------------------------------


def test_a_plan_on_a_panel_says_all_of_it_before_anything_is_fitted():
    panel = panel_of([30, 12], freq="D")
    told = str(Plan(horizon=4, n_folds=3, stride=2, gap=1, refit="never", validation=6, context=9).folds(panel))
    assert told.splitlines() == [
        "3 folds of horizon 4 after a gap of 1, 1 fit: cutoffs counted back from the end of the data, 2 steps apart",
        "tests overlap: one actual is forecast from several cutoffs",
        "fold 0: fit on 2024-01-01 00:00:00 to 2024-01-15 00:00:00, validated from 2024-01-16 00:00:00, reads from "
        "2024-01-13 00:00:00, cutoff 2024-01-21 00:00:00, scored on 2024-01-23 00:00:00 to 2024-01-26 00:00:00 "
        "(1 series, 4 values)",
        "fold 1: as fitted in fold 0, reads from 2024-01-15 00:00:00, cutoff 2024-01-23 00:00:00, scored on 2024-01-25 "
        "00:00:00 to 2024-01-28 00:00:00 (1 series, 4 values)",
        "fold 2: as fitted in fold 0, reads from 2024-01-17 00:00:00, cutoff 2024-01-25 00:00:00, scored on 2024-01-27 "
        "00:00:00 to 2024-01-30 00:00:00 (1 series, 4 values)",
        "12 test points of 12 are observed: 3 at the first step, 3 at the last",
        "has ended: 1 of 2 series, such as 'b' in folds 0 to 2: ends at 2024-01-12 00:00:00, with nothing to score "
        "after the cutoff 2024-01-21 00:00:00 and its gap of 1",
    ]


def test_of_many_folds_the_first_and_the_last_are_told():
    lines = str(Plan(horizon=2, n_folds=10).folds(panel_of([30]))).splitlines()
    assert [line.split(":")[0] for line in lines[1:6]] == [
        "fold 0",
        "fold 1",
        "fold 2",
        "... 6 folds more ...",
        "fold 9",
    ]


def test_cutoffs_of_each_series_own_are_told_and_so_is_what_they_let_be_seen():
    told = str(Plan(horizon=2, n_folds=1, align="ends", lookahead_across_series=True).folds(panel_of([30, 12])))
    assert "each series has cutoffs of its own, counted back from its end" in told
    assert "lie after the cutoffs of others (`lookahead_across_series`)" in told


SHARED = {"horizon": 4, "n_folds": 3}
OTHERS = [
    {"n_folds": 2},
    {"stride": 2},
    {"gap": 1},
    {"window": 9},
    {"refit": "never"},
    {"validation": 5},
    {"embargo": 1},
    {"context": 6},
    {"min_history": 6},
    {"season_length": 7},
]


def test_a_plan_is_hashed_by_all_that_it_asks_and_by_nothing_else():
    frame = frame_of([40, 12], begins=[0, 28], freq="D")
    base = Plan(**SHARED).folds(check_frame(frame)).digest
    digests = [Plan(**{**SHARED, **other}).folds(check_frame(frame)).digest for other in OTHERS]
    assert len({base, *digests}) == 1 + len(OTHERS)
    assert len(base) == 64
    renamed = frame.assign(unique_id=frame["unique_id"].str.upper())
    assert Plan(**SHARED).folds(check_frame(renamed)).digest != base
    other_values = frame.assign(y=frame["y"] * 2)
    assert Plan(**SHARED).folds(check_frame(other_values)).digest == base


def test_the_order_of_rows_does_not_change_the_hash_of_a_plan():
    frame = frame_of([40, 25, 30], freq="D")
    shuffled = frame.sample(frac=1, random_state=0)
    one, other = check_frame(frame), check_frame(shuffled, unsorted="sort")
    assert Plan(**SHARED).folds(one).digest == Plan(**SHARED).folds(other).digest


def test_the_hash_of_a_plan_is_the_same_in_another_process():
    program = (
        "import numpy as np, pandas as pd\n"
        "from forecast.evaluation import Plan\n"
        "from forecast.frame import check_frame\n"
        "frame = pd.DataFrame({'unique_id': np.repeat(['a', 'b'], 40), 'ds': np.tile(np.arange(40), 2), 'y': 1.0})\n"
        "print(Plan(horizon=4, n_folds=3).folds(check_frame(frame)).digest)"
    )
    frame = pd.DataFrame({"unique_id": np.repeat(["a", "b"], 40), "ds": np.tile(np.arange(40), 2), "y": 1.0})
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == Plan(horizon=4, n_folds=3).folds(check_frame(frame)).digest


@pytest.mark.parametrize("kind", [list, np.array, pd.Index, pd.Series])
def test_plans_are_compared_and_hashed_and_keep_what_they_were_given(kind):
    stamps = ["2024-01-05", "2024-01-09"]
    given = kind(stamps)
    one, other = Plan(horizon=2, cutoffs=given), Plan(horizon=2, cutoffs=tuple(stamps))
    assert one == other
    assert hash(one) == hash(other)
    if kind is list:
        given.append("2024-02-01")
        assert one == other


def test_folds_are_a_sequence():
    folds = Plan(horizon=2, n_folds=4).folds(panel_of([30]))
    assert [fold.number for fold in folds[1:3]] == [1, 2]
    assert repr(folds) == "Folds(4 of horizon 2, 21 to 27)"


def test_validation_embargo_gap_and_test_are_drawn_where_they_are():
    folds = Plan(horizon=4, n_folds=2, gap=3, validation=8, embargo=2).folds(panel_of([60]))
    ax = plots.plot_folds(folds).axes[0]
    drawn = {}
    for patch in ax.patches:
        span = (patch.get_x(), patch.get_x() + patch.get_width())
        drawn.setdefault(matplotlib.colors.to_hex(patch.get_facecolor()), []).append(span)
    assert drawn == {
        "#56789c": [(fold.train_start, fold.train_end) for fold in folds],
        "#e0a33a": [(fold.validation_start, fold.cutoff) for fold in folds],
        "#d9d9d9": [(fold.cutoff, fold.test_start) for fold in folds],
        "#d55e00": [(fold.test_start, fold.test_end) for fold in folds],
    }
    assert "gap" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_of_very_many_folds_some_are_drawn_and_the_title_says_so():
    ax = plots.plot_folds(Plan.fixed_split(4, 300, 100, 600).folds(panel_of([1000]))).axes[0]
    assert ax.get_title(loc="left") == "597 folds: 1 fit, 596 reusing an earlier fit (one of 3 is drawn)"
    assert len(ax.lines[0].get_xdata()) == 199


def test_folds_of_each_series_own_end_say_whose_times_are_drawn():
    ax = plots.plot_folds(Plan(horizon=2, n_folds=2, align="ends").folds(panel_of([30, 12]))).axes[0]
    assert ax.get_xlabel().splitlines()[0].endswith("of the series that ends last")


def test_what_is_neither_folds_nor_their_table_is_not_drawn():
    with pytest.raises(TypeError, match=r"`plan` is a Plan; give plan.folds\(panel\)"):
        plots.plot_folds(Plan(horizon=2, n_folds=2))
