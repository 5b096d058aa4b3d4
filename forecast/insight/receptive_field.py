"""The effective receptive field: how strongly a forecast depends on each value of the past.

The claimed field is what a backbone could read, the effective one what it reads (Luo et al. 2017, arXiv 1701.04128).
B windows that are read, M that are looked at, T time step.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.forecaster import Forecaster
from forecast.frame import FrameError, Panel
from forecast.insight.windows import Sample, drawn
from forecast.nn.network import LAST
from forecast.nn.scaling import Running

BACKBONE, WHOLE = "backbone", "whole"
_HELD = 0.95  # of the gradient lies in the effective field
# Where every value counts alike, 95 % of the gradient lies in 95 % of the context: no word of what is hardly longer.
_CLEARLY = 1.1
_AT_ONCE = 16  # windows


def effective_receptive_field(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None = None,
    *,
    cutoffs: Sequence | None = None,
    windows: int = 64,
    seed: int = 0,
) -> pd.DataFrame:
    """Give the mean |d forecast / d value| over windows, by the lag of the value behind the cutoff.

    Forecast (the median) and values are in units of the scale at the cutoff. Location and scale are held fast: with
    them every value of the context would move every forecast a little, whatever the network reads.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster.
    frame: the history to look at; None for that of `fit`.
    cutoffs: ends of the windows, for all series; None to draw `windows` of them with `seed`.
    windows, seed: of the draw.

    Returns
    -------
    One row for each part, step and lag: `part` ("backbone": by way of backbone and decoder; "whole": with the anchor,
    which reads the last value and the seasons, and the linear path, if there is one), `step` (the first, the middle and
    the last that the decoder reaches at once), `lag` in steps (0: the last value before the forecast), `gradient`, and
    `share` of the gradient over all lags. In `attrs`: `context` in steps, `claimed` (the claimed field in steps; None
    where it has no bound), `effective` (the newest steps that hold 95 % of the backbone's gradient, at whichever step
    that is most) and `warning` ("" where there is none): the context is longer than one of the two.

    Raises
    ------
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network; no window that moves.

    """
    looked = drawn(forecaster, frame, cutoffs, windows, seed)
    steps = probed_steps(looked)
    T = looked.values.shape[1]
    tables = []
    for part in (BACKBONE, WHOLE):
        gradients = mean_gradients(looked, steps, whole=part == WHOLE)
        shares = gradients / np.maximum(gradients.sum(axis=1, keepdims=True), np.finfo("float64").tiny)
        tables.append(
            pd.DataFrame(
                {
                    "part": part,
                    "step": np.repeat(np.array(steps) + 1, T),
                    "lag": np.tile(np.arange(T), len(steps)),
                    "gradient": gradients.ravel(),
                    "share": shares.ravel(),
                }
            )
        )
    field = pd.concat(tables, ignore_index=True)
    tokens = looked.network.backbone.receptive_field
    extent = field_extent(field)
    effective = int(extent.loc[extent["part"] == BACKBONE, "held"].max())
    claimed = None if tokens is None else tokens * looked.network.patch_length
    field.attrs = {"context": T, "claimed": claimed, "effective": effective, "warning": _warning(T, claimed, effective)}
    return field


def field_extent(field: pd.DataFrame) -> pd.DataFrame:
    """Give for each part and step of an effective field how many of the newest steps hold so much of the gradient.

    Columns `part, step, half` (50 %) and `held` (95 %).
    """
    rows = []
    for part, step in field[["part", "step"]].drop_duplicates().itertuples(index=False):
        own = field.loc[(field["part"] == part) & (field["step"] == step)].sort_values(by=["lag"])
        held = own["share"].to_numpy(dtype=float).cumsum()
        half, most = (min(int(np.searchsorted(held, share - 1e-9)) + 1, len(held)) for share in (0.5, _HELD))
        rows.append({"part": part, "step": step, "half": half, "held": most})
    return pd.DataFrame(rows)


def probed_steps(looked: Sample) -> list[int]:
    """Give the first, the middle and the last step that the decoder reaches at once, counted from 0."""
    reach = looked.network.decoder.reach
    return sorted({0, (reach - 1) // 2, reach - 1})


def mean_gradients(looked: Sample, steps: Sequence[int], *, whole: bool) -> np.ndarray:
    """Give the mean |d forecast / d value| of a sample at steps counted from 0, (steps, T) by lag."""
    total = torch.zeros(len(steps), looked.values.shape[1], dtype=torch.float64)
    count = torch.zeros(looked.values.shape[1], dtype=torch.float64)
    for part in looked.parts(_AT_ONCE):
        x, forecasts, moving = _forecasts(part, whole)
        gradients = [
            torch.autograd.grad(forecasts[:, step].sum(), x, retain_graph=step != steps[-1])[0][part.rows]
            for step in steps
        ]
        known = part.values[part.rows].isfinite() & moving.unsqueeze(1)
        total += torch.where(known, torch.stack(gradients).abs(), 0.0).double().sum(1)
        count += known.double().sum(0)
    if not (count > 0).any():
        raise FrameError("no window of `frame` moves: no forecast hangs on constant values; give series that vary")
    return (total / count.clamp(min=1)).flip(1).numpy()


def _forecasts(part: Sample, whole: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Give values (B, T), a leaf, and medians (M, reach), both in scales at the cutoff, and which windows move (M,)."""
    network = part.network
    with torch.no_grad():
        ends = part.patches().ends.at(LAST)
        location, divisor = ends.location, ends.divisor
    x = ((network.units.read(part.values) - location) / divisor).requires_grad_()
    patches = network.read(network.units.give(location + divisor * x), part.cutoffs, part.covariates)
    held = _held(patches.ends)
    if whole:
        patches = replace(patches, ends=replace(held, last=patches.ends.last), before=_held(patches.before))
    else:
        patches = replace(patches, ends=held, before=_held(patches.before), recent=patches.recent.detach())
        patches = replace(patches, past=patches.past.detach())
    scaled = network.decode(patches, network.backbone(network.tokens(patches)), LAST)
    median = scaled.quantiles[..., int(network.normal.abs().argmin())] + scaled.anchor / divisor.unsqueeze(-1)
    return x, median.squeeze(1)[part.rows], ends.scale.squeeze(1)[part.rows] > 0


def _held(statistics: Running) -> Running:
    return Running(*(value.detach() for value in vars(statistics).values()))


def _warning(context: int, claimed: int | None, effective: int) -> str:
    """Say it where the context is clearly longer than what is, or could be, read of it."""
    if claimed is not None and context > claimed:
        return f"the context of {context} steps exceeds the claimed field of {claimed}: older values are never read"
    if context > _CLEARLY * effective:
        return (
            f"the context of {context} steps exceeds the effective field: the newest {effective} hold "
            f"{_HELD:.0%} of the gradient"
        )
    return ""
