"""The rows of a frame: its three columns, and what each of them may hold."""

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.errors import FrameError, plain
from forecast.frame.form import Form
from forecast.frame.stamps import read_stamps

__all__ = ["FrameError", "Rows", "of_numbers", "plain", "raw_integers", "read_rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of a frame that make a panel, in the order of the frame and under the names it gives them.

    Attributes
    ----------
    ids: the series each row belongs to, of any type; never missing.
    stamps: a DatetimeIndex, or integers as int64; never missing.
    target: as it came; `numbers` reads it.
    beside: the columns that have a role, by name, as they came.
    form: the form of the frame.
    unused: columns of the frame that are none of these.

    """

    ids: pd.Index
    stamps: pd.Index
    target: pd.Series
    beside: Mapping[Hashable, pd.Series] = field(default_factory=dict)
    form: Form = field(default_factory=Form)
    unused: tuple = ()

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, row: int) -> str:
        """Name the series and stamp of a row, for messages."""
        return f"series {plain(self.ids[row])!r} at {self.stamps[row]}"

    def names(self, begins: np.ndarray) -> pd.Index:
        """Give the ids of the series that begin in these rows; text that another kind of frame held, as text."""
        names = self.ids[begins]
        as_text = self.form.backend is not None and isinstance(names, pd.CategoricalIndex)
        return names.astype(names.categories.dtype) if as_text else names

    def sorted(self) -> "Rows":
        """Give the rows by series, in the order in which the series first come, and by time."""
        order = np.lexsort((raw_integers(self.stamps), self.ids.factorize()[0]))
        beside = {name: column.iloc[order] for name, column in self.beside.items()}
        return replace(
            self, ids=self.ids[order], stamps=self.stamps[order], target=self.target.iloc[order], beside=beside
        )

    def numbers(self, target: pd.Series) -> np.ndarray:
        """Give the target, or another column of these rows, as a float32 copy, NaN where it is missing.

        Raises
        ------
        FrameError: text or other things that are no numbers; infinite values, or ones beyond float32.

        """
        if (row := _first_no_number(target)) is not None:
            raise FrameError(
                f"column `{target.name}` must hold numbers; got {plain(target.iloc[row])!r} ({target.dtype}) in "
                f"{self.at(row)}. Convert with pd.to_numeric(frame[{target.name!r}], errors=...) and decide what "
                "becomes of what is no number"
            )
        with np.errstate(over="ignore"):  # too large becomes infinite, which is refused below
            if target.dtype == object:
                values = np.array([_as_float(value) for value in target.where(target.notna(), np.nan)], dtype="float32")
            elif not isinstance(target.dtype, np.dtype):
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


def tell_lost_moves(rows: Rows, begins: np.ndarray, values: np.ndarray) -> None:
    """Warn of series of the target that move, but not as far as float32 (rows,) can tell: they read as constant."""
    target = rows.target
    flat = np.fmax.reduceat(values, begins) == np.fmin.reduceat(values, begins)
    if not flat.any() or target.dtype == np.dtype("float32"):
        return
    given = target.where(target.notna(), np.nan) if target.dtype == object else target
    numbers = given.to_numpy(dtype="float64", na_value=np.nan)
    highest, lowest = np.fmax.reduceat(numbers, begins), np.fmin.reduceat(numbers, begins)
    if (lost := flat & (highest > lowest)).any():
        series = int(lost.argmax())
        warnings.warn(
            f"column `{target.name}`: series {plain(rows.ids[begins[series]])!r} moves from {plain(lowest[series])!r} "
            f"to {plain(highest[series])!r}, which are one number in float32, with its 7 digits ({int(lost.sum())} "
            "such series): it reads as constant. Take a level off it, or rescale",
            stacklevel=4,
        )


def raw_integers(stamps: pd.Index) -> np.ndarray:
    """Give stamps as int64 in time order, whatever their unit and zone."""
    return stamps.asi8 if isinstance(stamps, pd.DatetimeIndex) else stamps.to_numpy()


def read_rows(ids: pd.Series, stamps: pd.Series, target: pd.Series, form: Form) -> Rows:
    """Give the rows of three columns of a frame of this form; how stamps are written is found here.

    Raises
    ------
    FrameError: no rows; a missing id or stamp, or ones of a kind that may not enter.

    """
    if not len(ids):
        raise FrameError("the frame has no rows")
    for column, remedy in [(ids, "every row must name its series"), (stamps, "every row needs one")]:
        if (missing := column.isna().to_numpy()).any():
            raise FrameError(
                f"column `{column.name}` is missing in {int(missing.sum())} rows, first in row {int(missing.argmax())} "
                f"(counted from 0): {remedy}. Give them one, or leave them out: frame.dropna(subset=[{column.name!r}])"
            )
    try:  # an index of the dtype of the column: tuples stay ids, categories stay categories
        names = pd.Index(ids.array, dtype=ids.dtype, copy=False, name=ids.name, tupleize_cols=False)
    except NotImplementedError as error:  # float16
        raise FrameError(f"column `{ids.name}`: {error}. Convert with frame[{ids.name!r}].astype('float32')") from error
    index, written = read_stamps(stamps)
    return Rows(names, index, target, form=replace(form, stamps=written))


def of_numbers(dtype: Any) -> bool:
    """Tell whether a dtype has nothing but numbers; truth values are."""
    kind = dtype.kind  # pandas holds truth values of Arrow for none
    return kind == "b" or (kind != "c" and pd.api.types.is_numeric_dtype(dtype))


def _as_float(value) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of any size
        return np.inf


def _first_no_number(target: pd.Series) -> int | None:
    """Give the first row whose target is neither a number nor missing."""
    if target.dtype == object:
        try:
            given = target.notna().to_numpy()
        except InvalidOperation as error:
            raise FrameError(f"column `{target.name}` holds a signalling NaN: replace it by NaN") from error
        wrong = (
            row for row, value in enumerate(target) if given[row] and not isinstance(value, Real | Decimal | np.bool_)
        )
        return next(wrong, None)
    return None if of_numbers(target.dtype) else int(target.notna().to_numpy().argmax())
