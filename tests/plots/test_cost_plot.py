"""The plot of costs: what is drawn is what was measured; odd frames are drawn without a failure or a warning."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from forecast.plots import plot_cost

LENGTHS = [64, 128, 256, 512, 1024]
NAMES = {
    **dict.fromkeys(["lstm", "rnn", "gru", "mingru", "attentive_rnn"], "latent-state"),
    **dict.fromkeys(["tcn", "wavenet", "transformer", "vanilla_transformer"], "direct-prediction"),
}


def frame(names=("lstm", "transformer"), patches=(1, 8), lengths=LENGTHS):
    """Give costs that follow their laws, those of different backbones close to each other."""
    rows = []
    for number, name in enumerate(names):
        attends = name in ("attentive_rnn", "transformer", "vanilla_transformer")
        powers = {"train": (1 + attends, 1 + attends), "recompute": (1 + attends, 1), "stream": (0, 0)}
        if attends:
            powers["stream_all"] = (1, 1)
        for patch in patches:
            for length in lengths:
                for mode, (seconds, size) in powers.items():
                    scale = 1 + 0.03 * number
                    costs = 1e-4 * scale * (length / patch) ** seconds + 1e-3, 1e3 * scale * length**size
                    rows.append((name, NAMES[name], patch, length, mode, *costs, 10, seconds, size, ""))
    columns = ["backbone", "family", "patch_length", "length", "mode", "seconds", "bytes", "parameters"]
    return pd.DataFrame(rows, columns=[*columns, "seconds_expected", "bytes_expected", "left_out"])


def left_out(costs, where):
    costs.loc[where, "left_out"] = "a run would take too much"
    costs.loc[where, ["seconds", "bytes"]] = math.nan
    return costs


def draw(costs):
    figure = plot_cost(costs)
    FigureCanvasAgg(figure).draw()
    return figure


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


@pytest.fixture(scope="module")
def drawn():
    """The picture of `frame()`."""
    return draw(frame())


def test_each_panel_holds_the_costs_of_its_modes(drawn):
    costs = frame()
    modes = [["train"], ["recompute"], ["stream", "stream_all"]]
    for place, ax in enumerate(drawn.axes):
        found, cost = lines(ax), ("seconds", "bytes")[place % 2]
        own = costs[costs["mode"].isin(modes[place // 2])]
        assert len(found) == len(own.groupby(["backbone", "patch_length", "mode"]))
        for name, line in found.items():
            backbone, _, rest = name.partition(", P = ")
            mode = "stream_all" if rest.endswith(", all T") else modes[place // 2][0]
            one = own[(own["backbone"] == backbone) & (own["patch_length"] == int(rest[0])) & (own["mode"] == mode)]
            np.testing.assert_array_equal(line.get_xdata(), one["length"])
            np.testing.assert_array_equal(line.get_ydata(), one[cost])


def test_recomputed_and_streamed_predictions_share_their_scale(drawn):
    axes = np.reshape(drawn.axes, (3, 2))
    for column in (0, 1):
        assert axes[1, column].get_ylim() == axes[2, column].get_ylim()
        for ax in axes[1:, column]:
            low, high = ax.get_ylim()
            assert all(low <= value <= high for line in lines(ax).values() for value in line.get_ydata())


def test_guides_rise_with_the_powers_that_are_expected():
    axes = plot_cost(frame(["transformer"], patches=[1])).axes
    told = [sorted(text.get_text() for text in ax.texts if text.get_text() in ("T", "T²")) for ax in axes]
    assert told == [["T²"], ["T²"], ["T²"], ["T"], ["T"], ["T"]]
    guide = next(line for line in axes[0].lines if line.get_label() == "_guide")
    slope = np.diff(np.log(guide.get_ydata())) / np.diff(np.log(guide.get_xdata()))
    assert slope[0] == pytest.approx(2)


def test_a_line_of_which_a_part_was_left_out_ends_in_a_cross():
    costs = frame(patches=[1])
    where = (costs["backbone"] == "transformer") & (costs["mode"] == "train") & (costs["length"] > 256)
    ax = plot_cost(left_out(costs, where)).axes[0]
    assert lines(ax)["transformer"].get_xdata().tolist() == [64, 128, 256]
    crosses = [line for line in ax.lines if line.get_label() == "_left_out"]
    assert [line.get_xdata().tolist() for line in crosses] == [[256]]


def test_a_backbone_has_one_colour_and_a_patch_length_one_dash():
    found = lines(plot_cost(frame(["lstm", "rnn", "transformer"])).axes[0])
    looks = {name: (line.get_color(), str(line.get_linestyle())) for name, line in found.items()}
    assert len(set(looks.values())) == len(looks)
    assert looks["lstm, P = 1"][0] == looks["lstm, P = 8"][0] != looks["rnn, P = 1"][0]
    assert looks["lstm, P = 8"][1] == looks["rnn, P = 8"][1] != looks["rnn, P = 1"][1]


@pytest.mark.parametrize(("names", "patches"), [(NAMES, [1]), (["lstm", "transformer", "tcn"], [1, 8, 24])])
def test_no_name_covers_another_or_leaves_the_picture(names, patches):
    figure = draw(frame(list(names), patches))
    renderer = figure.canvas.get_renderer()
    for ax in figure.axes:
        boxes = [text.get_window_extent(renderer) for text in ax.texts if text.get_text() not in ("T", "T²")]
        assert len(boxes) >= len(names)
        for number, box in enumerate(boxes):
            assert box.x1 <= figure.bbox.width + 1
            assert box.y0 >= 0
            assert not [other for other in boxes[:number] if box.overlaps(other) and _height(box, other) > 1]
            assert not box.overlaps(ax.title.get_window_extent(renderer)) or not ax.title.get_text()


def _height(one, other):
    return min(one.y1, other.y1) - max(one.y0, other.y0)


def test_panels_go_into_axes_that_are_given(drawn):
    costs, figure = frame(), Figure()
    axes = figure.subplots(3, 3)
    assert plot_cost(costs, ax=axes[:2]) is figure
    for given, own in zip(axes.ravel(), drawn.axes, strict=False):
        assert given.get_title(loc="left") == own.get_title(loc="left")
        assert list(lines(given)) == list(lines(own))
        assert given.get_xlabel() == "history T (values)"
    assert figure.get_suptitle() == ""
    one = figure.add_subplot()
    plot_cost(costs, ax=one)
    assert one.get_title(loc="left") == "training step: processor time"
    with pytest.raises(ValueError, match="`ax` holds 9 axes, and 6 panels are drawn"):
        plot_cost(costs, ax=axes)


@pytest.mark.parametrize("value", [math.nan, 0.0])
def test_a_cost_of_nothing_is_not_drawn_on_logarithmic_axes(value):
    costs = frame(patches=[1])
    costs.loc[costs["backbone"] == "lstm", ["seconds", "bytes"]] = value
    assert list(lines(draw(costs).axes[0])) == ["transformer"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "costs",
    [
        frame(["lstm"], [1], [64]),
        frame(["lstm"], [8], [100, 300]),
        frame()[frame()["mode"] == "train"],
        left_out(frame(), frame()["mode"] == "recompute"),
    ],
    ids=["one length", "odd lengths", "training alone", "all left out"],
)
def test_odd_frames_are_drawn(costs):
    figure = draw(costs)
    empty = [text.get_text() for ax in figure.axes for text in ax.texts if text.get_text() == "nothing was measured"]
    assert len(empty) in (0, 2, 4)


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        (frame().drop(columns="left_out"), r"`costs` lacks the columns \['left_out'\]"),
        (frame().head(0), "`costs` has no row"),
    ],
)
def test_what_cannot_be_drawn_is_refused(costs, told):
    with pytest.raises(ValueError, match=told):
        plot_cost(costs)
