"""The comparison with other libraries: what it measures, on which windows, and what it tells. W windows, H horizon."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "experiments" / "benchmarks" / "peers"


@pytest.fixture(autouse=True)
def peers(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3, 4)), rng.normal(size=(3, 4))


def test_errors_are_those_of_plain_loops(arrays):
    import scores

    forecast, actual = arrays
    pairs = [(f, a) for f, a in zip(forecast.ravel(), actual.ravel(), strict=True)]
    assert scores.mse(*arrays) == pytest.approx(sum((f - a) ** 2 for f, a in pairs) / 12)
    assert scores.mae(*arrays) == pytest.approx(sum(abs(f - a) for f, a in pairs) / 12)
    assert scores.smape(*arrays) == pytest.approx(sum(200 * abs(f - a) / (abs(f) + abs(a)) for f, a in pairs) / 12)
    units = [scores.seasonal_step(np.array([1.0, 2.0, 4.0, 8.0]), 2), 2.0, 1.0]
    assert units[0] == 4.5
    by_window = [np.abs(forecast[w] - actual[w]).mean() / units[w] for w in range(3)]
    assert scores.mase(*arrays, np.array(units)) == pytest.approx(sum(by_window) / 3)


def test_nothing_forecast_as_nothing_is_no_error():
    import scores

    assert scores.smape(np.zeros((1, 2)), np.zeros((1, 2))) == 0


def task_of_two(test_rows: int):
    from tasks import Task

    stamps = pd.date_range("2024-01-01", periods=10, freq="h")
    parts = [
        pd.DataFrame({"unique_id": name, "ds": stamps, "y": first + np.arange(10.0)})
        for name, first in (("a", 0), ("b", 100))
    ]
    return Task("two", pd.concat(parts, ignore_index=True), 2, 1, 3, 1, test_rows, ("mase", "mse"))


def test_windows_are_all_that_lie_in_the_test_rows_and_training_ends_before_them():
    task = task_of_two(test_rows=4)
    assert task.actuals(1).tolist() == [[6, 7], [7, 8], [8, 9], [106, 107], [107, 108], [108, 109]]
    assert task.actuals(2).tolist() == [[6, 7], [8, 9], [106, 107], [108, 109]]
    assert task.without_last(4).groupby("unique_id")["y"].max().tolist() == [5, 105]
    assert task.train.groupby("unique_id")["y"].max().tolist() == [4, 104]


def test_squared_errors_are_of_means_and_all_others_of_medians():
    from tasks import Forecasts

    task = task_of_two(test_rows=2)
    actuals = task.actuals(1)
    assert task.errors(Forecasts(actuals + 3, actuals + 2), 1) == {"mase": 2, "mse": 9}


def test_forecasts_of_other_windows_or_without_numbers_are_refused():
    from tasks import Forecasts

    task = task_of_two(test_rows=4)
    actuals = task.actuals(1)
    with pytest.raises(ValueError, match=r"means have the shape \(4, 2\); the windows have \(6, 2\)"):
        task.errors(Forecasts(actuals[:4], actuals[:4]), 1)
    with pytest.raises(ValueError, match="1 of the medians are no finite numbers"):
        task.errors(Forecasts(actuals, np.where(actuals == 6, np.nan, actuals)), 1)


def test_table_and_plot_tell_how_much_longer_a_peer_takes_what_it_left_out_and_what_failed():
    from drawing import draw, table_of

    row = dict.fromkeys(("version", "parameters", "mase", "smape", "cap", "failure"), "") | {
        "data": "etth1",
        "family": "lstm",
        "library": "foretell",
        "setting": "fast",
        "seed": "0",
        "model": "LSTM",
        "import_seconds": "1",
        "fit_seconds": "3",
        "predict_seconds": "1",
        "wall_seconds": "6",
        "peak_mb": "400",
        "steps": "200",
        "windows": "19495",
        "all_windows": "19495",
        "mse": "0.35",
        "mae": "0.39",
    }
    peer = row | {"library": "darts", "setting": "defaults", "fit_seconds": "79", "windows": "63", "mse": "0.5"}
    failed = row | {"library": "gluonts", "setting": "defaults", "failure": "RuntimeError: no", "mse": ""}
    rule = row | {"family": "seasonal naive", "mse": "0.51"}
    rows = [row, peer, failed, rule]
    lines = table_of(rows).splitlines()
    assert next(line for line in lines if "darts" in line).endswith(
        "| 63 of 19495 | 1.0 | 79.0 | 1.0 | 6.0 | 400 | 20.0 |"
    )
    assert "RuntimeError: no" in next(line for line in lines if "gluonts" in line)
    (ax,) = draw(rows).axes
    drawn = {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in ax.lines if line.get_marker() == "o"}
    assert drawn == {(4.0, 0.35), (80.0, 0.5)}
