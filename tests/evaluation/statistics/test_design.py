"""What a ledger says of its own design: which folds overlap, and when forecasters were fitted."""

import math
import subprocess
import sys

import numpy as np
import pytest

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics.design import fold_losses, overlap, refit
from forecast.evaluation.statistics.estimand import Estimand, from_extra


@pytest.mark.parametrize("horizon", [1, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 5])
@pytest.mark.parametrize("gap", [0, 2])
def test_forecasts_overlap_as_horizon_gap_and_stride_say(ledger_of, horizon, stride, gap):
    points = ledger_of({("naive", 0): np.ones((2, 8))}, horizon=horizon, stride=stride, gap=gap).points
    assert overlap(points) == math.ceil((horizon + gap) / stride)
    assert overlap(points, 1) == math.ceil((1 + gap) / stride)


def test_of_uneven_cutoffs_the_most_that_overlap_count(ledger_of):
    ledger = ledger_of({("naive", 0): np.ones((1, 12))}, horizon=3, stride=1)
    forecasts = ledger.forecasts
    kept = sorted(forecasts["cutoff"].unique())
    few = forecasts[forecasts["cutoff"].isin([kept[0], kept[4], kept[5], kept[9]])]
    scales = ledger.scales[ledger.scales["cutoff"].isin(few["cutoff"])]
    fits = ledger.fits[ledger.fits["fit_cutoff"].isin(few["fit_cutoff"])]
    assert overlap(Ledger.of(few, scales, fits, 1).points) == 2


@pytest.mark.parametrize(("every", "told"), [("every", "at every cutoff"), ("never", "never"), (4, "at 2 of them")])
def test_the_policy_of_refitting_is_read_off_the_fits(ledger_of, every, told):
    assert refit(ledger_of({("naive", 0): np.ones((1, 8))}, refit=every)) == told


def test_policies_that_differ_are_told_apart(ledger_of):
    ledgers = [
        ledger_of({(name, 0): np.ones((1, 4))}, refit=every) for name, every in (("naive", "every"), ("lstm", "never"))
    ]
    assert refit(Ledger.concat(ledgers)) == "at every cutoff (naive), never (lstm)"


def test_losses_by_fold_leave_out_the_same_series_for_all(ledger_of):
    errors = {(name, 0): np.arange(1.0, 9.0).reshape(2, 4) * factor for name, factor in (("naive", 1), ("lstm", 2))}
    for values in errors.values():
        values[0, 1] = values[0, 2] = values[1, 2] = np.nan
    losses = fold_losses(ledger_of(errors), "mae")
    np.testing.assert_allclose(losses.of("naive"), [3.0, 6.0, 6.0])
    np.testing.assert_allclose(losses.of("lstm"), [6.0, 12.0, 12.0])
    squared = fold_losses(ledger_of(errors), "rmse")
    np.testing.assert_allclose(squared.of("naive"), [13.0, 36.0, 40.0])
    assert squared.quantity == "squared rmse"


def test_the_estimand_reads_as_a_sentence_for_one_and_many():
    assert str(Estimand("difference in mae", 1, 1, "never")) == (
        "difference in mae, averaged over this one series, for this one cutoff, refit never"
    )


def test_a_library_that_is_missing_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(ImportError, match=r"needs scikit-posthocs: pip install 'foretell\[stats\]'"):
        from_extra("scikit_posthocs")


def test_statistics_load_no_large_library_before_they_are_used():
    script = "import forecast.evaluation.statistics, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "statsmodels", "arch", "scikit_posthocs", "seaborn", "matplotlib"} & set(loaded)
