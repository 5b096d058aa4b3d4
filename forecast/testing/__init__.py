"""The contracts, run on a forecaster, a backbone or a decoder of one's own: plain Python, no test runner needed.

`check_forecaster(Climate(24))` and `check_backbone(Plain)` give a table of what was checked, or raise AssertionError at
the first check that fails, with what was expected, what came and how to mend it. The checks are small functions, in the
order in which they are run, from the plainest on; nothing heavy is imported before it is needed.
"""

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    "check_backbone": "forecast.testing.backbone",
    "check_decoder": "forecast.testing.decoder",
    "check_forecaster": "forecast.testing.forecaster",
}

__all__ = ["check_backbone", "check_decoder", "check_forecaster"]

if TYPE_CHECKING:
    from forecast.testing.backbone import check_backbone
    from forecast.testing.decoder import check_decoder
    from forecast.testing.forecaster import check_forecaster


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOMES[name]), name)
