"""The time-scales of gates: for how many steps each unit of a recurrent layer keeps what it holds.

A unit that keeps the share f of its memory from token to token forgets on a scale of 1 / (1 - f) tokens (Tallec and
Ollivier 2018, arXiv 1804.11188). B window, N token, D width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from forecast.forecaster import Forecaster
from forecast.frame import Panel
from forecast.insight.hooks import Call, calls
from forecast.insight.windows import MissingPart, drawn
from forecast.nn.backbones.mingru import Layer as MinGRULayer

_AT_ONCE = 16  # windows


def gate_timescales(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None = None,
    *,
    cutoffs: Sequence | None = None,
    windows: int = 64,
    seed: int = 0,
) -> pd.DataFrame:
    """Give for how long each unit remembers by its gate: the LSTM's forget gate, the update gate of a GRU or minGRU.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster.
    frame: the history to look at; None for that of `fit`.
    cutoffs: ends of the windows, for all series; None to draw `windows` of them with `seed`.
    windows, seed: of the draw.

    Returns
    -------
    One row for each layer and unit: `layer, unit, cell` ("lstm", "gru", "mingru"), `kept` (the mean share of its memory
    that a unit keeps from token to token, over all tokens and windows) and `timescale`: 1 / (1 - kept) tokens, in
    steps. In `attrs`: `context` and `patch_length` in steps.

    Raises
    ------
    MissingPart: the backbone has no such gate.
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network.

    """
    looked = drawn(forecaster, frame, cutoffs, windows, seed)
    network = looked.network
    gates = gates_of(network.backbone)
    if not gates:
        raise MissingPart(
            f"`backbone` {looked.forecaster.backbone!r} has no gate that says how much of a memory is kept; LSTM, GRU "
            "and minGRU have"
        )
    totals = [torch.zeros(())] * len(gates)
    for part in looked.parts(_AT_ONCE):
        with torch.no_grad(), calls([gate.module for gate in gates]) as seen:
            network.backbone(network.tokens(part.patches()))
        with torch.no_grad():
            kept = [gate.kept(call)[part.rows].double() for gate, call in zip(gates, seen, strict=True)]
        totals = [total + own.mean(1).sum(0) for total, own in zip(totals, kept, strict=True)]
    tables = [
        _table(layer, gate.cell, (total / len(looked)).numpy(), network.patch_length)
        for layer, (gate, total) in enumerate(zip(gates, totals, strict=True), 1)
    ]
    table = pd.concat(tables, ignore_index=True)
    table.attrs = {"context": looked.values.shape[1], "patch_length": network.patch_length}
    return table


@dataclass(frozen=True)
class Gate:
    """A gate of a layer: the module to watch, and how its calls say what share of the memory is kept, (B, N, D)."""

    cell: str
    module: nn.Module
    kept: Callable[[Call], Tensor]


def gates_of(backbone: nn.Module) -> list[Gate]:
    """Give the gates of a backbone that decide over its memory, layer after layer."""
    found = []
    for module in backbone.modules():
        if isinstance(module, nn.LSTM):
            found.append(Gate("lstm", module, partial(_recurrent, module)))
        elif isinstance(module, nn.GRU):
            found.append(Gate("gru", module, partial(_recurrent, module)))
        elif isinstance(module, MinGRULayer):
            found.append(Gate("mingru", module.update, lambda call: (-call.output).sigmoid()))
    return found


def _recurrent(cell: nn.LSTM | nn.GRU, call: Call) -> Tensor:
    """Give the forget gate of an LSTM, or the update gate of a GRU: each is the second of those that torch stacks."""
    x, hidden = call.inputs[0], call.output[0]
    which = slice(cell.hidden_size, 2 * cell.hidden_size)
    weights = dict(cell.named_parameters())
    read = linear(x, weights["weight_ih_l0"][which], weights["bias_ih_l0"][which])
    before = pad(hidden[:, :-1], (0, 0, 1, 0))
    return (read + linear(before, weights["weight_hh_l0"][which], weights["bias_hh_l0"][which])).sigmoid()


def _table(layer: int, cell: str, kept: np.ndarray, patch: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "layer": layer,
            "unit": np.arange(1, len(kept) + 1),
            "cell": cell,
            "kept": kept,
            "timescale": patch / np.maximum(1 - kept, np.finfo("float32").eps),
        }
    )
