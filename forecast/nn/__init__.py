"""Networks as tensors alone: scaling, patches, backbones, decoders, losses. torch only; no tables, no training loop.

One legend of letters for all trailing shape comments:
**B** batch (series x windows), **T** time step, **P** patch length, **N** token, **C** channel, **D** width,
**A** attention head, **K** head size, **H** horizon, **Q** quantile level, **S** series.
"""

from forecast.nn.backbones import (
    BACKBONES,
    GRU,
    LSTM,
    RNN,
    TCN,
    AttentiveRNN,
    Backbone,
    CausalModule,
    GraphTransformer,
    Identity,
    Linear,
    MinGRU,
    Transformer,
    VanillaTransformer,
    WaveNet,
)
from forecast.nn.decoders import (
    DECODERS,
    AttentionDecoder,
    ContextVector,
    CrossAttention,
    Decoder,
    DecoderModule,
    Direct,
    Recursive,
)
from forecast.nn.network import ForecastNetwork
from forecast.nn.recipe import Recipe
from forecast.nn.units import Units

__all__ = [
    "BACKBONES",
    "DECODERS",
    "GRU",
    "LSTM",
    "RNN",
    "TCN",
    "AttentionDecoder",
    "AttentiveRNN",
    "Backbone",
    "CausalModule",
    "ContextVector",
    "CrossAttention",
    "Decoder",
    "DecoderModule",
    "Direct",
    "ForecastNetwork",
    "GraphTransformer",
    "Identity",
    "Linear",
    "MinGRU",
    "Recipe",
    "Recursive",
    "Transformer",
    "Units",
    "VanillaTransformer",
    "WaveNet",
]
