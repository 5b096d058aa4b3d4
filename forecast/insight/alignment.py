"""The alignment map: which states of the past each step of the horizon reads, in a decoder that looks back.

M windows, N token, A attention head, H horizon, J patches of the horizon.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.forecaster import Forecaster
from forecast.frame import Panel
from forecast.insight.windows import MissingPart, Sample, ends


def alignments(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None = None,
    *,
    ids: Sequence | None = None,
    cutoffs: Sequence | None = None,
) -> pd.DataFrame:
    """Give the weights with which each step of a forecast reads the states of the past, of single windows.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster whose decoder attends to the past.
    frame: the history to look at; None for that of `fit`.
    ids: series to look at; None for the first.
    cutoffs: ends of the windows; None for each series' own end.

    Returns
    -------
    One row for each window, layer, head, step and token: `unique_id, cutoff, layer, head, step, ds` (the stamp that is
    forecast), `key` (the stamp of the last step of the token that is read), `lag` (of the key behind the step, in
    steps) and `weight`. The weights of a step sum to one. A decoder without heads has one.

    Raises
    ------
    MissingPart: the decoder does not look back.
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network.

    """
    looked = ends(forecaster, frame, ids, cutoffs)
    weights = decoder_weights(looked).numpy()  # (M, layers, A, H, N)
    window, layer, head, step, token = (index.ravel() for index in np.indices(weights.shape))
    back = np.arange(1 - looked.tokens, 1) * looked.network.patch_length  # of the tokens' ends, from the cutoff
    cutoff = looked.origins.cutoffs[window]
    return pd.DataFrame(
        {
            "unique_id": looked.ids[window],
            "cutoff": looked.stamps(cutoff),
            "layer": layer + 1,
            "head": head + 1,
            "step": step + 1,
            "ds": looked.stamps(cutoff + step + 1),
            "key": looked.stamps(cutoff + back[token]),
            "lag": step + 1 - back[token],
            "weight": weights.ravel(),
        }
    )


def decoder_weights(looked: Sample) -> Tensor:
    """Give the weights with which the steps of each window's forecast read the tokens, (M, layers, A, H, N)."""
    network, decoder = looked.network, looked.network.decoder
    by_head: Callable | None = getattr(decoder, "weights", None)
    by_step: Callable | None = getattr(decoder, "alignments", None)
    if by_step is None:
        raise MissingPart(
            f"`decoder` {looked.forecaster.decoder!r} reads the state at the origin alone; those that attend look back"
        )
    with torch.no_grad():
        states = network.backbone(network.tokens(looked.patches()))[looked.rows]
        if by_head is None:
            return by_step(states, -1)[:, None, None]
        patches = by_head(states, -1).transpose(0, 1)  # (M, layers, A, J, N)
    return patches.repeat_interleave(network.patch_length, dim=3)[:, :, :, : network.horizon]
