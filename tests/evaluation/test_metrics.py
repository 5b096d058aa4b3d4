"""Scores equal what loops over single rows give, and what is undefined is said to be so, for all forecasters alike."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.losses import interval_error
from forecast.evaluation.metrics import DEFAULTS, METRICS, Averaged, Pooled, coverage, interval_score, score
from forecast.evaluation.skill import skill

LEVELS = [f"{tenth / 10}" for tenth in range(1, 10)]


def one(ledger, metric, forecaster="lstm"):
    """One number of the table of scores."""
    return score(ledger, [metric]).set_index("forecaster").loc[forecaster, metric]


# The naive twins: a loss of one row, then loops.


def pinball(row, level):
    miss = row["y"] - row[f"{level}"]
    return level * miss if miss >= 0 else (level - 1) * miss


def interval(row):
    low, high, y = row["0.1"], row["0.9"], row["y"]
    outside = low - y if y < low else y - high if y > high else 0
    return high - low + 2 / 0.2 * outside


LOSS = {
    "mae": lambda row: abs(row["y"] - row["prediction"]),
    "rmse": lambda row: (row["y"] - row["mean"]) ** 2,
    "bias": lambda row: row["y"] - row["mean"],
    "mase": lambda row: abs(row["y"] - row["prediction"]),
    "rmsse": lambda row: (row["y"] - row["mean"]) ** 2,
    "wape": lambda row: abs(row["y"] - row["prediction"]),
    "wql": lambda row: 2 * sum(pinball(row, tenth / 10) for tenth in range(1, 10)) / 9,
    "interval_score": interval,
    "coverage": lambda row: float(row["0.1"] <= row["y"] <= row["0.9"]),
}
OTHERS = {
    "width": lambda row: row["0.9"] - row["0.1"],
    "mse": lambda row: (row["y"] - row["mean"]) ** 2,
    "sql": LOSS["wql"],
    "quantile_crps": LOSS["wql"],
    "mape": lambda row: abs(row["y"] - row["prediction"]) / abs(row["y"]),
    "smape": lambda row: 2 * abs(row["y"] - row["prediction"]) / (abs(row["y"]) + abs(row["prediction"])),
}
SCALE = {"mase": "absolute", "rmsse": "squared", "sql": "absolute"}
ROOT = {"rmse", "rmsse"}


def average(values):
    return sum(values) / len(values) if values else math.nan


def distinct(rows, column):
    return list(dict.fromkeys(row[column] for row in rows))


def series_twin(rows, scales, metric):
    """Of one forecaster and series: over steps, then cutoffs, then the root, then over seeds."""
    by_seed = []
    for seed in distinct(rows, "seed"):
        by_cutoff = []
        for cutoff in distinct(rows, "cutoff"):
            cell = [row for row in rows if row["seed"] == seed and row["cutoff"] == cutoff and not math.isnan(row["y"])]
            scale = scales[rows[0]["unique_id"], cutoff][SCALE[metric]] if metric in SCALE else 1
            if cell and scale > 0:
                by_cutoff.append(average([(LOSS | OTHERS)[metric](row) for row in cell]) / scale)
        if by_cutoff:
            value = average(by_cutoff)
            by_seed.append(math.sqrt(value) if metric in ROOT else value)
    return average(by_seed)


def twin(rows, scales, metric):
    if metric in ("wape", "wql"):
        seen = [row for row in rows if not math.isnan(row["y"])]
        volume = sum(abs(row["y"]) for row in seen)
        return sum(LOSS[metric](row) for row in seen) / volume if volume else math.nan
    values = [
        series_twin([row for row in rows if row["unique_id"] == unique_id], scales, metric)
        for unique_id in distinct(rows, "unique_id")
    ]
    return average([value for value in values if not math.isnan(value)])


def grouped(ledger, by):
    groups = {}
    for row in ledger.forecasts.to_dict("records"):
        groups.setdefault(tuple(row[column] for column in by), []).append(row)
    return groups


def scales_of(ledger):
    return {(row["unique_id"], row["cutoff"]): row for row in ledger.scales.to_dict("records")}


GROUPINGS = [
    ("forecaster",),
    ("forecaster", "step"),
    ("forecaster", "cutoff"),
    ("forecaster", "seed"),
    ("unique_id", "forecaster"),
    ("forecaster", "ds"),
    ("forecaster", "seed", "unique_id", "cutoff"),
]


@pytest.mark.parametrize("by", GROUPINGS, ids="-".join)
def test_every_metric_equals_its_naive_twin_by(by, random_ledger):
    ledger = random_ledger()
    table = score(ledger, by=by)
    groups, scales = grouped(ledger, by), scales_of(ledger)
    assert list(table) == [*by, *LOSS, "points", "undefined"]
    assert list(table[list(by)].itertuples(index=False, name=None)) == list(groups)
    for metric in LOSS:
        expected = [twin(rows, scales, metric) for rows in groups.values()]
        np.testing.assert_allclose(table[metric], expected, rtol=1e-10, err_msg=metric)
        assert np.isfinite(table[metric]).any()


@pytest.mark.parametrize("by", [("forecaster",), ("forecaster", "ds"), ("seed", "forecaster")], ids="-".join)
def test_metrics_that_are_asked_for_by_name_equal_their_naive_twins_by(by, random_ledger):
    assert {*LOSS, *OTHERS} == set(METRICS)
    ledger = random_ledger()
    table = score(ledger, list(OTHERS), by=by)
    groups, scales = grouped(ledger, by), scales_of(ledger)
    assert list(table[list(by)].itertuples(index=False, name=None)) == list(groups)
    for metric in OTHERS:
        expected = [twin(rows, scales, metric) for rows in groups.values()]
        np.testing.assert_allclose(table[metric], expected, rtol=1e-10, err_msg=metric)
        assert np.isfinite(table[metric]).any()


@pytest.mark.parametrize("by", GROUPINGS, ids="-".join)
def test_points_and_undefined_cells_are_counted_once_however_many_seeds_by(by, random_ledger):
    ledger = random_ledger()
    scales = scales_of(ledger)
    for counted, rows in zip(
        score(ledger, by=by)[["points", "undefined"]].itertuples(index=False, name=None),
        grouped(ledger, by).values(),
        strict=True,
    ):
        seen = [row for row in rows if not math.isnan(row["y"])]
        cells = {(row["unique_id"], row["cutoff"]) for row in rows}
        defined = {(row["unique_id"], row["cutoff"]) for row in seen}
        defined = {cell for cell in defined if scales[cell]["absolute"] > 0 and scales[cell]["squared"] > 0}
        points = {(row["unique_id"], row["cutoff"], row["step"]) for row in seen}
        assert counted == (len(points), len(cells) - len(defined))


def test_forecasters_have_equal_points_and_equal_undefined_cells(random_ledger):
    table = score(random_ledger(), ["mase", "wql"])
    assert table["forecaster"].tolist() == ["SeasonalNaive", "lstm", "tcn"]
    assert table["points"].nunique() == 1
    assert table["undefined"].tolist() == [3, 3, 3]


def test_scores_do_not_depend_on_the_order_of_rows(random_ledger):
    ledger = random_ledger()
    mixed = Ledger.of(ledger.forecasts.sample(frac=1, random_state=0), ledger.scales.iloc[::-1], ledger.fits, 1)
    one_way, other = (score(part).set_index("forecaster").sort_index() for part in (ledger, mixed))
    pd.testing.assert_frame_equal(one_way, other, rtol=1e-12)


def test_scoring_changes_nothing_in_the_ledger(random_ledger):
    ledger = random_ledger()
    before = ledger.forecasts.copy()
    score(ledger)
    skill(ledger)
    pd.testing.assert_frame_equal(ledger.forecasts, before)


# Worked by hand.


def test_a_small_table_worked_by_hand(ledger_of):
    ledger = ledger_of(
        actuals=[[[1, 3], [5, np.nan]]],
        runs={("lstm", 0): {"prediction": [[[2, 1], [9, 7]]], "mean": [[[2, 2], [8, 7]]]}},
        scales=([[0.5, 4]], [[0.5, 4]]),
    )
    row = score(ledger).iloc[0]
    assert row["mae"] == ((1 + 2) / 2 + 4) / 2
    assert row["rmse"] == math.sqrt(((1 + 1) / 2 + 9) / 2)
    assert row["bias"] == ((-1 + 1) / 2 - 3) / 2
    assert row["mase"] == (1.5 / 0.5 + 4 / 4) / 2
    assert row["rmsse"] == math.sqrt((1 / 0.5 + 9 / 4) / 2)
    assert row["wape"] == (1 + 2 + 4) / (1 + 3 + 5)
    assert row["wql"] == pytest.approx(
        7 / 9
    )  # one value at every level: pinball losses of 0.1 ... 0.9, twice their mean
    assert (row["points"], row["undefined"]) == (3, 0)


@pytest.mark.parametrize(
    ("y", "score_of_it", "covered"),
    [(0, 2, 1), (1, 2, 1), (-1, 2, 1), (3, 2 + 10 * 2, 0), (-1.5, 2 + 10 * 0.5, 0)],
)
def test_the_interval_is_closed_and_pays_tenfold_for_what_lies_outside(y, score_of_it, covered, ledger_of):
    bounds = {"0.1": -1, "0.9": 1} | dict.fromkeys(LEVELS[1:-1], 0)
    ledger = ledger_of([[[y]]], {("lstm", 0): {"prediction": 0} | bounds})
    assert one(ledger, "interval_score") == pytest.approx(score_of_it)
    assert one(ledger, "coverage") == covered


def test_the_root_is_taken_after_the_mean_over_cutoffs_and_before_the_mean_over_seeds(ledger_of):
    ledger = ledger_of([[[0], [0]]], {("lstm", 0): {"prediction": [[[0], [2]]]}, ("lstm", 1): {"prediction": 4}})
    assert one(ledger, "rmse") == (math.sqrt(2) + 4) / 2


def test_a_series_weighs_the_same_in_an_average_and_by_its_size_when_pooled(ledger_of):
    ledger = ledger_of([[[100]], [[1]]], {("lstm", 0): {"prediction": [[[90]], [[2]]]}})
    assert one(ledger, "mae") == (10 + 1) / 2
    assert one(ledger, "wape") == 11 / 101


def test_a_cutoff_with_fewer_observed_steps_weighs_the_same(ledger_of):
    ledger = ledger_of([[[0, 0], [0, np.nan]]], {("lstm", 0): {"prediction": [[[1, 1], [4, 100]]]}})
    assert one(ledger, "mae") == (1 + 4) / 2


@pytest.mark.parametrize(
    ("column", "moved_to", "readers"),
    [
        ("prediction", -1, {"mae", "mase", "wape"}),
        ("mean", -1, {"rmse", "rmsse", "bias"}),
        ("0.1", -3.5, {"wql", "interval_score", "coverage"}),
        ("0.5", 0.5, {"wql"}),
        ("0.9", 3.05, {"wql", "interval_score", "coverage"}),
    ],
)
def test_only_the_metrics_of_its_functional_read_the_column(column, moved_to, readers, ledger_of):
    given = {"prediction": 1, "mean": 1} | {level: place - 4 for place, level in enumerate(LEVELS)}
    before, after = (
        score(ledger_of([[[-3.7, 3, 3.1]]], {("lstm", 0): run})).iloc[0] for run in (given, given | {column: moved_to})
    )
    assert {name for name in DEFAULTS if before[name] != after[name]} == readers


# Undefined is NaN, for everyone, and counted.


def test_a_constant_history_leaves_the_scaled_errors_undefined_and_nothing_else(ledger_of):
    ledger = ledger_of([[[1, 2]]], {("lstm", 0): {"prediction": 3}}, scales=(0, 0))
    row = score(ledger).iloc[0]
    assert set(row.index[row.isna()]) == {"mase", "rmsse"}
    assert (row["points"], row["undefined"]) == (2, 1)


def test_a_perfect_forecast_of_a_constant_series_is_undefined_not_zero(ledger_of):
    ledger = ledger_of([[[5, 5]]], {("lstm", 0): {"prediction": 5}}, scales=(0, 0))
    assert math.isnan(one(ledger, "mase"))
    assert one(ledger, "mae") == 0


def test_a_history_too_short_for_a_scale_is_left_out_for_all(ledger_of):
    scales = ([[np.nan, 2]], [[np.nan, 4]])
    runs = {("lstm", 0): {"prediction": [[[9], [2]]]}, ("tcn", 0): {"prediction": [[[0], [4]]]}}
    table = score(ledger_of([[[0], [0]]], runs, scales))
    assert table["mase"].tolist() == [1, 2]
    assert table["rmsse"].tolist() == [1, 2]
    assert table["undefined"].tolist() == [1, 1]


def test_actuals_that_are_all_zero_leave_the_pooled_errors_undefined_and_nothing_else(ledger_of):
    row = score(ledger_of([[[0, 0]]], {("lstm", 0): {"prediction": 3}})).iloc[0]
    assert set(row.index[row.isna()]) == {"wape", "wql"}
    assert (row["points"], row["undefined"]) == (2, 0)


def test_without_a_point_everything_is_undefined(ledger_of):
    row = score(ledger_of([[[np.nan, np.nan]]], {("lstm", 0): {"prediction": 3}})).iloc[0]
    assert row[list(DEFAULTS)].isna().all()
    assert (row["points"], row["undefined"]) == (0, 1)


def test_a_series_without_a_point_is_left_out_of_the_mean_over_series(ledger_of):
    ledger = ledger_of([[[np.nan]], [[1]]], {("lstm", 0): {"prediction": [[[9]], [[3]]]}})
    row = score(ledger).iloc[0]
    assert row["mae"] == row["rmse"] == 2
    assert (row["points"], row["undefined"]) == (1, 1)


def test_pooled_metrics_alone_still_count_cells_without_a_point(ledger_of):
    ledger = ledger_of([[[np.nan]], [[1]]], {("lstm", 0): {"prediction": 3}}, scales=(0, 0))
    assert score(ledger, ["wape"]).iloc[0].to_dict() == {"forecaster": "lstm", "wape": 2, "points": 1, "undefined": 1}


@pytest.mark.parametrize("metric", METRICS)
def test_a_missing_actual_scores_as_if_the_row_were_not_there(metric, ledger_of):
    """Other libraries count it as a miss in the coverage and as a hit in the interval score."""
    spread = {level: place - 4 for place, level in enumerate(LEVELS)}
    run = {"prediction": 0.5} | spread
    with_hole = ledger_of([[[1, 9, np.nan]]], {("lstm", 0): run})
    without = ledger_of([[[1, 9]]], {("lstm", 0): run})
    assert one(with_hole, metric) == pytest.approx(one(without, metric), rel=1e-12)


@pytest.mark.parametrize("column", ["prediction", "mean", "0.3"])
@pytest.mark.parametrize("table", [score, partial(skill, baseline="lstm")], ids=["score", "skill"])
def test_a_forecaster_that_fails_on_the_hard_point_is_refused_not_skipped(table, column, ledger_of):
    ledger = ledger_of([[[1, 2, 100]]], {("lstm", 0): {"prediction": [[[1, 2, 50]]]}})
    forecasts = ledger.forecasts.copy()
    forecasts.loc[2, column] = np.nan
    with pytest.raises(ValueError, match=f"column `{column}` is nan for forecaster 'lstm', seed 0, .*step 3"):
        table(Ledger.of(forecasts, ledger.scales, ledger.fits, 1))


def test_keys_that_one_forecaster_lacks_are_refused_before_any_score(random_ledger):
    ledger = random_ledger()
    with pytest.raises(ValueError, match="lacks the row"):
        score(Ledger.of(ledger.forecasts.iloc[:-1], ledger.scales, ledger.fits, 1))


# Metrics of one's own.


def test_any_two_levels_make_an_interval(random_ledger):
    ledger = random_ledger()
    table = score(ledger, {"wide": coverage(), "narrow": coverage(0.3, 0.7), "lower half": coverage(0.1, 0.5)})
    default = score(ledger, ["coverage"])
    assert list(table) == ["forecaster", "wide", "narrow", "lower half", "points", "undefined"]
    assert table["wide"].equals(default["coverage"])
    assert (table["narrow"] < table["wide"]).all()


@pytest.mark.parametrize(("lower", "upper"), [(0.1, 0.9), (0.2, 0.5), (0.6, 0.7)])
def test_the_interval_score_is_the_two_pinball_losses_each_over_what_it_leaves_out(lower, upper, random_ledger):
    ledger = random_ledger()
    rows = ledger.runs[1]
    of_it = ledger.forecasts[lambda table: (table["forecaster"] == rows.forecaster) & (table["seed"] == rows.seed)]
    expected = [
        pinball(row, lower) / lower + pinball(row, upper) / (1 - upper) if not math.isnan(row["y"]) else math.nan
        for row in of_it.to_dict("records")
    ]
    np.testing.assert_allclose(interval_error(rows, lower, upper).ravel(), expected, rtol=1e-9)


def test_a_loss_of_ones_own_is_averaged_like_the_others(random_ledger):
    ledger = random_ledger()
    halved = Averaged(lambda run: np.abs(run.y - run.median) / 2, scale="absolute")
    table = score(ledger, {"half": halved, "mase": METRICS["mase"]})
    np.testing.assert_allclose(2 * table["half"], table["mase"])


def test_names_choose_metrics_and_their_order(random_ledger):
    assert list(score(random_ledger(), ["wql", "mae"])) == ["forecaster", "wql", "mae", "points", "undefined"]
    assert list(score(random_ledger(), "mae", by="forecaster")) == ["forecaster", "mae", "points", "undefined"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["nmae"]}, r"`metrics` has unknown names \['nmae'\]; there are \['mae', "),
        ({"metrics": {"step": coverage()}}, r"`metrics` may not be named \['step'\]"),
        ({"metrics": {"points": coverage()}}, r"`metrics` may not be named \['points'\]"),
        ({"metrics": {"c": coverage(0.05, 0.95)}}, r"reads quantile level 0.05, .* has the levels \[0.1, 0.2"),
        ({"metrics": {"i": interval_score(0.1, 0.95)}}, r"reads quantile level 0.95"),
        ({"by": 3}, r"`by` must have `forecaster`.*got \[3\]"),
        ({"by": ("step",)}, r"`by` must have `forecaster`.*got \['step'\]"),
        ({"by": ("forecaster", "y")}, r"`by` must have.*got \['forecaster', 'y'\]"),
        ({"by": ("forecaster", "step", "step")}, r"each once; got"),
    ],
)
def test_what_does_not_exist_is_refused_by_name(arguments, message, random_ledger):
    with pytest.raises(ValueError, match=message):
        score(random_ledger(), **arguments)


def test_what_is_no_ledger_and_no_metric_is_named(random_ledger):
    ledger = random_ledger()
    for ask in (score, skill):
        with pytest.raises(TypeError, match="`ledger` is a DataFrame; give the Ledger that `backtest` gives"):
            ask(ledger.forecasts)
    with pytest.raises(TypeError, match=r"`metrics`: 'mine' is .*; allowed: an Averaged or a Pooled"):
        score(ledger, {"mine": lambda forecasts: forecasts["y"]})
    with pytest.raises(TypeError, match=r"`metrics` is 3; allowed: names of \['mae', .*, or a mapping"):
        score(ledger, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Averaged, Pooled])
def test_a_metric_is_made_of_a_function_and_a_scale_that_there_is(kind):
    with pytest.raises(TypeError, match="`loss` is 'mae'; allowed: a function of a run"):
        kind("mae")
    with pytest.raises(ValueError, match="`scale` is 'm'; allowed: None, 'absolute', 'squared'"):
        Averaged(interval_error, scale="m")  # type: ignore[arg-type]


@pytest.mark.parametrize("interval", [coverage, interval_score])
@pytest.mark.parametrize(("lower", "upper"), [(0.9, 0.1), (10, 90), (0.1, 0.1), (0, 0.9), (None, 0.9)])
def test_an_interval_lies_between_two_rising_levels(interval, lower, upper):
    with pytest.raises(ValueError, match=f"`lower` and `upper` are {lower} and {upper}; allowed: rising"):
        interval(lower, upper)


def test_a_ledger_without_quantiles_has_point_scores_only(random_ledger):
    ledger = random_ledger()
    points = Ledger.of(ledger.forecasts.drop(columns=LEVELS), ledger.scales, ledger.fits, 1)
    assert score(points, ["mae"]).equals(score(ledger, ["mae"]))
    with pytest.raises(
        ValueError, match=r"the ledger has no quantiles: choose `metrics` that read none, so without `wql`"
    ):
        score(points, ["wql"])
    with pytest.raises(ValueError, match=r"reads quantile level 0.1"):
        score(points, ["coverage"])


# Skill.


def skill_twin(ledger, by, baseline, floor=0.01):
    """Loops: one error per group and series; ratios; a series undefined for one forecaster is left out for all."""
    groups = grouped(ledger, [*by, "unique_id"])
    errors = {key: series_twin(rows, {}, "mae") for key, rows in groups.items()}
    shared = [place for place, column in enumerate([*by, "unique_id"]) if column not in ("forecaster", "seed")]
    base = {}
    for key, rows in grouped(ledger, ["forecaster", *(column for column in [*by, "unique_id"])]).items():
        if key[0] == baseline:
            base.setdefault(tuple(key[1:][place] for place in shared), []).extend(rows)
    base = {key: series_twin(rows, {}, "mae") for key, rows in base.items()}
    ratios = {}
    for key, value in errors.items():
        reference = base[tuple(key[place] for place in shared)]
        if reference == 0:
            ratios[key] = 1.0 if value == 0 else math.nan
        else:
            ratios[key] = value / reference
    bad = {tuple(key[place] for place in shared) for key, ratio in ratios.items() if math.isnan(ratio)}
    result = {}
    for key, ratio in ratios.items():
        logs = result.setdefault(key[:-1], [])
        if tuple(key[place] for place in shared) not in bad:
            logs.append(math.log(max(ratio, floor)))
    return {key: 1 - math.exp(average(logs)) if logs else math.nan for key, logs in result.items()}


@pytest.mark.parametrize(
    "by", [("forecaster",), ("forecaster", "step"), ("forecaster", "seed"), ("cutoff", "forecaster")]
)
@pytest.mark.parametrize("baseline", ["SeasonalNaive", "lstm"])
def test_skill_equals_its_naive_twin(by, baseline, random_ledger):
    ledger = random_ledger()
    table = skill(ledger, baseline, by)
    expected = skill_twin(ledger, by, baseline)
    assert list(table) == [*by, "skill", "series", "undefined", "clipped"]
    assert list(table[list(by)].itertuples(index=False, name=None)) == list(expected)
    np.testing.assert_allclose(table["skill"], list(expected.values()), rtol=1e-10, atol=1e-12)


@pytest.fixture(name="skills")
def _skills(ledger_of):
    def skills(actuals, errors, **options):
        """The table of skill for errors {forecaster: one for each series} over one cutoff and step."""
        actuals = np.full((len(next(iter(errors.values()))), 1, 1), float(actuals))
        runs = {(name, 0): {"prediction": actuals + np.reshape(values, (-1, 1, 1))} for name, values in errors.items()}
        return skill(ledger_of(actuals, runs), **options).set_index("forecaster")

    return skills


def test_skill_is_one_minus_the_geometric_mean_of_ratios(skills):
    table = skills(5, {"SeasonalNaive": [2, 4], "lstm": [1, 8], "tcn": [1, 1]})
    assert table["skill"].tolist() == pytest.approx([0, 0, 1 - math.sqrt(1 / 8)])
    assert table["series"].tolist() == [2, 2, 2]


def test_skill_of_two_against_each_other_is_reciprocal(skills):
    errors = {"lstm": [1, 3, 2], "tcn": [2, 1, 5]}
    one_way = skills(5, errors, baseline="lstm").loc["tcn", "skill"]
    other = skills(5, errors, baseline="tcn").loc["lstm", "skill"]
    assert (1 - one_way) * (1 - other) == pytest.approx(1)


@pytest.mark.parametrize(
    ("errors", "expected", "series", "undefined", "clipped"),
    [
        # no one errs on the first series: ratio 1 there
        ({"SeasonalNaive": [0, 2], "lstm": [0, 1], "tcn": [0, 2]}, [0, 1 - math.sqrt(0.5), 0], 2, 0, [0, 0, 0]),
        # the baseline alone does not err on the first: left out for all, also for the tcn whose ratio is 1
        ({"SeasonalNaive": [0, 2], "lstm": [3, 1], "tcn": [0, 1]}, [0, 0.5, 0.5], 1, 1, [0, 0, 0]),
        # the lstm does not err on the first: its ratio counts as the floor
        ({"SeasonalNaive": [2, 2], "lstm": [0, 2], "tcn": [0.002, 2]}, [0, 0.9, 0.9], 2, 0, [0, 1, 1]),
        # nothing is left
        ({"SeasonalNaive": [0, 0], "lstm": [1, 1], "tcn": [0, 0]}, [math.nan] * 3, 0, 2, [0, 0, 0]),
    ],
    ids=["no one errs", "the baseline alone does not err", "one forecaster does not err", "nothing is left"],
)
def test_skill_where_errors_are_zero(errors, expected, series, undefined, clipped, skills):
    table = skills(5, errors)
    np.testing.assert_allclose(table["skill"], expected, atol=1e-12)
    assert table["series"].tolist() == [series] * 3
    assert table["undefined"].tolist() == [undefined] * 3
    assert table["clipped"].tolist() == clipped


def test_a_series_that_was_never_observed_has_no_part_in_skill(ledger_of):
    ledger = ledger_of(
        [[[np.nan]], [[0]]], {("SeasonalNaive", 0): {"prediction": 4}, ("lstm", 0): {"prediction": [[[9]], [[1]]]}}
    )
    table = skill(ledger)
    assert table["skill"].tolist() == pytest.approx([0, 0.75])
    assert table["undefined"].tolist() == [1, 1]


def test_a_lower_floor_lets_a_better_forecast_count(skills):
    errors = {"SeasonalNaive": [1.0], "lstm": [0.001]}
    assert skills(5, errors).loc["lstm", "skill"] == pytest.approx(0.99)
    assert skills(5, errors, floor=1e-4).loc["lstm", "skill"] == pytest.approx(0.999)


def test_a_seed_is_compared_with_the_mean_of_the_baselines_seeds(ledger_of):
    runs = {("lstm", 0): {"prediction": 1}, ("lstm", 1): {"prediction": 3}, ("tcn", 7): {"prediction": 1}}
    table = skill(ledger_of([[[0]]], runs), "lstm", ("forecaster", "seed"))
    assert table["skill"].tolist() == pytest.approx([1 - 1 / 2, 1 - 3 / 2, 1 - 1 / 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"baseline": "Theta"}, r"`baseline` 'Theta' is not in the ledger; it has \['SeasonalNaive', 'lstm', 'tcn'\]"),
        ({"floor": 0}, "`floor` must lie between 0 and 1; got 0"),
        ({"floor": "low"}, "`floor` must lie between 0 and 1; got 'low'"),
        ({"by": ("unique_id",)}, "`by` must have `forecaster`"),
    ],
)
def test_skill_refuses(arguments, message, random_ledger):
    with pytest.raises(ValueError, match=message):
        skill(random_ledger(), **arguments)
