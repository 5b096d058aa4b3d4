"""How far gradients reach: what a token of the past can still learn from the loss at the last one.

A recurrent net hands its gradient back token by token, each time through the same weights, so that it vanishes (or
explodes) geometrically (Bengio, Simard and Frasconi 1994; Pascanu et al. 2013, arXiv 1211.5063); convolutions and
attention lead straight back. B windows, N token, D width.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.forecaster import Forecaster
from forecast.frame import Panel
from forecast.insight.windows import Sample, drawn
from forecast.nn import Backbone
from forecast.nn.losses import pinball
from forecast.nn.network import LAST

_AT_ONCE = 16  # windows
_SMALLEST = 1e-12  # of the largest gradient: what is below is rounding noise of a fit, or nothing at all


def reach_of_gradients(
    forecasters: Mapping[str, Forecaster],
    frame: pd.DataFrame | Panel | None = None,
    *,
    cutoffs: Sequence | None = None,
    windows: int = 64,
    seed: int = 0,
) -> pd.DataFrame:
    """Give the mean norm of d loss / d token over windows, by the lag of the token behind the last one.

    The loss is that of the last origin alone: with those of all origins newer terms would hide what comes from afar.
    The token is the vector that enters the backbone; all that later states know of its time comes in with it.

    Parameters
    ----------
    forecasters: fitted NeuralForecasters by the names they are to have.
    frame: the history to look at; None for that of each `fit`.
    cutoffs: ends of the windows, for all series; None to draw `windows` of them with `seed`.
    windows, seed: of the draw.

    Returns
    -------
    One row for each forecaster and token: `forecaster, family, lag_tokens, lag` (in steps), `norm`, `relative` (to that
    of the last token) and `half_life`: the steps in which a straight line through log norm against lag, the last token
    left out, falls by half (infinite where it does not fall, NaN with fewer than two tokens to fit).

    Raises
    ------
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network; no forecaster at all.

    """
    _some("forecasters", forecasters)
    tables = []
    for name, forecaster in forecasters.items():
        ahead = getattr(forecaster, "horizon", 0)
        looked = drawn(forecaster, frame, cutoffs, windows, seed, ahead)
        norms = torch.cat([_fitted_norms(part) for part in looked.parts(_AT_ONCE)])
        tables.append(_table(name, forecaster.family, norms.mean(0), looked.network.patch_length))
    return pd.concat(tables, ignore_index=True)


def reach_untrained(
    backbones: Mapping[str, Backbone], *, tokens: int = 128, sequences: int = 16, seed: int = 0
) -> pd.DataFrame:
    """Give the same of backbones as they are before any training, on tokens of normal noise, one step to a token.

    In place of a loss stands the last state in a random direction, one for each of the `sequences`. Columns as
    `reach_of_gradients`.

    Raises ValueError where there is no backbone.
    """
    _some("backbones", backbones)
    tables = []
    for name, config in backbones.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = config.build(tokens).eval().double()
            x = torch.randn(sequences, tokens, config.width, dtype=torch.float64, requires_grad=True)
            direction = torch.nn.functional.normalize(torch.randn(sequences, config.width, dtype=torch.float64), dim=1)
        (module(x)[:, -1] * direction).sum().backward()
        assert x.grad is not None
        tables.append(_table(name, config.family, x.grad.norm(dim=2).mean(0), 1))
    return pd.concat(tables, ignore_index=True)


def _fitted_norms(part: Sample) -> Tensor:
    """Give the norms (M, N) of the gradients of each window's loss at its last origin."""
    network = part.network
    with torch.no_grad():
        patches = part.patches()
        tokens = network.tokens(patches)
    tokens.requires_grad_()
    scaled = network.decode(patches, network.backbone(tokens), LAST)
    rows, scale = part.rows, scaled.scale[part.rows]
    targets = network.units.read(part.targets[:, None, : network.decoder.reach]) - scaled.anchor[rows]
    known = targets.isfinite() & (scale > 0)
    targets = targets / torch.where(scale > 0, scale, 1.0)
    levels = torch.special.ndtr(network.normal)
    losses = [
        pinball(quantiles, target, weights, levels)
        for quantiles, target, weights in zip(scaled.quantiles[rows], targets, known.to(targets.dtype), strict=True)
    ]
    (gradient,) = torch.autograd.grad(torch.stack(losses).sum(), tokens)
    return gradient[part.rows].norm(dim=2).double()


def _table(name: str, family: str, norms: Tensor, patch: int) -> pd.DataFrame:
    """Give the rows of one forecaster, newest token first, from mean norms (N,)."""
    norm = norms.flip(0).numpy()
    lag = np.arange(len(norm))
    return pd.DataFrame(
        {
            "forecaster": name,
            "family": family,
            "lag_tokens": lag,
            "lag": lag * patch,
            "norm": norm,
            "relative": norm / norm[0] if norm[0] > 0 else np.nan,
            "half_life": _half_life(lag * patch, norm),
        }
    )


def _half_life(lag: np.ndarray, norm: np.ndarray) -> float:
    fitted = (lag > 0) & (norm > _SMALLEST * norm.max())
    if fitted.sum() < 2:
        return math.nan
    slope = np.polyfit(lag[fitted], np.log(norm[fitted]), 1)[0]
    return math.log(0.5) / slope if slope < 0 else math.inf


def _some(argument: str, given: Mapping) -> None:
    if not given:
        raise ValueError(f"`{argument}` is empty; allowed: one or more by name")
