"""WaveNet: gated causal convolutions whose reach doubles from layer to layer (van den Oord et al. 2016).

arXiv 1609.03499. Every layer adds to the tokens that the next layer reads, and, past all later layers, to a sum of
which the states are made. What is drawn there first, a causal convolution of raw samples, is here the embedding of the
patches. B batch, N token, D width.
"""

from dataclasses import dataclass
from typing import cast

from torch import Tensor, nn

from forecast.nn.backbones.contract import Backbone, CausalModule
from forecast.nn.convolution import CausalConvolution


@dataclass(frozen=True, kw_only=True)
class WaveNet(Backbone):
    """`depth` gated convolutions over `kernel_size` tokens that lie 2^i apart in layer i (van den Oord et al. 2016,
    arXiv 1609.03499).

    A state sees 1 + (kernel_size - 1) (2^depth - 1) tokens: 16 by default.
    """

    name = "wavenet"
    family = "direct-prediction"
    width: int = 64
    depth: int = 4
    kernel_size: int = 2
    dropout: float = 0.3

    def build(self, tokens: int) -> "WaveNetModule":
        """Give the module with fresh weights."""
        del tokens
        return WaveNetModule(self)


class GatedLayer(nn.Module):
    """tanh(convolution) sigmoid(convolution): one says what, the other how much of it passes.

    The last layer has no `residual`, since nothing reads it.
    """

    def __init__(self, config: WaveNet, dilation: int, *, last: bool):
        super().__init__()
        width = config.width
        self.convolution = CausalConvolution(width, 2 * width, kernel_size=config.kernel_size, dilation=dilation)
        self.dropout = nn.Dropout(config.dropout)
        self.skip = nn.Linear(width, width)
        self.residual = None if last else nn.Linear(width, width)

    def advance(self, x: Tensor, buffer: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Give tokens for the next layer (B, n, D), what goes to the sum (B, n, D), and the buffer."""
        y, buffer = self.convolution.advance(x, buffer)
        what, gate = y.chunk(2, dim=-1)
        y = self.dropout(what.tanh() * gate.sigmoid())
        return x if self.residual is None else x + self.residual(y), self.skip(y), buffer


class WaveNetModule(CausalModule):
    """Stack of gated layers; two linear maps, each after a ReLU, of the sum of what they give."""

    def __init__(self, config: WaveNet):
        super().__init__()
        layers = (GatedLayer(config, 2**i, last=i == config.depth - 1) for i in range(config.depth))
        self.layers = cast("list[GatedLayer]", nn.ModuleList(layers))
        self.out = nn.Sequential(
            nn.ReLU(), nn.Linear(config.width, config.width), nn.ReLU(), nn.Linear(config.width, config.width)
        )
        self.receptive_field = 1 + sum(layer.convolution.past for layer in self.layers)

    def init_state(self, batch: int) -> tuple[Tensor, ...]:
        """Give the buffer of every layer."""
        return tuple(layer.convolution.init_state(batch) for layer in self.layers)

    def advance(self, x: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Move every buffer on by n tokens (B, n, D)."""
        total, kept = 0.0, []
        for layer, before in zip(self.layers, state or [None] * len(self.layers), strict=True):
            x, skip, after = layer.advance(x, before)
            total = total + skip
            kept.append(after)
        return self.out(total), tuple(kept)
