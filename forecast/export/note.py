"""What whoever runs an exported network has to know: inputs, output, and how to count time."""

from typing import TYPE_CHECKING, Any, cast

from forecast import __version__, saving
from forecast.encoding import Category, Part
from forecast.export.program import roles_of
from forecast.frame import Panel

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster


def note_of(forecaster: "NeuralForecaster", panel: Panel, format: str, apart: float) -> dict[str, Any]:
    """Give what whoever runs the file has to know."""
    T, H = forecaster.context_length_, forecaster.horizon
    first = int(panel.first.min())
    inputs: dict[str, Any] = {
        "values": {"shape": ["batch", T], "type": "float32", "holds": "the last values, oldest first; NaN: missing"},
        "cutoffs": {"shape": ["batch"], "type": "int64", "holds": "the ordinal of the stamp of each last value"},
    }
    lengths = {"past": [T], "known": [T + H], "static": []}
    holds = {
        "past": "at the steps of `values`; a delayed column holds the value of `delay` steps before",
        "known": "at the steps of `values` and the `horizon` after them; of a forecasted column what had been issued "
        "by each step of `values`, and for those ahead by the last of these",
        "static": "of the series",
    }
    for role in roles_of(forecaster):
        columns = _columns(getattr(forecaster.encoding_, role))
        if role == "known" and (calendar := cast(Any, forecaster.encoding_).calendar):
            numbers = len(forecaster.encoding_.known.numbers)  # type: ignore[union-attr]
            columns[numbers:numbers] = [{"calendar": list(calendar), "columns": forecaster.encoding_.features}]  # type: ignore[union-attr]
        count = len(getattr(cast(Any, forecaster.network_.reader).layout, role))
        shape = ["batch", *lengths[role], count]
        inputs[role] = {"shape": shape, "type": "float32", "holds": holds[role], "columns": columns}
    note = {
        "foretell": __version__,
        "format": format,
        "backbone": repr(forecaster.backbone_),
        "inputs": inputs,
        "output": {"quantiles": {"shape": ["batch", H, len(forecaster.quantile_levels)], "type": "float32"}},
        "quantile_levels": [float(level) for level in forecaster.quantile_levels],
        "horizon": H,
        "context_length": T,
        "freq": panel.calendar.freq,
        "season_length": forecaster.season_length_,
        "ordinals": {
            "stamp": str(panel.calendar.stamp(first)),
            "ordinal": first,
            "rule": "one more for each step of `freq` after `stamp`; of the first step forecast, one more than cutoffs",
        },
        "largest_difference": apart,
    }
    if forecaster.backbone_.across_series:
        ids = [panel.id_of(series) for series in range(len(panel))]
        note["series"] = [one if isinstance(one, str | int) else str(one) for one in ids]
    return note


def _columns(part: Part) -> list[dict[str, Any]]:
    """Give the columns of a role in their order; a category is given by its place in the list."""
    return [
        {"name": column.name, "delay": column.delay}
        | ({"forecasted": True} if column.issued else {})
        | (
            {"categories": saving.to_json(column.values, column.name), "missing": "NaN"}
            if isinstance(column, Category)
            else {"missing": "NaN"}
        )
        for column in (*part.numbers, *part.categories)
    ]
