"""The picture of ablations: a mark for each where the error goes, a bar for its interval, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from forecast.plots import plot_ablations
from forecast.plots.style import FAMILY_COLOURS


@pytest.fixture
def ablations():
    return pd.DataFrame(
        {
            "ablation": ["no scale", "no scale", "no anchor", "no anchor"],
            "forecaster": ["LSTM", "TCN"] * 2,
            "family": ["latent-state", "direct-prediction"] * 2,
            "change": [0.05, -0.02, 0.10, 9.0],
            "low": [0.01, -0.04, 0.05, 7.0],
            "high": [0.09, 0.01, 0.15, 12.0],
        }
    )


def marks(figure):
    return [line for line in figure.axes[0].lines if line.get_label() == "_mark"]


def test_each_is_a_mark_at_its_change_in_the_row_of_its_ablation(ablations):
    figure = plot_ablations(ablations)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["no scale", "no anchor"]
    places = [(line.get_xdata()[0], round(float(line.get_ydata()[0]))) for line in marks(figure)]
    assert places[:3] == [(0.05, 0), (-0.02, 0), (0.10, 1)]
    colours = [FAMILY_COLOURS[family] for family in ("latent-state", "direct-prediction")]
    for line, colour in zip(marks(figure), colours, strict=False):
        np.testing.assert_allclose(line.get_color(), [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    ends = [bar.get_segments()[0][:, 0].tolist() for bar in axes.collections]
    assert ends[0] == [0.01, 0.09]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["LSTM", "TCN"]


def test_one_that_is_hopeless_is_an_arrow_at_the_edge_and_squeezes_no_other(ablations):
    figure = plot_ablations(ablations)
    (arrow,) = [line for line in marks(figure) if line.get_marker() == ">"]
    assert arrow.get_xdata()[0] < 1
    assert arrow.get_xdata()[0] <= figure.axes[0].get_xlim()[1]


def test_changes_alone_are_enough_and_unknown_ones_leave_a_gap(ablations):
    ablations.loc[0, "change"] = np.nan
    figure = plot_ablations(ablations[["ablation", "forecaster", "change"]])
    assert len(marks(figure)) == 4
    assert np.isfinite(figure.axes[0].get_xlim()).all()
    figure.draw_without_rendering()


def test_two_rows_of_one_ablation_are_refused(ablations):
    with pytest.raises(ValueError, match="`ablations`: 'TCN' has two rows of 'no scale'; give those of one data set"):
        plot_ablations(pd.concat([ablations, ablations.iloc[[1]]]))
    with pytest.raises(ValueError, match="change"):
        plot_ablations(ablations.drop(columns="change"))
