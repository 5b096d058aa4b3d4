"""A look inside a fitted network: what it attends to, how long it remembers, how far back it reads, what it costs.

Arrays and frames only; `forecast.plots` draws them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forecast.insight.alignment import alignments
    from forecast.insight.attention import attention_across_series, attention_by_lag, attention_maps
    from forecast.insight.cost import CostPlan, cost_curves, cost_powers
    from forecast.insight.gates import gate_timescales
    from forecast.insight.gradient_reach import reach_of_gradients, reach_untrained
    from forecast.insight.inspection import inspect
    from forecast.insight.occlusion import occlude
    from forecast.insight.recall import RecallPlan, longest_solved, recall_curves
    from forecast.insight.receptive_field import effective_receptive_field, field_extent

_HOMES = {
    "CostPlan": "cost",
    "RecallPlan": "recall",
    "alignments": "alignment",
    "attention_across_series": "attention",
    "attention_by_lag": "attention",
    "attention_maps": "attention",
    "cost_curves": "cost",
    "cost_powers": "cost",
    "effective_receptive_field": "receptive_field",
    "field_extent": "receptive_field",
    "gate_timescales": "gates",
    "inspect": "inspection",
    "longest_solved": "recall",
    "occlude": "occlusion",
    "reach_of_gradients": "gradient_reach",
    "reach_untrained": "gradient_reach",
    "recall_curves": "recall",
}

__all__ = [
    "CostPlan",
    "RecallPlan",
    "alignments",
    "attention_across_series",
    "attention_by_lag",
    "attention_maps",
    "cost_curves",
    "cost_powers",
    "effective_receptive_field",
    "field_extent",
    "gate_timescales",
    "inspect",
    "longest_solved",
    "occlude",
    "reach_of_gradients",
    "reach_untrained",
    "recall_curves",
]


def __getattr__(name: str):
    # Lazy: naming one look must not cost the imports of all others.
    if name in _HOMES:
        return getattr(import_module(f"forecast.insight.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'forecast.insight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
