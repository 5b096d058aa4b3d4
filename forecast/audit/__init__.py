"""The audit: does a pipeline look into the future, and would anybody notice? Probes, and what they found.

`forecast.audit(forecaster)` drives `fit`, `predict` and `backtest` of any Forecaster on changed data, and the networks
inside it on changed tensors: a certificate says of each probe whether it passed, with the evidence. The package can be
called, since it has the name of what it does. Nothing heavy is imported before it is needed.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

_HOMES = {
    "Certificate": "forecast.audit.certificate",
    "Finding": "forecast.audit.certificate",
    "audit": "forecast.audit.auditing",
    "audit_module": "forecast.audit.modules",
}

__all__ = ["Certificate", "Finding", "audit", "audit_module"]

if TYPE_CHECKING:
    from forecast.audit.auditing import audit
    from forecast.audit.certificate import Certificate, Finding
    from forecast.audit.modules import audit_module


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOMES[name]), name)


class _Callable(ModuleType):
    """Once it is imported, `forecast.audit` is this package, whatever `forecast` says of the name: it does the same."""

    def __call__(self, *args, **options):
        return self.audit(*args, **options)


sys.modules[__name__].__class__ = _Callable
