"""How far a network is to be heard: by how surely it is better than its own anchor, on the validation windows.

Where there is nothing to learn, as in exchange rates, a network still learns what its training windows happened to do.
It may even do a little better than the anchor on validation, by the same luck; but not from one block of time to the
next. H horizon, W windows.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from forecast.nn import ForecastNetwork
from forecast.nn.network import LAST
from forecast.windows import Batch


def trust_in(network: ForecastNetwork, batches: Iterable[Batch], horizon: int) -> float:
    """Give the share, 0 to 1, of what a network says beyond its anchor: 1 - 1 / t^2.

    t is that of the mean gain in absolute error over blocks of `horizon` steps; series count together, since one day
    may surprise all. This is how far an estimate with such a t is best shrunk (James and Stein 1961). 1 where there are
    fewer than two blocks, which tell nothing.
    """
    parts = [_errors(network, batch, horizon) for batch in batches]
    if not parts:
        return 1.0
    alone, heard, cutoffs = (np.concatenate(part) for part in zip(*parts, strict=True))
    known = np.isfinite(alone)
    if not known.any():
        return 1.0
    _, block = np.unique((cutoffs[known] - cutoffs[known].min()) // horizon, return_inverse=True)
    counts = np.bincount(block)
    gains = np.bincount(block, (alone - heard)[known]) / counts
    if len(gains) < 2:
        return 1.0
    mean, error = gains.mean(), gains.std(ddof=1) / len(gains) ** 0.5
    return float(max(0.0, 1 - (error / mean) ** 2)) if mean > 0 else 0.0


@torch.inference_mode()
def _errors(network: ForecastNetwork, batch: Batch, horizon: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the mean absolute error of the anchor and of the median of each window, in its scale, and its cutoff, (W,).

    NaN where nothing was observed, or the series does not move.
    """
    context, reach = batch.values.shape[1] - horizon, network.decoder.reach
    scaled = network.scaled(batch.values[:, :context], batch.cutoffs, LAST, covariates=batch.covariates)
    targets, counted = (x[:, None, context : context + reach] for x in (batch.values, batch.counted))
    moving = scaled.scale > 0
    targets = (network.units.read(targets) - scaled.anchor) / torch.where(moving, scaled.scale, 1.0)
    weights = torch.where(moving & targets.isfinite(), counted, 0.0)
    targets = torch.where(weights > 0, targets, 0.0)
    median = scaled.quantiles[..., network.median]
    return _mean(targets.abs(), weights), _mean((targets - median).abs(), weights), batch.cutoffs.numpy()


def _mean(errors: Tensor, weights: Tensor) -> np.ndarray:
    return ((errors * weights).sum((1, 2)) / weights.sum((1, 2))).numpy()
