"""A small data set, configs on it, and classes of a user's own, for the tests of experiments."""

import runpy
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

MODELS = '''
import time
from forecast import Naive
from forecast.evaluation.group import seed_of
from forecast.forecaster import DECILES

class Slow(Naive):
    """Takes a while, so that a run can be stopped in the middle."""
    def _fit(self, panel):
        time.sleep(0.2)
        super()._fit(panel)

class LikeANetwork(Naive):
    """A rule that says it were a backbone under a decoder."""
    def __init__(self, horizon, *, backbone="lstm", decoder="direct", season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.backbone, self.decoder = backbone, decoder
    @property
    def family(self):
        return "latent-state" if self.backbone == "lstm" else "direct-prediction"

class Failing(Naive):
    def _fit(self, panel):
        raise RuntimeError("the lid is stuck")

class FailingWithSeedOne(Naive):
    def __init__(self, horizon, *, season_length=None, quantile_levels=DECILES, seed=0):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.seed = seed
    def _fit(self, panel):
        if self.seed in [seed_of(1, fold) for fold in range(4)]:
            raise RuntimeError("the lid is stuck")
        super()._fit(panel)

class Stopping(Naive):
    """Ends the process, as lightning does when the user presses Ctrl-C."""
    def _fit(self, panel):
        raise SystemExit(1)
'''


def small_frame(rows=120):
    rng, t = np.random.default_rng(0), np.arange(rows)
    wave = 10 + 3 * np.sin(2 * np.pi * t / 7)
    days = pd.date_range("2024-01-01", periods=rows)
    return pd.concat(
        [pd.DataFrame({"unique_id": name, "ds": days, "y": wave + rng.normal(0, 0.5, rows)}) for name in "ab"]
    )


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with series.csv and a module of models of one's own."""
    folder = tmp_path_factory.mktemp("data")
    frame = small_frame()
    frame.to_csv(folder / "series.csv", index=False)
    frame.assign(ds=frame.groupby("unique_id").cumcount()).to_csv(folder / "counted.csv", index=False)
    (folder / "lab_models.py").write_text(MODELS)
    return folder


@pytest.fixture
def own_models(data, monkeypatch):
    monkeypatch.syspath_prepend(str(data))


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """Write a module of models of one's own, and give its folder, in which they may leave traces."""
    folder = tmp_path / "own"
    written = []

    def write(name, text):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(folder))
        written.append(name)
        return folder

    yield write
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def config(data, tmp_path):
    """Write a config of a few lines, the rest being that of a small experiment, and give its path."""

    def write(text="", *, forecasters="{SeasonalNaive: , Drift: }", plan="{n_folds: 4, refit: 2}", datasets=None):
        lines = {
            "datasets": datasets or f"{{file: {data}/series.csv, freq: D}}",
            "horizon": "3",
            "plan": plan,
            "forecasters": forecasters,
            **({} if "audit:" in text else {"audit": "false"}),  # which takes seconds for each forecaster
        }
        path = tmp_path / "small.yaml"
        path.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()) + textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def unplotted(monkeypatch):
    """Leave out the files of plots; the report still draws its own."""
    from forecast.experiment import grid_report, pictures

    for module in (pictures, grid_report):
        monkeypatch.setattr(module, "write_pictures", lambda *given: None)


@pytest.fixture
def undrawn(unplotted, monkeypatch):
    """Leave out the plots and the report, which take most of the time of a small run."""
    from forecast.experiment import grid_report, pictures, report

    monkeypatch.setattr(pictures, "pictures", lambda *given: [])
    monkeypatch.setattr(grid_report, "grid_pictures", lambda *given: [])
    monkeypatch.setattr(report, "write_report", lambda path, chapters, title, together=None: path.write_text(title))


RESULTS = {  # folder -> what its config has
    "a": {"forecasters": "{SeasonalNaive: , own: {type: Drift}}"},
    "b": {"forecasters": "{SeasonalNaive: , own: {type: Naive}, WindowAverage: }"},
    "whole": {"forecasters": "{SeasonalNaive: , own (a): {type: Drift}, own (b): {type: Naive}, WindowAverage: }"},
    "counted": {"forecasters": "{Drift: , bad: {type: 'lab_models:Failing'}}", "file": "counted.csv", "freq": "1"},
    "many": {"horizon": "[2, 3]", "plan": "{n_folds: 4, refit: never}"},
}


@pytest.fixture(scope="session")
def results(data, tmp_path_factory):
    """A folder of results: experiments, one of which has cells that failed, and a suite. Not to be changed."""
    from forecast.experiment import run_experiment, run_suite

    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(data))
        for name, of in RESULTS.items():
            text = f"""\
                name: {name}
                datasets: {{file: {data}/{of.get("file", "series.csv")}, freq: {of.get("freq", "D")}}}
                horizon: {of.get("horizon", "3")}
                plan: {of.get("plan", "{n_folds: 6, refit: 3}")}
                forecasters: {of.get("forecasters", "{SeasonalNaive: , Drift: }")}
                audit: false
                """
            path = folder / f"{name}.yaml"
            path.write_text(textwrap.dedent(text))
            (run_suite if name == "many" else run_experiment)(path, folder / name, page=False)
            path.unlink()
    return folder


@pytest.fixture
def copied(results, tmp_path):
    """Copy some of the results, and give the folder in which they are."""
    import shutil

    def copy(*names):
        for name in names:
            shutil.copytree(results / name, tmp_path / "results" / name)
        return tmp_path / "results"

    return copy


@pytest.fixture(scope="session")
def synthetic():
    """Namespace of the ledgers that plots are tested on."""
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "plots" / "synthetic.py")))
