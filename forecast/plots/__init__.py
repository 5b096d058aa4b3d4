"""Plots: a ledger (or a plain frame) in, a matplotlib Figure out; one function, one file.

Frames may be of pandas or polars. Figures are made without pyplot: nothing is shown, no window opens, no figure stays
open behind the caller's back.
Save one with `figure.savefig("name.png")`. No torch here: what is drawn comes as arrays and frames.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forecast.plots.ablations import plot_ablations
    from forecast.plots.alignment import plot_alignments
    from forecast.plots.attention import plot_attention, plot_attention_across_series, plot_attention_by_lag
    from forecast.plots.backtest import plot_backtest
    from forecast.plots.calibration import plot_calibration
    from forecast.plots.context import plot_skill_by_context
    from forecast.plots.cost import plot_cost
    from forecast.plots.covariates import plot_covariates
    from forecast.plots.coverage import plot_coverage_by_step
    from forecast.plots.effects import plot_effects
    from forecast.plots.error import plot_error_by_cutoff, plot_error_by_step
    from forecast.plots.fan import plot_forecast
    from forecast.plots.folds import plot_folds
    from forecast.plots.forecasts import plot_forecasts
    from forecast.plots.gates import plot_gates
    from forecast.plots.gradient_reach import plot_gradient_reach
    from forecast.plots.learning_curve import plot_learning_curve
    from forecast.plots.occlusion import plot_occlusion
    from forecast.plots.over_data_sets import plot_contrasts, plot_pairs
    from forecast.plots.pareto import plot_pareto
    from forecast.plots.pit import plot_pit
    from forecast.plots.ranks import plot_ranks
    from forecast.plots.recall import plot_recall
    from forecast.plots.receptive_field import plot_receptive_field
    from forecast.plots.skill import plot_skill
    from forecast.plots.skill_by_step import plot_skill_by_step
    from forecast.plots.staleness import plot_skill_by_staleness
    from forecast.plots.tuning_curve import plot_tuning_curve
    from forecast.plots.win_rates import plot_win_rates

_HOMES = {
    "plot_ablations": "ablations",
    "plot_alignments": "alignment",
    "plot_attention": "attention",
    "plot_attention_across_series": "attention",
    "plot_attention_by_lag": "attention",
    "plot_backtest": "backtest",
    "plot_calibration": "calibration",
    "plot_contrasts": "over_data_sets",
    "plot_cost": "cost",
    "plot_covariates": "covariates",
    "plot_coverage_by_step": "coverage",
    "plot_effects": "effects",
    "plot_error_by_cutoff": "error",
    "plot_error_by_step": "error",
    "plot_folds": "folds",
    "plot_forecast": "fan",
    "plot_forecasts": "forecasts",
    "plot_gates": "gates",
    "plot_gradient_reach": "gradient_reach",
    "plot_learning_curve": "learning_curve",
    "plot_occlusion": "occlusion",
    "plot_pairs": "over_data_sets",
    "plot_pareto": "pareto",
    "plot_pit": "pit",
    "plot_ranks": "ranks",
    "plot_recall": "recall",
    "plot_receptive_field": "receptive_field",
    "plot_skill": "skill",
    "plot_skill_by_context": "context",
    "plot_skill_by_staleness": "staleness",
    "plot_skill_by_step": "skill_by_step",
    "plot_tuning_curve": "tuning_curve",
    "plot_win_rates": "win_rates",
}

__all__ = [
    "plot_ablations",
    "plot_alignments",
    "plot_attention",
    "plot_attention_across_series",
    "plot_attention_by_lag",
    "plot_backtest",
    "plot_calibration",
    "plot_contrasts",
    "plot_cost",
    "plot_covariates",
    "plot_coverage_by_step",
    "plot_effects",
    "plot_error_by_cutoff",
    "plot_error_by_step",
    "plot_folds",
    "plot_forecast",
    "plot_forecasts",
    "plot_gates",
    "plot_gradient_reach",
    "plot_learning_curve",
    "plot_occlusion",
    "plot_pairs",
    "plot_pareto",
    "plot_pit",
    "plot_ranks",
    "plot_recall",
    "plot_receptive_field",
    "plot_skill",
    "plot_skill_by_context",
    "plot_skill_by_staleness",
    "plot_skill_by_step",
    "plot_tuning_curve",
    "plot_win_rates",
]


def __getattr__(name: str):
    # Lazy: naming a plot must not cost the import of matplotlib until it is used.
    if name in _HOMES:
        return getattr(import_module(f"forecast.plots.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'forecast.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
