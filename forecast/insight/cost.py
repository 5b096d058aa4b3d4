"""What a network costs as the history grows: time and memory of training and of one new prediction.

A prediction is either recomputed from the whole history or streamed, from a state that is carried. Attention lets every
token read all before it: the work of a pass grows with T^2, and a stream has to carry all T tokens, unless a window
bounds them. A recurrence or a convolution reads what it carries, the same amount at every token: T for a pass, and
nothing that grows for a stream. Patches of P values make P times fewer tokens of a history, and P states of a stream.

Times are medians of processor time on one thread; they belong to the machine. Bytes are counted and do not.
T history, P patch length, N token.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.forecaster import DECILES
from forecast.insight.curve_plan import alone, check_backbones, check_rising
from forecast.insight.memory import peak_bytes, saved_bytes
from forecast.network_training import NetworkTraining
from forecast.nn import Backbone, Direct, ForecastNetwork, Recipe
from forecast.nn.attention import DotProductAttention
from forecast.nn.network import ALL, LAST
from forecast.nn.states import tensors_of
from forecast.nn.streaming import Streams
from forecast.params import check_positive
from forecast.training import Training
from forecast.windows import Batch

LENGTHS = tuple(2**power for power in range(6, 14))
COSTS = ["backbone", "family", "patch_length", "length", "mode", "seconds", "bytes", "parameters"]
EXPECTED = ["seconds_expected", "bytes_expected"]
COLUMNS = [*COSTS, *EXPECTED, "left_out"]
_CURVE = ["backbone", "family", "patch_length", "mode"]
_RECIPE = Recipe(anchor="mean")  # what smoothing costs in short contexts is no cost of the backbone
_SPENT, _MOST_RUNS = 0.1, 200  # seconds for which a run is repeated at least, but no more often than this


@dataclass(frozen=True, kw_only=True)
class CostPlan:
    """Whose costs are measured, at which lengths, and what is the same for all.

    Attributes
    ----------
    backbones: by the names that they have in the result.
    patch_lengths: of each backbone.
    lengths: of the history, in values, rising; filled up to whole patches.
    horizon: steps of a forecast, for nine quantile levels, all by the direct decoder.
    batch_size: windows of a training step.
    context_length: of the networks that are streamed: what scale and attention remember, however long the history is.
    repeats: a time is the median of so many runs or more, after one that is not counted.
    most_seconds: what a single run may take, and
    most_bytes: may hold; what would pass one of them, as the shorter lengths have grown, is left out.

    """

    backbones: Mapping[str, Backbone]
    patch_lengths: Sequence[int] = (1, 8)
    lengths: Sequence[int] = LENGTHS
    horizon: int = 24
    batch_size: int = 1
    context_length: int = 168
    repeats: int = 3
    most_seconds: float = 8.0
    most_bytes: float = 1e9

    def __post_init__(self) -> None:
        check_backbones(self.backbones)
        check_rising("patch_lengths", self.patch_lengths)
        check_rising("lengths", self.lengths)
        check_positive(**{name: getattr(self, name) for name in ("horizon", "batch_size", "context_length", "repeats")})
        for name in ("most_seconds", "most_bytes"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not value > 0:
                raise ValueError(f"`{name}` is {value!r}; allowed: a number above 0")


def cost_curves(plan: CostPlan) -> pd.DataFrame:
    """Measure all curves of a plan: one row for each backbone, patch length, length and mode.

    Columns
    -------
    backbone, family, patch_length, length.
    mode: `train` is the forward and backward pass of a step; `recompute` one new prediction from the whole history, by
        a network whose context it is; `stream` one new prediction after that history, by a network of the plan's
        context; `stream_all` the same by one whose context is the history, for backbones whose state then grows.
    seconds: of one run.
    bytes: in `train` what is kept for the backward pass; in `recompute` the most that is held at once, inputs and
        weights aside; in the two others the size of the state that is carried.
    parameters: of the network; `train` and `recompute` are those of a network whose context is the history.
    seconds_expected, bytes_expected: powers of the history's length with which they grow once it is long.
    left_out: why it was not measured, in which case `seconds` and `bytes` are NaN; else "".

    """
    curves = []
    for name in plan.backbones:
        for patch_length in plan.patch_lengths:
            curve = pd.DataFrame(columns=COLUMNS)
            for length in plan.lengths:
                point = cost_at(plan, name, patch_length, length, curve)
                curve = point if curve.empty else pd.concat([curve, point], ignore_index=True)
            curves.append(curve)
    return pd.concat(curves, ignore_index=True)


def cost_at(
    plan: CostPlan, name: str, patch_length: int, length: int, shorter: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Measure one backbone at one patch length and one length in every mode: some rows of `cost_curves`.

    `shorter` holds the rows of the same curve at shorter lengths, by whose growth it is judged what is left out.
    """
    backbone = plan.backbones[name]
    rows, refused = [], ""
    for mode, power in expected_powers(backbone).items():
        why = "" if shorter is None else _too_much(plan, _measured(shorter, mode), length)
        if mode == "recompute":
            refused = why
        if mode == "stream_all" and refused:  # whose history has to be read once, all of it at once
            why = refused
        with alone():
            network = _network(plan, backbone, patch_length, plan.context_length if mode == "stream" else length)
            seconds, size = (math.nan, math.nan) if why else _MEASURES[mode](plan, network, length)
        parameters = sum(parameter.numel() for parameter in network.parameters())
        rows.append((name, backbone.family, patch_length, length, mode, seconds, size, parameters, *power, why))
    return pd.DataFrame(rows, columns=COLUMNS).astype({"bytes": "float64"})


def cost_powers(costs: pd.DataFrame) -> pd.DataFrame:
    """Fit the powers of the length with which costs grow: one row for each backbone, patch length and mode.

    Columns `backbone, family, patch_length, mode`; `from_length, to_length`, the upper half of the lengths that were
    measured, on which the line through the logarithms is fitted; `seconds_power, bytes_power`, its slopes, NaN where
    fewer than two lengths were measured; `seconds_expected, bytes_expected`. A fitted power comes to the expected one
    from below: at short lengths much of the cost does not depend on them, or less so.
    """
    rows = []
    for _, curve in costs.groupby(_CURVE, sort=False):
        measured = _measured(curve, curve["mode"].iloc[0])
        upper = measured.iloc[len(measured) // 2 :] if len(measured) > 2 else measured
        ends = (int(upper["length"].iloc[0]), int(upper["length"].iloc[-1])) if len(upper) else (0, 0)
        slopes = (_slope(upper, column) for column in ("seconds", "bytes"))
        rows.append((*curve[_CURVE].iloc[0], *ends, *slopes, *curve[EXPECTED].iloc[0]))
    columns = [*_CURVE, "from_length", "to_length", "seconds_power", "bytes_power", *EXPECTED]
    return pd.DataFrame(rows, columns=columns)


class Powers(NamedTuple):
    """Powers of the history's length with which a cost grows once it is long."""

    seconds: int
    bytes: int


def expected_powers(backbone: Backbone) -> dict[str, Powers]:
    """Give by mode the powers with which the costs of a backbone should grow; the modes are those that it has.

    A state that grows with the context is one that holds every token: each token reads all before it. The N x N weights
    with which attention reads are held in training with dropout, which changes each of them; otherwise PyTorch's fused
    kernels never hold them all.
    """
    with alone():
        short, long = (backbone.build(tokens) for tokens in (8, 16))
    if _size(short.init_state(1)) == _size(long.init_state(1)):
        return {"train": Powers(1, 1), "recompute": Powers(1, 1), "stream": Powers(0, 0)}
    weights = any(isinstance(part, DotProductAttention) and part.dropout for part in long.modules())
    return {
        "train": Powers(2, 2 if weights else 1),
        "recompute": Powers(2, 1),
        "stream": Powers(0, 0),
        "stream_all": Powers(1, 1),
    }


def _train(plan: CostPlan, network: ForecastNetwork, length: int) -> tuple[float, int]:
    module = NetworkTraining(
        network, Training(), horizon=plan.horizon, quantile_levels=DECILES, steps_per_batch=1
    ).train()
    values = _walks(plan.batch_size, _filled(length, network) + plan.horizon)
    cutoffs = torch.zeros(plan.batch_size, dtype=torch.int64)
    batch = Batch(values, torch.ones_like(values), cutoffs, covariates=None)

    def forward() -> Tensor:
        return module.loss(batch, ALL)

    def step() -> None:
        forward().backward()
        module.zero_grad()

    size = saved_bytes(forward, network.parameters())
    return _seconds(step, plan.repeats), size


def _recompute(plan: CostPlan, network: ForecastNetwork, length: int) -> tuple[float, int]:
    values, cutoffs = _walks(1, _filled(length, network)), torch.zeros(1, dtype=torch.int64)
    network.eval()
    with torch.inference_mode():
        size = peak_bytes(lambda: network(values, cutoffs, LAST))
        return _seconds(lambda: network(values, cutoffs, LAST), plan.repeats), size


def _stream(plan: CostPlan, network: ForecastNetwork, length: int) -> tuple[float, int]:
    one, values = torch.zeros(1, dtype=torch.int64), _walks(1, length + 1)
    with torch.inference_mode():
        streams = Streams(network.eval(), 1)
        streams.begin(one, values[:, :-1], one)
        return _seconds(lambda: streams.step(one, values[:, -1]), plan.repeats), _size(streams.state)


_MEASURES: dict[str, Callable[[CostPlan, ForecastNetwork, int], tuple[float, int]]] = {
    "train": _train,
    "recompute": _recompute,
    "stream": _stream,
    "stream_all": _stream,
}


def _measured(costs: pd.DataFrame, mode: str) -> pd.DataFrame:
    """Give the rows of a mode that were measured, by rising length."""
    return pd.DataFrame(costs[(costs["mode"] == mode) & (costs["left_out"] == "")]).sort_values(by=["length"])


def _too_much(plan: CostPlan, measured: pd.DataFrame, length: int) -> str:
    """Say why a length is left out, judged by the growth between the last two shorter ones; "" where it is not."""
    if measured.empty:
        return ""
    last = measured.tail(2)
    for column, limit, unit in (("seconds", plan.most_seconds, "s"), ("bytes", plan.most_bytes, "bytes")):
        slope, expected = _slope(last, column), last[f"{column}_expected"].iloc[-1]
        power = expected if math.isnan(slope) else min(max(slope, min(expected, 1)), 2)
        guess = last[column].iloc[-1] * (length / last["length"].iloc[-1]) ** power
        if guess > limit:
            return f"a run would take about {guess:,.3g} {unit}, more than `most_{column}`, {limit:,g}"
    return ""


def _slope(measured: pd.DataFrame, column: str) -> float:
    """Give the slope of the line through the logarithms of a cost and the lengths; NaN for fewer than two."""
    if len(measured) < 2:
        return math.nan
    x, y = (np.log(measured[name].to_numpy(dtype=float)) for name in ("length", column))
    return round(float(np.polyfit(x, y, 1)[0]), 6) + 0.0  # no rounding noise, and no minus before a zero


def _seconds(run: Callable[[], object], repeats: int) -> float:
    """Give the median time of many runs, after one that warms up.

    Processor time: what else the machine is at does not count.
    """
    run()
    times: list[float] = []
    while len(times) < repeats or (sum(times) < _SPENT and len(times) < _MOST_RUNS):
        began = process_time()
        run()
        times.append(process_time() - began)
    return median(times)


def _network(plan: CostPlan, backbone: Backbone, patch_length: int, context_length: int) -> ForecastNetwork:
    return ForecastNetwork(
        backbone,
        Direct(),
        horizon=plan.horizon,
        quantile_levels=DECILES,
        patch_length=patch_length,
        context_length=-(-context_length // patch_length) * patch_length,
        recipe=_RECIPE,
    )


def _filled(length: int, network: ForecastNetwork) -> int:
    return -(-length // network.patch_length) * network.patch_length


def _walks(batch: int, length: int) -> Tensor:
    """Give random walks (B, T)."""
    return torch.randn(batch, length).cumsum(1)


def _size(state) -> int:
    return sum(tensor.nbytes for tensor in tensors_of(state).values())
