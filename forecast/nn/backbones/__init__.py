"""Backbones by name. A new one is a file beside these and a line here."""

from forecast.nn.backbones.attentive_rnn import AttentiveRNN
from forecast.nn.backbones.contract import Backbone, CausalModule, State
from forecast.nn.backbones.graph_transformer import GraphTransformer
from forecast.nn.backbones.identity import Identity, Linear
from forecast.nn.backbones.mingru import MinGRU
from forecast.nn.backbones.rnn import GRU, LSTM, RNN
from forecast.nn.backbones.tcn import TCN
from forecast.nn.backbones.transformer import Transformer
from forecast.nn.backbones.vanilla_transformer import VanillaTransformer
from forecast.nn.backbones.wavenet import WaveNet

BACKBONES: dict[str, type[Backbone]] = {
    "rnn": RNN,
    "lstm": LSTM,
    "gru": GRU,
    "mingru": MinGRU,
    "attentive_rnn": AttentiveRNN,
    "tcn": TCN,
    "wavenet": WaveNet,
    "vanilla_transformer": VanillaTransformer,
    "transformer": Transformer,
    "graph_transformer": GraphTransformer,
    "identity": Identity,
    "linear": Linear,
}

__all__ = [
    "BACKBONES",
    "GRU",
    "LSTM",
    "RNN",
    "TCN",
    "AttentiveRNN",
    "Backbone",
    "CausalModule",
    "GraphTransformer",
    "Identity",
    "Linear",
    "MinGRU",
    "State",
    "Transformer",
    "VanillaTransformer",
    "WaveNet",
]
