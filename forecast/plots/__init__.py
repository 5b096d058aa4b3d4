"""Plots: a ledger (or a plain frame) in, a matplotlib Figure out; one function, one file.

Figures are made without pyplot: nothing is shown, no window opens, no figure stays open behind the caller's back.
Save one with `figure.savefig("name.png")`. No torch here: what is drawn comes as arrays and frames.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forecast.plots.calibration import plot_calibration
    from forecast.plots.error import plot_error_by_cutoff, plot_error_by_step
    from forecast.plots.folds import plot_folds
    from forecast.plots.forecasts import plot_forecasts
    from forecast.plots.skill import plot_skill

_HOMES = {
    "plot_calibration": "calibration",
    "plot_error_by_cutoff": "error",
    "plot_error_by_step": "error",
    "plot_folds": "folds",
    "plot_forecasts": "forecasts",
    "plot_skill": "skill",
}

__all__ = [
    "plot_calibration",
    "plot_error_by_cutoff",
    "plot_error_by_step",
    "plot_folds",
    "plot_forecasts",
    "plot_skill",
]


def __getattr__(name: str):
    # Lazy: naming a plot must not cost the import of matplotlib until it is used.
    if name in _HOMES:
        return getattr(import_module(f"forecast.plots.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'forecast.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
