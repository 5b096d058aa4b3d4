"""Modules for the audit of networks: sound ones of many kinds, and the same with one thing done wrong.

All map tokens (B, N, 8) to (B, N, 8). Each defect says in DEFECTS which probes have to see it; others may.
"""

import math
import warnings

import torch
from torch import nn
from torch.nn.functional import dropout, pad, relu, scaled_dot_product_attention, softmax

from forecast.nn import CausalModule

WIDTH = 8


# -- sound -------------------------------------------------------------------------------------------------------------


class Convolution(nn.Module):
    """Two causal dilated convolutions around a residual connection."""

    receptive_field = 1 + 2 + 4

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(WIDTH, WIDTH, 3)
        self.second = nn.Conv1d(WIDTH, WIDTH, 3, dilation=2)

    def padded(self, x, past):
        return pad(x, (past, 0))

    def forward(self, x):
        y = self.first(self.padded(x.transpose(1, 2), 2))
        return x + self.second(self.padded(y.tanh(), 4)).transpose(1, 2)


class NormalisedConvolution(Convolution):
    """With weight normalisation of both kinds; the weights of the old one are results, which cannot be copied."""

    def __init__(self):
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            self.first = nn.utils.weight_norm(self.first)
        self.second = nn.utils.parametrizations.weight_norm(self.second)


class Spectral(nn.Module):
    """A long convolution by FFT, padded to twice the length: causal but for rounding (Poli et al. 2023)."""

    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.randn(WIDTH, 64) / 8)

    def length(self, N):
        return 2 * N

    def forward(self, x):
        N = x.shape[1]
        spectrum = torch.fft.rfft(x.transpose(1, 2), n=self.length(N)) * torch.fft.rfft(
            self.filter[:, :N], n=self.length(N)
        )
        return x + torch.fft.irfft(spectrum, n=self.length(N))[..., :N].transpose(1, 2)


class Attention(nn.Module):
    """Masked self-attention that can give its weights, with dropout of these in training."""

    receptive_field = "unknown"  # no number: as if it were not said

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.dropout = 0.0

    def scores(self, q, k):
        return q @ k.transpose(1, 2) / math.sqrt(WIDTH)

    def hidden(self, N, need_weights):
        return torch.ones(N, N, dtype=torch.bool).triu(1)

    def forward(self, x, need_weights=False):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = softmax(self.scores(q, k).masked_fill(self.hidden(x.shape[1], need_weights), -torch.inf), -1)
        y = x + dropout(weights, self.dropout, self.training) @ v
        return (y, weights) if need_weights else y


class Torch(nn.Module):
    """PyTorch's own encoder layer under a causal mask: another kernel where no gradient is asked for."""

    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True)

    def forward(self, x):
        return self.layer(x, nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype), is_causal=True)


class Masked(nn.Module):
    """PyTorch's own attention, which gives weights when asked; its mask is no weight to be moved."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.mask = nn.Parameter(torch.full((64, 64), -torch.inf).triu(1), requires_grad=False)

    def forward(self, x):
        N = x.shape[1]
        return x + self.attention(x, x, x, attn_mask=self.mask[:N, :N], need_weights=False)[0]


class Recurrent(nn.Module):
    """An LSTM with a step: what a user writes who knows nothing of ours."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)

    def forward(self, x):
        return self.lstm(x)

    def init_state(self, batch):
        zeros = self.lstm.weight_hh_l0.new_zeros(1, batch, WIDTH)
        return zeros, zeros

    def step(self, x, state):
        y, state = self.lstm(x[:, None], state)
        return y[:, 0], state


class Cached(CausalModule):
    """Attention with turned queries and keys over a window of six tokens, from a cache of keys, values and a count."""

    receptive_field = 6

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)

    def init_state(self, batch):
        zeros = self.qkv.weight.new_zeros(batch, 5, WIDTH)
        return zeros, zeros.clone(), torch.zeros(batch, dtype=torch.int64)

    def turned(self, x, places):
        angles = places.unsqueeze(-1) * torch.tensor([1.0, 0.3, 0.1, 0.03], dtype=x.dtype)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1)

    def places(self, seen, n):
        return seen.unsqueeze(1) + torch.arange(n)

    def mask(self, queries, keys):
        distance = queries.unsqueeze(-1) - keys.unsqueeze(-2)
        return (distance >= 0) & (distance < 6) & (keys >= 0).unsqueeze(-2)

    def kept(self, x):
        return x[:, -5:]

    def advance(self, x, state=None):
        keys, values, seen = self.init_state(len(x)) if state is None else state
        n = x.shape[1]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        new = self.places(seen, n)
        q, k = self.turned(q, new), torch.cat([keys, self.turned(k, new)], dim=1)
        v = torch.cat([values, v], dim=1)
        mask = self.mask(new, torch.cat([seen.unsqueeze(1) + torch.arange(-5, 0), new], dim=1))
        y = x + scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return y, (self.kept(k), self.kept(v), seen + n)


class Gated(nn.Module):
    """A residual branch whose gate starts at zero (Bachlechner et al. 2020, arXiv 2003.04887)."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(1))
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)

    def forward(self, x):
        return x + self.gate * self.lstm(x)[0]


class Dropping(nn.Module):
    """An LSTM with dropout of whole sequences' features in training."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.dropout = nn.Dropout1d(0.2)

    def forward(self, x):
        return self.dropout(self.lstm(x)[0].transpose(1, 2)).transpose(1, 2)


SOUND = (
    Convolution,
    NormalisedConvolution,
    Spectral,
    Attention,
    Torch,
    Masked,
    Recurrent,
    Cached,
    Gated,
    Dropping,
)


# -- the eleven of the specification -----------------------------------------------------------------------------------


class SymmetricPadding(Convolution):
    def padded(self, x, past):
        return pad(x, (past // 2, past // 2))


class NormOverTime(Convolution):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(1, WIDTH)

    def forward(self, x):
        return super().forward(self.norm(x.transpose(1, 2)).transpose(1, 2))


class UnpaddedSpectral(Spectral):
    def length(self, N):
        return N


class MaskOffByOne(Attention):
    def hidden(self, N, need_weights):
        return torch.ones(N, N, dtype=torch.bool).triu(2)


class BothDirections(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.lstm(x)[0]


class WholeWindowNormalisation(Recurrent):
    def forward(self, x):
        return super().forward((x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True, correction=0) + 1e-5))[0]

    step = None


class DetachedStatistic(Convolution):
    def forward(self, x):
        return super().forward(x) + x.detach().mean(1, keepdim=True)


class RoundedStatistic(Convolution):
    def forward(self, x):
        return super().forward(x) + (x.mean((1, 2), keepdim=True) / 1e4).round()


class BatchStatisticsAtPredict(Convolution):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH, track_running_stats=False)

    def forward(self, x):
        return super().forward(self.norm(x.transpose(1, 2)).transpose(1, 2))


class StateBetweenCalls(Recurrent):
    state = None
    step = None

    def forward(self, x):
        if self.state is None or self.state[0].shape[1] != len(x):
            self.state = self.init_state(len(x))
        y, (hidden, cell) = self.lstm(x, self.state)
        self.state = (hidden.detach(), cell.detach())
        return y


class PlacesFromTheEnd(Convolution):
    def forward(self, x):
        return super().forward(x + torch.arange(x.shape[1], 0, -1, dtype=x.dtype)[:, None] / 10)


# -- more --------------------------------------------------------------------------------------------------------------


class DroppedByWhatIsRead(Convolution):
    """Dropout whose mask is drawn with a seed that comes from the whole input."""

    def forward(self, x):
        y = super().forward(x)
        if not self.training:
            return y
        seed = int(x.detach().abs().sum() * 1e3) % 2**31
        return y * (torch.rand(y.shape, generator=torch.Generator().manual_seed(seed)) > 0.3).to(y)


class LargestFromTheRight(Convolution):
    def forward(self, x):
        return super().forward(x) + x.flip(1).cummax(1).values.flip(1)


class WrongDilationPadding(Convolution):
    """Padded on both sides as if nothing were dilated, and cut at the end."""

    def padded(self, x, past):
        return pad(x, (2, past - 2))


class MaskDroppedWithWeights(Attention):
    def hidden(self, N, need_weights):
        return super().hidden(N, need_weights) & (not need_weights)


class MaskDroppedWithDropout(Attention):
    def hidden(self, N, need_weights):
        return super().hidden(N, need_weights) & (not (self.training and self.dropout > 0))


class MaskDroppedWithoutGradients(Attention):
    def hidden(self, N, need_weights):
        return super().hidden(N, need_weights) & torch.is_grad_enabled()


class MaskDroppedWithGradients(Attention):
    def hidden(self, N, need_weights):
        return super().hidden(N, need_weights) & (not torch.is_grad_enabled() or self.training)


class MaskTooSmall(Attention):
    """A mask of a constant that is no infinity."""

    def hidden(self, N, need_weights):
        return torch.zeros(N, N, dtype=torch.bool)

    def scores(self, q, k):
        return super().scores(q, k) - 30.0 * torch.ones(q.shape[1], q.shape[1], dtype=q.dtype).triu(1)


class KeyOffByOne(Cached):
    """The cache holds the tokens before those it should."""

    def kept(self, x):
        return x[:, -6:-1]


class PlacesOfThePiece(Cached):
    """Rotary positions are counted from the first token of a call."""

    def turned(self, x, places):
        return super().turned(x, places - places[:, :1])


class MaskOfThePiece(Cached):
    """Read on from a state, all of a piece is read, what follows too."""

    def mask(self, queries, keys):
        mask = super().mask(queries, keys)
        return mask | ((queries[:, :1] > 0)[..., None] & (keys >= queries[:, :1])[:, None])


class StartsElsewhere(Recurrent):
    def init_state(self, batch):
        return tuple(part + 0.1 for part in super().init_state(batch))

    def forward(self, x):
        return self.lstm(x)[0]


class Blind(Convolution):
    def forward(self, x):
        return super().forward(torch.ones_like(x))


class BlindToTheNewest(Convolution):
    def forward(self, x):
        return pad(super().forward(x)[:, :-1], (0, 0, 1, 0))


class ClaimsTooMuch(Convolution):
    receptive_field = 15


class ClaimsTooLittle(Convolution):
    receptive_field = 5


class ForgetsTheOldest(Cached):
    """Says that it reads all, and reads a window."""

    receptive_field = None


class HiddenBehindAGate(Gated):
    def forward(self, x):
        return super().forward(x) + self.gate * x.mean(1, keepdim=True)


class BatchStatisticsInTraining(Convolution):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        return super().forward(self.norm(x.transpose(1, 2)).transpose(1, 2))


class DropsAtPredict(Convolution):
    def forward(self, x):
        return dropout(super().forward(x), 0.1)


class ReadsTheFirstOfTheBatch(Convolution):
    def forward(self, x):
        y = super().forward(x)
        return y + 0.1 * y[:1]


class ScaledByTheBatchSize(Convolution):
    def forward(self, x):
        return super().forward(x) / len(x)


class CountsCalls(Convolution):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return super().forward(x) + 1e-3 * self.calls


class HugeOnly(Convolution):
    """What follows matters where it is beyond any threshold."""

    def forward(self, x):
        return super().forward(x) + relu(x.abs().amax((1, 2), keepdim=True) - 1e5)


class LengthByWhatIsThere(Convolution):
    """Takes tokens of zeros for padding, and divides by how many others there are."""

    def forward(self, x):
        return super().forward(x) / (x != 0).any(-1).sum(1)[:, None, None]


class TorchWithoutMask(Torch):
    """`is_causal` is a hint, not a mask."""

    def forward(self, x):
        mask = torch.zeros(x.shape[1], x.shape[1], dtype=x.dtype)
        return self.layer(x, mask)


# Which probes have to see it.
DEFECTS = {
    SymmetricPadding: "M1 M2 M3",
    NormOverTime: "M1 M2 M3",
    UnpaddedSpectral: "M1 M2 M3",
    MaskOffByOne: "M1 M2 M3",
    BothDirections: "M1 M2 M3",
    WholeWindowNormalisation: "M1 M2 M3",
    DetachedStatistic: "M1 M3",
    RoundedStatistic: "M1",
    BatchStatisticsAtPredict: "M1 M2 M3 M4",
    StateBetweenCalls: "M5",
    PlacesFromTheEnd: "M3",
    DroppedByWhatIsRead: "M8",
    LargestFromTheRight: "M1 M2 M3",
    WrongDilationPadding: "M1 M2 M3",
    MaskDroppedWithWeights: "M8",
    MaskDroppedWithDropout: "M8",
    MaskDroppedWithoutGradients: "M1",
    MaskDroppedWithGradients: "M2 M8",
    MaskTooSmall: "M1",
    KeyOffByOne: "M6",
    PlacesOfThePiece: "M6",
    MaskOfThePiece: "M6 M8",
    StartsElsewhere: "M6",
    Blind: "M7",
    BlindToTheNewest: "M7",
    ClaimsTooMuch: "M7",
    ClaimsTooLittle: "M7",
    ForgetsTheOldest: "M7",
    HiddenBehindAGate: "M1 M2 M3",
    BatchStatisticsInTraining: "M8",
    DropsAtPredict: "M5",
    ReadsTheFirstOfTheBatch: "M4",
    ScaledByTheBatchSize: "M4",
    CountsCalls: "M5",
    HugeOnly: "M1",
    LengthByWhatIsThere: "M1",
    TorchWithoutMask: "M1 M2 M3",
}
