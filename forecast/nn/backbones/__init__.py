"""Backbones by name. A new one is a file beside these and a line here."""

from forecast.nn.backbones.contract import Backbone, CausalModule, State
from forecast.nn.backbones.rnn import LSTM
from forecast.nn.backbones.tcn import TCN
from forecast.nn.backbones.transformer import Transformer

BACKBONES: dict[str, type[Backbone]] = {"lstm": LSTM, "tcn": TCN, "transformer": Transformer}

__all__ = ["BACKBONES", "LSTM", "TCN", "Backbone", "CausalModule", "State", "Transformer"]
