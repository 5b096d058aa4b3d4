"""The recursive decoder: one patch at a time, each forecast fed back as if it had been seen.

Trained to say the next patch at every origin, from true values (teacher forcing). To go further, the network draws
sample paths through the quantiles of a patch, reads each path as its next token and forecasts from there; the quantiles
of later steps are those of all paths together (as DeepAR: Salinas et al. 2020, arXiv 1704.04110).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from forecast.nn.decoders.contract import Decoder
from forecast.nn.decoders.direct import DirectModule


@dataclass(frozen=True, kw_only=True)
class Recursive(Decoder):
    """A linear map from a normalised state to the next patch; further steps by `paths` sample paths (as DeepAR: Salinas
    et al. 2020, arXiv 1704.04110).

    Where the horizon is no longer than a patch, this is the direct decoder.
    """

    streams = True
    goes_on = True
    dropout: float = 0.1
    paths: int = 64

    def build(self, width: int, horizon: int, quantile_levels: Sequence[float], patch_length: int) -> DirectModule:
        """Give the module with fresh weights."""
        return DirectModule(width, min(patch_length, horizon), len(quantile_levels), self.dropout, paths=self.paths)
