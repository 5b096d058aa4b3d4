"""The test of Diebold and Mariano equals that of statsmodels, and is refused where it cannot be trusted."""

import numpy as np
import pytest

from forecast.evaluation.statistics import diebold_mariano
from forecast.evaluation.statistics.diebold_mariano import compare_losses
from forecast.evaluation.statistics.multiple import holm

stattools = pytest.importorskip("statsmodels.tsa.stattools")


def losses(number, seed=0):
    return np.random.default_rng(seed).gamma(2.0, size=(2, number))


def test_without_overlap_it_is_the_test_of_statsmodels():
    first, second = losses(40)
    theirs = stattools.diebold_mariano_test(
        np.zeros(40), first, second, lags=0, criterion=lambda _, loss: loss, harvey_adj=True, horizon=1
    )
    ours = compare_losses(first, second)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert ours.difference == pytest.approx((first - second).mean())


def test_with_overlap_lags_are_of_equal_weight_and_the_correction_counts_them():
    first, second = losses(60)
    ours = compare_losses(first, second, overlap=3)
    d = first - second
    x, T, h = d - d.mean(), 60, 3
    variance = (x @ x + 2 * (x[1:] @ x[:-1] + x[2:] @ x[:-2])) / T**2
    corrected = np.sqrt((T + 1 - 2 * h + h * (h - 1) / T) / T)
    assert ours.statistic == pytest.approx(corrected * d.mean() / np.sqrt(variance))
    assert ours.lags == 2


@pytest.mark.parametrize(
    ("first", "second", "overlap", "reason"),
    [
        (np.ones(30), np.ones(30), 1, "identical forecasts"),
        (*losses(19), 1, "too few origins: 19, and 20 are needed"),
        (*losses(59), 4, "too few origins: 59, and 60 are needed where 4 forecasts overlap"),
        (losses(30)[0], losses(30)[0] + 0.1, 1, "the losses differ by the same amount at every cutoff"),
        (np.tile([1.0, 3.0], 20), np.tile([2.0, 1.0], 20), 2, "undefined, for the variance estimated with 1 lags"),
    ],
)
def test_it_is_not_reported_where_it_means_nothing(first, second, overlap, reason):
    outcome = compare_losses(first, second, overlap)
    assert outcome.reason.startswith(f"not reported: {reason}")
    assert np.isnan([outcome.statistic, outcome.p_value]).all()
    assert outcome.difference == pytest.approx((first - second).mean())


def test_losses_that_are_not_finite_or_not_paired_are_refused():
    for first, second in ((np.ones(30), np.ones(29)), (np.full(30, np.nan), np.ones(30))):
        with pytest.raises(ValueError, match=r"`first` and `second` have the shapes"):
            compare_losses(first, second)
    with pytest.raises(ValueError, match=r"`overlap` is 0"):
        compare_losses(np.ones(30), np.ones(30), 0)


def test_holm_steps_down_and_leaves_out_what_is_not_reported():
    np.testing.assert_allclose(holm(np.array([0.01, np.nan, 0.04, 0.03])), [0.03, np.nan, 0.06, 0.06])


def test_a_ledger_gives_one_test_for_each_pair_of_the_mean_over_series(ledger_of):
    rng = np.random.default_rng(0)
    errors = {("SeasonalNaive", 0): rng.gamma(2, size=(3, 24)), ("lstm", 0): rng.gamma(2, size=(3, 24))}
    errors[("lstm", 1)], errors[("NLinear", 0)] = rng.gamma(2, size=(2, 3, 24))
    found = diebold_mariano(ledger_of(errors, horizon=2, refit="never", scale=2.0))
    assert list(zip(found.tests["forecaster"], found.tests["opponent"], strict=True)) == [
        ("SeasonalNaive", "lstm"),
        ("SeasonalNaive", "NLinear"),
        ("lstm", "NLinear"),
    ]
    lstm = (errors[("lstm", 0)] + errors[("lstm", 1)]).mean(axis=0) / 4
    ours = compare_losses(lstm, errors[("NLinear", 0)].mean(axis=0) / 2)
    row = found.tests.iloc[2]
    assert (row["statistic"], row["p_value"]) == pytest.approx((ours.statistic, ours.p_value), rel=1e-5)
    np.testing.assert_allclose(found.tests["p_holm"], holm(found.tests["p_value"].to_numpy()))
    assert str(found).startswith(
        "estimand: difference in mase, averaged over these 3 series, for these 24 cutoffs, refit never\n"
    )
    assert "not the methods" in str(found)


def test_origins_that_overlap_are_refused_step_by_step(ledger_of):
    rng = np.random.default_rng(0)
    errors = {(name, 0): rng.gamma(2, size=(2, 24)) for name in ("SeasonalNaive", "lstm", "tcn")}
    ledger = ledger_of(errors, horizon=3, stride=1)
    found = diebold_mariano(ledger, opponent="SeasonalNaive", steps=[1, 2])
    assert found.tests["step"].tolist() == [1, 1, 2, 2]
    assert found.tests["opponent"].unique().tolist() == ["SeasonalNaive"]
    assert found.tests["reason"].tolist()[:2] == ["", ""]
    assert "too few origins: 24, and 30 are needed where 2 forecasts overlap" in str(found)
    assert diebold_mariano(ledger).tests["reason"].str.contains("45 are needed where 3").all()


def test_units_of_the_series_are_told(ledger_of):
    rng = np.random.default_rng(0)
    ledger = ledger_of({(name, 0): rng.gamma(2, size=(2, 24)) for name in ("SeasonalNaive", "lstm")})
    assert "those of large values decide" in str(diebold_mariano(ledger, "mae"))
    assert "those of large values decide" not in str(diebold_mariano(ledger))


@pytest.mark.parametrize(
    ("options", "told"),
    [({"opponent": "tcn"}, "`opponent` 'tcn'"), ({"steps": [2]}, "`step` is 2"), ({"metric": "bias"}, "`metric`")],
)
def test_what_is_not_there_is_told(ledger_of, options, told):
    ledger = ledger_of({(name, 0): np.ones((1, 2)) for name in ("SeasonalNaive", "lstm")})
    with pytest.raises(ValueError, match=told):
        diebold_mariano(ledger, **options)


@pytest.mark.parametrize("steps", [1, "1", [], {1}])
def test_steps_are_a_list(ledger_of, steps):
    with pytest.raises(TypeError, match=r"`steps` is .*; allowed: a list of one or more steps"):
        diebold_mariano(ledger_of({(name, 0): np.ones((1, 2)) for name in ("naive", "lstm")}), steps=steps)


def test_what_is_no_ledger_is_refused():
    with pytest.raises(TypeError, match="`ledger` is a dict"):
        diebold_mariano({})  # type: ignore[arg-type]


def test_no_fold_with_a_loss_is_not_reported(ledger_of):
    found = diebold_mariano(ledger_of({(name, 0): np.ones((2, 6)) for name in ("naive", "lstm")}, scale=0.0))
    assert found.notes == ("mase is defined at no cutoff, of no series",)
    assert str(found).endswith("not reported: too few origins: 0, and 20 are needed")


def test_one_forecaster_alone_is_not_reported(ledger_of):
    found = diebold_mariano(ledger_of({("SeasonalNaive", 0): np.ones((1, 25))}))
    assert found.tests.empty
    assert "not reported: there is one forecaster alone" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize(("cutoffs", "overlap"), [(20, 1), (50, 1), (90, 6)])
def test_true_equality_is_rejected_about_as_often_as_stated(cutoffs, overlap):
    rng = np.random.default_rng(cutoffs)
    rejected, repetitions = 0, 1500
    for _ in range(repetitions):
        shocks = rng.normal(size=cutoffs + overlap - 1)
        d = np.convolve(shocks, np.ones(overlap), "valid")
        rejected += compare_losses(10 + d, np.full(cutoffs, 10.0), overlap).p_value < 0.05
    print(f"{cutoffs} cutoffs, overlap {overlap}: {rejected / repetitions:.3f}")
    assert 0.035 <= rejected / repetitions <= (0.065 if overlap == 1 else 0.09)
