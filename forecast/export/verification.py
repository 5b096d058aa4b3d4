"""Whether an exported network says what `predict` says: on windows of the data, with gaps, and where nothing moves."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from forecast.export.program import Run, roles_of
from forecast.frame import Panel
from forecast.origins import Origins, origins_of
from forecast.windows import groups_before, windows_before

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster

_SERIES, _CUTOFFS = 8, 4  # that it is compared on


def largest_difference(forecaster: "NeuralForecaster", panel: Panel, run: Run) -> float:
    """Give how far an exported network is from predict, relative to the largest number forecast from a window."""
    panel = panel.detached()
    worst = 0.0
    for changed in (panel, _with_gaps(panel), _constant(panel)):
        for inputs, expected in _windows(forecaster, changed):
            together = run(inputs)
            alone = torch.cat([run(part) for part in _parts(inputs, forecaster.network_.backbone.series)])
            read = inputs["values"].isfinite().any(dim=1)
            for given in (together, alone):
                size = expected.abs().amax((1, 2))
                apart = (given - expected).abs().amax((1, 2)) / size.clamp(min=torch.finfo(size.dtype).tiny)
                worst = max(worst, float(apart[read].max().nan_to_num(torch.inf)) if read.any() else 0.0)
    return worst


def _windows(forecaster: "NeuralForecaster", panel: Panel) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
    """Give inputs of windows of a panel, and what predict says of them."""
    sizes = forecaster.context_length_, 1024, forecaster.encoding_, forecaster.horizon
    origins = _origins(panel, forecaster.backbone_.across_series)
    expected = torch.from_numpy(forecaster.forecast(panel, origins).quantiles)
    if forecaster.backbone_.across_series:
        parts = groups_before(panel, origins, forecaster.panel_of(None).ids, *sizes)
    else:
        parts = windows_before(panel, origins, *sizes)
    for part in parts:
        inputs = {"values": part.values, "cutoffs": part.cutoffs}
        if part.covariates is not None:
            inputs |= {role: getattr(part.covariates, role) for role in roles_of(forecaster)}
        rows = np.arange(len(part.values))[part.rows]
        whole = torch.full((len(part.values), *expected.shape[1:]), torch.nan)
        whole[rows] = expected[part.origins]
        # Rows of a group that were not asked for, a series that has not begun, are there to be read alone.
        yield inputs, whole


def _origins(panel: Panel, all_series: bool) -> Origins:
    """Give a few origins, evenly spread over series and their rows."""
    if all_series:
        last = int(panel.last.min())
        return origins_of(
            panel, np.unique(np.linspace(max(int(panel.first.max()), last - 20), last, _CUTOFFS).astype(int))
        )
    series = np.unique(np.linspace(0, len(panel) - 1, _SERIES).astype(int))
    series = np.repeat(series, _CUTOFFS)
    shares = np.tile(np.linspace(0.4, 1.0, _CUTOFFS), len(series) // _CUTOFFS)
    ends = panel.starts[series] + np.maximum(1, np.rint(shares * panel.lengths[series]).astype("int64"))
    return Origins(series, ends, panel.first[series] + ends - panel.starts[series] - 1)


def _with_gaps(panel: Panel) -> Panel:
    values = panel.values.copy()
    values[::7] = np.nan
    values[3::11] = np.nan
    return replace(panel, values=values, observed=np.isfinite(values))


def _constant(panel: Panel) -> Panel:
    return replace(panel, values=np.where(np.isfinite(panel.values), np.float32(7.0), panel.values))


def _parts(inputs: dict[str, Tensor], series: int) -> Iterator[dict[str, Tensor]]:
    """Give inputs one window, or group of windows, at a time."""
    for low in range(0, len(inputs["values"]), series):
        yield {name: x[low : low + series] for name, x in inputs.items()}
