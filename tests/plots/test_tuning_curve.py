"""The tuning curve as drawn: a line for each forecaster, told by name and colour, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from forecast.plots import plot_tuning_curve
from forecast.plots.style import FAMILY_COLOURS


@pytest.fixture
def curves():
    return pd.DataFrame(
        {
            "forecaster": ["LSTM"] * 3 + ["TCN"] * 3,
            "family": ["latent-state"] * 3 + ["direct-prediction"] * 3,
            "trials": [3, 1, 2, 1, 2, 3],
            "error": [0.7, 0.9, 0.8, 1.0, 0.75, 0.72],
            "metric": "mase",
        }
    )


def drawn(figure):
    return [line for line in figure.axes[0].lines if line.get_label() != "_leader"]


def test_each_forecaster_has_a_line_by_rising_trials_in_the_colour_of_its_family(curves):
    figure = plot_tuning_curve(curves)
    lstm, tcn = drawn(figure)
    assert lstm.get_xdata().tolist() == [1, 2, 3]
    assert lstm.get_ydata().tolist() == [0.9, 0.8, 0.7]
    assert tcn.get_ydata().tolist() == [1.0, 0.75, 0.72]
    for line, family in ((lstm, "latent-state"), (tcn, "direct-prediction")):
        np.testing.assert_allclose(
            line.get_color(), [int(FAMILY_COLOURS[family][i : i + 2], 16) / 255 for i in (1, 3, 5)]
        )
    axes = figure.axes[0]
    assert axes.get_ylabel() == "validation MASE of the best"
    assert {"LSTM", "TCN"} <= {text.get_text() for text in axes.texts}


def test_it_draws_into_given_axes_without_family_and_metric(curves):
    figure = Figure()
    ax = figure.add_subplot()
    assert plot_tuning_curve(curves[["forecaster", "trials", "error"]], ax=ax) is figure
    assert ax.get_ylabel() == "validation error of the best"
    assert len(drawn(figure)) == 2


def test_trials_that_all_failed_are_said(curves):
    figure = plot_tuning_curve(curves.assign(error=np.nan))
    assert [text.get_text() for text in figure.axes[0].texts] == ["no trial has an error"]


def test_a_single_trial_is_a_dot(curves):
    (line,) = drawn(plot_tuning_curve(curves.iloc[[1]]))
    assert line.get_marker() == "o"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda table: table.drop(columns="error"), "error"),
        (lambda table: table.iloc[:0], "curves"),
        (lambda table: pd.concat([table, table.iloc[[4]]]), "`curves` has two rows of 'TCN' for as many trials"),
    ],
)
def test_a_faulty_table_is_refused(curves, change, told):
    with pytest.raises(ValueError, match=told):
        plot_tuning_curve(change(curves))
