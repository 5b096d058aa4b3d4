"""Plots of a comparison: intervals, win rates, steps, contexts, ages of fits; what is drawn is what was computed."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from forecast import plots
from forecast.evaluation import Ledger, skill
from forecast.evaluation.statistics import ranks, standings

NAMES = ["SeasonalNaive", "NLinear", "LSTM direct", "TCN direct"]


@pytest.fixture(scope="module")
def ledger(synthetic):
    return synthetic.make_ledger(series=6, cutoffs=6, horizon=4, forecasters=NAMES)[0]


@pytest.fixture(scope="module")
def found(ledger):
    return standings(ledger, resamples=200)


@pytest.fixture(scope="module")
def aged(synthetic):
    """A ledger whose fits get older from cutoff to cutoff, with a new one at every third."""
    ledger, _ = synthetic.make_ledger(series=2, cutoffs=6, horizon=2, seeds=2, forecasters=NAMES)
    table = ledger.forecasts.drop(columns="status")
    table["staleness"] = (table["cutoff"].factorize()[0] % 3) * 2.0
    return Ledger.of(table, ledger.scales, ledger.fits, ledger.season_length)


def render(figure):
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure).draw()
    return figure


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_skill_has_a_bar_from_low_to_high_for_each_forecaster(ledger, found):
    ax = render(plots.plot_skill(ledger, found=found)).axes[0]
    bars = [line.get_xdata() for line in ax.lines if line.get_label() == "_interval" and line.get_linestyle() == "-"]
    rows = found.skill[found.skill["forecaster"] != "SeasonalNaive"]
    assert sorted(map(tuple, bars)) == sorted(zip(rows["low"], rows["high"], strict=True))
    assert "interval over series and time" in [text.get_text() for text in ax.get_legend().get_texts()][-1]
    assert not [line for line in plots.plot_skill(ledger).axes[0].lines if line.get_label() == "_interval"]


def test_intervals_of_another_comparison_are_not_drawn(ledger, found):
    with pytest.raises(ValueError, match="`found` tells other skills than are drawn, of another ledger, baseline or"):
        plots.plot_skill(ledger, "NLinear", found=found)
    for other in (standings(ledger, metric="rmse", resamples=100), standings(ledger.take(NAMES[:2]), resamples=100)):
        with pytest.raises(ValueError, match="`found` tells other skills"):
            plots.plot_skill(ledger, found=other)
    with pytest.raises(TypeError, match="`found` is a DataFrame; give the Standings"):
        plots.plot_skill(ledger, found=found.pairs)


def test_an_interval_that_leaves_the_picture_has_no_end_there(synthetic):
    kinds = {name: synthetic.FORECASTERS[name] for name in ("SeasonalNaive", "NLinear")}
    kinds["Naive"] = ("baseline", "", "", 6.0, 0)
    ledger = synthetic.make_ledger(series=6, cutoffs=6, horizon=4, forecasters=kinds)[0]
    found = standings(ledger, resamples=200)
    assert found.skill.set_index("forecaster").loc["Naive", "high"] < -0.5
    ax = render(plots.plot_skill(ledger, found=found)).axes[0]
    ends = [line for line in ax.lines if line.get_label() == "_interval" and line.get_marker() == "|"]
    assert len(ends) == 1  # of NLinear; all of Naive is beyond the edge


def test_skill_by_step_holds_the_skill_of_each_step(ledger):
    ax = render(plots.plot_skill_by_step(ledger)).axes[0]
    by_step = skill(ledger, by=("forecaster", "step")).set_index(["forecaster", "step"])["skill"]
    drawn = lines(ax)
    assert set(drawn) == set(NAMES) - {"SeasonalNaive"}
    for name, line in drawn.items():
        assert line.get_ydata() == pytest.approx(by_step[name].to_numpy())
    assert [one.get_label() for one in ax.collections] == ["_interval"] * 2
    assert "shade: 95 % interval of LSTM direct and TCN direct" in ax.get_xlabel()


def test_bands_of_skill_by_step_are_intervals_of_that_step_alone(ledger):
    ax = plots.plot_skill_by_step(ledger).axes[0]
    one = standings(ledger, step=2, resamples=500).skill.set_index("forecaster").loc["LSTM direct"]
    vertices = ax.collections[0].get_paths()[0].vertices
    assert sorted(set(vertices[vertices[:, 0] == 2, 1])) == pytest.approx([one["low"], one["high"]])


@pytest.mark.parametrize("given", [{"horizon": 1}, {"cutoffs": 1, "series": 1}, {"horizon": 60, "series": 2}])
def test_skill_by_step_of_any_shape_is_drawn(synthetic, given):
    shape = {"series": 5, "cutoffs": 2, "horizon": 3, "seeds": 1, **given}
    ax = render(plots.plot_skill_by_step(synthetic.make_ledger(forecasters=NAMES, **shape)[0])).axes[0]
    assert len(lines(ax)["NLinear"].get_xdata()) == min(shape["horizon"], 24)


@pytest.mark.parametrize("others", [1, 13])
def test_skill_by_step_names_another_of_the_family_of_the_baseline(synthetic, others):
    kinds = {"SeasonalNaive": synthetic.FORECASTERS["SeasonalNaive"]}
    kinds |= {f"rule {place}": ("baseline", "", "", 1.2 + place / 10, 0) for place in range(others)}
    ledger = synthetic.make_ledger(series=6, cutoffs=6, horizon=4, forecasters=kinds)[0]
    ax = render(plots.plot_skill_by_step(ledger)).axes[0]
    assert "rule 0" in lines(ax)
    assert "shade: 95 % interval of rule 0" in ax.get_xlabel()


def test_ticks_of_shares_say_where_they_are(ledger):
    ax = render(plots.plot_coverage_by_step(ledger)).axes[0]
    ax.set_ylim(0.7, 0.9)
    ax.figure.canvas.draw()
    said = [float(label.get_text().removesuffix("\N{NO-BREAK SPACE}%")) / 100 for label in ax.get_yticklabels()]
    assert said == pytest.approx(list(ax.get_yticks()), abs=1e-9)


def test_skill_by_step_says_why_it_is_empty(synthetic):
    ledger = synthetic.make_ledger(series=1, cutoffs=1, horizon=2, forecasters=["SeasonalNaive"])[0]
    assert "skill is not defined here" in render(plots.plot_skill_by_step(ledger)).axes[0].texts[0].get_text()
    with pytest.raises(ValueError, match="`baseline` 'Naive' is not in the ledger"):
        plots.plot_skill_by_step(ledger, "Naive")


def test_a_few_forecasters_make_a_matrix_of_win_rates_best_first(found):
    ax = render(plots.plot_win_rates(found)).axes[0]
    names = found.skill["forecaster"].tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == names
    rates = found.pairs.pivot(index="forecaster", columns="opponent", values="win_rate").loc[names, names].to_numpy()
    mesh = ax.collections[0].get_array()
    assert np.ma.filled(mesh, np.nan).reshape(4, 4) == pytest.approx(2 * rates - 1, nan_ok=True)
    row = found.pairs.iloc[0]
    cell = f"{100 * row['win_low']:.0f}–{100 * row['win_high']:.0f}"
    assert cell in [text.get_text() for text in ax.texts]
    assert "small: 95\N{NO-BREAK SPACE}% interval over series and time" in ax.get_xlabel()


def test_many_forecasters_are_drawn_against_the_best(synthetic):
    kinds = synthetic.crossed(decoders=("direct",), full=1)
    ledger = synthetic.make_ledger(series=6, cutoffs=2, horizon=2, seeds=1, forecasters=kinds)[0]
    found = standings(ledger, resamples=50)
    first, *others = found.skill["forecaster"]
    ax = render(plots.plot_win_rates(found)).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == others
    assert ax.get_xlabel().startswith(f"series in which {first} has the lower error\nbar: 95")
    points = next(line for line in ax.lines if line.get_marker() == "o")
    rates = found.pairs[found.pairs["forecaster"] == first].set_index("opponent")["win_rate"]
    assert points.get_xdata() == pytest.approx(rates[others].to_numpy())


def test_win_rates_of_one_forecaster_are_none_and_of_no_standings_a_mistake(synthetic, ledger):
    alone = standings(ledger.take(["SeasonalNaive"]), resamples=20)
    assert "no two forecasters" in render(plots.plot_win_rates(alone)).axes[0].texts[0].get_text()
    with pytest.raises(TypeError, match="`found` is a Ledger; give the Standings"):
        plots.plot_win_rates(ledger)


CONTEXTS = pd.DataFrame(
    {
        "forecaster": ["LSTM"] * 3 + ["TCN"] * 3,
        "family": ["latent-state"] * 3 + ["direct-prediction"] * 3,
        "context_length": [96, 24, 48] * 2,
        "skill": [0.3, 0.1, 0.2, 0.25, 0.0, np.nan],
        "low": [0.2, 0.0, 0.1, 0.2, -0.1, np.nan],
        "high": [0.4, 0.2, 0.3, 0.3, 0.1, np.nan],
    }
)


def test_skill_by_context_is_in_the_order_of_lengths():
    ax = render(plots.plot_skill_by_context(CONTEXTS)).axes[0]
    drawn = lines(ax)
    assert drawn["LSTM"].get_xdata().tolist() == [24, 48, 96]
    assert drawn["LSTM"].get_ydata().tolist() == [0.1, 0.2, 0.3]
    assert len(ax.collections) == 2  # bars
    plain = CONTEXTS.loc[[0, 3], ["forecaster", "context_length", "skill"]]
    assert not render(plots.plot_skill_by_context(plain)).axes[0].collections
    with pytest.raises(ValueError, match=r"`contexts` lacks the columns \['skill'\]"):
        plots.plot_skill_by_context(CONTEXTS.drop(columns="skill"))


def test_skill_by_the_age_of_fits_is_that_of_the_cutoffs_with_this_age(aged):
    ax = render(plots.plot_skill_by_staleness(aged)).axes[0]
    drawn = lines(ax)
    assert drawn["TCN direct"].get_xdata().tolist() == [0, 2, 4]
    table = aged.forecasts
    for place, age in enumerate([0, 2, 4]):
        some = table[table["staleness"] == age].drop(columns="status")
        cutoffs = aged.scales["cutoff"].isin(some["cutoff"].unique())
        naive = skill(Ledger.of(some, aged.scales[cutoffs], aged.fits, 24)).set_index("forecaster")["skill"]
        for name, line in drawn.items():
            assert line.get_ydata()[place] == pytest.approx(naive[name], abs=1e-9)


def test_many_ages_are_averaged_and_unknown_ones_told(synthetic, aged):
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=30, horizon=1, seeds=1, forecasters=NAMES)
    table = ledger.forecasts.drop(columns="status").assign(staleness=np.nan)
    unknown = Ledger.of(table, ledger.scales, ledger.fits, ledger.season_length)
    assert "the age of no fit is known" in plots.plot_skill_by_staleness(unknown).axes[0].texts[0].get_text()
    table["staleness"] = table["cutoff"].factorize()[0] * 1.0
    many = Ledger.of(table, ledger.scales, ledger.fits, ledger.season_length)
    assert len(lines(render(plots.plot_skill_by_staleness(many)).axes[0])["NLinear"].get_xdata()) == 12
    with pytest.raises(ValueError, match="`baseline` 'x' is not in the ledger"):
        plots.plot_skill_by_staleness(aged, "x")


def ranked(blocks, spread):
    """Ranks of six forecasters over blocks, whose errors differ by `spread`."""
    rng = np.random.default_rng(1)
    factors = 1 + spread * np.array([0, 0.02, 0.3, 0.32, 0.9, 1.4])
    names = ["LSTM", "TCN", "Transformer", "NLinear", "SeasonalNaive", "one of a rather long name, of many words"]
    return ranks(pd.DataFrame(factors * np.exp(rng.normal(0, 0.05, (blocks, 6))), columns=names))


def test_ranks_are_drawn_with_a_bar_for_each_group_and_the_critical_difference():
    pytest.importorskip("scikit_posthocs")
    found = ranked(25, 1.0)
    ax = render(plots.plot_ranks(found)).axes[0]
    bars = [line for line in ax.lines if line.get_label() == "alike"]
    names = found.mean_ranks.index
    joined = [
        tuple(names[round(low + 0.25) : round(high - 0.25) + 1]) for low, high in (bar.get_ydata() for bar in bars)
    ]
    assert tuple(joined) == found.groups
    assert ("LSTM", "TCN") in joined
    (scale,) = (line for line in ax.lines if line.get_label() == "critical difference")
    assert np.ptp(scale.get_xdata()) == pytest.approx(found.critical_difference)
    assert [text.get_text() for text in ax.get_yticklabels()][:5] == list(names[:5])


def test_ranks_over_few_data_sets_are_not_drawn_and_it_says_why():
    ax = render(plots.plot_ranks(ranked(4, 1.0))).axes[0]
    assert not ax.lines
    assert any("too few blocks" in text.get_text() for text in ax.texts)
    with pytest.raises(TypeError, match="`found` is a DataFrame; give the Ranks that `ranks` gives"):
        plots.plot_ranks(pd.DataFrame())
