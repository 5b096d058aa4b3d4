"""Experiments: a config file in, a folder of results out; every cell of work is stored and never done twice."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forecast.experiment.config import Experiment, load_experiment
    from forecast.experiment.cost_results import CostResults
    from forecast.experiment.costs import CostExperiment, load_costs, rebuild_costs, run_costs
    from forecast.experiment.faults import ConfigError
    from forecast.experiment.results import Results
    from forecast.experiment.runner import rebuild, run_experiment
    from forecast.experiment.store import StoreError

_HOMES = {
    "ConfigError": "faults",
    "CostExperiment": "costs",
    "CostResults": "cost_results",
    "Experiment": "config",
    "Results": "results",
    "StoreError": "store",
    "load_costs": "costs",
    "load_experiment": "config",
    "rebuild": "runner",
    "rebuild_costs": "costs",
    "run_costs": "costs",
    "run_experiment": "runner",
}

__all__ = [
    "ConfigError",
    "CostExperiment",
    "CostResults",
    "Experiment",
    "Results",
    "StoreError",
    "load_costs",
    "load_experiment",
    "rebuild",
    "rebuild_costs",
    "run_costs",
    "run_experiment",
]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f"forecast.experiment.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'forecast.experiment' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
