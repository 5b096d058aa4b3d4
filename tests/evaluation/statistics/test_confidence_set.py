"""The model confidence set keeps those that may be the best, and is refused for few cutoffs."""

import numpy as np
import pytest

from forecast.evaluation.statistics import confidence_set
from forecast.evaluation.statistics.confidence_set import members_of

arch = pytest.importorskip("arch.bootstrap")


def losses(number=60, gains=(0.0, 0.5, 0.5, -1.0), seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(9, size=(number, 1)) + rng.normal(0, 0.3, (number, len(gains))) - gains


def test_p_values_are_those_of_arch():
    mcs = arch.MCS(losses(), size=0.1, reps=500, block_size=4, bootstrap="stationary", seed=0)
    mcs.compute()
    np.testing.assert_array_equal(members_of(losses(), block=4, resamples=500), mcs.pvalues["Pvalue"].sort_index())
    assert (members_of(losses(), block=4, resamples=500) > 0.1).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        (losses(49), "too few cutoffs: 49, and 50 are needed"),
        (losses()[:, :1], "one forecaster alone"),
        (losses()[:, [0, 1, 1]], "two forecasters have the same losses"),
        (np.where(np.arange(60)[:, None] == 3, np.nan, losses()), "a loss is not defined"),
    ],
)
def test_losses_that_make_no_set_are_refused(matrix, reason):
    with pytest.raises(ValueError, match=reason):
        members_of(matrix)


def test_a_ledger_gives_its_members_best_first(ledger_of):
    matrix = losses()
    errors = {(name, 0): np.stack([matrix[:, place]] * 2) for place, name in enumerate(["naive", "lstm", "tcn", "bad"])}
    found = confidence_set(ledger_of(errors), resamples=500)
    assert set(found.members.loc[found.members["member"], "forecaster"]) == {"lstm", "tcn"}
    assert found.members["loss"].is_monotonic_increasing
    assert found.block == 4
    text = str(found)
    assert text.startswith("estimand: mean mase, averaged over these 2 series, for these 60 cutoffs, refit at every")
    assert "with 90% confidence the best is among: " in text


def test_few_cutoffs_are_not_reported(ledger_of):
    matrix = losses(12)
    found = confidence_set(ledger_of({("naive", 0): matrix[:, :1].T, ("lstm", 0): matrix[:, 1:2].T}))
    assert found.reason == "not reported: too few cutoffs: 12, and 50 are needed"
    assert found.members["p_value"].isna().all()
    assert found.reason in str(found)
    with pytest.raises(ValueError, match=r"`size` is 2"):
        confidence_set(ledger_of({("naive", 0): np.ones((1, 2))}), size=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"size": "small"}, "`size` is 'small'"),
        ({"block": 1}, "`block` is 1, but each forecast overlaps with others: at least 2"),
        ({"block": 2.5}, "`block` is 2.5"),
        ({"resamples": 0}, "`resamples` is 0"),
        ({"seed": None}, "`seed` is None"),
    ],
)
def test_wrong_arguments_are_told_by_their_name_however_few_the_cutoffs(ledger_of, options, told):
    ledger = ledger_of({(name, 0): np.ones((1, 4)) for name in ("naive", "lstm")}, horizon=2, stride=1)
    with pytest.raises((TypeError, ValueError), match=told):
        confidence_set(ledger, **options)


def test_no_fold_with_a_loss_is_not_reported(ledger_of):
    ledger = ledger_of({(name, 0): np.ones((2, 6)) for name in ("naive", "lstm")}, scale=0.0)
    found = confidence_set(ledger)
    assert "too few cutoffs: 0" in str(found)
    assert found.members[["loss", "p_value", "member"]].isna().all(axis=None)
