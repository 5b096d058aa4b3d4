"""Experiments: a config file in, a folder of results out; every cell of work is stored and never done twice."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forecast.experiment.config import Experiment, load_experiment
    from forecast.experiment.cost_results import CostResults
    from forecast.experiment.costs import CostExperiment, load_costs, rebuild_costs, run_costs
    from forecast.experiment.engine import Engine, Local, Ray
    from forecast.experiment.faults import ConfigError
    from forecast.experiment.folder_prediction import FolderForecasts, predict_folder
    from forecast.experiment.results import Results
    from forecast.experiment.runner import rebuild, run_experiment
    from forecast.experiment.store import StoreError
    from forecast.experiment.suite import Suite, SuiteResults, load_suite, rebuild_suite, run_suite

_HOMES = {
    "ConfigError": "faults",
    "CostExperiment": "costs",
    "CostResults": "cost_results",
    "Engine": "engine",
    "Experiment": "config",
    "FolderForecasts": "folder_prediction",
    "Local": "engine",
    "Ray": "engine",
    "Results": "results",
    "StoreError": "store",
    "Suite": "suite",
    "SuiteResults": "suite",
    "load_costs": "costs",
    "load_experiment": "config",
    "load_suite": "suite",
    "predict_folder": "folder_prediction",
    "rebuild": "runner",
    "rebuild_costs": "costs",
    "rebuild_suite": "suite",
    "run_costs": "costs",
    "run_experiment": "runner",
    "run_suite": "suite",
}

__all__ = [
    "ConfigError",
    "CostExperiment",
    "CostResults",
    "Engine",
    "Experiment",
    "FolderForecasts",
    "Local",
    "Ray",
    "Results",
    "StoreError",
    "Suite",
    "SuiteResults",
    "load_costs",
    "load_experiment",
    "load_suite",
    "predict_folder",
    "rebuild",
    "rebuild_costs",
    "rebuild_suite",
    "run_costs",
    "run_experiment",
    "run_suite",
]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f"forecast.experiment.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'forecast.experiment' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
