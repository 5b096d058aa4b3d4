"""What users of such libraries report: where each kind of it is tested, and the tests that have no other home.

`REPORTS` has a row for each report of the log, `PEERS` for what was seen in other libraries: the number or a word, what
went wrong there, and the tests here that hold the right outcome, as file::name.
"""

import copy
import pickle
import re
import subprocess
import sys
import threading
import time
import tracemalloc
import uuid
from datetime import date
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
import torch

from forecast import (
    Drift,
    Forecaster,
    FrameError,
    Naive,
    NeuralForecaster,
    NLinear,
    Plan,
    Roles,
    SeasonalNaive,
    Stream,
    Training,
    WindowAverage,
    backtest,
    check_frame,
    score,
)
from forecast.data import WindowDataModule
from forecast.evaluation import Ledger, skill
from forecast.network_training import LEAST_READ, NetworkTraining
from forecast.nn import BACKBONES, DECODERS, LSTM
from forecast.origins import origins_within
from forecast.windows import windows_before

HERE = Path(__file__)
OWN = "test_user_reports.py::"
REPORTS = {
    1: (
        "covariates do not reach",
        OWN + "a_future_that_fits_is_taken_and_any_other_is_told_by_id_stamp_and_range",
        "test_ahead.py::the_rows_to_fill_in_are_those_that_are_taken",
        "test_covariates.py::covariates_reach_every_network_and_are_kept_with_it",
    ),
    2: ("irregular calendar", "frame/test_reports.py::an_irregular_calendar_is_told_with_its_gaps_or_counted_in_steps"),
    3: (
        "test windows dropped",
        "test_predicting.py::the_score_does_not_depend_on_how_many_windows_are_forecast_together",
        "evaluation/test_metrics.py::points_and_undefined_cells_are_counted_once_however_many_seeds_by",
    ),
    4: (
        "saved on one device, loaded on another",
        "test_saving.py::saved_forecasters_give_the_same_numbers_in_a_process_of_their_own_that_sees_no_accelerator",
    ),
    5: ("unpickling", "test_saving.py::nothing_is_unpickled_not_even_what_was_planted"),
    7: ("fitted values", OWN + "series_of_different_lengths_are_fitted_step_by_step_without_a_hole"),
    8: (
        "short series",
        "test_odd_series.py::ten_series_one_step_short_of_a_window_are_forecast",
        "test_odd_series.py::series_that_are_all_too_short_to_learn_from_are_refused_with_length_and_what_is_needed",
        "test_odd_series.py::series_left_out_by_the_door_are_listed_and_the_others_forecast",
        "test_data.py::training_labels_end_before_the_validation_rows_and_validation_labels_lie_in_them",
    ),
    10: ("what belongs to what", "test_predicting.py::forecasts_of_shuffled_series_are_told_by_id_time_and_step"),
    11: (
        "directories left behind",
        "test_manners.py::fit_predict_backtest_and_stream_write_nothing_anywhere",
        "test_lightning.py::a_csv_logger_gets_the_losses_of_every_epoch",
        OWN + "two_processes_that_save_into_one_folder_leave_one_of_their_forecasters",
    ),
    12: ("scalers that see the test", OWN + "scales_of_a_fold_are_those_of_a_fit_on_its_part_of_the_data"),
    13: ("rolling forecasts", OWN + "a_backtest_of_many_origins_is_a_pass_in_batches_after_one_fit"),
    14: (
        "memory and loader",
        OWN + "windows_are_made_of_indices_and_take_a_small_part_of_a_step",
        "test_data.py::windows_are_views_of_the_panel_not_copies",
        "frame/test_schema.py::the_door_takes_less_than_three_times_the_floats",
    ),
    15: (
        "several devices",
        "test_processes.py::each_process_forecasts_every_series_once_and_in_order",
        "test_processes.py::a_script_one_of_whose_processes_fails_ends_and_leaves_none",
        "test_processes.py::ddp_without_a_script_to_start_again_is_refused",
    ),
    16: ("patience without validation", "test_lightning.py::patience_without_validation_is_an_error_that_names_both"),
    17: (
        "the same seed",
        "test_forecaster_contract.py::the_same_arguments_give_the_same_numbers",
        "test_forecaster_contract.py::global_random_states_are_left_as_they_are",
        "test_forecaster_contract.py::paths_are_spread_as_the_quantiles_say_and_repeat_under_a_seed",
        "test_manners.py::joblib_fits_and_asks_in_parallel",
        OWN + "fits_in_threads_are_those_that_run_alone",
        OWN + "a_seed_is_a_whole_number_of_any_kind",
    ),
    18: (
        "sizes under several names",
        "test_predicting.py::an_argument_that_a_model_does_not_take_is_an_error",
        "test_forecaster_contract.py::horizons_of_one_and_of_thirteen_steps_are_forecast_alike",
    ),
    19: (
        "missing and infinite values",
        "frame/test_reports.py::a_missing_value_of_one_series_leaves_the_others_alone",
        "test_odd_series.py::a_series_without_any_value_is_refused_by_name",
        "test_odd_series.py::infinite_values_are_refused_with_column_count_series_and_stamp",
    ),
    21: (
        "time zones",
        "frame/test_reports.py::days_stay_at_local_midnight_when_the_clocks_change",
        "frame/test_reports.py::hours_of_the_night_in_which_the_clocks_change_are_all_there_and_no_others",
    ),
    23: (
        "frequency of a sample",
        "frame/test_reports.py::a_frequency_is_checked_for_every_series_and_not_the_first_hundred",
    ),
    26: (
        "leakage",
        "test_forecaster_contract.py::rows_after_a_cutoff_never_matter",
        "test_covariates.py::no_covariate_is_read_before_it_is_known",
        "test_covariates.py::a_backtest_gives_each_fold_what_was_known_at_its_cutoff",
    ),
    27: (
        "parts of a split",
        "evaluation/test_plan.py::the_table_has_a_row_per_fold_and_counts_what_is_scored",
        "plots/test_plots.py::folds_draw_training_validation_and_test_where_they_are",
        "plots/test_forecast_plots.py::what_is_trained_on_and_what_is_scored_never_overlap_in_the_picture_of_the_folds",
        "evaluation/test_plan_folds.py::targets_are_in_one_part_of_a_fold_only_while_contexts_reach_back",
        "evaluation/test_plan_folds.py::a_plan_on_a_panel_says_all_of_it_before_anything_is_fitted",
    ),
    28: ("the fit after a search", "test_manners.py::a_search_finds_what_a_backtest_finds"),
    29: (
        "edges of splits",
        "test_predicting.py::folds_at_the_edges_are_all_there",
        "evaluation/test_plan.py::cutoffs_are_counted_back_so_that_the_last_fold_has_every_step",
        "evaluation/test_plan_cutoffs.py::a_week_of_hours_after_one_day_holds_six_folds_of_a_day_whether_steps_or_time_are_"
        "counted",
    ),
    31: (
        "pickling",
        "test_manners.py::forecasters_pass_through_what_others_pickle_with",
        "test_manners.py::an_argument_that_cannot_be_pickled_is_an_error_of_pickle_and_no_loss_of_weights",
    ),
    33: (
        "scores in scaled units",
        "frame/test_reports.py::scores_are_in_the_units_of_the_data_and_scaled_ones_do_not_change",
    ),
    34: ("unequal budgets", "experiment/test_report.py::unequal_budgets_are_flagged_and_shown"),
    35: (
        "precision and dtypes",
        "frame/test_reports.py::every_kind_of_number_is_cast_once_and_forecasts_are_floats",
        "test_lightning.py::a_network_trained_in_another_precision_forecasts_and_is_saved_in_single",
        "nn/test_attention.py::half_precision_is_finite_and_near_even_for_huge_scores",
        OWN + "what_torch_was_told_before_changes_no_number",
        OWN + "numbers_of_numpy_of_few_bits_count_as_those_of_python",
    ),
    37: (
        "fit twice",
        "test_forecaster_contract.py::a_second_fit_forgets_the_first",
        "test_checkpoint.py::a_second_fit_starts_anew_unless_it_is_told_to_go_on_from_the_first",
        "test_saving.py::other_files_in_the_folder_are_let_be",
    ),
    38: ("resume", "test_checkpoint.py::a_fit_that_was_stopped_goes_on_to_the_weights_of_one_that_was_not"),
    40: (
        "left padding",
        OWN + "origins_that_have_read_little_do_not_count_in_the_loss",
        OWN + "a_constant_series_is_forecast_as_it_is_from_its_beginning_on",
    ),
    42: (
        "decoders that see the answer",
        OWN + "nothing_is_learned_of_white_noise",
        "nn/test_contract.py::no_forecast_moves_when_the_future_moves",
        "nn/decoders/test_recurrent.py::no_step_reads_its_own_truth_or_a_later_one",
        "nn/decoders/test_recurrent.py::in_a_forecast_truths_are_not_listened_to",
    ),
    44: ("hidden context", "test_predicting.py::a_model_with_a_fixed_context_reads_no_more_than_that"),
    45: (
        "workers",
        OWN + "no_worker_is_started",
        "test_manners.py::forecasters_are_fitted_and_asked_in_a_process_that_shares_nothing_but_the_folder",
    ),
    48: (
        "one model of many",
        "test_forecaster_contract.py::covariates_of_every_role_may_be_there",
        "test_forecaster_contract.py::a_loaded_forecaster_says_the_same",
        "test_covariates.py::covariates_reach_every_network_and_are_kept_with_it",
    ),
    49: (
        "noise",
        "test_manners.py::nothing_at_all_is_said_unless_asked",
        "test_manners.py::a_backtest_shows_one_bar_of_its_own_whatever_its_forecasters_say",
        OWN + "a_bar_without_a_terminal_to_write_to_stops_nothing",
    ),
    50: ("export", "test_export.py::every_backbone_can_be_exported"),
    54: (
        "where cutoffs come from",
        OWN + "cutoffs_are_counted_back_from_the_end_and_can_be_listed_before",
        OWN + "cutoffs_are_dates_that_everybody_reads_alike",
        "evaluation/test_plan_cutoffs.py::start_and_end_bound_the_cutoffs",
    ),
}
PEERS = {
    "heads blind to the newest values": ("nn/test_contract.py::the_newest_value_moves_every_step_of_every_forecast",),
    "inputs that are never used": (
        "insight/test_receptive_field.py::a_context_clearly_longer_than_what_is_read_is_warned_of",
    ),
    "steps in fixed seconds": ("frame/test_reports.py::days_stay_at_local_midnight_when_the_clocks_change",),
    "aliases that contradict the data": ("frame/test_reports.py::a_frequency_that_contradicts_the_data_is_an_error",),
    "repeated and missing stamps": (
        "frame/test_schema.py::a_repeat_in_the_last_of_many_series_is_found",
        "frame/test_schema.py::missing_rows_are_refused_with_the_first_and_the_totals",
    ),
    "constructors that seed": (
        "test_forecaster_contract.py::constructing_stores_the_arguments_and_does_nothing_else",
        "test_forecaster_contract.py::global_random_states_are_left_as_they_are",
    ),
    "counts of what is infinite": (
        "frame/test_reports.py::one_infinite_value_is_refused_by_column_count_series_and_stamp",
    ),
    "periods": ("frame/test_reports.py::periods_go_in_and_their_frequency_is_taken",),
    "scaled errors of constants": (
        "evaluation/test_metrics.py::a_constant_history_leaves_the_scaled_errors_undefined_and_nothing_else",
    ),
    "validation losses of uneven batches": (OWN + "the_validation_loss_is_the_mean_over_all_windows",),
    "test data in the training": (
        "test_neural.py::labels_of_the_last_rows_never_reach_the_weights_they_only_choose_among_them",
    ),
}


@pytest.mark.parametrize("row", [*REPORTS, *PEERS])
def test_what_is_said_to_be_tested_is(row):
    named = REPORTS[row][1:] if row in REPORTS else PEERS[row]
    assert named
    for test in named:
        file, _, name = test.partition("::")
        assert re.search(rf"^def test_{name}\(", (HERE.parent / file).read_text(), re.MULTILINE), test


# -- the data of the tests below ---------------------------------------------------------------------------------------

HORIZON = 4
ROLES = Roles(static=("city",), known=("price", "kind"), past=("rain",))


def frame_of(lengths=(60, 55, 60), seed=0) -> pd.DataFrame:
    rng, parts = np.random.default_rng(seed), []
    for place, length in enumerate(lengths):
        columns = {
            "unique_id": f"s{place}",
            "ds": pd.date_range("2024-01-01", periods=length),
            "y": 10 + 3 * np.sin(np.arange(length) / 3) + rng.normal(0, 0.3, length),
            "price": rng.choice([0.7, 1.0], length),
            "kind": rng.choice(["sale", "plain"], length),
            "rain": rng.normal(size=length),
            "city": ["Rome", "Oslo"][place % 2],
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


WHOLE = frame_of()
AHEAD = WHOLE.groupby("unique_id").tail(HORIZON)
KNOWN = AHEAD[["unique_id", "ds", "price", "kind"]]
FRAME = WHOLE.drop(AHEAD.index).reset_index(drop=True)


def in_polars(frame):
    """The frame in polars, without pyarrow."""
    return pytest.importorskip("polars").DataFrame({name: frame[name].to_list() for name in frame})


def network(backbone="lstm", decoder="direct", horizon=HORIZON, **options) -> NeuralForecaster:
    options = {"training": Training(steps=3), "context_length": 16, "patch_length": 4} | options
    return NeuralForecaster(BACKBONES[backbone](width=8), horizon, decoder=decoder, **options)


@pytest.fixture(scope="module")
def fitted() -> NeuralForecaster:
    return network().fit(FRAME, roles=ROLES)


def same(one, other):
    pd.testing.assert_frame_equal(one, other, check_exact=True)


# -- 1: covariates that reach ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", ["direct", "recursive"])
@pytest.mark.parametrize("backbone", ["lstm", "graph_transformer"])
def test_a_future_that_fits_is_taken_and_any_other_is_told_by_id_stamp_and_range(backbone, decoder):
    whole = frame_of((80, 80))
    ahead = whole.groupby("unique_id").tail(12)
    frame = whole.drop(ahead.index)
    forecaster = network(backbone, decoder, horizon=12).fit(frame, roles=Roles(known=("price",)))
    expected = forecaster.predict(future=ahead)
    same(forecaster.predict(future=whole), expected)
    to_fill_in = forecaster.future_frame().drop(columns="price")
    same(forecaster.predict(future=to_fill_in.merge(ahead)), expected)
    whole_range = "expected 2024-03-09 00:00:00 to 2024-03-20 00:00:00, 12 rows"
    for missing, told in [
        (ahead.groupby("unique_id").head(11), "'s0': `price` is not known at 2024-03-20 .*step 12"),
        (ahead.groupby("unique_id").tail(11), "'s0': `price` is not known at 2024-03-09 .*step 1"),
        (ahead[ahead["unique_id"] == "s0"], "'s1': `price` is not known at 2024-03-09 .*step 1"),
    ]:
        with pytest.raises(FrameError, match=f"{told}.*{whole_range}.*future_frame"):
            forecaster.predict(future=missing)


def test_a_column_without_any_value_yet_may_turn_out_to_be_of_categories(fitted):
    """Rows of a stream, or a history that begins with a gap, do not say what a column holds."""
    silent = FRAME.assign(kind=None)
    assert len(fitted.predict(silent, future=KNOWN)) == 3 * HORIZON
    stream, rows = fitted.stream(), AHEAD.groupby("unique_id").head(1).assign(kind=None)
    later = KNOWN.assign(ds=KNOWN["ds"] + pd.Timedelta(days=1))
    assert np.isfinite(stream.update(rows, future=later)["mean"]).all()


@pytest.mark.parametrize("listed", [iter, np.array, pd.Index, pd.Series, list])
def test_roles_may_be_listed_in_any_ordered_way(listed):
    names = ["price", "kind"]
    panel = check_frame(FRAME, roles=Roles(known=listed(names), static=None))  # pyright: ignore[reportArgumentType]
    assert [column.name for column in panel.covariates.known.columns] == names
    with pytest.raises(TypeError, match=r"`roles`: known is \{'price'\}; allowed: a list of names"):
        check_frame(FRAME, roles=Roles(known={"price"}))  # pyright: ignore[reportArgumentType]


# -- 7, 54: fitted values and cutoffs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", [Naive(HORIZON), network()], ids=["rule", "network"])
@pytest.mark.parametrize("stride", [1, 3, HORIZON])
def test_series_of_different_lengths_are_fitted_step_by_step_without_a_hole(pattern, stride):
    frame = frame_of((40, 61))
    values = copy.deepcopy(pattern).fit(frame).fitted_values(stride=stride)
    assert not values.duplicated(["unique_id", "cutoff", "ds"]).any()
    assert values.notna().all(axis=None)
    for name, length in (("s0", 40), ("s1", 61)):
        own, origins = values[values["unique_id"] == name], (length - 1) // stride
        assert own["cutoff"].nunique() == origins
        assert len(own) == sum(min(HORIZON, stride * back) for back in range(1, origins + 1))


def test_cutoffs_are_counted_back_from_the_end_and_can_be_listed_before():
    panel = check_frame(pd.DataFrame({"unique_id": "a", "ds": range(100), "y": 1.0}))
    plan = Plan(horizon=10, n_folds=3, stride=10)
    assert plan.table(panel)["cutoff"].tolist() == [69, 79, 89]
    given = Plan(horizon=10, cutoffs=[50, 60])
    assert given.table(panel)[["cutoff", "test_start", "test_end"]].to_numpy().tolist() == [[50, 51, 60], [60, 61, 70]]


def test_cutoffs_are_dates_that_everybody_reads_alike(fitted):
    days = ["2024-02-03", "2024-02-03T00:00", date(2024, 2, 3), np.datetime64("2024-02-03"), pd.Period("2024-02-03")]
    expected = fitted.predict(cutoffs=[pd.Timestamp("2024-02-03")])
    for day in days:
        same(fitted.predict(cutoffs=[day]), expected)
    for day in ("02/03/2024", "3.2.2024", "Feb 3 2024", "yesterday", "today", "20240203", ""):
        with pytest.raises(ValueError, match=rf"`cutoffs` holds {day!r}: .* no date as in ISO 8601, such as"):
            fitted.predict(cutoffs=[day])
        with pytest.raises(ValueError, match=rf"`cutoffs` holds {day!r}"):
            Plan(horizon=HORIZON, cutoffs=[day]).folds(fitted.panel_)


# -- 11, 49: folders and terminals -------------------------------------------------------------------------------------

SAVING = """
import sys
from forecast import Forecaster
forecaster = Forecaster.load(sys.argv[1])
for _ in range(15):
    forecaster.save(sys.argv[2])
    Forecaster.load(sys.argv[2])
"""


def test_two_processes_that_save_into_one_folder_leave_one_of_their_forecasters(tmp_path):
    horizons = (2, 3)
    for horizon in horizons:
        Naive(horizon).fit(FRAME).save(tmp_path / str(horizon))
    both = [
        subprocess.Popen([sys.executable, "-c", SAVING, str(tmp_path / str(horizon)), str(tmp_path / "both")])
        for horizon in horizons
    ]
    assert [process.wait() for process in both] == [0, 0]
    left = Forecaster.load(tmp_path / "both")
    assert left.horizon in horizons
    same(left.predict(), Forecaster.load(tmp_path / str(left.horizon)).predict())
    assert len(list((tmp_path / "both").iterdir())) == 2


def test_a_bar_without_a_terminal_to_write_to_stops_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    assert network(verbose=1).fit(FRAME).parameters_
    assert len(backtest(FRAME, [Naive(HORIZON)], Plan(horizon=HORIZON, n_folds=1), verbose=1).forecasts)


# -- 12: what a fit has seen -------------------------------------------------------------------------------------------


def test_scales_of_a_fold_are_those_of_a_fit_on_its_part_of_the_data():
    """A series, and a covariate, that jump to the hundredfold at four fifths: the fold before knows nothing of it."""
    frame = frame_of((100,))
    frame.loc[frame.index >= 80, ["y", "rain"]] *= 100
    before = frame[frame.index < 80]
    plan = Plan(horizon=HORIZON, cutoffs=[before["ds"].max(), frame["ds"].iloc[90]])
    roles = Roles(past=("rain",))
    ledger = backtest(frame, [network(), NLinear(HORIZON)], plan, roles=roles)
    alone = network().fit(before, roles=roles)
    (rain,) = alone.encoding_.past.numbers
    learned = before.iloc[:-8]  # a tenth is kept for validation
    assert rain.scale == pytest.approx(learned["rain"].std(ddof=0), rel=1e-5)
    first = ledger.forecasts[ledger.forecasts["cutoff"] == before["ds"].max()]
    for name, forecaster in [("lstm direct", alone), ("NLinear", NLinear(HORIZON).fit(before))]:
        told = first[first["forecaster"] == name]
        np.testing.assert_array_equal(told["prediction"], forecaster.predict()["prediction"])


# -- 13, 14, 45: memory, speed, workers --------------------------------------------------------------------------------


def test_a_backtest_of_many_origins_is_a_pass_in_batches_after_one_fit():
    frame = pd.DataFrame({"unique_id": "a", "ds": range(100_000), "y": np.sin(np.arange(100_000.0))})
    pattern = network(horizon=24, context_length=168, patch_length=24)
    ledger = backtest(frame, [pattern], Plan(horizon=24, n_folds=3000, stride=1, refit="never"))
    assert len(ledger.fits) == 1
    assert len(ledger.forecasts) == 3000 * 24
    fitted = pattern.fit(frame)
    origins = origins_within(fitted.panel_, 1).take(slice(-3000, None))
    assert max(len(part.values) for part in windows_before(fitted.panel_, origins, 168, 1024)) == 1024
    began = time.perf_counter()
    fitted.forecast(fitted.panel_, origins)
    assert ledger.fits["predict_seconds"].iloc[0] < 3 * (time.perf_counter() - began) + 0.5


def test_windows_are_made_of_indices_and_take_a_small_part_of_a_step():
    count, length = 200, 5000
    frame = pd.DataFrame(
        {
            "unique_id": np.repeat(np.arange(count), length),
            "ds": np.tile(np.arange(length), count),
            "y": np.random.default_rng(0).normal(size=count * length),
        }
    )
    frame.loc[length - 1, "y"] = np.nan
    panel = check_frame(frame)
    tracemalloc.start()
    options = {"context_length": 168, "horizon": 24, "patch_length": 24, "batch_size": 64, "batches": 30, "seed": 0}
    data = WindowDataModule(panel, validation_length=240, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.1 * panel.values.nbytes
    began = time.perf_counter()
    assert sum(1 for _ in data.train_dataloader()) == 30
    gathered = time.perf_counter()
    network(horizon=24, context_length=168, patch_length=24, training=Training(steps=30)).fit(panel)
    assert gathered - began < 0.2 * (time.perf_counter() - gathered)


def test_no_worker_is_started(fitted):
    options = {"context_length": 16, "horizon": 4, "patch_length": 4, "batch_size": 8, "batches": 2, "seed": 0}
    data = WindowDataModule(fitted.panel_, validation_length=8, **options)
    assert data.train_dataloader().num_workers == 0
    assert data.val_dataloader().num_workers == 0
    before = threading.active_count()
    fitted.predict(future=KNOWN)
    assert threading.active_count() == before


# -- 17, 35: seeds, precision, kinds of numbers ------------------------------------------------------------------------


def test_fits_in_threads_are_those_that_run_alone():
    fits = {seed: network(seed=seed, training=Training(steps=10)) for seed in range(3)}
    frame = check_frame(FRAME)
    threads = [threading.Thread(target=one.fit, args=(frame,)) for one in fits.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, one in fits.items():
        same(one.predict(), network(seed=seed, training=Training(steps=10)).fit(frame).predict())


@pytest.mark.parametrize("seed", [-1, 1.5, None, "1", True, 2**64])
def test_what_seeds_nothing_is_named(seed):
    for ask in (network(seed=seed).fit, lambda frame: Naive(HORIZON).fit(frame).sample_paths(2, seed=seed)):
        with pytest.raises(ValueError, match=f"`seed` is {seed!r}; allowed: a whole number of 0 or more"):
            ask(FRAME)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.uint8])
def test_a_seed_is_a_whole_number_of_any_kind(kind):
    same(network(seed=kind(3)).fit(FRAME).predict(), network(seed=3).fit(FRAME).predict())
    assert len(network(seed=2**64 - 1).fit(FRAME).predict())


@pytest.mark.parametrize("state", ["float64", "no_grad", "inference_mode"])
def test_what_torch_was_told_before_changes_no_number(state, fitted, tmp_path):
    def all_of_it():
        forecaster = network().fit(FRAME, roles=ROLES)
        forecaster.save(tmp_path)
        stream, loaded = forecaster.stream(), Forecaster.load(tmp_path)
        return forecaster.predict(future=KNOWN), loaded.predict(future=KNOWN), stream.predict(future=KNOWN)

    expected = fitted.predict(future=KNOWN)
    default = torch.get_default_dtype()
    with getattr(torch, state)() if state != "float64" else torch.enable_grad():
        try:
            if state == "float64":
                torch.set_default_dtype(torch.float64)
            found = all_of_it()
            assert torch.get_default_dtype() == (torch.float64 if state == "float64" else default)
        finally:
            torch.set_default_dtype(default)
    same(found[0], expected)
    same(found[1], expected)
    same(found[2], fitted.stream().predict(future=KNOWN))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
def test_numbers_of_numpy_of_few_bits_count_as_those_of_python(kind):
    frame = pd.DataFrame({"unique_id": "a", "ds": range(700), "y": np.sin(np.arange(700.0))})
    plans = [Plan(horizon=k(24), n_folds=k(8), stride=k(24), window=k(100), refit=k(2)) for k in (int, kind)]
    rules = [
        [WindowAverage(k(24), window=k(100)), NLinear(k(24), context_length=k(50)), SeasonalNaive(k(24)), Drift(k(24))]
        for k in (int, kind)
    ]
    ledgers = [backtest(frame, rule, plan) for rule, plan in zip(rules, plans, strict=True)]
    same(ledgers[1].forecasts, ledgers[0].forecasts)
    nets = [
        NeuralForecaster(
            LSTM(width=k(8)), k(24), context_length=k(96), patch_length=k(8), training=Training(steps=k(3))
        )
        for k in (int, kind)
    ]
    same(nets[1].fit(frame).predict(), nets[0].fit(frame).predict())
    naive = Naive(24).fit(frame)
    same(naive.sample_paths(kind(100)), naive.sample_paths(100))
    same(naive.fitted_values(stride=kind(100), horizon=kind(3)), naive.fitted_values(stride=100, horizon=3))


def test_levels_in_single_precision_are_those_that_they_print_as(tmp_path):
    levels = np.array([0.1, 0.5, 0.9], dtype="float32")
    forecaster = network(quantile_levels=levels).fit(FRAME)
    same(forecaster.predict(), network(quantile_levels=(0.1, 0.5, 0.9)).fit(FRAME).predict())
    assert list(forecaster.predict(quantile_levels=levels[:1]).columns)[-1] == "0.1"
    forecaster.save(tmp_path)
    same(Forecaster.load(tmp_path).predict(), forecaster.predict())


def test_a_level_as_near_to_one_as_can_be_is_forecast():
    forecaster = network(quantile_levels=(1e-12, 0.5, 1 - 1e-12)).fit(FRAME)
    assert np.isfinite(forecaster.predict().iloc[:, 4:].to_numpy()).all()


# -- 31, 37, 48: a fit is what it was ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"decoder": "context_vector"},
        {"decoder": "recursive"},
        {"backbone": "tcn"},
        {"backbone__width": 16},
        {"patch_length": 8, "context_length": 64},
        {"calendar": "auto", "seed": -1, "decoder": "nope"},
    ],
    ids=str,
)
def test_arguments_that_are_set_after_a_fit_wait_for_the_next(other, fitted, tmp_path):
    expected = fitted.predict(future=KNOWN)
    changed = pickle.loads(pickle.dumps(fitted)).set_params(**other)
    same(changed.predict(future=KNOWN), expected)
    same(changed.stream().predict(future=KNOWN), fitted.stream().predict(future=KNOWN))
    changed.save(tmp_path)
    same(Forecaster.load(tmp_path).predict(future=KNOWN), expected)
    further = fitted.future_frame(horizon=5).assign(price=1.0, kind="sale")
    with pytest.raises(ValueError, match="was fitted to forecast 4 steps"):
        changed.predict(horizon=5, future=further)


IDS = {
    "tuples": [("a", 1), ("b", 1), ("a", 2)],
    "dates": [date(2020, 1, day) for day in (3, 1, 2)],
    "timestamps": [pd.Timestamp(2020, 1, day) for day in (3, 1, 2)],
    "floats": [1.5, -0.5, 2.5],
    "uuids": [uuid.UUID(int=number) for number in (3, 1, 2)],
    "decimals": [Decimal("1.50"), Decimal("-1"), Decimal("2")],
    "of several types": ["a", 1, ("b", None)],
}


@pytest.mark.parametrize("kind", IDS)
def test_series_of_any_name_are_backtested_and_scored(kind, tmp_path):
    names = dict(zip(("s0", "s1", "s2"), IDS[kind], strict=True))
    ids = pd.Series([names[name] for name in FRAME["unique_id"]], dtype=None if kind == "timestamps" else object)
    plan, patterns = Plan(horizon=HORIZON, n_folds=2), {"naive": Naive(HORIZON), "seasonal": SeasonalNaive(HORIZON)}
    plain = backtest(FRAME, patterns, plan)
    ledger = backtest(FRAME.assign(unique_id=ids), patterns, plan)
    assert ledger.forecasts["unique_id"].tolist() == [names[name] for name in plain.forecasts["unique_id"]]
    same(score(ledger), score(plain))
    same(skill(ledger, "seasonal"), skill(plain, "seasonal"))
    if kind == "timestamps":
        ledger.write(tmp_path)
        same(Ledger.read(tmp_path).forecasts, ledger.forecasts)
    else:
        with pytest.raises(ValueError, match=r"column `unique_id` holds .*, which cannot be written.*astype"):
            ledger.write(tmp_path)
        assert list(tmp_path.iterdir()) == []


def _arrow(values, arrow_type):
    import pyarrow as pa

    return pd.array(values, dtype=pd.ArrowDtype(arrow_type(pa)))


@pytest.mark.parametrize(
    "arrow_type",
    [
        lambda pa: pa.dictionary(pa.int32(), pa.string()),
        lambda pa: pa.large_string(),
        lambda pa: pa.string(),
    ],
    ids=["dictionary", "large string", "string"],
)
def test_columns_of_arrow_of_every_type_are_kept(arrow_type, tmp_path):
    pytest.importorskip("pyarrow")
    texts = {name: _arrow(FRAME[name], arrow_type) for name in ("unique_id", "kind", "city")}
    forecaster = network().fit(FRAME.assign(**texts), roles=ROLES)
    expected = network().fit(FRAME, roles=ROLES).predict(future=KNOWN)
    found = forecaster.predict(future=KNOWN)
    assert found["unique_id"].dtype == texts["unique_id"].dtype
    same(found.astype({"unique_id": expected["unique_id"].dtype}), expected)
    forecaster.save(tmp_path)
    same(Forecaster.load(tmp_path).predict(future=KNOWN), found)


def test_truth_values_of_arrow_are_numbers_and_its_lists_are_refused():
    pytest.importorskip("pyarrow")
    frame = FRAME.assign(price=FRAME["price"] < 1)
    arrow = frame.assign(price=frame["price"].astype("bool[pyarrow]"), y=FRAME["y"] > 10)
    (column,) = check_frame(arrow, roles=Roles(past=("price",))).covariates.past.columns
    assert column.categories is None
    assert check_frame(arrow.assign(y=arrow["y"].astype("bool[pyarrow]"))).values.sum() == arrow["y"].sum()
    lists = _arrow([[1]] * len(FRAME), lambda pa: pa.list_(pa.int64()))
    with pytest.raises(FrameError, match="column `unique_id`: ids that cannot be told apart"):
        check_frame(FRAME.assign(unique_id=lists))
    with pytest.raises(FrameError, match="column `kind`: values that cannot be told apart"):
        check_frame(FRAME.assign(kind=lists), roles=ROLES)
    decimals = _arrow([Decimal("1.50")] * len(FRAME), lambda pa: pa.decimal128(5, 2))
    assert check_frame(FRAME.assign(price=decimals), roles=ROLES).covariates.known.numbers[0, 0] == 1.5


@pytest.mark.parametrize("values", [[uuid.UUID(int=1), uuid.UUID(int=2)], [b"x", b"y"], [Decimal(1), "b"]], ids=str)
def test_categories_of_every_kind_of_value_are_saved_with_a_network(values, tmp_path):
    kinds = pd.Categorical([values[kind == "sale"] for kind in FRAME["kind"]])
    forecaster = network().fit(FRAME.assign(rain=kinds), roles=Roles(past=("rain",)))
    forecaster.save(tmp_path)
    same(Forecaster.load(tmp_path).predict(), forecaster.predict())


@pytest.mark.parametrize("kind", ["polars", "arrow", "text", "periods"])
def test_a_stream_answers_in_the_kind_of_frame_that_it_began_with(kind, tmp_path):
    convert = {
        "polars": in_polars,
        "arrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False),
        "text": lambda frame: frame.assign(ds=frame["ds"].astype(str)),
        "periods": lambda frame: frame.assign(ds=frame["ds"].dt.to_period("D")),
    }[kind]
    forecaster = network().fit(convert(FRAME))
    stream = forecaster.stream()
    expected = forecaster.predict()
    stream.save(tmp_path)
    for found in (stream.predict(), stream.update(convert(AHEAD)), Stream.load(tmp_path).predict()):
        assert type(found) is type(expected)
        if kind in ("text", "periods"):
            assert found.dtypes.equals(expected.dtypes)
        else:
            assert found.schema == expected.schema


@pytest.mark.parametrize("dtype", ["Int128", "Int64", "UInt8"])
def test_whole_numbers_of_polars_of_any_size_are_read(dtype):
    pl = pytest.importorskip("polars")
    if not hasattr(pl, dtype):
        pytest.skip(f"this polars has no {dtype}")
    frame = in_polars(FRAME).with_columns(pl.col("y", "price").cast(getattr(pl, dtype)))
    panel = check_frame(frame, roles=Roles(known=("price",)))
    np.testing.assert_array_equal(panel.values, frame["y"].cast(pl.Float32).to_numpy())


# -- 40, 42, and a peer: what counts in a loss -------------------------------------------------------------------------


def _module(forecaster) -> NetworkTraining:
    options = {"horizon": HORIZON, "quantile_levels": forecaster.quantile_levels, "steps_per_batch": 1}
    return NetworkTraining(forecaster.network_, forecaster.training, **options)


def test_origins_that_have_read_little_do_not_count_in_the_loss():
    forecaster = network().fit(FRAME)
    module = _module(forecaster).eval()
    data = WindowDataModule(
        forecaster.panel_, context_length=16, horizon=HORIZON, patch_length=4, batch_size=8, batches=1,
        validation_length=0, seed=0,
    )  # fmt: skip
    (batch,) = data.train_dataloader()
    for read, counts in [(LEAST_READ - 1, False), (LEAST_READ + 4, True)]:
        values = batch.values.clone()
        values[:, : 16 - read] = torch.nan
        assert bool(module.loss(batch._replace(values=values), slice(None)) > 0) == counts


@pytest.mark.parametrize("backbone", ["lstm", "tcn", "transformer"])
def test_a_constant_series_is_forecast_as_it_is_from_its_beginning_on(backbone):
    """What lies before a window is not there, rather than zero."""
    frame = FRAME.assign(y=5.0)
    values = network(backbone).fit(FRAME).fitted_values(frame)
    assert (values.drop(columns=["unique_id", "cutoff", "ds", "step"]) == 5).all(axis=None)


@pytest.mark.parametrize(
    "decoder", [name if name == "attention" else pytest.param(name, marks=pytest.mark.slow) for name in DECODERS]
)
def test_nothing_is_learned_of_white_noise(decoder):
    """The training loss stays above that of the true quantiles, also where a decoder hears what came before."""
    normal, noise = NormalDist(), np.random.default_rng(0).normal(size=2000)
    frame = pd.DataFrame({"unique_id": "a", "ds": range(len(noise)), "y": noise})
    training = Training(steps=40, validations=2, learning_rate=5e-3)
    curve = network("transformer", decoder, season_length=1, training=training).fit(frame).learning_curve()
    levels = np.arange(1, 10) / 10
    least = np.mean([2 * normal.pdf(normal.inv_cdf(level)) for level in levels])
    assert least < curve["train_loss"].iloc[-1] < 1.5 * least


def test_the_validation_loss_is_the_mean_over_all_windows():
    """600 windows, in batches of 512 and 88."""
    frame = frame_of((1400,))[["unique_id", "ds", "y"]]
    training = Training(steps=2, validations=2, validation_length=603)
    forecaster = network(training=training).fit(frame)
    forecaster.network_.drift.zero_()  # as it was in training
    forecaster.network_.trust.fill_(1.0)
    panel, module = forecaster.panel_, _module(forecaster).eval()
    options = {"context_length": 16, "horizon": HORIZON, "patch_length": 4, "batch_size": 8, "batches": 1, "seed": 0}
    batches = list(WindowDataModule(panel, validation_length=603, **options).val_dataloader())
    assert [len(batch.values) for batch in batches] == [512, 88]
    with torch.inference_mode():
        losses = [float(module.loss(batch, slice(-1, None))) for batch in batches]
    expected = np.average(losses, weights=[512, 88])
    assert forecaster.validation_loss_ == pytest.approx(expected, rel=1e-5)
    assert abs(losses[0] - losses[1]) > 1e-3 * expected  # a mean of the two would be another number


# -- many small series -------------------------------------------------------------------------------------------------


def test_a_thousand_short_series_are_forecast_backtested_and_streamed():
    panel = check_frame(frame_of((12,) * 1000))
    forecaster = network(horizon=3, context_length=None, patch_length=None).fit(panel)
    for table in (forecaster.predict(), forecaster.stream().predict(), Naive(3).fit(panel).sample_paths(2)):
        assert len(table) == 3000
        assert np.isfinite(table.select_dtypes("number").to_numpy()).all()
    ledger = backtest(panel, [NLinear(3), WindowAverage(3)], Plan(horizon=3, n_folds=2))
    assert score(ledger)["points"].tolist() == [6000, 6000]
