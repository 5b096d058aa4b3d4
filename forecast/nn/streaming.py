"""Streaming: a network is carried over sequences value by value, and each forecast costs one token.

A token is a patch of P values, and every forecast has to see the newest one. So there are P phase states, one for each
place at which a patch may end; a new value advances one of them. The forecasts are those of the whole sequence up to
the value, its first patch filled up on the left. B sequences, P patch length, T time step, H horizon, Q quantile level.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from forecast.nn.network import ForecastNetwork
from forecast.nn.states import map_state

_TOKENS = 512  # read at a time when a history is read: bounds the memory of attention


class Streams:
    """Carries a network over `count` sequences.

    `state` is a plain nested dict of tensors, sequences first: `values` (B, reading), the last of each sequence,
    `seen` (B,), `ordinals` (B,) of the last value, and `phases`, the backbone's state with a second axis of P.
    """

    def __init__(self, network: ForecastNetwork, count: int):
        self.network = network
        like = network.blend
        phases = network.backbone.init_state(count * network.patch_length)
        self.state: dict[str, Any] = {
            "values": like.new_full((count, network.reading), torch.nan),
            "seen": torch.zeros(count, dtype=torch.int64, device=like.device),
            "ordinals": torch.zeros(count, dtype=torch.int64, device=like.device),
            "phases": map_state(lambda x: x.unflatten(0, (count, network.patch_length)).clone(), phases),
        }

    def begin(self, rows: Tensor, values: Tensor, ordinals: Tensor) -> Tensor:
        """Read the histories (B, T) of sequences `rows` that have none yet, up to `ordinals` (B,).

        Gives their quantiles (B, H, Q).
        """
        network, P, T = self.network, self.network.patch_length, values.shape[1]
        values = values.to(network.blend.dtype)
        ends = torch.arange(T - 1, max(T - 1 - P, -1), -1)  # where the last patch of each phase ends
        tokens = ends // P + 1
        newest: Any = None
        for length in tokens.unique().tolist():
            phases = ends[tokens == length]
            cut = [pad(values[:, : end + 1], (length * P - int(end) - 1, 0), value=torch.nan) for end in phases]
            cutoffs = (ordinals + (phases - T + 1).unsqueeze(1)).flatten()  # phase after phase, each with all sequences
            states, state = self._read(torch.cat(cut), cutoffs)
            for number, end in enumerate(phases.tolist()):
                which = slice(number * len(rows), (number + 1) * len(rows))
                one = map_state(lambda x: x[which], state)  # noqa: B023 (called at once)
                self._keep(rows, torch.full_like(rows, end % P), one)
                if end == T - 1:
                    newest = states[which], one
        last = pad(values, (network.reading, 0), value=torch.nan)[:, -network.reading :]
        self.state["values"][rows] = last
        self.state["seen"][rows] = T
        self.state["ordinals"][rows] = ordinals
        return network.forecast(last, ordinals, *newest)

    def step(self, rows: Tensor, values: Tensor) -> Tensor:
        """Take one more value (B,), NaN where it is missing, of sequences `rows`; give their quantiles (B, H, Q)."""
        network, state = self.network, self.state
        last = torch.cat([state["values"][rows, 1:], values.to(state["values"]).unsqueeze(1)], dim=1)
        ordinals, phase = state["ordinals"][rows] + 1, state["seen"][rows] % network.patch_length
        carried = map_state(lambda x: x[rows, phase], state["phases"])
        states, carried = network.backbone.advance(network.tokens(network.read_last(last, ordinals)), carried)
        self._keep(rows, phase, carried)
        state["values"][rows] = last
        state["seen"][rows] += 1
        state["ordinals"][rows] = ordinals
        return network.forecast(last, ordinals, states, carried)

    def _read(self, values: Tensor, cutoffs: Tensor) -> tuple[Tensor, Any]:
        """Give the last state (B, 1, D) of sequences (B, T), and what the backbone carries on."""
        states, state = None, None
        for part in self.network.tokens(self.network.read(values, cutoffs)).split(_TOKENS, dim=1):
            states, state = self.network.backbone.advance(part, state)
        assert states is not None
        return states[:, -1:], state

    def _keep(self, rows: Tensor, phase: Tensor, carried: Any) -> None:
        """Put the states of one phase of each of the sequences in their places."""

        def put(kept: Tensor, new: Tensor) -> Tensor:
            kept[rows, phase] = new
            return kept

        self.state["phases"] = map_state(put, self.state["phases"], carried)
