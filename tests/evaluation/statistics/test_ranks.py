"""Tests over data sets equal those of the libraries that know them, and are refused for few of them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.skill import skill
from forecast.evaluation.statistics import block_errors, ranks

posthocs = pytest.importorskip("scikit_posthocs")
multitest = pytest.importorskip("statsmodels.stats.multitest")
NAMES = ["naive", "lstm", "tcn", "gru"]


def blocks(number=20, gains=(0.0, 0.5, 0.52, 0.48), seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(np.exp(rng.normal(0, 0.1, (number, len(gains))) - gains), columns=NAMES[: len(gains)])


def test_p_values_are_those_of_scipy_statsmodels_and_scikit_posthocs():
    from scipy import stats

    errors = blocks()
    found = ranks(errors)
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*errors.to_numpy().T).pvalue)
    pairs = list(combinations(NAMES, 2))
    plain = [stats.wilcoxon(np.log(errors[a]), np.log(errors[b])).pvalue for a, b in pairs]
    adjusted = multitest.multipletests(plain, method="holm")[1]
    np.testing.assert_allclose([found.wilcoxon.loc[pair] for pair in pairs], adjusted)
    np.testing.assert_allclose(found.nemenyi, posthocs.posthoc_nemenyi_friedman(errors).to_numpy())
    assert found.effects.loc["lstm", "naive"] == pytest.approx(np.median(np.log(errors["lstm"] / errors["naive"])))


def test_mean_ranks_and_the_critical_difference_are_those_of_the_textbook():
    found = ranks(blocks())
    pd.testing.assert_series_equal(
        found.mean_ranks, blocks().rank(axis=1).mean().sort_values(), check_index_type=False, check_names=False
    )
    # Demsar (2006), table 5: q is 2.569 for four at 0.05.
    assert found.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 20)), abs=1e-3)
    order = found.mean_ranks.to_numpy()
    apart = np.abs(order[:, None] - order[None]) > found.critical_difference
    nemenyi = found.nemenyi.loc[found.mean_ranks.index, found.mean_ranks.index].to_numpy() < 0.05
    np.testing.assert_array_equal(apart, nemenyi)


def test_groups_are_the_forecasters_that_cannot_be_told_apart():
    assert [set(group) for group in ranks(blocks()).groups] == [{"lstm", "tcn", "gru"}]
    every = ranks(blocks(gains=(0.0, 1.0, 2.0, 3.0)))
    assert every.groups == ()
    equal = ranks(pd.DataFrame(np.ones((12, 3)), columns=NAMES[:3]))
    assert (equal.groups, equal.friedman) == ((("naive", "lstm", "tcn"),), 1.0)


def test_few_blocks_give_effects_and_ranks_alone():
    found = ranks(blocks(9))
    assert "not reported: too few blocks for tests and diagram: 9, and 10 are needed" in str(found)
    assert np.isnan(found.friedman)
    assert found.wilcoxon.isna().all(axis=None)
    assert found.effects.notna().all(axis=None)
    assert found.groups == ()


def test_two_forecasters_are_tested_by_wilcoxon_alone():
    found = ranks(blocks(gains=(0.0, 0.5)))
    assert found.wilcoxon.loc["naive", "lstm"] < 0.01
    assert "Friedman and Nemenyi not reported" in str(found)


def test_the_estimand_comes_first_and_the_table_has_a_row_for_each_pair():
    found = ranks(blocks())
    assert str(found).startswith("estimand: rank of the error among 4 forecasters, averaged over these 20 blocks\n")
    assert found.table()[["forecaster", "opponent"]].to_numpy().tolist() == [
        list(pair) for pair in combinations(found.mean_ranks.index, 2)
    ]


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (blocks(gains=(0.0,)), r"`errors` has the shape \(20, 1\)"),
        (blocks(12).replace({"tcn": {blocks(12)["tcn"][3]: 0.0}}), r"`errors` is 0.0 for block 3, forecaster 'tcn'"),
        (blocks(12).mask(blocks(12) == blocks(12)["lstm"][5]), r"`errors` is nan for block 5, forecaster 'lstm'"),
    ],
)
def test_errors_that_cannot_be_ranked_are_told(errors, told):
    with pytest.raises(ValueError, match=told):
        ranks(errors)


def test_what_is_no_frame_and_no_probability_is_refused():
    with pytest.raises(TypeError, match=r"`errors` is a list"):
        ranks([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"`size` is 5"):
        ranks(blocks(), size=5)
    with pytest.raises(ValueError, match=r"`size` is None"):
        ranks(blocks(), size=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`errors` holds what is no number"):
        ranks(blocks().assign(lstm="low"))
    with pytest.raises(ValueError, match=r"`errors` has the forecaster 'naive' twice"):
        ranks(pd.concat([blocks(), blocks()], axis=1))
    with pytest.raises(TypeError, match=r"`ledgers` is \[\]; give a mapping"):
        block_errors([])  # type: ignore[arg-type]


def test_ledgers_of_many_data_sets_give_a_block_each(ledger_of):
    rng = np.random.default_rng(0)
    ledgers = {
        f"data {place}": ledger_of({(name, 0): rng.gamma(9, size=(3, 2)) for name in ("SeasonalNaive", "lstm")})
        for place in range(3)
    }
    found = block_errors(ledgers)
    assert list(found.index) == list(ledgers)
    lstm = skill(ledgers["data 1"]).set_index("forecaster").loc["lstm", "skill"]
    assert found.loc["data 1", "lstm"] == pytest.approx(1 - lstm, rel=1e-5)
    assert (found["SeasonalNaive"] == 1).all()
    ledgers["odd"] = ledger_of({("SeasonalNaive", 0): np.ones((1, 2))})
    with pytest.raises(ValueError, match=r"`ledgers`: 'odd' has the forecasters \['SeasonalNaive'\]"):
        block_errors(ledgers)
