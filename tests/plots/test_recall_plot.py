"""The plot of memory: medians of seeds are drawn, and what was left out is marked."""

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from forecast.plots import plot_recall

LENGTHS = [50, 100, 200]


def frame(tasks=("adding", "copy"), seeds=(0, 1, 2)):
    rows = [
        (task, name, family, length, seed, 0.01 * (1 + seed) if length <= last else 1.0 + 0.01 * seed, "")
        for task in tasks
        for name, family, last in (("lstm", "latent-state", 50), ("tcn", "direct-prediction", 200))
        for seed in seeds
        for length in LENGTHS
    ]
    return pd.DataFrame(rows, columns=["task", "backbone", "family", "length", "seed", "error", "left_out"])


def draw(table, **given):
    figure = plot_recall(table, **given)
    FigureCanvasAgg(figure).draw()
    return figure


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def test_a_line_goes_through_the_medians_of_seeds_in_a_panel_for_each_task():
    axes = draw(frame()).axes
    assert [ax.get_title(loc="left") for ax in axes] == ["adding", "copy"]
    for ax in axes:
        assert set(lines(ax)) == {"lstm", "tcn"}
        np.testing.assert_allclose(lines(ax)["lstm"].get_ydata(), [0.02, 1.01, 1.01])
        np.testing.assert_allclose(lines(ax)["tcn"].get_xdata(), LENGTHS)


def test_a_line_that_ends_early_ends_in_a_cross_and_shows_the_whole_axis():
    table = frame(["copy"], [0])
    gone = table["length"] > 100
    table.loc[gone, ["error", "left_out"]] = [math.nan, "not solved at 50 and 100"]
    ax = draw(table).axes[0]
    assert [line.get_xdata()[0] for line in ax.lines if line.get_label() == "_left_out"] == [100, 100]
    assert ax.get_xlim()[1] > 200


def test_every_error_lies_within_the_panels_which_share_their_scale():
    table = frame(seeds=[0])
    table.loc[table["task"] == "copy", "error"] *= 0.2
    for ax in draw(table).axes:
        low, high = ax.get_ylim()
        assert all(low < height < high for line in lines(ax).values() for height in line.get_ydata())


def test_what_is_far_out_is_drawn_at_the_edge_and_nothing_at_all_is_refused():
    table = frame(["adding"], [0])
    table.loc[0, "error"] = math.inf
    assert np.isfinite(lines(draw(table).axes[0])["lstm"].get_ydata()).all()
    with pytest.raises(ValueError, match="recalls"):
        plot_recall(table.head(0))
    with pytest.raises(ValueError, match=r"`?error"):
        plot_recall(table.drop(columns="error"))
