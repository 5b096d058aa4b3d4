"""Coverage by step and PIT histograms: what is drawn is what was counted."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from forecast import plots
from forecast.evaluation import Ledger
from forecast.evaluation.metrics import coverage, score
from forecast.evaluation.pit import chance_band, pit


@pytest.fixture(scope="module")
def ledger(synthetic):
    return synthetic.make_ledger(cutoffs=6, horizon=8)[0]


def render(figure):
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure).draw()
    return figure


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def shades(ax):
    """Vertices of what is shaded for chance."""
    return [one.get_paths()[0].vertices for one in ax.collections if one.get_label() == "_chance"]


def without_actuals(made):
    return Ledger.of(made.forecasts.assign(y=np.nan, status="missing"), made.scales, made.fits, made.season_length)


@pytest.mark.parametrize(("lower", "upper"), [(0.1, 0.9), (0.3, 0.8)])
def test_coverage_lines_hold_the_share_inside_at_every_step(ledger, lower, upper):
    ax = render(plots.plot_coverage_by_step(ledger, lower, upper)).axes[0]
    expected = score(ledger, {"inside": coverage(lower, upper)}, by=["forecaster", "step"])
    drawn = lines(ax)
    assert tuple(drawn) == ledger.forecasters
    for name, line in drawn.items():
        own = expected[expected["forecaster"] == name].sort_values("step")
        np.testing.assert_array_equal(line.get_xdata(), own["step"])
        np.testing.assert_allclose(line.get_ydata(), own["inside"], rtol=1e-12)
    (honest,) = (line for line in ax.lines if line.get_label() == "_honest")
    np.testing.assert_allclose(honest.get_ydata(), upper - lower)


def test_the_shade_of_coverage_is_what_chance_does_to_as_many_points(synthetic):
    made, _ = synthetic.make_ledger(series=3, cutoffs=8, horizon=5, seeds=1, forecasters=["Naive", "NLinear"])
    forecasts = made.forecasts
    hidden = forecasts["y"].mask((forecasts["step"] == 2) & (forecasts["unique_id"] != "plant A"))
    fewer = Ledger.of(forecasts.drop(columns="status").assign(y=hidden), made.scales, made.fits, 24)
    (shade,) = shades(render(plots.plot_coverage_by_step(fewer)).axes[0])
    for step, points in ((1, 24), (2, 8)):
        at = shade[shade[:, 0] == step, 1]
        np.testing.assert_allclose([at.min(), at.max()], np.ravel(chance_band(0.8, points)))


def test_pit_bars_hold_the_shares_relative_to_what_was_expected(ledger):
    figure = render(plots.plot_pit(ledger))
    table = pit(ledger)
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(ledger.forecasters)
    for ax, name in zip(figure.axes, ledger.forecasters, strict=True):
        own = table[table["forecaster"] == name]
        np.testing.assert_allclose([bar.get_x() for bar in ax.patches], own["lower"])
        np.testing.assert_allclose([bar.get_width() for bar in ax.patches], own["expected"])
        np.testing.assert_allclose([bar.get_height() for bar in ax.patches], own["share"] / own["expected"])
        wide, narrow = shades(ax)
        assert np.ptp(wide[:, 1]) > np.ptp(narrow[:, 1])
        low, high = chance_band(0.1, int(own["points"].iloc[0]))
        np.testing.assert_allclose([narrow[:, 1].min(), narrow[:, 1].max()], [low / 0.1, high / 0.1])


def test_pit_of_one_step_and_some_forecasters(ledger):
    figure = render(plots.plot_pit(ledger, ["NLinear"], step=3))
    (ax,) = figure.axes
    own = pit(ledger, 3).query("forecaster == 'NLinear'")
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], own["share"] / own["expected"])
    assert "step 3 (18 actuals)" in figure.get_suptitle()
    box = figure._suptitle.get_window_extent(figure.canvas.get_renderer())  # type: ignore[union-attr]
    assert box.x1 < figure.bbox.x1


def test_families_have_the_colours_of_the_other_plots(ledger):
    figure = plots.plot_pit(ledger)
    colours = {ax.get_title(loc="left"): ax.patches[0].get_facecolor() for ax in figure.axes}
    assert colours["LSTM direct"] == colours["LSTM recursive"]
    assert len({colours[name] for name in ("Naive", "NLinear", "LSTM direct", "TCN direct")}) == 4


def test_both_draw_into_axes_that_are_given(ledger):
    figure = Figure(figsize=(9, 4))
    left, right = figure.subplots(1, 2)
    assert plots.plot_coverage_by_step(ledger, ax=left) is figure
    assert plots.plot_pit(ledger, ax=right) is figure
    assert right.get_title(loc="left") == ledger.forecasters[0]
    render(figure)
    with pytest.raises(ValueError, match="`ax` holds 1 axes, and 2 panels are drawn"):
        plots.plot_pit(ledger, ["Naive", "Drift"], ax=right)


@pytest.mark.parametrize("draw", [plots.plot_coverage_by_step, plots.plot_pit])
def test_odd_ledgers_are_drawn_without_a_warning(synthetic, draw):
    small, _ = synthetic.make_ledger(series=1, cutoffs=1, horizon=1, seeds=1, forecasters=["Naive"])
    render(draw(small))
    many, _ = synthetic.make_ledger(series=1, cutoffs=1, horizon=2, seeds=1, forecasters=synthetic.crossed(full=1))
    assert 1 <= len(render(draw(many)).axes) <= 12
    (text,) = render(draw(without_actuals(small))).axes[0].texts
    assert text.get_text() == "no actual was observed"


@pytest.mark.parametrize("draw", [plots.plot_coverage_by_step, plots.plot_pit])
def test_what_is_no_ledger_is_refused_by_its_name(draw):
    with pytest.raises(TypeError, match=r"`ledger` must be a Ledger, as backtest gives it; got pandas.*DataFrame"):
        draw(pd.DataFrame({"y": [1.0]}))


def test_what_is_not_in_the_ledger_is_refused_by_name(ledger):
    with pytest.raises(ValueError, match="`forecasters` 'Prophet' is not in the ledger"):
        plots.plot_pit(ledger, ["Prophet"])
    with pytest.raises(ValueError, match="`step` is 9; the ledger has the steps 1 to 8"):
        plots.plot_pit(ledger, step=9)
    with pytest.raises(ValueError, match=r"level 0\.05"):
        plots.plot_coverage_by_step(ledger, 0.05, 0.95)
