"""Several networks as one: each reads and decodes by itself, and their forecasts are averaged.

What each has by itself lies side by side in tokens, states and features, (..., K D) for K members; what is a plain sum
in the forecast, anchor, spread and linear path, is averaged at once. So the whole is a network like any other, which
can be streamed, saved and exported. B batch, N token, D width, F feature, Q quantile level.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from forecast.nn.backbones import CausalModule, State
from forecast.nn.covariates import CovariateReader, Covariates, Read
from forecast.nn.decoders import DecoderModule
from forecast.nn.network import ForecastNetwork


@torch.no_grad()
def together(networks: Sequence[ForecastNetwork]) -> ForecastNetwork:
    """Give the network whose forecasts are the means of those of networks of one kind."""
    first = networks[0]
    if len(networks) == 1:
        return first
    whole = deepcopy(first)
    if first.reader is not None:
        whole.reader = cast("CovariateReader", Readers([cast("CovariateReader", one.reader) for one in networks]))
    whole.embedding = cast("Any", Embeddings([one.embedding for one in networks]))
    whole.backbone = Backbones([one.backbone for one in networks])
    whole.decoder = Decoders([one.decoder for one in networks])
    if first.known_path is not None:
        whole.known_path = cast("Any", KnownPaths([cast("nn.Module", one.known_path) for one in networks]))
    for name, parameter in _sums(whole).items():
        parameter.copy_(torch.stack([_sums(one)[name] for one in networks]).mean(0))
    return whole


def _sums(network: ForecastNetwork) -> dict[str, Tensor]:
    """Give the weights by which the forecast is linear."""
    linear = {} if network.linear is None else {"linear": network.linear.map.weight}
    return {"spread": network.spread, "anchor": network.anchor.weights, **linear}


class Embeddings(nn.Module):
    """The tokens of all members side by side."""

    def __init__(self, members: Sequence[nn.Module]):
        super().__init__()
        self.members = nn.ModuleList(members)

    @property
    def width(self) -> int:
        """Of all of them."""
        return sum(cast("Any", member).width for member in self.members)

    def forward(self, *patches, beside: Tensor | None = None) -> Tensor:
        """Give tokens (B, N, K D), each member beside its own features."""
        own = [None] * len(self.members) if beside is None else beside.chunk(len(self.members), dim=-1)
        return torch.cat([member(*patches, beside=x) for member, x in zip(self.members, own, strict=True)], dim=-1)


class Backbones(CausalModule):
    """Each backbone with its own tokens and states; the state that is carried is that of each, by place."""

    def __init__(self, members: Sequence[CausalModule]):
        super().__init__()
        self.members = cast("list[CausalModule]", nn.ModuleList(members))
        self.receptive_field = members[0].receptive_field
        self.series = members[0].series

    def init_state(self, batch: int) -> tuple[State, ...]:
        """Give that of each member."""
        return tuple(member.init_state(batch) for member in self.members)

    def advance(self, x: Tensor, state: tuple[State, ...] | None = None) -> tuple[Tensor, tuple[State, ...]]:
        """(B, n, K D) -> (B, n, K D)."""
        parts = zip(self.members, x.chunk(len(self.members), dim=-1), state or [None] * len(self.members), strict=True)
        states, carried = zip(*(member.advance(own, before) for member, own, before in parts), strict=True)
        return torch.cat(states, dim=-1), tuple(carried)


class Decoders(DecoderModule):
    """The mean of what the decoders say, each of its own states."""

    def __init__(self, members: Sequence[DecoderModule]):
        super().__init__()
        self.members = cast("list[DecoderModule]", nn.ModuleList(members))
        self.reach = members[0].reach
        self.paths = members[0].paths

    def forward(self, states: Tensor, origins: slice, *, targets: Tensor | None = None) -> Tensor:
        """(B, N, K D) -> (B, n origins, reach, Q)."""
        own = zip(self.members, states.chunk(len(self.members), dim=-1), strict=True)
        return torch.stack([member(part, origins, targets=targets) for member, part in own]).mean(0)


class Readers(nn.Module):
    """The covariates as each member reads them, features side by side."""

    def __init__(self, members: Sequence[CovariateReader]):
        super().__init__()
        self.members = cast("list[CovariateReader]", nn.ModuleList(members))
        self.layout = members[0].layout

    def read(self, covariates: Covariates) -> Read:
        """Read beside all patches; see `CovariateReader`."""
        return self._read(lambda member: member.read(covariates))

    def read_last(self, covariates: Covariates) -> Read:
        """Read beside the one patch that ends with the last step."""
        return self._read(lambda member: member.read_last(covariates))

    def ahead(self, read: Read, origins: slice, reach: int) -> Tensor:
        """Give features of the steps after the chosen origins, (B, n origins, reach, K F)."""
        return torch.cat([member.ahead(read, origins, reach) for member in self.members], dim=-1)

    def _read(self, reading: Callable[[CovariateReader], Read]) -> Read:
        told = [reading(member) for member in self.members]
        return replace(told[0], tokens=torch.cat([one.tokens for one in told], dim=-1))


class KnownPaths(nn.Module):
    """The mean of what is known of steps ahead does to their forecasts."""

    def __init__(self, members: Sequence[nn.Module]):
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, states: Tensor, ahead: Tensor) -> Tensor:
        """(B, n, K D) and (B, n, reach, K F) -> (B, n, reach, Q)."""
        count = len(self.members)
        own = zip(self.members, states.chunk(count, dim=-1), ahead.chunk(count, dim=-1), strict=True)
        return torch.stack([member(part, features) for member, part, features in own]).mean(0)
