"""A forecaster and a backbone from outside the library work wherever those inside do."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation import Plan, backtest
from forecast.experiment import load_experiment, run_experiment
from forecast.forecaster import Forecaster
from forecast.neural import NeuralForecaster
from forecast.streaming import Stream
from forecast.testing import check_backbone, check_decoder, check_forecaster
from forecast.training import Training

ROOT = Path(__file__).resolve().parents[1]
PAGES = [path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]

DECODER = '''

from forecast.nn import Decoder, DecoderModule


@dataclass(frozen=True, kw_only=True)
class Single(Decoder):
    """One linear map."""

    streams = True

    def build(self, width, horizon, quantile_levels, patch_length):
        return SingleModule(width, horizon, len(quantile_levels))


class SingleModule(DecoderModule):
    def __init__(self, width, reach, levels):
        super().__init__()
        self.reach, self.levels = reach, levels
        self.map = nn.Linear(width, reach * levels)

    def forward(self, states, origins, *, targets=None):
        return self.map(states[:, origins]).unflatten(-1, (self.reach, self.levels))
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The models of the pages and a decoder, in a module of the user's own in the current folder."""
    blocks = re.findall(r"```python\n(.*?)```", "".join(PAGES), flags=re.S)
    plain, climate = (next(code for code in blocks if f"class {name}(" in code) for name in ("Plain", "Climate"))
    (tmp_path / "own_models.py").write_text(plain + DECODER + climate)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("own_models", None)
    yield importlib.import_module("own_models")
    sys.modules.pop("own_models", None)


def frame_of(length=200):
    rng = np.random.default_rng(4)
    t = np.arange(length)
    return pd.concat(
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2024-01-01", periods=length, freq="h"),
                "y": 5 * place + np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.3, length),
            }
        )
        for place, name in enumerate("ab")
    )


def test_the_models_of_the_pages_keep_the_contracts(own):
    assert (check_forecaster(own.Climate(6))["note"] == "").all()
    assert (check_backbone(own.Plain)["note"] == "").all()
    assert (check_decoder(own.Single)["note"] == "").all()


def network(own):
    return NeuralForecaster(
        own.Plain(width=8), 6, decoder=own.Single(), context_length=24, patch_length=8, training=Training(steps=3)
    )


def test_they_are_backtested_saved_and_streamed(own, tmp_path):
    frame = frame_of()
    ledger = backtest(frame, [own.Climate(6), network(own)], Plan(horizon=6, n_folds=2, refit="never"))
    assert ledger.forecasters == ("Climate", "plain single")
    assert ledger.fits["family"].tolist() == ["baseline", "latent-state"]
    for forecaster in (own.Climate(6), network(own)):
        fitted = forecaster.fit(frame)
        fitted.save(tmp_path / "saved")
        assert Forecaster.load(tmp_path / "saved").predict().equals(fitted.predict())
    stream = fitted.stream(frame.groupby("unique_id").head(100))
    stream.update(frame[frame["ds"] == frame["ds"].iloc[100]])
    stream.save(tmp_path / "stream")
    assert Stream.load(tmp_path / "stream").predict().equals(stream.predict())


@pytest.mark.slow
def test_another_process_loads_them_once_their_module_is_imported(own, tmp_path):
    fitted = network(own).fit(frame_of())
    fitted.save(tmp_path / "saved")
    code = "from forecast import Forecaster; print(repr(Forecaster.load('saved').predict()['mean'].sum()))"
    command = [sys.executable, "-c"]
    alone = subprocess.run([*command, code], capture_output=True, text=True, cwd=tmp_path)
    assert alone.returncode == 1
    assert "import 'own_models' before load(folder)" in alone.stderr
    done = subprocess.run([*command, f"import own_models; {code}"], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == repr(fitted.predict()["mean"].sum()), done.stderr


@pytest.fixture
def config(tmp_path):
    frame_of().to_csv(tmp_path / "series.csv", index=False)
    path = tmp_path / "own.yaml"
    path.write_text(
        """
        datasets: {file: series.csv, freq: h}
        horizon: 6
        plan: {n_folds: 2}
        forecasters:
          SeasonalNaive:
          climate: {type: "own_models:Climate"}
          plain:
            type: NeuralForecaster
            backbone: {type: "own_models:Plain", width: 8}
            decoder: {type: "own_models:Single"}
            context_length: 24
            patch_length: 8
            training: {steps: 2}
        """
    )
    return path


def test_an_experiment_names_them_by_module_and_class(own, config):
    forecasters = load_experiment(config).build_forecasters()
    assert isinstance(forecasters["climate"], own.Climate)
    assert forecasters["plain"].backbone == own.Plain(width=8)
    assert forecasters["plain"].decoder == own.Single()


@pytest.mark.slow
def test_an_experiment_runs_them(own, config, tmp_path):
    results = run_experiment(config, out=tmp_path / "results")
    assert set(results.summary["forecaster"]) == {"SeasonalNaive", "climate", "plain"}
    assert np.isfinite(results.summary["mae"]).all()
