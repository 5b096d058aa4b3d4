"""What a look inside has found is what is drawn, whatever the stamps, and no two labels touch."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from forecast import plots
from forecast.plots import style
from forecast.plots.ticks import plain_logarithms

RNG = np.random.default_rng(0)


def stamps_of(clock, count, freq="h"):
    if clock == "int":
        return pd.Index(np.arange(100, 100 + count))
    return pd.date_range("2024-03-30", periods=count, freq=freq, tz="Europe/Berlin" if clock == "zone" else None)


def attention_maps(tokens=14, depth=2, heads=4, clock="dates", freq="h"):
    stamps, rows = stamps_of(clock, tokens, freq), []
    for layer in range(1, depth + 1):
        for head in range(1, heads + 1):
            for query in range(tokens):
                weights = RNG.dirichlet(np.ones(query + 1))
                rows += [
                    ("a", stamps[-1], layer, head, stamps[query], stamps[key], query - key, weight)
                    for key, weight in enumerate(weights)
                ]
    names = ["unique_id", "cutoff", "layer", "head", "query", "key", "lag", "weight"]
    return pd.DataFrame(rows, columns=names)


def lags(tokens=14, depth=2, heads=4):
    weights = RNG.dirichlet(np.ones(tokens), (depth, heads))
    layer, head, lag = (index.ravel() for index in np.indices(weights.shape))
    return pd.DataFrame({"layer": layer + 1, "head": head + 1, "lag": 8 * lag, "weight": weights.ravel()})


def across(series=3, depth=2, names="plant {}"):
    weights = RNG.dirichlet(np.ones(series), (depth, 2, series))
    ids = np.array([names.format(i) for i in range(series)])
    layer, head, reader, read = (index.ravel() for index in np.indices(weights.shape))
    columns = {"layer": layer + 1, "head": head + 1, "reader": ids[reader], "read": ids[read]}
    return pd.DataFrame(columns | {"weight": weights.ravel()})


def alignment(tokens=14, horizon=24, heads=1, depth=1, clock="dates", freq="h"):
    stamps = stamps_of(clock, tokens + horizon, freq)
    weights = RNG.dirichlet(np.ones(tokens), (depth, heads, horizon))
    layer, head, step, token = (index.ravel() for index in np.indices(weights.shape))
    columns = {"unique_id": "a", "cutoff": stamps[tokens - 1], "layer": layer + 1, "head": head + 1, "step": step + 1}
    return pd.DataFrame(
        columns | {"ds": stamps[tokens + step], "key": stamps[token], "weight": weights.ravel()},
    )


def timescales(depth=2, width=16, context=168):
    parts = [
        pd.DataFrame({"layer": layer, "unit": range(1, width + 1), "cell": "lstm", "timescale": RNG.gamma(3, 9, width)})
        for layer in range(1, depth + 1)
    ]
    table = pd.concat(parts, ignore_index=True)
    table.attrs = {"context": context, "patch_length": 8}
    return table


def field(steps=(1, 12, 24), context=168, claimed=104, warning="the context exceeds the claimed field"):
    rows = []
    for part in ("backbone", "whole"):
        for step in steps:
            gradient = np.exp(-np.arange(context) / 20.0) * RNG.uniform(0.5, 1, context)
            gradient[claimed or context :] = 0
            share = gradient / gradient.sum()
            columns = {"part": part, "step": step, "lag": range(context), "gradient": gradient, "share": share}
            rows.append(pd.DataFrame(columns))
    table = pd.concat(rows, ignore_index=True)
    table.attrs = {"context": context, "claimed": claimed, "warning": warning}
    return table


def reach(names=("rnn", "lstm", "tcn", "transformer"), tokens=64):
    rows = []
    for place, name in enumerate(names):
        relative = np.exp(-np.arange(tokens) / (2.0 + 9 * place))
        relative[20 if name == "tcn" else tokens :] = 0
        family = "direct-prediction" if name in ("tcn", "transformer") else "latent-state"
        half = np.inf if name == "transformer" else 3.0 + place
        columns = {"forecaster": name, "family": family, "lag": range(tokens), "relative": relative, "half_life": half}
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)


def occluded(by=("receptive_field", "attention")):
    rows = [
        (chosen, draw, lags, RNG.uniform(0.1, 0.2) * (lags + 20 * (chosen != "random")))
        for lags in (8, 17, 34, 67)
        for chosen in ("random", *by)
        for draw in range(8 if chosen == "random" else 1)
    ]
    return pd.DataFrame(rows, columns=["chosen", "draw", "lags", "change"])


FRAMES = {
    plots.plot_attention: attention_maps,
    plots.plot_attention_by_lag: lags,
    plots.plot_attention_across_series: across,
    plots.plot_alignments: alignment,
    plots.plot_gates: timescales,
    plots.plot_receptive_field: field,
    plots.plot_gradient_reach: reach,
    plots.plot_occlusion: occluded,
}


def render(figure):
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure).draw()
    return figure


def boxes(figure):
    """Everything written in a figure, as (text, box)."""
    renderer = figure.canvas.get_renderer()
    written = [*figure.texts]
    for ax in figure.axes:
        if not ax.get_visible():
            continue
        written += [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
        written += [ax.xaxis.get_offset_text(), ax.yaxis.get_offset_text()]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            edge = 1e-9 * (high - low)
            ticks = [tick for tick in axis.get_major_ticks() if low - edge <= tick.get_loc() <= high + edge]
            written += [tick.label1 for tick in ticks if tick.label1.get_visible()]
        if legend := ax.get_legend():
            written += legend.get_texts()
    for legend in figure.legends:
        written += legend.get_texts()
    shown = [one for one in written if one is not None and one.get_visible() and one.get_text().strip()]
    return [(one.get_text(), one.get_window_extent(renderer)) for one in shown]


def touching(figure):
    found = boxes(figure)
    return [
        (one, other)
        for i, (one, a) in enumerate(found)
        for other, b in found[:i]
        if a.x0 < b.x1 - 0.5 and b.x0 < a.x1 - 0.5 and a.y0 < b.y1 - 0.5 and b.y0 < a.y1 - 0.5
    ]


def shades(ax):
    (mesh,) = [one for one in ax.collections if isinstance(one, QuadMesh)]
    return mesh.get_array()


@pytest.mark.parametrize("plot", FRAMES, ids=lambda plot: plot.__name__)
def test_no_two_labels_touch_and_all_lie_inside(plot):
    figure = render(plot(FRAMES[plot]()))
    assert touching(figure) == []
    for text, box in boxes(figure):
        assert box.x0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y0 >= -1, text
        assert box.y1 <= figure.bbox.y1 + 1, text


@pytest.mark.parametrize("plot", FRAMES, ids=lambda plot: plot.__name__)
def test_what_is_missing_is_named(plot):
    table = FRAMES[plot]()
    column = table.columns[-1]
    with pytest.raises(ValueError, match=rf"` lacks the columns \['{column}'\]; it needs \["):
        plot(table.drop(columns=column))
    with pytest.raises(ValueError, match="has no row; there is nothing to draw"):
        plot(table.iloc[:0])


@pytest.mark.parametrize("clock", ["dates", "zone", "int"])
@pytest.mark.parametrize("freq", ["h", "D", "MS"])
def test_maps_stand_at_their_stamps(clock, freq):
    maps = attention_maps(tokens=6, depth=1, heads=2, clock=clock, freq=freq)
    figure = render(plots.plot_attention(maps))
    assert touching(figure) == []
    for head in (1, 2):
        own = maps[maps["head"] == head].pivot(index="query", columns="key", values="weight")
        drawn = shades(figure.axes[head - 1])
        np.testing.assert_allclose(np.ma.filled(drawn, np.nan), own.to_numpy())
        assert np.ma.getmaskarray(drawn).sum() == 15
    ax = figure.axes[0]
    last = ax.convert_xunits(style.instants([maps["key"].iloc[-1]])[0])
    assert ax.get_xlim()[1] == pytest.approx(last)
    assert ax.get_ylim()[0] == pytest.approx(last), "the newest token that reads is the lowest row"


@pytest.mark.parametrize(
    ("heads", "depth", "panels"), [(1, 1, 1), (2, 1, 2), (4, 1, 4), (4, 2, 8), (4, 3, 8), (3, 1, 3)]
)
def test_alignments_have_a_panel_for_each_head(heads, depth, panels):
    maps = alignment(heads=heads, depth=depth)
    figure = render(plots.plot_alignments(maps))
    drawn = [ax for ax in figure.axes if any(isinstance(one, QuadMesh) for one in ax.collections)][:-1]
    assert len([ax for ax in drawn if ax.get_visible()]) == panels
    own = maps[(maps["head"] == 1) & (maps["layer"] == 1)].pivot(index="ds", columns="key", values="weight")
    np.testing.assert_allclose(shades(drawn[0]), own)
    assert touching(figure) == []


def test_many_layers_and_heads_are_cut_down_to_what_an_eye_can_take():
    figure = plots.plot_attention(attention_maps(tokens=4, depth=6, heads=10))
    titles = [ax.get_title(loc="left") for ax in figure.axes][:-1]
    assert titles[0] == "layer 3, head 1"
    assert titles[-1] == "layer 6, head 8"
    assert len(titles) == 32
    one = plots.plot_attention(attention_maps(tokens=4, depth=6), layers=[1])
    assert len(one.axes) == 5
    with pytest.raises(ValueError, match="`layers` holds 7; there are 1 to 2"):
        plots.plot_attention_by_lag(lags(), layers=[7])
    with pytest.raises(ValueError, match="`layers` is empty"):
        plots.plot_attention_by_lag(lags(), layers=[])


def test_one_token_alone_is_drawn():
    for clock in ("dates", "int"):
        render(plots.plot_attention(attention_maps(tokens=1, clock=clock)))
        render(plots.plot_alignments(alignment(tokens=1, horizon=1, clock=clock)))
    render(plots.plot_attention_by_lag(lags(tokens=1)))
    render(plots.plot_gradient_reach(reach(tokens=1)))


def test_weights_by_lag_are_drawn_as_they_are():
    table = lags()
    figure = render(plots.plot_attention_by_lag(table))
    for layer, ax in enumerate(figure.axes, 1):
        for head, line in enumerate([line for line in ax.lines if line.get_label() != "_even"], 1):
            own = table[(table["layer"] == layer) & (table["head"] == head)]
            np.testing.assert_allclose(line.get_ydata(), own["weight"])
            assert line.get_label() == f"head {head}"


@pytest.mark.parametrize("series", [1, 3, 6, 7, 60])
def test_series_are_named_as_long_as_names_can_be_read(series):
    table = across(series, names="a series with a long name, number {}")
    figure = render(plots.plot_attention_across_series(table))
    assert touching(figure) == []
    image = figure.axes[0].images[0].get_array()
    own = table[table["layer"] == 1].groupby(["reader", "read"], sort=False)["weight"].mean().unstack()
    np.testing.assert_allclose(image, own)
    figures = [text.get_text() for text in figure.axes[0].texts]
    assert figures == ([f"{weight:.2f}" for weight in own.to_numpy().ravel()] if series <= 6 else [])


def test_gates_are_sorted_and_marked_with_patch_and_context():
    table = timescales()
    ax = render(plots.plot_gates(table)).axes[0]
    for layer in (1, 2):
        (line,) = [line for line in ax.lines if line.get_label() == f"layer {layer}"]
        np.testing.assert_allclose(line.get_ydata(), np.sort(table.loc[table["layer"] == layer, "timescale"]))
    marks = [line.get_ydata()[0] for line in ax.lines if line.get_label() == "_mark"]
    assert marks == [8, 168]
    assert ax.get_ylim()[1] > 168


def test_the_field_is_drawn_with_its_claim_and_its_warning():
    table = field()
    figure = render(plots.plot_receptive_field(table))
    left, right = figure.axes[:2]
    drawn = next(line for line in left.lines if line.get_label() == "step 12")
    own = table[(table["part"] == "backbone") & (table["step"] == 12)]
    np.testing.assert_allclose(drawn.get_ydata()[:40], own["gradient"][:40])
    assert np.isnan(drawn.get_ydata()[104:]).all()
    assert [line.get_xdata()[0] for line in left.lines if line.get_label() == "_claimed"] == [104]
    assert figure.get_supxlabel() == "the context exceeds the claimed field"
    held = own["share"].cumsum().to_numpy()
    half, most = (int(np.argmax(held >= share)) + 1 for share in (0.5, 0.95))
    said = [text.get_text() for text in right.get_legend().get_texts()]
    assert said[1] == f"step 12: 50% in {half}, 95% in {most}"
    quiet = render(plots.plot_receptive_field(field(claimed=None, warning="")))
    assert quiet.get_supxlabel() == ""
    assert not [line for line in quiet.axes[0].lines if line.get_label() == "_claimed"]


def test_gradients_end_where_nothing_is_left_and_names_tell_the_half_life():
    figure = render(plots.plot_gradient_reach(reach()))
    ax = figure.axes[0]
    drawn = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert list(drawn) == ["rnn", "lstm", "tcn", "transformer"]
    assert np.isfinite(drawn["tcn"].get_ydata()).sum() == 20
    assert np.nanmin(drawn["rnn"].get_ydata()) >= 1e-9
    names = [text.get_text() for text in ax.texts]
    assert set(names) == {"rnn: half in 3", "lstm: half in 4", "tcn: half in 5", "transformer: half in ∞"}


def test_names_stand_at_the_ends_of_lines_on_logarithmic_axes_too():
    with style.look():
        figure, ax = style.panel(None, (6.0, 4.0))
        ax.set_yscale("log")
        ax.set_ylim(1, 10_000)
        ax.set_xlim(1, 2)
        style.label_lines(ax, {"low": 10.0, "high": 1000.0}, {name: {"color": "black"} for name in ("low", "high")})
    render(figure)
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights == pytest.approx({"low": 0.25, "high": 0.75})


def test_occlusion_draws_means_and_the_range_of_chance():
    table = occluded()
    ax = render(plots.plot_occlusion(table)).axes[0]
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    by = {"those of the largest gradient": "receptive_field", "those of the most attention": "attention"}
    for label, chosen in (by | {"random (mean, range)": "random"}).items():
        own = table[table["chosen"] == chosen].groupby("lags")["change"].mean()
        np.testing.assert_allclose(drawn[label], own)
    shade = ax.collections[0].get_paths()[0].vertices
    random = table[(table["chosen"] == "random") & (table["lags"] == 17)]["change"]
    np.testing.assert_allclose(np.sort(shade[shade[:, 0] == 17, 1]), [random.min(), random.max()])


def test_one_way_of_choosing_alone_is_drawn():
    assert touching(render(plots.plot_occlusion(occluded(by=("receptive_field",))))) == []


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1, 50, ["1", "2", "5", "10", "20", "50"]),
        (0.01, 1000, ["0.01", "0.1", "1", "10", "100", "1,000"]),
        (1e-9, 1e-5, ["10⁻⁹", "10⁻⁸", "10⁻⁷", "10⁻⁶", "10⁻⁵"]),
    ],
)
def test_logarithmic_ticks_are_plain_where_they_are_short(low, high, expected):
    with style.look():
        figure, ax = style.panel(None, (6.0, 4.0))
        ax.set_yscale("log")
        ax.set_ylim(low, high)
        plain_logarithms(ax.yaxis)
    render(figure)
    ticks = [tick.label1.get_text() for tick in ax.yaxis.get_major_ticks() if low <= tick.get_loc() <= high * 1.001]
    assert ticks == expected


@pytest.mark.parametrize("plot", FRAMES, ids=lambda plot: plot.__name__)
def test_a_plot_goes_into_axes_that_are_given(plot):
    figure = Figure(figsize=(12.0, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    assert render(plot(FRAMES[plot](), ax=right)) is figure
    assert not left.has_data()
    assert right.has_data()
    assert right.get_title(loc="left")
    assert right.get_xlabel()
    assert right.get_ylabel()
    assert not [text for text in figure.texts if text.get_text()], "the figure is the caller's own"


@pytest.mark.parametrize(
    ("plot", "panels"),
    [
        (plots.plot_attention, 8),
        (plots.plot_attention_by_lag, 2),
        (plots.plot_attention_across_series, 2),
        (plots.plot_alignments, 1),
        (plots.plot_receptive_field, 4),
    ],
)
def test_as_many_panels_are_drawn_as_axes_are_given(plot, panels):
    alone = [ax for ax in plot(FRAMES[plot]()).axes if ax.get_title(loc="left")]
    axes = Figure(layout="constrained").subplots(2, panels, squeeze=False)
    plot(FRAMES[plot](), ax=axes[0])
    for given, own in zip(axes[0], alone, strict=False):
        assert given.get_title(loc="left").endswith(own.get_title(loc="left"))
        assert len(given.lines) == len(own.lines)
    with pytest.raises(ValueError, match=f"`ax` holds {2 * panels} axes, and {panels} panels are drawn"):
        plot(FRAMES[plot](), ax=axes)


def test_a_warning_of_the_field_is_told_below_axes_that_are_given_too():
    ax = Figure().add_subplot()
    plots.plot_receptive_field(field(), ax=ax)
    assert ax.get_xlabel() == "steps back from the last value\nthe context exceeds the claimed field"


@pytest.mark.parametrize("odd", [[np.nan], [0.0], [np.nan, np.inf, 0.0, -1.0, 0.5]], ids=["NaN", "zero", "all kinds"])
@pytest.mark.parametrize("plot", FRAMES, ids=lambda plot: plot.__name__)
def test_what_is_no_measure_spoils_no_picture(plot, odd):
    table = FRAMES[plot]()
    for column in table.columns:
        if table[column].dtype.kind == "f":
            table[column] = np.resize(odd, len(table))
    ax = Figure().add_subplot()
    assert render(plot(table, ax=ax)).axes[0] is ax


@pytest.mark.parametrize("plot", FRAMES, ids=lambda plot: plot.__name__)
def test_a_single_row_is_drawn(plot):
    table = FRAMES[plot]()
    one = table.head(1)
    one.attrs = table.attrs
    render(plot(one))
