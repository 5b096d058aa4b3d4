"""Keys of cells: of their config, of the data, of the code; equal for equal content, in any process."""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forecast import __version__
from forecast.frame import Panel

# Parts of the library that no number of a cell depends on.
_WITHOUT_NUMBERS = (
    *("__init__.py", "_bundled", "catalog", "cli", "experiment", "plots"),
    *("page.py", "panel_files.py", "progress.py", "saving.py", "searching.py"),
)


def key_of(value: Any) -> str:
    """Give a key of JSON content: equal for equal content, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def checksum_of(panel: Panel) -> str:
    """Give a checksum of all that a forecaster can see of a panel: values, covariates, ids and calendar."""
    digest = hashlib.sha256()

    def add(array: np.ndarray) -> None:
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), array.dtype.type(np.nan), array)  # one bit pattern for all NaN
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")

    for array in (panel.values, panel.observed, panel.starts, panel.stops, panel.first):
        add(array)
    if panel.weights is not None:
        add(panel.weights)
    if (beside := panel.covariates) is not None:
        for table in (beside.static, beside.past, beside.known):
            add(table.numbers)
            columns = [[one.name, one.delay, _told(one.categories)] for one in table.columns]
            digest.update(json.dumps(columns).encode())
        for array in (beside.starts, beside.stops, beside.first, *([] if beside.late is None else [beside.late])):
            add(array)
    calendar = panel.calendar
    # One stamp tells where a regular axis lies; one that is listed is all of its stamps.
    ordinals = range(int(panel.first.min()), int(panel.last.max()) + 1) if calendar.freq == "steps" else [0]
    stamps = [str(stamp) for stamp in calendar.stamps(ordinals)]
    digest.update(json.dumps([_told(panel.ids), calendar.freq, str(calendar.zone), stamps]).encode())
    return digest.hexdigest()


def _told(names: pd.Index | None) -> list[list[str]] | None:
    """Give names as text, each with its type."""
    return None if names is None else [[type(one).__name__, str(one)] for one in names.tolist()]


@cache
def code_version() -> str:
    """Give the version of this library and a hash of the code that numbers depend on, for work between two versions."""
    package = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _WITHOUT_NUMBERS:
            digest.update(name.as_posix().encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"
