"""Occlusion: does a forecast really hang on the values that an explanation names? (Zeiler and Fergus 2014, 1311.2901)

The values at the lags that are said to matter most are taken away, and so are as many at random. If the explanation is
faithful, the first changes the forecast more. M windows, T time step, N token, P patch length.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.forecaster import Forecaster
from forecast.frame import Panel
from forecast.insight.attention import along_time
from forecast.insight.receptive_field import mean_gradients, probed_steps
from forecast.insight.windows import Sample, drawn
from forecast.nn.network import LAST, ForecastNetwork, Patches

_AT_ONCE = 8  # windows
RANDOM = "random"


def occlude(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None = None,
    *,
    by: Literal["receptive_field", "attention"] = "receptive_field",
    shares: Sequence[float] = (0.05, 0.1, 0.2, 0.4),
    draws: int = 8,
    cutoffs: Sequence | None = None,
    windows: int = 64,
    seed: int = 0,
) -> pd.DataFrame:
    """Give how much forecasts change when values of the past are taken away: those named to matter most, or others.

    What is taken away is missing for the backbone alone: scale, anchor and linear path stay as they were, so that the
    change is what the backbone has read there.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster.
    frame: the history to look at; None for that of `fit`.
    by: what names the lags: the effective receptive field, or the mean attention of the last token over layers and
        heads, which names whole tokens.
    shares: of the context that are taken away.
    draws: random choices beside each.
    cutoffs: ends of the windows, for all series; None to draw `windows` of them with `seed`.
    windows, seed: of the draw of windows and lags.

    Returns
    -------
    One row for each share and choice: `chosen` (`by`, or "random"), `draw` (0, or which of the random choices),
    `share`, `lags` (how many are taken away) and `change`: the mean absolute change of the median over steps and
    windows, in units of the scale at the cutoff.

    Raises
    ------
    MissingPart: `by` attention, where the backbone has none along time.
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network, or an argument that is not
        allowed.

    """
    if by not in ("receptive_field", "attention"):
        raise ValueError(f"`by` is {by!r}; allowed: 'receptive_field', 'attention'")
    if not shares or not all(0 < share < 1 for share in shares):
        raise ValueError(f"`shares` is {shares!r}; allowed: one or more numbers inside (0, 1)")
    if draws < 1:
        raise ValueError(f"`draws` is {draws}; allowed: a whole number of 1 or more")
    looked = drawn(forecaster, frame, cutoffs, windows, seed)
    T = looked.values.shape[1]
    named = _by_field(looked) if by == "receptive_field" else _by_attention(looked)
    order, rng = np.argsort(-named, kind="stable"), np.random.default_rng(seed)
    choices = []
    for share in shares:
        count = min(max(1, round(share * T)), T - 1)
        choices.append((by, 0, share, order[:count]))
        choices += [(RANDOM, draw, share, rng.choice(T, count, replace=False)) for draw in range(draws)]
    changes = _changes(looked, [lags for *_, lags in choices])
    return pd.DataFrame(
        [
            {"chosen": chosen, "draw": draw, "share": share, "lags": len(lags), "change": change}
            for (chosen, draw, share, lags), change in zip(choices, changes, strict=True)
        ]
    )


def _by_field(looked: Sample) -> np.ndarray:
    """Give how much each lag matters by the gradient of the backbone's forecasts, (T,)."""
    return mean_gradients(looked, probed_steps(looked), whole=False).mean(0)


def _by_attention(looked: Sample) -> np.ndarray:
    """Give how much each lag matters by the attention of the last token, (T,)."""
    sums = [torch.stack(along_time(part))[..., -1, :].mean(2).sum((0, 1)) for part in looked.parts(_AT_ONCE)]
    return torch.stack(sums).sum(0).flip(0).repeat_interleave(looked.network.patch_length).numpy()


def _changes(looked: Sample, choices: Sequence[np.ndarray]) -> list[float]:
    """Give for each choice of lags how much the medians change without them."""
    totals, count = torch.zeros(len(choices), dtype=torch.float64), 0.0
    for part in looked.parts(_AT_ONCE):
        network = part.network
        with torch.inference_mode():
            patches = part.patches()
            moving = patches.ends.scale[part.rows, -1] > 0
            whole = _medians(network, patches, part.rows)
            for number, lags in enumerate(choices):
                change = (_medians(network, _without(patches, lags), part.rows) - whole).abs().mean(1)
                totals[number] += change[moving].double().sum()
        count += float(moving.sum())
    return (totals / max(count, 1.0)).tolist()


def _without(patches: Patches, lags: np.ndarray) -> Patches:
    """Give the patches with the values at some lags missing, and all else as it was."""
    _, N, P = patches.values.shape
    kept = torch.ones(N * P, dtype=torch.bool)
    kept[N * P - 1 - torch.from_numpy(lags)] = False
    readable = patches.readable & kept.unflatten(0, (N, P))
    return replace(patches, readable=readable, values=torch.where(readable, patches.values, 0.0))


def _medians(network: ForecastNetwork, patches: Patches, rows: Tensor) -> Tensor:
    """Give the medians (M, reach) in scaled units."""
    quantiles = network.decode(patches, network.backbone(network.tokens(patches)), LAST).quantiles
    return quantiles[rows, 0, :, int(network.normal.abs().argmin())]
