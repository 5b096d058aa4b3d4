"""Decoders by name. A new one is a file beside these and a line here."""

from forecast.nn.decoders.contract import Decoder, DecoderModule
from forecast.nn.decoders.direct import Direct
from forecast.nn.decoders.recursive import Recursive

DECODERS: dict[str, type[Decoder]] = {"direct": Direct, "recursive": Recursive}

__all__ = ["DECODERS", "Decoder", "DecoderModule", "Direct", "Recursive"]
