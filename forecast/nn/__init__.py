"""Networks as tensors alone: scaling, patches, backbones, decoders, losses. torch only; no tables, no training loop.

One legend of letters for all trailing shape comments:
**B** batch (series x windows), **T** time step, **P** patch length, **N** token, **C** channel, **D** width,
**A** attention head, **K** head size, **H** horizon, **Q** quantile level, **S** series.
"""

from forecast.nn.backbones import BACKBONES, LSTM, TCN, Backbone, CausalModule, Transformer
from forecast.nn.decoders import DECODERS, Decoder, DecoderModule, Direct
from forecast.nn.network import ForecastNetwork

__all__ = [
    "BACKBONES",
    "DECODERS",
    "LSTM",
    "TCN",
    "Backbone",
    "CausalModule",
    "Decoder",
    "DecoderModule",
    "Direct",
    "ForecastNetwork",
    "Transformer",
]
