"""The gated feed-forward network of a Transformer block (SwiGLU: Shazeer 2020, arXiv 2002.05202). D width."""

from torch import Tensor, nn
from torch.nn.functional import silu


class FeedForward(nn.Module):
    """The same small network at every token: one half of a projection gates the other."""

    def __init__(self, width: int):
        super().__init__()
        hidden = 8 * width // 3  # as many weights as the plain form has with a hidden size of 4 D
        self.gate = nn.Linear(width, 2 * hidden, bias=False)
        self.out = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        gate, value = self.gate(x).chunk(2, dim=-1)
        return self.out(silu(gate) * value)
