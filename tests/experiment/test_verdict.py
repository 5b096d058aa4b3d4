"""The verdict names a leader where the paired intervals separate it from all others, and refuses where they cannot."""

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import standings
from forecast.experiment.verdict import judged, lead, verdict

SPACE = "\N{NO-BREAK SPACE}"


def with_errors(synthetic, errors, *, series=6, cutoffs=6, noise=0.0):
    """A ledger of one step, in which every error of each (forecaster, seed) is near the one that is given."""
    kinds = {name: synthetic.FORECASTERS[name] for name in errors}
    ledger, _ = synthetic.make_ledger(series=series, cutoffs=cutoffs, horizon=1, seeds=3, forecasters=kinds)
    table, rng = ledger.forecasts.drop(columns="status"), np.random.default_rng(0)
    keep = np.zeros(len(table), dtype=bool)
    for name, several in errors.items():
        for seed, error in enumerate(several):
            where = ((table["forecaster"] == name) & (table["seed"] == seed)).to_numpy()
            own = error * np.exp(rng.normal(0, noise, where.sum()))
            table.loc[where, "prediction"] = table.loc[where, "y"] + own
            keep |= where
    fits = ledger.fits
    kept = [seed < len(errors[name]) for name, seed in zip(fits["forecaster"], fits["seed"], strict=True)]
    return Ledger.of(pd.DataFrame(table[keep]), ledger.scales, fits[kept], 24)


def spoken(ledger, regime="matched_parameters"):
    return verdict(judged(ledger), ledger, "waves", regime)


def test_a_leader_is_named_where_it_is_separated_from_all_others(synthetic):
    errors = {"SeasonalNaive": [1.0], "LSTM direct": [0.8, 0.8], "TCN direct": [0.5, 0.5]}
    said = spoken(with_errors(synthetic, errors, noise=0.05))
    assert said.startswith(
        "On waves (6 series, 6 cutoffs, horizon 1 step, 2 seeds per network, networks of matched parameters) "
        "TCN direct "
    )
    assert "is ahead, with" in said
    assert "than the next, LSTM direct (+" in said
    assert f"95{SPACE}% interval" in said
    assert "LSTM direct and TCN direct are the best of latent-state and of direct-prediction networks" in said
    assert "all intervals are over series and time" in said
    assert said.count(". ") == 0
    assert said.endswith(".")


def test_families_are_told_by_their_best_where_these_are_not_the_first_two(synthetic):
    errors = {"SeasonalNaive": [1.0], "NLinear": [0.3], "LSTM direct": [0.8], "TCN direct": [0.5]}
    said = spoken(with_errors(synthetic, errors, noise=0.05))
    assert "NLinear (skill +" in said
    assert "of latent-state and direct-prediction networks the best are LSTM direct" in said
    assert "TCN direct is ahead, with" in said.partition("the best are")[2]


def test_none_is_named_where_the_intervals_do_not_separate(synthetic):
    errors = {"SeasonalNaive": [1.0], "NLinear": [0.5], "LSTM direct": [0.49], "TCN direct": [0.51]}
    ledger = with_errors(synthetic, errors, noise=0.4)
    said, found = spoken(ledger), judged(ledger)
    first, second = found.skill["forecaster"].iloc[:2]
    row = found.against(second).set_index("forecaster").loc[first]
    assert f"{first} is ahead of SeasonalNaive (skill +" in said
    assert f"no detectable difference between {first} and {second} (+" in said
    assert f"the first has {100 * row['skill']:.1f}{SPACE}% less error (95{SPACE}% interval" in said
    assert f"{100 * row['low']:+.1f}{SPACE}% to {100 * row['high']:+.1f}{SPACE}%)".replace("-", "−") in said
    assert said.count("ahead") == 1
    assert "nor between the first and " in said


def test_seeds_that_lie_apart_make_no_leader_where_series_and_time_do_not(synthetic):
    errors = {"SeasonalNaive": [1.0], "LSTM direct": [0.50, 0.51, 0.52], "TCN direct": [0.55, 0.56, 0.57]}
    assert "no detectable difference" in spoken(with_errors(synthetic, errors, noise=0.6))


def test_too_few_cutoffs_are_a_refusal_and_with_enough_series_a_verdict_on_this_period(synthetic):
    errors = {"SeasonalNaive": [1.0], "TCN direct": [0.5]}
    refused = spoken(with_errors(synthetic, errors, series=1, cutoffs=4))
    assert "there is no verdict: too few cutoffs (4; 5 are needed) and series (1; 5)" in refused
    assert f"the lowest error is that of TCN direct (+50.0{SPACE}%)" in refused
    assert "is ahead" not in refused
    short = spoken(with_errors(synthetic, errors, series=6, cutoffs=4, noise=0.05))
    assert "too few cutoffs (4; 5 are needed) to speak of another period; in this one TCN direct" in short
    assert "all intervals are over series, for this period alone" in short
    narrow = spoken(with_errors(synthetic, errors, series=1, cutoffs=6, noise=0.05))
    assert "all intervals are over time, for this one series alone" in narrow


def test_what_cannot_be_compared_is_said(synthetic):
    alone = spoken(with_errors(synthetic, {"SeasonalNaive": [1.0], "LSTM direct": [0.5]}))
    assert "no direct-prediction network was compared" in alone
    single = spoken(with_errors(synthetic, {"SeasonalNaive": [1.0]}))
    assert f"SeasonalNaive (0.0{SPACE}%) was compared with no other" in single
    zero = with_errors(synthetic, {"SeasonalNaive": [0.0], "LSTM direct": [0.5]})
    assert "there is no verdict: for no series is the ratio to SeasonalNaive defined" in spoken(zero)


def test_without_seasonal_naive_differences_are_told_and_no_skill(synthetic):
    said = spoken(with_errors(synthetic, {"Naive": [1.0], "TCN direct": [0.5]}, noise=0.05))
    assert "TCN direct is ahead, with" in said
    assert "than the next, Naive;" in said
    assert "skill" not in said


def test_decoders_are_compared_by_their_best(synthetic):
    errors = {"SeasonalNaive": [1.0], "LSTM direct": [0.5], "LSTM recursive": [0.8], "TCN direct": [0.6]}
    said = spoken(with_errors(synthetic, errors, noise=0.05))
    assert "with the direct decoder and with another (recursive) the best are LSTM direct" in said
    assert said.partition("with another")[2].count("LSTM direct is ahead, with") == 1
    without = {name: several for name, several in errors.items() if name != "LSTM recursive"}
    assert "decoder" not in spoken(with_errors(synthetic, without))


def test_those_left_out_change_no_word_but_seasonal_naive_stays(synthetic):
    errors = {"SeasonalNaive": [1.0], "LSTM direct": [0.8], "TCN direct": [0.1]}
    ledger = with_errors(synthetic, errors, noise=0.05)
    found = judged(ledger, ["TCN direct", "SeasonalNaive"])
    assert set(found.skill["forecaster"]) == {"SeasonalNaive", "LSTM direct"}
    assert lead(found) == lead(standings(ledger.take(["SeasonalNaive", "LSTM direct"])))
    assert "no direct-prediction network was fit to be compared" in verdict(found, ledger)


def test_a_name_is_given_in_full_and_many_others_are_counted(synthetic):
    names = [name for name in synthetic.FORECASTERS if name != "Drift"]
    said = lead(judged(with_errors(synthetic, {name: [0.5] for name in names}, noise=0.3)))
    assert f"nor between the first and {len(names) - 2} others" in said
