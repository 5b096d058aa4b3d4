"""The table holds the skill of every cell, the lines the effects; nothing overlaps, and no panel is empty."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from forecast.evaluation.effects import effects
from forecast.plots import plot_effects
from forecast.plots.effects import readable_on

TWO = ("direct", "recursive")
SHAPES = {
    "two by two": {"latent": ("lstm",), "direct": ("tcn",), "decoders": TWO},
    "twelve by five, with holes": {},
    "twelve by five": {"full": 5},
    "one decoder": {"decoders": ("direct",)},
    "one family": {"latent": ("lstm", "gru"), "direct": ()},
    "long names": {
        "latent": ("latent " * 9, "state " * 9),
        "direct": ("direct " * 9,),
        "decoders": ("direct", "long_" * 9),
    },
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def shape(request, synthetic):
    return small(synthetic, **request.param)


def small(synthetic, **shape):
    return synthetic.make_ledger(series=1, cutoffs=1, horizon=4, forecasters=synthetic.crossed(**shape))[0]


@pytest.fixture(scope="module")
def crossed(synthetic):
    """Twelve by five, with holes."""
    return small(synthetic)


def render(figure):
    FigureCanvasAgg(figure).draw()
    return figure


def boxes(artists, figure):
    return [artist.get_window_extent(figure.canvas.get_renderer()) for artist in artists]


def overlaps(artists, figure):
    found = boxes(artists, figure)
    return [
        (i, k)
        for i, one in enumerate(found)
        for k, other in enumerate(found[:i])
        if one.x0 < other.x1 - 0.5 and other.x0 < one.x1 - 0.5 and one.y0 < other.y1 - 0.5 and other.y0 < one.y1 - 0.5
    ]


def decoders(ax):
    return ["_".join(label.get_text().split()) for label in ax.get_xticklabels()]


def written(ax):
    """Text of each cell, by (row label, column label)."""
    rows = [label.get_text() for label in ax.get_yticklabels()]
    columns = decoders(ax)
    at = {text.get_position(): text.get_text() for text in ax.texts}
    return {(rows[y], columns[x]): text for (x, y), text in at.items()}


def test_the_table_holds_the_skill_of_every_cell_and_a_dash_where_there_is_none(crossed):
    found = written(plot_effects(crossed).axes[0])
    cells = effects(crossed).cells
    expected = {
        (backbone, decoder): f"{100 * skill:.1f} %".replace("-", "−")
        for backbone, decoder, skill in cells[["backbone", "decoder", "skill"]].itertuples(index=False, name=None)
    }
    assert len(found) == 12 * 5
    assert {key: text for key, text in found.items() if text != "-"} == expected
    assert len(expected) == 12 * 2 + 2 * 3


def test_rows_stand_by_family_and_direct_is_the_first_column(synthetic):
    ax = plot_effects(small(synthetic, full=5, decoders=("recursive", "direct"))).axes[0]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["latent-state", *synthetic.LATENT, "direct-prediction", *synthetic.DIRECT]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["direct", "recursive"]


def test_lines_hold_the_error_on_the_log_scale_and_the_means_of_families(synthetic):
    ledger = small(synthetic, full=4)
    found = effects(ledger)
    logs = found.cells.pivot(index="backbone", columns="decoder", values="log")
    ax = plot_effects(ledger).axes[1]
    shown = decoders(ax)
    assert shown == ["direct", "recursive", "context_vector", "attention"]
    drawn = {line.get_label(): line for line in ax.lines if line.get_label() != "_leader"}
    assert set(drawn) == {*synthetic.LATENT, *synthetic.DIRECT, "latent-state", "direct-prediction"}
    for name in (*synthetic.LATENT, *synthetic.DIRECT):
        np.testing.assert_allclose(drawn[name].get_ydata(), -logs.loc[name, shown])
    latent, direct = drawn["latent-state"].get_ydata(), drawn["direct-prediction"].get_ydata()
    np.testing.assert_allclose(latent, -logs.loc[list(synthetic.LATENT), shown].mean())
    # What the eye reads off the lines is what the table of effects says.
    contrasts = found.contrasts.set_index(["effect", "decoder"]).sort_index()
    for k, decoder in enumerate(shown[1:], start=1):
        apart = (latent[k] - latent[0]) - (direct[k] - direct[0])
        assert -apart == pytest.approx(contrasts.loc[("interaction", decoder), "log"])
    assert (direct - latent).mean() == pytest.approx(contrasts.loc[("family", ""), "log"])


def test_heights_are_labelled_by_the_skill_they_stand_for(crossed):
    ax = render(plot_effects(crossed)).axes[1]
    labels = {tick: label.get_text() for tick, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)}
    assert len(labels) >= 3
    for height, text in labels.items():
        assert float(text.removesuffix(" %").replace("−", "-")) == pytest.approx(100 * (1 - np.exp(-height)), abs=1e-9)


def test_nothing_overlaps_and_everything_lies_in_the_picture(shape):
    figure = render(plot_effects(shape))
    table = figure.axes[0]
    low, high = table.get_window_extent().intervalx
    assert not overlaps([*table.texts, *table.get_yticklabels(), *table.get_xticklabels()], figure)
    assert all(low <= box.x0 and box.x1 <= high for box in boxes(table.texts, figure))
    everything = [text for ax in figure.axes for text in (*ax.texts, ax.title, ax._left_title) if text.get_text()]
    everything += [label for ax in figure.axes for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    for ax in figure.axes[1:]:
        assert not overlaps([*ax.texts, *ax.get_yticklabels(), ax.yaxis.label, ax._left_title], figure)
        assert not overlaps([*ax.get_xticklabels(), *ax.get_legend().get_texts()], figure)
        everything += ax.get_legend().get_texts()
        assert boxes([ax.yaxis.label], figure)[0].x0 >= high
    for box in boxes([*everything, figure._suptitle], figure):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1


def test_a_panel_without_lines_is_left_out(synthetic):
    one = small(synthetic, decoders=("direct",))
    assert len(plot_effects(one).axes) == 1
    apart = small(synthetic, latent=("lstm",), direct=("tcn",), decoders=TWO, among=(), full=1)
    assert len(plot_effects(apart).axes) == 1
    assert len(plot_effects(small(synthetic, latent=("lstm",), direct=())).axes) == 2


def test_panels_go_into_axes_that_are_given(crossed):
    figure = Figure(figsize=(14.0, 6.0))
    axes = figure.subplots(1, 3)
    assert plot_effects(crossed, ax=axes[:2]) is figure
    own = plot_effects(crossed).axes
    assert written(axes[0]) == written(own[0])
    assert len(axes[1].lines) == len(own[1].lines)
    assert axes[0].get_title(loc="left") == "Skill against SeasonalNaive: 1 series, 1 cutoff, 4 steps"
    assert figure.get_suptitle() == ""
    plot_effects(crossed, ax=axes[2])
    assert written(axes[2]) == written(own[0])
    with pytest.raises(ValueError, match="`ax` holds 3 axes, and 2 panels are drawn"):
        plot_effects(crossed, ax=axes)


def test_letters_stand_out_on_every_shade(synthetic):
    def luminance(colour):
        return sum(
            weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
            for weight, part in zip((0.2126, 0.7152, 0.0722), to_rgb(colour), strict=True)
        )

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    ax = render(plot_effects(small(synthetic, full=5))).axes[0]
    shades = ax.collections[0].get_facecolors()
    rows = [label.get_text() for label in ax.get_yticklabels()]
    assert {text.get_color() for text in ax.texts} == {"black", "white"}
    for text in ax.texts:
        x, y = text.get_position()
        assert contrast(text.get_color(), shades[y * 5 + x][:3]) >= 4.5, rows[y]
    grey = np.linspace(0, 1, 101)
    assert min(contrast(readable_on((g, g, g)), (g, g, g)) for g in grey) >= 4.5


def test_what_is_undefined_is_drawn_as_such(synthetic, crossed):
    empty = synthetic.with_forecasts(crossed, crossed.forecasts.assign(y=np.nan))
    figure = render(plot_effects(empty))
    assert len(figure.axes) == 1
    assert set(written(figure.axes[0]).values()) == {"n/a", "-"}


def test_without_baseline_or_network_nothing_is_drawn(synthetic):
    with pytest.raises(ValueError, match="`baseline` 'Theta' is not in the ledger"):
        plot_effects(small(synthetic), "Theta")
    rules = synthetic.make_ledger(series=1, cutoffs=1, forecasters=["SeasonalNaive", "NLinear"])[0]
    with pytest.raises(ValueError, match="no forecaster with a backbone and a decoder"):
        plot_effects(rules)
