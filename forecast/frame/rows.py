"""The rows of a frame: its three columns, and what each of them may hold."""

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

_FARTHEST = 1 << 61  # integer stamps beyond it have distances that int64 cannot hold


class FrameError(ValueError):
    """A frame that may not enter; the message names the column, the first series and stamp, and the remedy."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of a frame that make a panel, in the order of the frame and under the names it gives them.

    Attributes
    ----------
    ids: the series each row belongs to, of any type; never missing.
    stamps: a DatetimeIndex, or integers as int64; never missing.
    target: as it came; `numbers` reads it.

    """

    ids: pd.Index
    stamps: pd.Index
    target: pd.Series

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, row: int) -> str:
        """Name the series and stamp of a row, for messages."""
        return f"series {plain(self.ids[row])!r} at {self.stamps[row]}"

    def sorted(self) -> "Rows":
        """Give the rows by series, in the order in which the series first come, and by time."""
        order = np.lexsort((raw_integers(self.stamps), self.ids.factorize()[0]))
        return Rows(self.ids[order], self.stamps[order], self.target.iloc[order])

    def numbers(self) -> np.ndarray:
        """Give the target as a float32 copy, NaN where it is missing.

        Raises
        ------
        FrameError: text or other things that are no numbers; infinite values, or ones beyond float32.

        """
        target = self.target
        if (row := _first_no_number(target)) is not None:
            raise FrameError(
                f"column `{target.name}` must hold numbers; got {plain(target.iloc[row])!r} ({target.dtype}) in "
                f"{self.at(row)}. Convert with pd.to_numeric(frame[{target.name!r}], errors=...) and decide what "
                "becomes of what is no number"
            )
        with np.errstate(over="ignore"):  # too large becomes infinite, which is refused below
            if target.dtype == object or not isinstance(target.dtype, np.dtype):
                values = target.to_numpy(dtype="float32", na_value=np.nan, copy=True)
            else:  # one copy, where na_value would make a second in float64
                values = np.array(target.to_numpy(), dtype="float32")
        infinite = np.isinf(values)
        if infinite.any():
            row = int(infinite.argmax())
            raise FrameError(
                f"column `{target.name}` holds {int(infinite.sum())} values that are infinite or beyond float32 "
                f"(3.4e38), first {plain(target.iloc[row])!r} in {self.at(row)}. Replace them, by NaN where they are "
                "unknown, or rescale"
            )
        return values


def plain(value):
    """Give a numpy scalar as the Python value that it prints as."""
    return value.item() if isinstance(value, np.generic) else value


def raw_integers(stamps: pd.Index) -> np.ndarray:
    """Give stamps as int64 in time order, whatever their unit and zone."""
    return stamps.asi8 if isinstance(stamps, pd.DatetimeIndex) else stamps.to_numpy()


def read_rows(ids: pd.Series, stamps: pd.Series, target: pd.Series) -> Rows:
    """Give the rows of three columns of a frame.

    Raises
    ------
    FrameError: no rows; a missing id or stamp; stamps that are neither timestamps nor integers.

    """
    if not len(ids):
        raise FrameError("the frame has no rows")
    for column, remedy in [(ids, "every row must name its series"), (stamps, "every row needs one")]:
        if (missing := column.isna().to_numpy()).any():
            raise FrameError(
                f"column `{column.name}` is missing in {int(missing.sum())} rows, first in row {int(missing.argmax())} "
                f"(counted from 0): {remedy}. Give them one, or leave them out: frame.dropna(subset=[{column.name!r}])"
            )
    # An index of the dtype of the column: tuples stay ids, categories stay categories.
    names = pd.Index(ids.array, dtype=ids.dtype, copy=False, name=ids.name, tupleize_cols=False)
    return Rows(names, _read_stamps(stamps), target)


def _read_stamps(stamps: pd.Series) -> pd.Index:
    if pd.api.types.is_datetime64_any_dtype(stamps.dtype):
        return pd.DatetimeIndex(stamps, copy=False)
    if pd.api.types.is_integer_dtype(stamps.dtype):
        if max(-int(stamps.min()), int(stamps.max())) > _FARTHEST:
            raise FrameError(
                f"column `{stamps.name}` goes from {stamps.min()} to {stamps.max()}; integers may go up to 2**61 in "
                "size. Count from a nearer point"
            )
        return pd.Index(stamps.to_numpy(dtype="int64"), copy=False, name=stamps.name)
    kind = pd.api.types.infer_dtype(stamps, skipna=True)
    remedies = {
        "period": f"Convert with frame[{stamps.name!r}].dt.to_timestamp()",
        "datetime": "The column mixes timestamps that have no common unit or time zone: convert with "
        f"pd.to_datetime(frame[{stamps.name!r}], utc=True).dt.tz_convert(zone)",
        "boolean": "Number the steps: 0, 1, 2, ...",
        "floating": f"Convert whole numbers with frame[{stamps.name!r}].astype('int64')",
    }
    remedy = remedies.get(kind, f"Convert with pd.to_datetime(frame[{stamps.name!r}])")
    raise FrameError(
        f"column `{stamps.name}` must hold timestamps or integers; got {plain(stamps.iloc[0])!r} in row 0 "
        f"({kind}, dtype {stamps.dtype}). {remedy}"
    )


def _first_no_number(target: pd.Series) -> int | None:
    """Give the first row whose target is neither a number nor missing."""
    if target.dtype == object:
        given = target.notna().to_numpy()
        wrong = (
            row for row, value in enumerate(target) if given[row] and not isinstance(value, Real | Decimal | np.bool_)
        )
        return next(wrong, None)
    if pd.api.types.is_numeric_dtype(target.dtype) and not pd.api.types.is_complex_dtype(target.dtype):
        return None
    return int(target.notna().to_numpy().argmax())
