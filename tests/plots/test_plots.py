"""What is drawn is what was measured; odd ledgers are drawn without a failure or a warning."""

import dataclasses
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from forecast import plots
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import coverage, score
from forecast.evaluation.plan import Plan
from forecast.evaluation.skill import skill
from forecast.frame import check_frame
from forecast.plots import style
from forecast.plots.bands import central_interval
from forecast.plots.focus import best_of_each
from forecast.plots.svg import embedded_svg

LEDGER_PLOTS = [
    plots.plot_forecasts,
    plots.plot_error_by_step,
    plots.plot_error_by_cutoff,
    plots.plot_skill,
    plots.plot_calibration,
]


def render(figure):
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure).draw()
    return figure


def lines(ax):
    """Lines that stand for a forecaster, by name."""
    found = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert len({line.get_label() for line in found}) == len(found)
    return {line.get_label(): line for line in found}


def texts(ax):
    return [text.get_text() for text in ax.texts]


def overlaps(artists, figure):
    boxes = [artist.get_window_extent(figure.canvas.get_renderer()) for artist in artists]
    return [
        (i, k)
        for i, one in enumerate(boxes)
        for k, other in enumerate(boxes[:i])
        if one.x0 < other.x1 - 0.5 and other.x0 < one.x1 - 0.5 and one.y0 < other.y1 - 0.5 and other.y0 < one.y1 - 0.5
    ]


@pytest.mark.parametrize("along", ["step", "cutoff"])
@pytest.mark.parametrize("metric", ["mase", "wql", "coverage", "bias"])
def test_error_lines_hold_the_scores(ledger, along, metric):
    figure = render(getattr(plots, f"plot_error_by_{along}")(ledger, metric))
    drawn = lines(figure.axes[0])
    assert tuple(drawn) == ledger.forecasters
    expected = score(ledger, [metric], by=["forecaster", along])
    for name, line in drawn.items():
        own = expected[expected["forecaster"] == name].sort_values(along)
        np.testing.assert_allclose(line.get_ydata(), own[metric], rtol=1e-12)
        x = line.get_xdata()
        np.testing.assert_array_equal(x, own[along].to_numpy(x.dtype))


def test_error_by_step_can_draw_skill(ledger):
    drawn = lines(plots.plot_error_by_step(ledger, "skill").axes[0])
    expected = skill(ledger, by=["forecaster", "step"])
    own = expected[expected["forecaster"] == "TCN direct"].sort_values("step")
    np.testing.assert_allclose(drawn["TCN direct"].get_ydata(), own["skill"], rtol=1e-12)


def test_error_shades_hold_the_range_over_seeds(ledger):
    ax = plots.plot_error_by_step(ledger, "mae").axes[0]
    seeds = score(ledger, ["mae"], by=["forecaster", "seed", "step"]).groupby(["forecaster", "step"])["mae"]
    shade = ax.collections[ledger.forecasters.index("TCN direct")].get_paths()[0].vertices
    for step in (1, 24):
        at = shade[shade[:, 0] == step, 1]
        np.testing.assert_allclose(
            [at.min(), at.max()], [edge["TCN direct", step] for edge in (seeds.min(), seeds.max())]
        )


def test_an_unknown_metric_is_refused_by_name(ledger):
    with pytest.raises(ValueError, match=r"`metric` 'smape' is not known; choose one of \['mae'"):
        plots.plot_error_by_step(ledger, "smape")


def test_skill_marks_and_seed_dots_hold_the_skill(ledger):
    ax = render(plots.plot_skill(ledger)).axes[0]
    means = skill(ledger).set_index("forecaster")["skill"]
    low = ax.get_xlim()[0]
    drawn = lines(ax)
    assert set(drawn) == set(ledger.forecasters)
    for name, line in drawn.items():
        if means[name] > low:
            np.testing.assert_allclose(line.get_xdata(), [means[name]], rtol=1e-12)
        else:
            assert line.get_marker() == "<"
    seeds = skill(ledger, by=("forecaster", "seed"))
    dots = np.concatenate([line.get_xdata() for line in ax.lines if line.get_label() == "_seed"])
    networks = seeds[seeds["forecaster"].duplicated(keep=False)]
    np.testing.assert_allclose(np.sort(dots), np.sort(networks["skill"]), rtol=1e-12)


def test_skill_groups_families_and_puts_the_best_first(ledger):
    labels = [label.get_text() for label in plots.plot_skill(ledger).axes[0].get_yticklabels()]
    assert labels[0] == "baseline"
    assert labels.index("linear") < labels.index("latent-state") < labels.index("direct-prediction")
    means = skill(ledger).set_index("forecaster")["skill"]
    networks = labels[labels.index("latent-state") + 1 : labels.index("direct-prediction")]
    assert networks == sorted(networks, key=lambda name: -means[name])
    assert len(labels) == len(ledger.forecasters) + 4


def test_skill_writes_every_value_in_figures(ledger):
    ax = plots.plot_skill(ledger).axes[0]
    value = skill(ledger).set_index("forecaster")["skill"]["Naive"]
    assert f"−{-100 * value:.1f} %" in texts(ax)
    assert "0.0 %" in texts(ax)


def test_a_family_has_one_colour_and_families_differ(ledger):
    drawn = lines(plots.plot_skill(ledger).axes[0])
    colour = {name: line.get_color() for name, line in drawn.items()}
    assert colour["LSTM direct"] == colour["LSTM recursive"]
    assert len({colour[name] for name in ("Naive", "NLinear", "LSTM direct", "TCN direct")}) == 4


def test_no_two_lines_look_alike(ledger):
    drawn = lines(plots.plot_error_by_step(ledger).axes[0])
    assert len({(line.get_color(), str(line.get_linestyle())) for line in drawn.values()}) == len(drawn)


def test_calibration_holds_the_coverage_of_every_central_interval(ledger):
    drawn = lines(render(plots.plot_calibration(ledger)).axes[0])
    pairs = {0.2: (0.4, 0.6), 0.4: (0.3, 0.7), 0.6: (0.2, 0.8), 0.8: (0.1, 0.9)}
    expected = score(ledger, {str(level): coverage(*pair) for level, pair in pairs.items()}).set_index("forecaster")
    for name, line in drawn.items():
        np.testing.assert_allclose(line.get_xdata(), list(pairs))
        np.testing.assert_allclose(line.get_ydata(), expected.loc[name].iloc[:4].to_numpy(float))


@pytest.mark.parametrize("levels", [None, (0.1, 0.5, 0.9)])
def test_calibration_runs_from_0_to_100_percent_and_its_words_lie_on_no_line(synthetic, levels):
    made, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=3, seeds=1)
    forecasts = made.forecasts
    middle = forecasts[["0.5"]].to_numpy()
    # Shares of 0 and of 100 percent: lines along the lower and the upper edge.
    width = forecasts["forecaster"].map({"Naive": 1e3, "Drift": 1e-6}).fillna(1.0).to_numpy()[:, None]
    forecasts = forecasts.assign(y=forecasts["y"] + 0.01)
    forecasts[synthetic.LEVELS] = middle + (forecasts[synthetic.LEVELS].to_numpy() - middle) * width
    if levels is not None:
        forecasts = forecasts.drop(columns=[name for name in synthetic.LEVELS if float(name) not in levels])
    figure = render(plots.plot_calibration(Ledger.of(forecasts, made.scales, made.fits, 24)))
    ax = figure.axes[0]
    low, high = ax.get_ylim()
    assert -0.05 < low <= 0
    assert 1 <= high < 1.05
    renderer = figure.canvas.get_renderer()
    words = {text.get_text(): text.get_window_extent(renderer) for text in ax.texts if "too" in text.get_text()}
    assert set(words) == {"too wide", "too narrow"}
    drawn = [line for line in ax.lines if line.get_label() != "_leader"]
    assert drawn
    for box in words.values():
        assert not any(line.get_path().transformed(line.get_transform()).intersects_bbox(box, False) for line in drawn)


def test_forecasts_draw_history_actuals_median_and_bands(ledger, history):
    cutoff = ledger.forecasts["cutoff"].iloc[0]
    figure = plots.plot_forecasts(
        ledger, history, ids=["plant B"], cutoff=cutoff, forecasters=["NLinear", "TCN direct"], tail=30
    )
    render(figure)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["NLinear", "TCN direct"]
    table = ledger.forecasts
    for ax in figure.axes:
        name = ax.get_title(loc="left")
        rows = table[(table["forecaster"] == name) & (table["unique_id"] == "plant B") & (table["cutoff"] == cutoff)]
        rows = rows[rows["seed"] == 0]
        drawn = lines(ax)
        np.testing.assert_array_equal(drawn["median"].get_ydata(), rows["prediction"])
        np.testing.assert_array_equal(drawn["actual"].get_ydata(), rows["y"])
        past = history[(history["unique_id"] == "plant B") & (history["ds"] <= cutoff)].tail(30)
        np.testing.assert_array_equal(drawn["history"].get_ydata(), past["y"])
        assert len(ax.collections) == 2
        wide = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert wide.min() == pytest.approx(rows["0.1"].min())
        assert wide.max() == pytest.approx(rows["0.9"].max())


def test_forecasts_without_history_draw_the_actuals_of_earlier_cutoffs(ledger):
    figure = plots.plot_forecasts(ledger, ids=["plant A"], forecasters=["NLinear"], tail=10)
    table = ledger.forecasts
    past = table[(table["unique_id"] == "plant A") & (table["ds"] <= table["cutoff"].max())]
    expected = past.drop_duplicates("ds").sort_values("ds")["y"].tail(10)
    np.testing.assert_array_equal(lines(figure.axes[0])["history"].get_ydata(), expected)


def test_forecasts_choose_the_best_of_each_family(ledger):
    mae = score(ledger, ["mae"]).set_index("forecaster")["mae"]
    figure = plots.plot_forecasts(ledger)
    shown = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    baselines = ["Naive", "SeasonalNaive", "Drift", "WindowAverage"]
    assert shown[:2] == [mae[baselines].idxmin(), "NLinear"]
    assert len(shown) == 4
    assert len(figure.axes) == 4 * 3


def test_forecasts_show_every_family_that_the_library_knows(ledger):
    fits = ledger.fits.assign(family=ledger.fits["family"].mask(ledger.fits["forecaster"] == "Drift", "control"))
    figure = plots.plot_forecasts(dataclasses.replace(ledger, fits=fits))
    shown = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert shown == best_of_each(dataclasses.replace(ledger, fits=fits))
    assert len(shown) == 5


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("ids", ["plant Z"], "`ids` 'plant Z' is not in the ledger; it holds plant A, plant B, plant C"),
        ("forecasters", ["ARIMA"], "`forecasters` 'ARIMA' is not in the ledger"),
        ("cutoff", "1999-01-01", "`cutoff` Timestamp.* is not in the ledger"),
        ("forecasters", [], "`forecasters` is empty"),
    ],
)
def test_forecasts_refuse_what_is_not_there(ledger, argument, value, message):
    with pytest.raises(ValueError, match=message):
        plots.plot_forecasts(ledger, **{argument: value})


def test_a_lone_name_instead_of_a_list_is_refused(ledger):
    with pytest.raises(TypeError, match=r"`ids` must be a list of names, got the string 'plant A'"):
        plots.plot_forecasts(ledger, ids="plant A")


def test_central_interval_interpolates_between_levels():
    rows = pd.DataFrame({"0.1": [0.0, 1.0], "0.2": [10.0, 11.0], "0.3": [20.0, 21.0], "0.7": [60.0, 61.0]})
    rows = rows.assign(**{"0.8": [70.0, 71.0], "0.9": [80.0, 81.0]})
    low, high = central_interval(rows, 0.5)
    np.testing.assert_allclose(low, [15.0, 16.0])
    np.testing.assert_allclose(high, [65.0, 66.0])
    low, high = central_interval(rows, 0.8)
    np.testing.assert_allclose(low, rows["0.1"])
    np.testing.assert_allclose(high, rows["0.9"])
    assert central_interval(rows, 0.9) is None


def bars(ax):
    """Start, end and fold row of every bar, by colour."""
    found = {}
    for patch in ax.patches:
        found.setdefault(matplotlib.colors.to_hex(patch.get_facecolor()), []).append(
            (patch.get_x(), patch.get_x() + patch.get_width(), round(patch.get_y() + patch.get_height() / 2))
        )
    return found


def test_folds_draw_training_validation_and_test_where_they_are(synthetic):
    plan = synthetic.make_plan(cutoffs=6, refit=3, clock="int")
    ax = render(plots.plot_folds(plan)).axes[0]
    drawn = bars(ax)
    dark, pale = drawn["#56789c"], drawn["#c5d1dd"]
    assert [row for *_, row in dark] == [0, 3]
    assert [row for *_, row in pale] == [1, 2, 4, 5]
    for start, end, row in dark + pale:
        assert (start, end) == (plan["train_start"][row], plan["train_end"][row])
    for start, end, row in drawn["#d55e00"]:
        assert (start, end) == (plan["test_start"][row], plan["test_end"][row])
    for start, end, row in drawn["#e0a33a"] + drawn["#f3dfb9"]:
        assert start == plan["validation_start"][row]
        assert end == plan["cutoff"][row - row % 3]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), plan["cutoff"])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["0", "1 (fit of 0)", "2 (fit of 0)", "3", "4 (fit of 3)", "5 (fit of 3)"]


@pytest.mark.parametrize("clock", ["dates", "int"])
@pytest.mark.parametrize("cutoffs", [1, 60])
@pytest.mark.parametrize("validation", [True, False])
def test_folds_of_any_number_are_drawn_without_overlapping_labels(synthetic, clock, cutoffs, validation):
    plan = synthetic.make_plan(cutoffs=cutoffs, clock=clock, validation=validation)
    figure = render(plots.plot_folds(plan))
    ax = figure.axes[0]
    labels = [label for label in ax.get_xticklabels() + ax.get_yticklabels() if label.get_text()]
    assert labels
    assert not overlaps(labels, figure)
    assert ("validation" in [text.get_text() for text in ax.get_legend().get_texts()]) == validation


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_long_training_past_is_cut_and_said(synthetic, zone):
    plan = synthetic.make_plan(zone=zone)
    plan["train_start"] -= pd.Timedelta(days=900)
    ax = render(plots.plot_folds(plan)).axes[0]
    assert f"training begins at {plan['train_start'].min()}" in ax.get_xlabel()
    tested = bars(ax)["#d55e00"]
    assert tested[0][0] - ax.get_xlim()[0] < 3 * (tested[-1][1] - tested[0][0])


def test_folds_name_the_columns_that_are_missing(synthetic):
    with pytest.raises(ValueError, match=r"`plan` lacks the columns \['fit_fold'\]"):
        plots.plot_folds(synthetic.make_plan().drop(columns="fit_fold"))
    with pytest.raises(ValueError, match="`plan` holds no fold"):
        plots.plot_folds(synthetic.make_plan().iloc[:0])


@pytest.mark.parametrize("plot", LEDGER_PLOTS)
@pytest.mark.parametrize(
    "shape",
    [
        {"series": 1, "cutoffs": 1, "seeds": 1, "horizon": 1},
        {"series": 1, "cutoffs": 2, "seeds": 3, "horizon": 4, "clock": "int"},
        {"series": 2, "cutoffs": 3, "horizon": 5, "zone": "Europe/Berlin"},
    ],
    ids=["one of all", "integer ds", "time zone"],
)
def test_small_and_odd_ledgers_are_drawn(synthetic, plot, shape):
    ledger, _ = synthetic.make_ledger(**shape)
    render(plot(ledger))


@pytest.mark.parametrize("plot", LEDGER_PLOTS)
@pytest.mark.parametrize("hole", ["some", "one series", "all"])
def test_actuals_that_were_not_observed_are_drawn_around(synthetic, plot, hole):
    ledger, _ = synthetic.make_ledger(series=2, cutoffs=3, horizon=4)
    table = ledger.forecasts.copy()
    where = {"some": table["step"] == 2, "one series": table["unique_id"] == "plant A", "all": table["step"] > 0}[hole]
    table.loc[where, "y"] = np.nan
    figure = render(plot(synthetic.with_forecasts(ledger, table)))
    if hole == "all" and plot is not plots.plot_forecasts:
        assert any("no" in text for text in texts(figure.axes[0]))


@pytest.mark.parametrize("plot", LEDGER_PLOTS)
def test_a_ledger_without_quantiles_is_drawn(synthetic, plot):
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=3)
    render(
        plot(
            Ledger.of(
                ledger.forecasts.drop(columns=synthetic.LEVELS).drop(columns="status"),
                ledger.scales,
                ledger.fits,
                ledger.season_length,
            )
        )
    )


@pytest.mark.parametrize("plot", [plots.plot_error_by_step, plots.plot_error_by_cutoff, plots.plot_calibration])
@pytest.mark.parametrize("many", [9, 12, 30])
def test_names_at_the_line_ends_never_overlap(synthetic, plot, many):
    names = [*list(synthetic.FORECASTERS)[: min(many, 9)], *(f"network {i}" for i in range(many - 9))]
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=3, seeds=1, forecasters=names)
    figure = render(plot(ledger))
    ax = figure.axes[0]
    labels = [text for text in ax.texts if text.get_text() in names]
    assert {label.get_text() for label in labels} == set(names if many <= 12 else best_of_each(ledger, decoder=True))
    assert set(lines(ax)) == set(names)
    assert not overlaps(labels, figure)
    inside = ax.get_window_extent()
    assert all(label.get_window_extent().x0 > inside.x1 for label in labels)
    assert all(label.get_window_extent().x1 <= figure.bbox.x1 for label in labels)


@pytest.mark.parametrize("plot", [plots.plot_error_by_step, plots.plot_error_by_cutoff, plots.plot_calibration])
def test_of_many_forecasters_the_best_of_each_family_and_decoder_are_named_and_the_others_faint(synthetic, plot):
    kinds = synthetic.crossed()
    ledger, _ = synthetic.make_ledger(series=2, cutoffs=2, horizon=3, forecasters=kinds)
    mae = score(ledger, ["mae"]).set_index("forecaster")["mae"]
    groups = {}
    for name, (family, _, decoder, *_) in kinds.items():
        groups.setdefault((family, decoder), []).append(name)
    best = {mae[names].idxmin() for names in groups.values()}
    assert len(best) == 12 < len(kinds)
    figure = render(plot(ledger))
    ax = figure.axes[0]
    assert {text.get_text() for text in ax.texts if text.get_text() in kinds} == best
    widths = {name: line.get_linewidth() for name, line in lines(ax).items()}
    assert set(widths) == set(kinds)
    assert {name for name, width in widths.items() if width > 1} == best
    note = ax.get_xlabel().split("\n")[1:]
    assert note[0] == "named: the best of each family and decoder"
    assert note[1].startswith(f"faint: the other {len(kinds) - 12}")
    box = ax.xaxis.label.get_window_extent(figure.canvas.get_renderer())
    assert box.x0 >= 0
    assert box.y0 >= 0


def test_a_hopeless_forecaster_that_is_faint_does_not_squeeze_the_others_and_is_told(synthetic):
    ledger, _ = synthetic.make_ledger(series=2, cutoffs=2, horizon=3, forecasters=synthetic.crossed())
    table = ledger.forecasts.copy()
    table.loc[table["forecaster"] == "Naive", "prediction"] += 1000.0
    ax = render(plots.plot_error_by_step(synthetic.with_forecasts(ledger, table))).axes[0]
    assert ax.get_ylim()[1] < 10
    assert max(lines(ax)["Naive"].get_ydata()) > 100
    assert ax.get_xlabel().endswith("faint: the other 21, 1 of them beyond the edge")


def test_the_best_of_each_family_come_in_the_order_of_families(ledger):
    mae = score(ledger, ["mae"]).set_index("forecaster")["mae"]
    best = best_of_each(ledger)
    assert best[1:3] == ["NLinear", mae[["LSTM direct", "LSTM recursive"]].idxmin()]
    assert best_of_each(ledger, decoder=True) == [best[0], "NLinear", "LSTM direct", "LSTM recursive", best[3]]


@pytest.mark.parametrize("many", [9, 33])
def test_rows_of_skill_never_overlap(synthetic, many):
    forecasters = synthetic.crossed() if many == 33 else None
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=3, forecasters=forecasters)
    figure = render(plots.plot_skill(ledger))
    ax = figure.axes[0]
    assert len(ax.texts) == many
    assert not overlaps(ax.get_yticklabels(), figure)
    assert not overlaps(ax.texts, figure)


@pytest.mark.parametrize(
    "stamps",
    [
        pd.date_range("2001-01-17", periods=periods, freq=freq)
        for freq in ("min", "h", "D", "W", "MS", "QS", "YS")
        for periods in (3, 24, 110)
    ],
    ids=lambda stamps: f"{len(stamps)} {stamps.freqstr}",
)
def test_dates_of_any_span_never_overlap(stamps):
    with style.look():
        figure, ax = style.panel(None, (2.6, 1.6))
        ax.plot(style.instants(stamps), np.arange(len(stamps)))
        style.time_axis(ax, stamps, ticks=4)
    render(figure)
    low, high = ax.get_xlim()
    labels = [tick.label1 for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert len(labels) >= 1
    assert not overlaps(labels, figure)


@pytest.mark.parametrize("plot", [plot for plot in LEDGER_PLOTS if plot is not plots.plot_forecasts])
def test_a_plot_goes_into_axes_that_are_given(ledger, plot):
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    assert plot(ledger, ax=right) is figure
    assert not left.lines
    assert right.lines
    render(figure)


def test_a_plot_goes_into_axes_of_a_subfigure(ledger):
    figure = Figure(layout="constrained")
    _, right = figure.subfigures(1, 2)
    assert plots.plot_error_by_step(ledger, ax=right.subplots()) is figure
    render(figure)


def test_a_name_is_text_and_nothing_else(synthetic):
    names = ["_hidden", "$a$ costs $b", "<b>&amp;", "a" * 90, "line\nbreak"]
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=3, forecasters=["SeasonalNaive", *names])
    for plot in LEDGER_PLOTS:
        render(plot(ledger))
    render(plots.plot_forecasts(ledger, forecasters=names))
    shown = [style.shorten(name) for name in names]
    assert set(shown) <= set(texts(plots.plot_error_by_step(ledger).axes[0]))
    assert max(map(len, shown)) <= 30


def test_settings_of_the_caller_come_back(ledger):
    before = dict(matplotlib.rcParams)
    plots.plot_skill(ledger)
    assert dict(matplotlib.rcParams) == before


def test_spread_keeps_order_and_distance():
    wanted = np.array([0.0, 0.01, 0.02, 0.5, 0.9, 0.9])
    moved = style.spread(wanted, 0.1)
    assert (np.diff(moved) >= 0.1 - 1e-12).all()
    assert moved[:3].mean() == pytest.approx(0.01)
    assert moved[3] == 0.5
    np.testing.assert_allclose(style.spread(np.array([0.1, 0.6]), 0.1), [0.1, 0.6])


def test_an_svg_carries_its_prefix_in_every_id_and_reference(ledger):
    one = embedded_svg(plots.plot_error_by_step(ledger), "one", 'a "label" <&>')
    assert one == embedded_svg(plots.plot_error_by_step(ledger), "one", 'a "label" <&>')
    assert one.startswith('<svg role="img" aria-label="a &quot;label&quot; &lt;&amp;&gt;"')
    ids = [part.split('"')[0] for part in one.split(' id="')[1:]]
    assert len(ids) == len(set(ids)) > 10
    assert all(name.startswith("one-") for name in ids)
    references = [part.split('"')[0] for part in one.split('href="#')[1:]]
    references += [part.split(")")[0] for part in one.split("url(#")[1:]]
    assert set(references) <= set(ids)
    assert references
    assert "http" not in one
    assert ">TCN direct</text>" in one


def test_plots_import_neither_pyplot_nor_torch_and_naming_them_costs_nothing():
    program = """
import sys
import forecast.plots as plots
assert 'matplotlib' not in sys.modules, 'import forecast.plots imports matplotlib'
for name in plots.__all__:
    getattr(plots, name)
for module in ('matplotlib.pyplot', 'torch', 'lightning', 'sklearn'):
    assert module not in sys.modules, module
assert set(plots.__all__) <= set(dir(plots))
try:
    plots.plot_pie
except AttributeError as error:
    assert "has no attribute 'plot_pie'" in str(error)
else:
    raise AssertionError('an unknown name was given')
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("clock", ["dates", "int"])
def test_the_table_of_a_plan_is_drawn_as_it_comes(synthetic, clock):
    _, history = synthetic.make_ledger(series=2, cutoffs=2, seeds=1, clock=clock, forecasters=["SeasonalNaive"])
    panel = check_frame(history)
    table = Plan(horizon=24, n_folds=3, refit=2).table(panel)
    ax = render(plots.plot_folds(table)).axes[0]
    keys = [text.get_text() for text in ax.get_legend().get_texts()]
    assert keys == ["training", "pale: fit reused", "cutoff", "forecast and scored"]
    assert len(bars(ax)["#d55e00"]) == 3


@pytest.mark.parametrize(
    "draw",
    [
        plots.plot_backtest,
        plots.plot_calibration,
        plots.plot_effects,
        plots.plot_error_by_cutoff,
        plots.plot_error_by_step,
        plots.plot_forecasts,
        plots.plot_skill,
    ],
)
def test_what_is_no_ledger_is_refused_by_its_name(draw):
    with pytest.raises(TypeError, match=r"`ledger` must be a Ledger, as backtest gives it; got pandas.*DataFrame"):
        draw(pd.DataFrame({"y": [1.0]}))


def test_no_plot_of_scores_makes_the_long_table_of_all_forecasts(ledger, monkeypatch):
    monkeypatch.setattr(Ledger, "forecasts", property(lambda ledger: pytest.fail("the long table was made")))
    render(plots.plot_skill(ledger))
    render(plots.plot_calibration(ledger))
