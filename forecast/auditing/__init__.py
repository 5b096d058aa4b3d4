"""The audit: does a pipeline look into the future, and would anybody notice? Probes, and what they found.

`forecast.audit(forecaster)` drives `fit`, `predict` and `backtest` of any Forecaster on changed data, and the networks
inside it on changed tensors: a certificate says of each probe whether it passed, with the evidence; `audit_module` does
the latter for any torch module. Nothing heavy is imported before it is needed.
"""

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    "Certificate": "forecast.auditing.certificate",
    "Finding": "forecast.auditing.certificate",
    "audit_module": "forecast.auditing.modules",
}

__all__ = ["Certificate", "Finding", "audit_module"]

if TYPE_CHECKING:
    from forecast.auditing.certificate import Certificate, Finding
    from forecast.auditing.modules import audit_module


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOMES[name]), name)
