"""Attention maps: how much each token reads of which, layer by layer and head by head.

Fused kernels give no weights; they are computed once more from what the attention was given. M windows, B windows that
are read, N token, A attention head, S series.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from forecast.forecaster import Forecaster
from forecast.frame import Panel
from forecast.insight.hooks import calls
from forecast.insight.windows import MissingPart, Sample, drawn, ends
from forecast.nn.attention import MultiHeadAttention
from forecast.nn.backbones.attentive_rnn import AdditiveSelfAttention
from forecast.nn.self_attention import CausalSelfAttention

_AT_ONCE = 8  # windows


def attention_maps(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None = None,
    *,
    ids: Sequence | None = None,
    cutoffs: Sequence | None = None,
) -> pd.DataFrame:
    """Give the weights with which tokens read tokens up to their own, of single windows, with their stamps.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster whose backbone attends along time.
    frame: the history to look at; None for that of `fit`.
    ids: series to look at; None for the first.
    cutoffs: ends of the windows; None for each series' own end.

    Returns
    -------
    One row for each window, layer, head and pair of tokens: `unique_id, cutoff, layer, head, query, key` (the stamps of
    the last steps of the token that reads and of the one that is read), `lag_tokens, lag` (of the key behind the query,
    the latter in steps) and `weight`. The weights of a query sum to one.

    Raises
    ------
    MissingPart: the backbone attends to nothing along time.
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network.

    """
    looked = ends(forecaster, frame, ids, cutoffs)
    layers = torch.stack(along_time(looked), dim=1).numpy()  # (M, layers, A, N, N)
    M, depth, heads, N, _ = layers.shape
    query, key = np.tril_indices(N)
    stamps = looked.token_ordinals()  # (M, N)
    each = depth * heads
    return pd.DataFrame(
        {
            "unique_id": looked.ids.repeat(each * len(query)),
            "cutoff": looked.stamps(looked.origins.cutoffs.repeat(each * len(query))),
            "layer": np.tile(np.repeat(np.arange(1, depth + 1), heads * len(query)), M),
            "head": np.tile(np.repeat(np.arange(1, heads + 1), len(query)), M * depth),
            "query": looked.stamps(np.repeat(stamps[:, query], each, axis=0)),
            "key": looked.stamps(np.repeat(stamps[:, key], each, axis=0)),
            "lag_tokens": np.tile(query - key, M * each),
            "lag": np.tile((query - key) * looked.network.patch_length, M * each),
            "weight": layers[..., query, key].ravel(),
        }
    )


def attention_by_lag(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None = None,
    *,
    cutoffs: Sequence | None = None,
    windows: int = 64,
    seed: int = 0,
) -> pd.DataFrame:
    """Give the mean weight over many windows with which the last token, that of the forecast, reads those before it.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster whose backbone attends along time.
    frame: the history to look at; None for that of `fit`.
    cutoffs: ends of the windows, for all series; None to draw `windows` of them with `seed`.
    windows, seed: of the draw.

    Returns
    -------
    One row for each layer, head and lag: `layer, head, lag_tokens, lag` (in steps) and `weight`. The weights of a head
    sum to one.

    Raises
    ------
    MissingPart: the backbone attends to nothing along time.
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network.

    """
    looked = drawn(forecaster, frame, cutoffs, windows, seed)
    sums = [torch.stack(along_time(part), dim=1)[..., -1, :].double().sum(0) for part in looked.parts(_AT_ONCE)]
    weights = (torch.stack(sums).sum(0) / len(looked)).flip(-1).numpy()  # (layers, A, N)
    layer, head, lag = (index.ravel() for index in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "lag_tokens": lag,
            "lag": lag * looked.network.patch_length,
            "weight": weights.ravel(),
        }
    )


def attention_across_series(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None = None,
    *,
    cutoffs: Sequence | None = None,
    windows: int = 64,
    seed: int = 0,
) -> pd.DataFrame:
    """Give the mean weight over many windows and their tokens with which series read each other.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster whose backbone attends across series.
    frame: the history to look at; None for that of `fit`.
    cutoffs: ends of the windows; None to draw `windows` of them with `seed`.
    windows, seed: of the draw.

    Returns
    -------
    One row for each layer, head and pair of series: `layer, head, reader, read, weight`, series in the order of `fit`.
    The weights of a reader sum to one.

    Raises
    ------
    MissingPart: the backbone reads each series by itself.
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network.

    """
    looked = drawn(forecaster, frame, cutoffs, windows, seed)
    sums = [torch.stack(across_series(part)).double().sum((1, 2)) for part in looked.parts(_AT_ONCE)]
    weights = (torch.stack(sums).sum(0) / (len(looked) * looked.tokens)).numpy()  # (layers, A, S, S)
    layer, head, reader, read = (index.ravel() for index in np.indices(weights.shape))
    ids = looked.forecaster.panel_.ids
    return pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "reader": ids[reader],
            "read": ids[read],
            "weight": weights.ravel(),
        }
    )


def along_time(part: Sample) -> list[Tensor]:
    """Give the weights (M, A, N, N) of each layer that attends along time, first to last."""
    layers = _attending(part.network.backbone)
    if not layers:
        raise MissingPart(
            f"`backbone` {part.forecaster.backbone!r} attends to nothing along time; Transformers and attentive RNNs do"
        )
    inputs = _inputs(part, [_entrance(layer) for layer in layers])
    with torch.no_grad():
        return [layer.weights(x[0][part.rows]) for layer, x in zip(layers, inputs, strict=True)]


def across_series(part: Sample) -> list[Tensor]:
    """Give the weights (M, N, A, S, S) of each layer that attends across series, first to last."""
    backbone = part.network.backbone
    along = {m for layer in _attending(backbone) for m in layer.modules()}
    layers = [m for m in backbone.modules() if isinstance(m, MultiHeadAttention) and m not in along]
    if not layers:
        raise MissingPart(
            f"`backbone` {part.forecaster.backbone!r} attends to no other series; a graph Transformer of several does"
        )
    inputs = _inputs(part, layers)
    with torch.no_grad():
        return [layer.weights(*x).unflatten(0, (-1, part.tokens)) for layer, x in zip(layers, inputs, strict=True)]


def _attending(backbone: nn.Module) -> list[CausalSelfAttention | AdditiveSelfAttention]:
    return [m for m in backbone.modules() if isinstance(m, CausalSelfAttention | AdditiveSelfAttention)]


def _entrance(layer: CausalSelfAttention | AdditiveSelfAttention) -> nn.Module:
    """Give the part of a layer that is called with all that the layer is given."""
    return layer.attention.query if isinstance(layer, CausalSelfAttention) else layer.score.key


def _inputs(part: Sample, modules: Sequence[nn.Module]) -> list[tuple]:
    """Give what the modules are given while the backbone reads the windows."""
    network = part.network
    with torch.no_grad(), calls(modules) as seen:
        network.backbone(network.tokens(part.patches()))
    return [call.inputs for call in seen]
