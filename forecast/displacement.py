"""How far a network's medians lie from their anchors, beside how far what came true does. W windows."""

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
import torch

from forecast.nn import ForecastNetwork
from forecast.nn.network import LAST
from forecast.windows import Batch


class Displacements(NamedTuple):
    """Of windows from their anchors, in their scales.

    Attributes
    ----------
    said, true: (W, reach); `true` is 0 where it does not count.
    counted: (W, reach), how much each value counts; 0 for what was not observed, or of a series that does not move.
    cutoffs: (W,), calendar ordinals of the last context steps.

    """

    said: np.ndarray
    true: np.ndarray
    counted: np.ndarray
    cutoffs: np.ndarray

    @classmethod
    def of(cls, network: ForecastNetwork, batches: Iterable[Batch], horizon: int) -> Self | None:
        """Give those of all windows of batches, in their order; None where nothing counts."""
        parts = [_of_batch(network, batch, horizon) for batch in batches]
        whole = cls(*(np.concatenate(part) for part in zip(*parts, strict=True))) if parts else None
        return whole if whole is not None and whole.counted.any() else None

    @property
    def counting(self) -> np.ndarray:
        """Give the windows in which something counts, by position."""
        return np.flatnonzero(self.counted.any(axis=1))


@torch.inference_mode()
def _of_batch(network: ForecastNetwork, batch: Batch, horizon: int) -> tuple[np.ndarray, ...]:
    context, reach = batch.values.shape[1] - horizon, network.decoder.reach
    scaled = network.scaled(batch.values[:, :context], batch.cutoffs, LAST, covariates=batch.covariates)
    targets, counted = (x[:, None, context : context + reach] for x in (batch.values, batch.counted))
    moving = scaled.scale > 0
    true = (network.units.read(targets) - scaled.anchor) / torch.where(moving, scaled.scale, 1.0)
    counted = torch.where(moving & true.isfinite(), counted, 0.0)
    true = torch.where(counted > 0, true, 0.0)
    said = scaled.quantiles[..., network.median]
    return *(x.squeeze(1).numpy() for x in (said, true, counted)), batch.cutoffs.numpy()
