"""Experiments: a config file in, a folder of results out; every cell of work is stored and never done twice."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forecast.experiment.clearing import clear_results
    from forecast.experiment.config import Experiment, load_experiment
    from forecast.experiment.cost_results import CostResults
    from forecast.experiment.costs import CostExperiment, load_costs, rebuild_costs, run_costs
    from forecast.experiment.engine import Engine, Local, Ray
    from forecast.experiment.exporting import Exported, export_forecasts
    from forecast.experiment.faults import ConfigError
    from forecast.experiment.folder_prediction import FolderForecasts, predict_folder
    from forecast.experiment.recall_results import RecallResults
    from forecast.experiment.recalls import RecallExperiment, load_recalls, rebuild_recalls, run_recalls
    from forecast.experiment.results import Results
    from forecast.experiment.runner import rebuild, run_experiment
    from forecast.experiment.side_by_side import SideBySide, compare_results
    from forecast.experiment.store import StoreError
    from forecast.experiment.stored import beside_table, cell_table, list_results
    from forecast.experiment.suite import Suite, SuiteResults, load_suite, rebuild_suite, run_suite

_HOMES = {
    "ConfigError": "faults",
    "CostExperiment": "costs",
    "CostResults": "cost_results",
    "Engine": "engine",
    "Experiment": "config",
    "Exported": "exporting",
    "FolderForecasts": "folder_prediction",
    "Local": "engine",
    "Ray": "engine",
    "RecallExperiment": "recalls",
    "RecallResults": "recall_results",
    "Results": "results",
    "SideBySide": "side_by_side",
    "StoreError": "store",
    "Suite": "suite",
    "SuiteResults": "suite",
    "beside_table": "stored",
    "cell_table": "stored",
    "clear_results": "clearing",
    "compare_results": "side_by_side",
    "export_forecasts": "exporting",
    "list_results": "stored",
    "load_costs": "costs",
    "load_experiment": "config",
    "load_recalls": "recalls",
    "load_suite": "suite",
    "predict_folder": "folder_prediction",
    "rebuild": "runner",
    "rebuild_costs": "costs",
    "rebuild_recalls": "recalls",
    "rebuild_suite": "suite",
    "run_costs": "costs",
    "run_experiment": "runner",
    "run_recalls": "recalls",
    "run_suite": "suite",
}

__all__ = [
    "ConfigError",
    "CostExperiment",
    "CostResults",
    "Engine",
    "Experiment",
    "Exported",
    "FolderForecasts",
    "Local",
    "Ray",
    "RecallExperiment",
    "RecallResults",
    "Results",
    "SideBySide",
    "StoreError",
    "Suite",
    "SuiteResults",
    "beside_table",
    "cell_table",
    "clear_results",
    "compare_results",
    "export_forecasts",
    "list_results",
    "load_costs",
    "load_experiment",
    "load_recalls",
    "load_suite",
    "predict_folder",
    "rebuild",
    "rebuild_costs",
    "rebuild_recalls",
    "rebuild_suite",
    "run_costs",
    "run_experiment",
    "run_recalls",
    "run_suite",
]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f"forecast.experiment.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'forecast.experiment' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
