"""Standings have the skill that `skill` has, say how sure it is, and say when nothing can be said."""

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.metrics import METRICS
from forecast.evaluation.skill import skill
from forecast.evaluation.statistics import standings


def errors_of(series=8, folds=10, better=0.5, seeds=3, seed=0):
    rng = np.random.default_rng(seed)
    errors = {
        ("SeasonalNaive", 0): rng.gamma(9, size=(series, folds)),
        ("NLinear", 0): rng.gamma(9, size=(series, folds)),
    }
    for number in range(seeds):
        errors[("lstm", number)] = better * rng.gamma(9, size=(series, folds))
    return errors


def row(table, forecaster):
    return table[table["forecaster"] == forecaster].iloc[0]


def test_skill_is_that_of_skill_with_an_interval_around_it(ledger_of):
    ledger = ledger_of(errors_of())
    found = standings(ledger, resamples=300)
    theirs = skill(ledger).set_index("forecaster")["skill"]
    for one in found.skill.itertuples():
        assert one.skill == pytest.approx(theirs[one.forecaster], abs=1e-6)
        assert one.low <= one.skill <= one.high
    assert found.skill["forecaster"].iloc[0] == "lstm"
    lstm, naive = row(found.skill, "lstm"), row(found.skill, "SeasonalNaive")
    assert 0.2 < lstm["low"] < 0.5 < lstm["high"] < 0.7
    assert (naive["skill"], naive["low"], naive["high"], naive["separated"]) == (0, 0, 0, False)
    assert lstm["separated"]
    assert not row(found.skill, "NLinear")["separated"]
    assert (found.over, found.block, found.notes) == ("series and time", 1, ())


def test_the_estimand_is_printed_first_and_the_method_with_it(ledger_of):
    text = str(standings(ledger_of(errors_of(series=8), refit=5), resamples=200))
    assert text.startswith(
        "estimand: difference in mae, averaged over these 8 series, for these 10 cutoffs, refit at 2 of them\n"
    )
    assert "intervals of 95%: 200 resamples of series and time" in text


def test_seed_spread_is_told_apart_from_the_interval(ledger_of):
    errors = errors_of()
    found = standings(ledger_of(errors), resamples=200)
    base = errors[("SeasonalNaive", 0)].mean(axis=1)
    skills = [1 - np.exp(np.log(errors[("lstm", seed)].mean(axis=1) / base).mean()) for seed in range(3)]
    assert row(found.skill, "lstm")["seed_sd"] == pytest.approx(np.std(skills, ddof=1), rel=1e-5)
    assert np.isnan(row(found.skill, "NLinear")["seed_sd"])
    text = str(standings(ledger_of(errors_of(seeds=1), networks=["lstm"]), resamples=200))
    assert "one seed of lstm: what another seed would change is not in the interval" in text
    assert "fewer than 3 seeds: lstm (2)" in str(
        standings(ledger_of(errors_of(seeds=2), networks=["lstm"]), resamples=200)
    )


def test_pairs_say_the_same_in_both_directions(ledger_of):
    found = standings(ledger_of(errors_of()), resamples=300)
    there = found.against("NLinear").set_index("forecaster").loc["lstm"]
    back = found.against("lstm").set_index("forecaster").loc["NLinear"]
    assert 1 / (1 - there["skill"]) == pytest.approx(1 - back["skill"])
    assert 1 / (1 - there["low"]) == pytest.approx(1 - back["high"])
    assert there["win_rate"] == 1 - back["win_rate"] == 1.0
    assert there["separated"]
    assert back["separated"]
    assert 0 <= found.pairs["win_low"].min() <= found.pairs["win_high"].max() <= 1
    with pytest.raises(ValueError, match=r"`opponent` 'tcn' was not compared"):
        found.against("tcn")


def test_identical_forecasters_are_not_apart_and_tie_everywhere(ledger_of):
    errors = errors_of()
    errors[("copy", 0)] = errors[("NLinear", 0)]
    pair = standings(ledger_of(errors), resamples=200).against("NLinear").set_index("forecaster").loc["copy"]
    assert (pair["skill"], pair["win_rate"], pair["separated"]) == (pytest.approx(0), 0.5, False)
    assert (pair["low"], pair["high"]) == (pytest.approx(0), pytest.approx(0))


TIME = "uncertainty over time not estimable; interval is conditional on this test period"
SERIES = "uncertainty over series not estimable; interval is conditional on these series"


def test_few_cutoffs_are_not_resampled_and_it_says_so(ledger_of):
    found = standings(ledger_of(errors_of(folds=4)), resamples=200)
    assert found.over == "series"
    assert found.notes[0] == f"{TIME} (4 cutoffs; 5 are needed)"
    assert found.skill["low"].notna().all()


def test_cutoffs_that_overlap_count_by_blocks(ledger_of):
    found = standings(ledger_of(errors_of(folds=12), horizon=3, stride=1), resamples=200)
    assert found.notes[0] == f"{TIME} (12 cutoffs, in blocks of 3; 15 are needed)"
    enough = standings(ledger_of(errors_of(folds=15), horizon=3, stride=1), resamples=200)
    assert (enough.over, enough.block, enough.notes) == ("series and time", 3, ())
    assert "in blocks of 3 cutoffs" in str(enough)


@pytest.mark.parametrize("series", [1, 4])
def test_few_series_are_resampled_over_time_alone(ledger_of, series):
    found = standings(ledger_of(errors_of(series=series)), resamples=200)
    assert (found.over, found.notes[0]) == ("time", f"{SERIES} ({series}; 5 are needed)")
    assert standings(ledger_of(errors_of(series=5)), resamples=200).over == "series and time"


def test_one_series_and_few_cutoffs_are_not_reported(ledger_of):
    found = standings(ledger_of(errors_of(series=1, folds=4)))
    assert (found.over, found.resamples) == ("", 0)
    assert found.notes[0].startswith(f"not reported: {SERIES} (1; 5 are needed); {TIME}")
    assert found.skill["skill"].notna().all()
    assert found.skill[["low", "high"]].isna().all(axis=None)
    assert not found.pairs["separated"].any()
    assert "not reported" in str(found)


def test_series_may_be_drawn_by_cluster_and_intervals_grow_where_a_cluster_moves_together(ledger_of):
    rng = np.random.default_rng(0)
    shared = np.repeat(rng.normal(0, 0.5, 5), 6)[:, None]
    base = rng.gamma(50, size=(30, 10))
    ledger = ledger_of({("SeasonalNaive", 0): base, ("lstm", 0): base * np.exp(shared)})
    clusters = {f"series {i}": i // 6 for i in range(30)}
    apart, together = (standings(ledger, clusters=some, resamples=300) for some in (None, clusters))
    width = lambda found: row(found.skill, "lstm")["high"] - row(found.skill, "lstm")["low"]
    assert width(together) > 1.8 * width(apart)
    with pytest.raises(ValueError, match=r"`clusters` lacks series 'series 29'"):
        standings(ledger, clusters={f"series {i}": 0 for i in range(29)})
    assert (
        "these clusters (1; 5 are needed)"
        in standings(ledger, clusters=dict.fromkeys(clusters, 0), resamples=100).notes[0]
    )


@pytest.mark.parametrize("none", [None, np.nan])
def test_a_series_of_no_cluster_is_not_drawn_with_those_of_another(ledger_of, none):
    clusters = {f"series {i}": i for i in range(8)} | {"series 3": none}
    with pytest.raises(ValueError, match=r"`clusters` has (None|nan) for series 'series 3'; allowed: a name or number"):
        standings(ledger_of(errors_of()), clusters=clusters)


def test_clusters_may_be_called_by_anything_that_is_one_name(ledger_of):
    ledger = ledger_of(errors_of())
    plain = {f"series {i}": i // 2 for i in range(8)} | {"series 7": 9}
    found = [
        standings(ledger, clusters=of, resamples=100).skill
        for of in (plain, {name: ("region", of) for name, of in plain.items()}, pd.Series(plain))
    ]
    assert found[0].equals(found[1])
    assert found[0].equals(found[2])


def test_what_is_undefined_is_left_out_for_all_and_counted(ledger_of):
    errors = errors_of(series=6)
    for values in errors.values():
        values[1, 3] = np.nan
    errors[("SeasonalNaive", 0)][2] = 0.0  # no ratio
    errors[("lstm", 0)][3] = errors[("lstm", 1)][3] = errors[("lstm", 2)][3] = 0.001
    ledger = ledger_of(errors)
    found = standings(ledger, resamples=200)
    assert found.estimand.series == 5
    assert found.notes == (
        "1 series left out, where the ratio to the baseline is not defined",
        "1 of 60 cells (a series at a cutoff) left out, where an error is not defined",
        "1 ratios to the baseline below 0.01 count as 0.01",
    )
    theirs = skill(ledger).set_index("forecaster")["skill"]
    assert row(found.skill, "lstm")["skill"] == pytest.approx(theirs["lstm"], abs=1e-6)


def test_no_series_with_a_ratio_is_not_reported(ledger_of):
    errors = errors_of(series=2)
    errors[("SeasonalNaive", 0)][:] = 0.0
    found = standings(ledger_of(errors))
    assert found.notes[0] == "not reported: for no series is the ratio to the baseline defined"
    assert found.skill["skill"].isna().all()


def test_a_scale_of_zero_leaves_no_series_but_a_reason(ledger_of):
    found = standings(ledger_of(errors_of(series=2, folds=6), scale=0.0), metric="mase")
    assert found.notes[0] == "not reported: for no series is the ratio to the baseline defined"
    assert (found.estimand.series, found.estimand.cutoffs) == (0, 0)


def test_a_metric_of_ones_own_is_compared_too(ledger_of):
    ledger = ledger_of(errors_of())
    found = standings(ledger, metric=METRICS["mae"], resamples=100)
    assert found.skill.equals(standings(ledger, resamples=100).skill)
    assert "difference in a metric of your own" in str(found)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"baseline": "Drift"}, "`baseline` 'Drift' is not in the ledger"),
        ({"metric": "coverage"}, "`metric` is 'coverage'"),
        ({"over": "seeds"}, "`over` is 'seeds'"),
        ({"block": 1}, "`block` is 1, but each forecast overlaps with others: at least 2"),
        ({"resamples": 0}, "`resamples` is 0"),
        ({"confidence": 95}, "`confidence` is 95"),
        ({"confidence": "95%"}, "`confidence` is '95%'"),
        ({"floor": 1.5}, "`floor` must lie between 0 and 1"),
        ({"floor": None}, "`floor` must lie between 0 and 1; got None"),
        ({"seed": -1}, "`seed` is -1"),
        ({"step": 3}, "`step` is 3; allowed: 0 for all, or one of 1 to 2"),
        ({"step": None}, "`step` is None"),
        ({"step": True}, "`step` is True"),
        ({"clusters": 3}, "`clusters` is a int; allowed: a mapping"),
        ({"clusters": {}}, "`clusters` lacks series 'series 0'"),
        ({"clusters": {f"series {i}": [i] for i in range(8)}}, r"`clusters` has \[0\] for series 'series 0'"),
    ],
)
def test_wrong_arguments_are_told_by_their_name(ledger_of, options, told):
    ledger = ledger_of(errors_of(folds=10), horizon=2, stride=1)
    with pytest.raises((TypeError, ValueError), match=told):
        standings(ledger, **options)


def test_what_is_no_ledger_is_refused():
    with pytest.raises(TypeError, match=r"`ledger` is a dict"):
        standings({})


def test_the_same_seed_gives_the_same_intervals(ledger_of):
    ledger = ledger_of(errors_of())
    one, same, other = (standings(ledger, resamples=100, seed=seed).skill for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)
