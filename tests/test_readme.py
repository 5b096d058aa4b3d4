"""The README says what is true: its Python runs, and the files it names are there."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)


def run_block(code: str, name: str) -> types.ModuleType:
    """Run a block as a module of its own, so that its classes can be found again."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(code, name, "exec"), module.__dict__)
    return module


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORECAST_DATA_HOME", raising=False)


def test_the_example_has_twelve_lines_and_runs(capsys, tmp_path):
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 12
    run_block(BLOCKS[0], "readme_example")
    said = capsys.readouterr().out
    assert re.search(r"LSTM\s+0?\d?\.\d+|LSTM\s+1\.\d+", said)
    assert (tmp_path / "results/lstm/forecaster.json").is_file()


def test_the_stream_goes_on_after_the_data_of_the_fit(tmp_path):
    from forecast import Stream

    example = run_block(BLOCKS[1], "readme_stream")
    assert example.forecast["cutoff"].unique().tolist() == [example.new["ds"].sort_values().unique()[2]]
    assert Stream.load(tmp_path / "results/stream").predict().equals(example.stream.predict())


def test_every_backbone_and_decoder_is_in_a_table():
    from forecast.nn import BACKBONES, DECODERS

    named = set(re.findall(r"`(\w+)`", "".join(line for line in TEXT.splitlines() if line.startswith("| `"))))
    assert {*BACKBONES, *DECODERS} <= named
    streaming = {name for name, kind in DECODERS.items() if kind.streams}
    assert set(re.findall(r"^\| `(\w+)` \|.*\| yes \|$", TEXT, flags=re.M)) == streaming


def test_the_backbone_of_ones_own_trains_and_steps():
    import torch

    from forecast import NeuralForecaster, Training
    from forecast.catalog import load

    plain = run_block(BLOCKS[2], "readme_backbone").Plain(width=8)
    module, x = plain.build(5).double(), torch.randn(2, 5, 8, dtype=torch.float64)
    state, whole = module.init_state(2), module(x)
    for n in range(5):
        y, state = module.step(x[:, n], state)
        torch.testing.assert_close(y, whole[:, n])
    frame = load("nyc_weather").groupby("unique_id").head(400)
    forecast = NeuralForecaster(plain, 24, training=Training(steps=3)).fit(frame, gaps="mask").predict()
    assert np.isfinite(forecast["prediction"]).all()


def test_the_forecaster_of_ones_own_works_in_a_backtest():
    from forecast import Plan, SeasonalNaive, backtest
    from forecast.catalog import load

    climate = run_block(BLOCKS[3], "readme_forecaster").Climate(24)
    frame = load("nyc_weather")
    plan = Plan(horizon=24, n_folds=3, refit="never")
    ledger = backtest(frame, {"climate": climate, "naive": SeasonalNaive(24)}, plan, gaps="mask")
    assert tuple(ledger.forecasters) == ("climate", "naive")


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_every_file_that_is_linked_is_there(path):
    assert (ROOT / path).is_file()


def test_every_place_in_the_tree_is_there():
    tree = TEXT.split("## Where things are")[1].split("```")[1]
    names = [line.split()[0].rstrip("/") for line in tree.splitlines() if line.strip()]
    for name in names:
        if "<" not in name:
            assert (ROOT / name).exists() or (ROOT / "forecast" / name).exists(), name
