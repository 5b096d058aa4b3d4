"""Decoders by name. A new one is a file beside these and a line here."""

from forecast.nn.decoders.attention_decoder import AttentionDecoder
from forecast.nn.decoders.context_vector import ContextVector
from forecast.nn.decoders.contract import Decoder, DecoderModule
from forecast.nn.decoders.cross_attention import CrossAttention
from forecast.nn.decoders.direct import Direct
from forecast.nn.decoders.recursive import Recursive

DECODERS: dict[str, type[Decoder]] = {
    "direct": Direct,
    "recursive": Recursive,
    "context_vector": ContextVector,
    "attention": AttentionDecoder,
    "cross_attention": CrossAttention,
}

__all__ = [
    "DECODERS",
    "AttentionDecoder",
    "ContextVector",
    "CrossAttention",
    "Decoder",
    "DecoderModule",
    "Direct",
    "Recursive",
]
