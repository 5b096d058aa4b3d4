"""Engines: where the cells of an experiment are computed, one after the other or many at once.

Which one, how many workers it has, and in what order cells are finished is of no effect on any number.
"""

from collections.abc import Mapping

from forecast.experiment.engine.contract import Engine
from forecast.experiment.engine.dispatch import run_cells
from forecast.experiment.engine.local import Local
from forecast.experiment.engine.ray import Ray

ENGINES: Mapping[str, type[Engine]] = {"local": Local, "ray": Ray}

__all__ = ["ENGINES", "Engine", "Local", "Ray", "run_cells"]
