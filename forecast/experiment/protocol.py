"""Versions and machine: what numbers and times depend on, beside the config."""

import importlib.metadata
import os
import platform
import sys
from typing import Any

from forecast import __version__

_LIBRARIES = ["foretell", "torch", "lightning", "numpy", "pandas", "scikit-learn", "matplotlib"]


def protocol() -> dict[str, Any]:
    """Give versions and machine, as far as numbers and times depend on them."""
    versions = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:  # used from its sources, without being installed
            versions[library] = __version__ if library == "foretell" else "not installed"
    machine = {"platform": platform.platform(), "processors": os.cpu_count()}
    torch = sys.modules.get("torch")  # only networks have it imported
    if torch is not None and torch.cuda.is_available():
        machine["accelerator"] = torch.cuda.get_device_name()
    return {"versions": versions, "machine": machine}
