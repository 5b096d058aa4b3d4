"""Pictures of a report: each there where the experiment has what it shows, and nowhere else."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from forecast import plots
from forecast.evaluation import score
from forecast.evaluation.ledger import Ledger
from forecast.experiment.pictures import Drawn, pictures
from forecast.experiment.thinning import thinned
from forecast.experiment.verdict import judged

ALWAYS = ["forecasts", "error_by_step", "error_by_cutoff", "calibration", "coverage_by_step", "pit"]


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Whether a picture is drawn, not how it looks, is what is asked here."""
    for name in plots.__all__:
        monkeypatch.setattr(plots, name, lambda *given, **options: Figure(), raising=False)


def names(ledger, **given):
    return [picture.name for picture in pictures(ledger, Drawn(judged(ledger), **given))]


def small(synthetic, *forecasters, **given):
    return synthetic.make_ledger(series=2, horizon=2, seeds=1, forecasters=list(forecasters), **given)[0]


def test_one_forecaster_has_no_pictures_of_comparison(synthetic):
    assert names(small(synthetic, "SeasonalNaive", cutoffs=1)) == ["skill", *ALWAYS]
    assert names(small(synthetic, "Naive", cutoffs=1)) == ALWAYS


def test_effects_are_drawn_where_decoders_are_compared(synthetic):
    ledger = small(synthetic, "SeasonalNaive", "LSTM direct", "TCN direct", cutoffs=1)
    assert names(ledger) == ["skill", "skill_by_step", "win_rates", *ALWAYS]
    ledger = small(synthetic, "SeasonalNaive", "LSTM direct", "LSTM recursive", cutoffs=1)
    assert names(ledger) == ["skill", "skill_by_step", "win_rates", "effects", *ALWAYS]


def test_what_an_experiment_varies_is_drawn_where_it_does(synthetic):
    ledger, table = small(synthetic, "SeasonalNaive", "LSTM direct", cutoffs=1), pd.DataFrame({"any": [1]})
    found = names(ledger, contexts=table, costs=table, curves=table, plan=table)
    assert set(found) - set(names(ledger)) == {"skill_by_context", "cost", "tuning", "folds"}
    assert names(ledger, contexts=table.iloc[:0], costs=table.iloc[:0]) == names(ledger)


def test_ablations_are_in_a_picture_of_their_own_and_in_no_other(synthetic, monkeypatch):
    ledger = small(synthetic, "SeasonalNaive", "LSTM direct", "LSTM direct, without", cutoffs=1)
    table = pd.DataFrame({"ablation": ["without"], "forecaster": ["LSTM direct"], "change": [0.1]})
    seen = []
    monkeypatch.setattr(plots, "plot_error_by_step", lambda ledger: seen.append(ledger.forecasters) or Figure())
    found = [one.name for one in pictures(ledger, Drawn(judged(ledger, ["LSTM direct, without"]), ablations=table))]
    assert found == ["skill", "skill_by_step", "win_rates", "ablations", *ALWAYS]
    assert list(seen[0]) == ["SeasonalNaive", "LSTM direct"]


def test_the_age_of_fits_is_drawn_where_it_differs(synthetic):
    ledger = small(synthetic, "SeasonalNaive", "LSTM direct", cutoffs=3)
    aged = ledger.forecasts.drop(columns="status")
    aged["staleness"] = (aged["cutoff"] - aged["fit_cutoff"]) / pd.Timedelta("1h")
    aged = Ledger.of(aged, ledger.scales, ledger.fits, ledger.season_length)
    assert "skill_by_staleness" in names(aged)
    assert "skill_by_staleness" not in names(ledger)


def test_without_the_levels_of_an_interval_there_is_no_picture_of_it(synthetic):
    ledger = small(synthetic, "SeasonalNaive", "LSTM direct", cutoffs=1)
    few = ledger.forecasts.drop(columns=["status", "0.1"])
    assert "pit" not in names(Ledger.of(few, ledger.scales, ledger.fits, ledger.season_length))


def test_a_large_ledger_is_thinned_to_evenly_spaced_cutoffs_with_the_last(synthetic):
    ledger = small(synthetic, "SeasonalNaive", "LSTM direct", cutoffs=7)
    few, every = thinned(ledger, most=ledger.points.y.size)  # of two runs
    assert every == 2
    cutoffs = ledger.points.cutoffs
    assert few.points.cutoffs.equals(cutoffs[::2])
    by = ("forecaster", "unique_id", "cutoff")
    whole = score(ledger, ["mase", "wql"], by=by)
    kept = whole[whole["cutoff"].isin(cutoffs[::2])].reset_index(drop=True)
    pd.testing.assert_frame_equal(score(few, ["mase", "wql"], by=by), kept)
    assert few.forecasts["ds"].isin(ledger.forecasts["ds"]).all()
    assert thinned(ledger) == (ledger, 1)
    assert thinned(ledger, most=1)[0].points.cutoffs.equals(cutoffs[-1:])


def test_pictures_of_a_thinned_ledger_say_so(synthetic, monkeypatch):
    ledger = small(synthetic, "SeasonalNaive", "LSTM direct", cutoffs=4)
    monkeypatch.setattr("forecast.experiment.pictures.thinned", lambda ledger: thinned(ledger, ledger.points.y.size))
    told = {
        one.name: "Drawn from one of every 2 cutoffs." in one.caption for one in pictures(ledger, Drawn(judged(ledger)))
    }
    assert told["error_by_step"]
    assert not told["skill"]
