"""The protocols of published tables: their scale, their series, their rows; and figures of others beside ours."""

import os
import textwrap

import numpy as np
import pandas as pd
import pytest
import yaml

from forecast import Drift, Naive, Plan, backtest, check_frame, score
from forecast.evaluation import standardised
from forecast.experiment import ConfigError, load_experiment, load_suite, rebuild, run_experiment
from forecast.experiment.datasets import Dataset

HOME = os.environ.get("FORECAST_DATA_HOME")  # before tests are kept from it
SHIPPED = ["etth1", "m4_hourly", "published"]
CARD = {
    "name": "wide",
    "title": "Wide",
    "source": {"text": "made for a test", "address": "https://example.org"},
    "licence": "CC0-1.0",
    "freq": "h",
    "season_lengths": [24],
    "horizon": 2,
    "series": 1,
    "target": "OT",
    "roles": {"past": ["load"]},
}
# An hour is missing, and another stands twice.
ROWS = """\
unique_id,ds,y,load
A,2024-01-01 00:00:00,1,5
A,2024-01-01 01:00:00,2,6
A,2024-01-01 01:00:00,3,7
A,2024-01-01 04:00:00,4,8
"""


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """A data set of the catalogue with a covariate."""
    folder = tmp_path / "datasets" / "wide"
    folder.mkdir(parents=True)
    (folder / "card.yaml").write_text(yaml.safe_dump(CARD))
    home = tmp_path / "home"
    home.mkdir()
    (home / "wide.csv").write_text(ROWS)
    monkeypatch.setenv("FORECAST_DATASETS_DIR", str(folder.parent))
    monkeypatch.setenv("FORECAST_DATA_HOME", str(home))


def panel_of(tmp_path, **given):
    return Dataset.model_validate(given).panel("mask", tmp_path)


def test_channels_are_series_beside_the_target_and_rows_count_where_stamps_do_not(wide, tmp_path):
    panel = panel_of(tmp_path, name="wide", channels=True, stamps="by_row")
    table = panel.to_frame()
    assert table["unique_id"].tolist() == ["OT"] * 4 + ["load"] * 4
    assert table["y"].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert table["ds"].tolist() == list(pd.date_range("2024-01-01", periods=4, freq="h")) * 2
    assert panel.calendar.season_length == 24


def test_channels_need_a_card_and_one_series(wide, data, tmp_path):
    with pytest.raises(ValueError, match="`channels` is true, but a file has no card"):
        panel_of(tmp_path, file=str(data / "series.csv"), freq="D", channels=True)
    (tmp_path / "home" / "wide.csv").write_text(ROWS + "B,2024-01-01 00:00:00,1,5\n")
    with pytest.raises(ValueError, match="`channels` is true, and data set 'wide' has 2 series"):
        panel_of(tmp_path, name="wide", channels=True)


def test_rows_are_counted_only_in_a_frequency(data, tmp_path):
    with pytest.raises(
        ValueError, match=r"`stamps` is 'by_row', which takes .* a `freq` such as '10min'; got `freq` No"
    ):
        panel_of(tmp_path, file=str(data / "series.csv"), stamps="by_row")


def test_standardised_scores_are_those_of_z_scored_values(config, data, undrawn, tmp_path):
    plan = "{split: [60, 20, 20], stride: 1, refit: never}"
    results = run_experiment(config("standardised: true\nmetrics: [smape]\n", plan=plan), tmp_path / "out")
    frame = pd.read_csv(data / "series.csv", parse_dates=["ds"])
    train = frame.groupby("unique_id").head(60).groupby("unique_id")["y"]
    ids = frame["unique_id"]
    frame["y"] = (frame["y"] - ids.map(train.mean())) / ids.map(train.std(ddof=0))
    by_hand = backtest(check_frame(frame, freq="D"), {"Drift": Drift(3)}, Plan.fixed_split(3, 60, 20, 20))
    own = results.summary.set_index("forecaster").loc["Drift"]
    expected = score(by_hand, ["mse", "mae"]).iloc[0]
    assert own["mse"] == pytest.approx(expected["mse"], rel=1e-4)
    assert own["mae"] == pytest.approx(expected["mae"], rel=1e-4)
    assert own["smape"] == pytest.approx(score(results.ledger, ["smape"]).set_index("forecaster")["smape"]["Drift"])
    again = rebuild(tmp_path / "out").summary
    pd.testing.assert_frame_equal(again, results.summary)


def test_scale_metrics_and_quotations_may_change_in_a_folder(config, undrawn, tmp_path):
    run_experiment(config(), tmp_path / "out")
    assert (tmp_path / "out" / "ledger" / "series").is_dir()
    text = "standardised: true\nledger: false\npublished:\n  - {name: x, source: a paper, metrics: {mse: 1}}\n"
    results = run_experiment(config(text), tmp_path / "out")
    assert results.published["name"].tolist() == ["SeasonalNaive", "Drift", "x"]
    assert not (tmp_path / "out" / "ledger" / "series").exists()


def test_the_report_quotes_figures_and_their_sources_apart_from_ours(config, unplotted, tmp_path, monkeypatch):
    monkeypatch.setattr("forecast.experiment.pictures.pictures", lambda *given: [])
    text = "published:\n  - {name: <theirs>, source: a paper & a file, metrics: {mase: 0.1, mae: 9}}\n"
    results = run_experiment(config(text, forecasters="{SeasonalNaive: }", plan="{n_folds: 1}"), tmp_path / "out")
    page = results.report.read_text(encoding="utf-8")
    quoted = page[page.index("Beside published figures") :]
    assert quoted.index("SeasonalNaive") < quoted.index("&lt;theirs&gt;") < quoted.index("a paper &amp; a file")
    assert "&lt;theirs&gt;" not in page[: page.index("Beside published figures")]  # neither verdict nor table of scores


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("{name: x, source: s, metrics: {mase: 1}, horzon: 3}", "horzon: unknown key; did you mean 'horizon'?"),
        ("{name: x, metrics: {mase: 1}}", "source: this key is missing"),
        ("{name: x, source: s, metrics: {msae: 1}}", "metrics: unknown metric 'msae'; did you mean "),
        ("{name: x, source: s, metrics: {mse: 1}}", "metrics.mse: 'mse' is not scored here"),
        ("{name: x, source: s, metrics: {}}", "metrics: "),
        ("{name: x, source: s, dataset: y, metrics: {mase: 1}}", "dataset: should be a data set of this experiment: "),
    ],
)
def test_a_quotation_that_cannot_stand_beside_ours_is_told_at_its_place(config, row, told):
    path = config(textwrap.dedent(f"published: [{row}]\n"))
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    assert any(f"published.0.{told}" in line for line in str(caught.value).splitlines()), caught.value


@pytest.mark.parametrize("name", SHIPPED)
def test_every_figure_that_is_quoted_in_a_shipped_file_is_shown(name):
    experiments = [load_experiment(name)] if name == "m4_hourly" else list(load_suite(name).experiments.values())
    horizons: dict[str, set] = {}
    quoted: dict[str, set] = {}
    for one in experiments:
        dataset = one.datasets[0].name
        horizons.setdefault(dataset, set()).add(one.horizon)
        quoted.setdefault(dataset, set()).update(row.horizon for row in one.published)
        assert {"SeasonalNaive", "NLinear", "LSTM", "TCN", "Transformer"} <= set(one.forecasters)
        assert one.seeds == [0, 1, 2]
        assert one.published
    for dataset, found in quoted.items():
        assert found - {None} in (set(), horizons[dataset])


def test_the_quick_form_of_etth1_is_one_horizon_and_one_seed():
    quick = load_experiment("etth1", quick=True)
    assert (quick.horizon, quick.seeds) == (96, [0])
    assert load_experiment("m4_hourly", quick=True).seeds == [0]
    assert {tuple(one.seeds) for one in load_suite("published", quick=True).experiments.values()} == {(0,)}


@pytest.mark.skipif(not HOME, reason="the data are read from FORECAST_DATA_HOME, which is not set")
@pytest.mark.parametrize(
    ("name", "label", "mse", "mae"),
    [
        ("etth1", "horizon-96", 1.295, 0.713),
        ("published", "exchange_rate-96", 0.081, 0.196),
        ("published", "exchange_rate-336", 0.305, 0.396),
    ],
)
def test_the_protocol_gives_the_published_error_of_the_last_value(name, label, mse, mae, monkeypatch):
    pytest.importorskip("pyarrow", reason="the data are Parquet")
    monkeypatch.setenv("FORECAST_DATA_HOME", str(HOME))
    experiment = load_suite(name).experiments[label]
    (panel,), plan = experiment.panels().values(), experiment.build_plan()
    ledger = backtest(panel, [Naive(experiment.horizon)], plan)
    deviations = plan.folds(panel).train_deviations()
    found = score(ledger, {name: standardised(name, deviations) for name in ("mse", "mae")}).iloc[0]
    # Published code left out the windows of the last incomplete batch.
    assert np.array([found["mse"], found["mae"]]) == pytest.approx([mse, mae], rel=0.005)
