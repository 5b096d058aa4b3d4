"""Are two tables of forecasts the same, and if not, how far apart, and where first?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

KEYS = ["unique_id", "cutoff", "step"]
_ROUNDING = 1e-6  # of the size of a forecast
_NOISES = 3.0  # how often the waver of a forecaster may be exceeded


@dataclass(frozen=True)
class Difference:
    """How two tables differ: whether within what is allowed, by how much in parts of their size, and in words."""

    within: bool
    relative: float
    told: str


def compare(
    one: pd.DataFrame,
    other: pd.DataFrame,
    numbers: Sequence[str],
    *,
    noise: float = 0.0,
    summed_otherwise: bool = False,
) -> Difference:
    """Compare the forecasts of two tables, whatever the order of their rows.

    A millionth of a row's size is allowed; `summed_otherwise` allows what sums in another order may change, a hundred
    thousandth and a thousandth of the row's width; `noise` is how much, in parts of its size, a forecast differs by
    itself, of which three times is allowed.
    """
    left, right = one.set_index(KEYS), other.set_index(KEYS)
    for table in (left, right):
        if table.index.has_duplicates:
            return Difference(False, np.inf, f"{_row(table.index[table.index.duplicated()][0])} is there twice")
    lacking = left.index.symmetric_difference(right.index, sort=False)
    if len(lacking):
        told = f"{len(left)} rows and {len(right)}: first {_row(lacking[0])} is in one and not in the other"
        return Difference(False, np.inf, told)
    a = left[list(numbers)].to_numpy("float64")
    b = right.loc[left.index, list(numbers)].to_numpy("float64")
    if not a.size:
        return Difference(False, np.inf, "there are no forecasts to compare")
    both = np.stack([a, b])
    size = np.maximum(np.abs(both).max(axis=(0, 2)), np.finfo("float32").tiny)[:, None]
    width = np.ptp(both, axis=(0, 2))[:, None]
    allowed = (_ROUNDING + _NOISES * noise) * size
    if summed_otherwise:
        allowed = allowed + 10 * _ROUNDING * size + 1e-3 * width
    apart = np.abs(a - b)
    wrong = ~(apart <= allowed)
    relative = float(np.nan_to_num(apart / size, nan=np.inf).max())
    if not apart.any():
        return Difference(True, 0.0, f"moved by 0 in {a.size} numbers")
    if not wrong.any():
        return Difference(True, relative, f"moved by {relative:.1e} of its size at most, in {a.size} numbers")
    row, column = (int(place) for place in np.argwhere(wrong)[0])
    return Difference(
        False,
        relative,
        f"moved by up to {float(np.nanmax(np.where(wrong, apart, 0))):.4g} ({relative:.2g} of its size), "
        f"{int(wrong.sum())} of {a.size} numbers; first {_row(left.index[row])}, `{numbers[column]}`: "
        f"{a[row, column]:.6g} and {b[row, column]:.6g}",
    )


def _row(key) -> str:
    name, cutoff, step = key
    return f"series {name!r}, cutoff {cutoff}, step {step}"
