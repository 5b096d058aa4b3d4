"""A forecast network as the probes read it: a patch of values, and of past covariates, is what is read at a position.

What is known ahead and what is static stay as they are: a forecast that reads them does not leak. B batch, N patch,
P patch length, T time step, C columns, H horizon, Q quantile level.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from forecast.auditing.module_subjects import LONGEST, PAST, Probed, in_double, own_copy
from forecast.auditing.module_tokens import ProbedModule
from forecast.nn import ForecastNetwork
from forecast.nn.covariates import Columns, Covariates
from forecast.nn.network import ALL, LAST
from forecast.nn.streaming import Streams
from forecast.testing.trials import noise

_PATCHES, _FEW = 6, 4  # where every one of them is an origin; a few where forecasts are rolled out from each
_PATHS = 4  # of a decoder that rolls its forecasts out
_BEGIN = 100  # ordinal of the first value
_LEVEL = 20.0  # around which values lie


@dataclass(frozen=True, kw_only=True)
class ProbedNetwork(Probed):
    """A network from values to quantiles of all steps, (B, N, P (1 + C)) -> (B, N, H, Q).

    `streams` is whether its decoder is said to stream; None: it is not known, and found out.
    """

    streams: bool | None = None

    @property
    def network(self) -> ForecastNetwork:
        """The module as what it is."""
        return cast(ForecastNetwork, self.module)

    @property
    def window(self) -> int:
        """As many patches as a context has."""
        return self.network.context_length // self.network.patch_length

    @property
    def stream(self) -> int:
        """A patch more."""
        return self.window + 1

    def read(self, module: nn.Module, x: Tensor) -> Tensor:
        """Forecast from the end of every patch."""
        return _forecast(module, x, ALL)

    def read_last(self, module: nn.Module, x: Tensor) -> Tensor:
        """Forecast from the end alone, as a forecaster does."""
        return _forecast(module, x, LAST)[:, -1]

    def read_in_training(self, module: nn.Module, x: Tensor) -> Tensor:
        """Forecast what the loss is taken of, led by the truth where the decoder asks for it."""
        network = cast(ForecastNetwork, module)
        values, cutoffs, covariates = _taken_apart(network, x)
        targets = _LEVEL + noise(x.new_empty(1, x.shape[1], network.decoder.reach), 21)
        targets = targets.expand(len(x), -1, -1)
        return network.scaled(values, cutoffs, targets=targets, covariates=covariates).in_units()

    def draw(self, seed: int, groups: int = 2, positions: int | None = None) -> Tensor:
        """Give random walks, and what is past beside them."""
        rows, N, P = groups * self.group, positions or self.positions, self.network.patch_length
        walks = noise(torch.empty(rows, N * P, 1, dtype=self.dtype), seed).cumsum(1) + _LEVEL
        past = _layout(self.network, "past")
        beside = _as_columns(past, noise(walks.new_empty(rows, N * P, len(past)), seed + 1))
        return torch.cat([walks, beside], dim=-1).unflatten(1, (N, P)).flatten(2)

    def why_not_carried(self) -> str:
        """Say that its decoder reads more than is carried."""
        if self._reads_the_newest_alone() if self.streams is None else self.streams:
            return ""
        return f"{type(self.network.decoder).__name__} reads all states before an origin: it does not stream"

    def carried(self, module: nn.Module, x: Tensor) -> Iterator[tuple[str, Tensor, Tensor]]:
        """Read some values at once, then value by value, across the end of a patch too, then the rest at once."""
        network = cast(ForecastNetwork, module)
        P, H, rows = network.patch_length, network.horizon, torch.arange(len(x))
        values, _, beside = _taken_apart(network, x)
        begin, end = P + (P + 1) // 2, values.shape[1]
        streams = Streams(network, len(x))

        def between(start: int, until: int, ahead: int) -> Covariates | None:
            return beside and beside.until(until, ahead).last(until - start)

        def expected(until: int) -> Tensor:
            window = pad(values[:, :until], (-until % P, 0), value=torch.nan)  # as streams do: missing, not a number
            before = beside and beside.until(until, H).padded(-until % P)
            return network(window, torch.full((len(x),), _BEGIN - 1 + until), LAST, before)

        ordinals = torch.full((len(x),), _BEGIN - 1 + begin)
        said = streams.begin(rows, values[:, :begin], ordinals, between(0, begin, H))
        yield f"{begin} values at once", said.unsqueeze(1), expected(begin)
        at = begin
        for until in sorted({begin + 1, 2 * P - 1, 2 * P, 2 * P + 1} & set(range(begin + 1, end))):
            if until > at + 1:
                streams.advance(rows, values[:, at : until - 1], between(at, until - 1, 0))
            said = streams.step(rows, values[:, until - 1], between(until - 1, until, H))
            at = until
            yield f"value {at} by itself", said.unsqueeze(1), expected(at)
        streams.advance(rows, values[:, at:], between(at, end, 0))
        said = streams.forecast(rows, beside and beside.known[:, end : end + H])
        yield f"the rest up to value {end}", said.unsqueeze(1), expected(end)

    def backbone(self) -> ProbedModule:
        """Give its backbone alone, to be read as far as it claims to read."""
        module = self.network.backbone
        return ProbedModule(
            module=module,
            weights=self.weights,
            columns=self.network.embedding.linear.out_features,
            positions=min(max(self.window, (module.receptive_field or 0) + PAST), LONGEST),
            group=self.group,
            field=module.receptive_field,
        )

    def _reads_the_newest_alone(self) -> bool:
        states = noise(torch.empty(2, 5, self.network.embedding.linear.out_features, dtype=self.dtype), 22)
        with torch.no_grad():
            alone, among = (self.network.decoder(part, LAST) for part in (states[:, -1:], states))
        return bool((alone - among).abs().max() <= self.tolerance * among.abs().max())


def probed_network(network: ForecastNetwork, streams: bool | None = None) -> ProbedNetwork:
    """Give a network to probe, in double precision."""
    network = cast(ForecastNetwork, own_copy(network))
    network.decoder.paths = min(network.decoder.paths, _PATHS)
    P = network.patch_length
    columns = 1 + len(_layout(network, "past"))
    most = _PATCHES if network.decoder.reach >= network.horizon else _FEW
    return in_double(
        ProbedNetwork(
            module=network,
            columns=P * columns,
            positions=min(max(3, network.context_length // P), most),
            group=network.backbone.series,
            field=None,
            newest=slice((P - 1) * columns, (P - 1) * columns + 1),
            oldest=slice(0, 1),
            parts=True,
            unit="patches",
            streams=streams,
        )
    )


def _forecast(module: nn.Module, x: Tensor, origins: slice) -> Tensor:
    values, cutoffs, covariates = _taken_apart(module, x)
    return module(values, cutoffs, origins, covariates)


def _taken_apart(network: Any, x: Tensor) -> tuple[Tensor, Tensor, Covariates | None]:
    """Give values (B, T), the ordinals of their ends (B,), and covariates, of (B, N, P (1 + C))."""
    read = x.unflatten(-1, (network.patch_length, -1)).flatten(1, 2)  # (B, T, 1 + C)
    steps = read.shape[1]
    cutoffs = torch.full((len(x),), _BEGIN - 1 + steps)
    if network.reader is None:
        return read[..., 0], cutoffs, None
    known = _waves(_layout(network, "known"), steps + network.horizon)
    static = _waves(_layout(network, "static"), 2)[:, 1]
    known, static = (t.to(x).expand(len(x), *t.shape[1:]) for t in (known, static))  # the same beside all
    return read[..., 0], cutoffs, Covariates(read[..., 1:], known, static)


def _layout(network: ForecastNetwork, role: str) -> Columns:
    return Columns() if network.reader is None else getattr(network.reader.layout, role)


def _waves(columns: Columns, steps: int) -> Tensor:
    """Give columns (1, T, C) in which what is said of a step does not depend on how many there are."""
    frequencies = 0.7 + torch.arange(len(columns), dtype=torch.float64).sqrt()
    return _as_columns(columns, 1.5 * torch.cos(torch.arange(steps)[:, None] * frequencies)[None])


def _as_columns(columns: Columns, numbers: Tensor) -> Tensor:
    """Give numbers (..., C) around 0 as columns: around where they lay at the fit, as they are, or as categories."""
    scaled, plain, categories = numbers.split([len(columns.location), columns.plain, len(columns.categories)], dim=-1)
    location, scale, count = (numbers.new_tensor(x) for x in (columns.location, columns.scale, columns.categories))
    return torch.cat([scaled * scale + location, plain, (1000 * categories.abs()).floor() % count.clamp(min=1)], dim=-1)
