"""What the house promises: light imports, data that is no code, a wheel that holds what it should."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import forecast
from forecast import NeuralForecaster, Training

ROOT = Path(__file__).resolve().parents[1]


def modules_after(statement: str) -> set[str]:
    """Give the modules that are loaded after a statement in a fresh process."""
    script = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def test_importing_the_package_loads_none_of_the_heavy_libraries():
    heavy = {"torch", "lightning", "sklearn", "matplotlib", "pandas", "numpy", "pydantic"}
    assert not heavy & modules_after("import forecast")


@pytest.mark.parametrize(
    "module", ["forecast.frame", "forecast.forecaster", "forecast.evaluation", "forecast.baselines", "forecast.catalog"]
)
def test_what_needs_no_network_loads_no_torch(module):
    assert not {"torch", "lightning", "sklearn", "matplotlib"} & modules_after(f"import {module}")


def test_a_saved_network_forecasts_and_streams_without_lightning_or_the_compiler_of_torch(tmp_path):
    frame = pd.DataFrame({"unique_id": "a", "ds": range(60), "y": [float(day % 7) for day in range(60)]})
    NeuralForecaster("lstm", 3, training=Training(steps=1)).fit(frame, freq=1).save(tmp_path)
    use = f"from forecast import Forecaster\nfitted = Forecaster.load({str(tmp_path)!r})\nfitted.predict()\n"
    loaded = modules_after(use + "fitted.stream().predict()")
    assert not {"lightning", "torch._dynamo", "matplotlib", "scipy", "sklearn"} & loaded
    assert "torch" in loaded


def test_every_public_name_can_be_imported():
    for name in forecast.__all__:
        assert getattr(forecast, name) is not None


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(AttributeError, match=r"no attribute 'Prophet'; it has .*NeuralForecaster"):
        forecast.Prophet  # noqa: B018


@pytest.mark.parametrize("folder", ["datasets", "experiments", "tests"])
def test_data_scripts_and_tests_are_no_packages(folder):
    assert list((ROOT / folder).rglob("__init__.py")) == []


def test_no_file_has_a_name_that_says_nothing():
    empty = {"utils", "util", "common", "helpers", "helper", "base", "core", "misc"}
    assert [path for path in (ROOT / "forecast").rglob("*") if path.stem in empty] == []


def test_the_wheel_holds_the_library_and_the_data_but_no_scripts(tmp_path):
    import hatchling.build

    before = Path.cwd()
    os.chdir(ROOT)
    try:
        wheel = zipfile.ZipFile(tmp_path / hatchling.build.build_wheel(str(tmp_path)))
    finally:
        os.chdir(before)
    names = wheel.namelist()
    assert "forecast/_bundled/datasets/nyc_weather/data.csv.gz" in names
    assert "forecast/_bundled/experiments/default.yaml" in names
    assert "forecast/experiment/report.html.j2" in names
    assert {name.split("/")[0] for name in names} == {"forecast", f"foretell-{forecast.__version__}.dist-info"}
    assert [name for name in names if "_bundled" in name and name.endswith(".py")] == []
