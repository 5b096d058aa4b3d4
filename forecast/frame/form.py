"""The form in which data came: the kind of frame, how ids and stamps are written in it; and giving frames in that form.

Inside the door every frame is one of pandas. Others are made through narwhals, which is imported when they came.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.stamps import Stamps

ID, TIME, TARGET = "unique_id", "ds", "y"
_STAMPS = (TIME, "cutoff")  # columns of our frames that hold stamps


@dataclass(frozen=True)
class Form:
    """The form of a frame.

    Attributes
    ----------
    stamps: how they are written.
    backend: `"polars"`, `"pyarrow"` or another that narwhals knows; None for pandas.
    ids, time: the types of the two columns in that backend, as narwhals has them.

    """

    stamps: Stamps = field(default_factory=Stamps)
    backend: str | None = None
    ids: Any = None
    time: Any = None

    def give(self, frame: pd.DataFrame) -> Any:
        """Give a frame of ours in the form that came: its kind, its ids (`unique_id`), its stamps (`ds`, `cutoff`)."""
        dressed = frame.copy(deep=False)
        for name in _STAMPS:
            if name in frame.columns and self.stamps != Stamps():
                dressed[name] = self.stamps.give(pd.Index(frame[name], copy=False)).set_axis(frame.index)
        return dressed if self.backend is None else self._native(dressed)

    def can_tell(self, stamps: pd.Index) -> bool:
        """Whether all of these stamps can be written in this form."""
        if str(self.time) == "Date":
            return bool((pd.DatetimeIndex(stamps).normalize() == stamps).all())
        return self.stamps.can_tell(stamps)

    def _native(self, frame: pd.DataFrame) -> Any:
        types = {ID: self.ids, **dict.fromkeys(_STAMPS, self.time)}
        columns = [_native(str(name), frame[name], types.get(name), self.backend) for name in frame]
        return columns[0].to_frame().with_columns(*columns[1:]).to_native()


def _native(name: str, column: Any, dtype: Any, backend: Any) -> Any:
    """Give a column of ours as a narwhals Series, of a type or else of that which its values have."""
    import narwhals.stable.v2 as nw

    if isinstance(column.dtype, np.dtype | pd.DatetimeTZDtype) and column.dtype.kind == "M":
        return _native_stamps(name, pd.DatetimeIndex(column), dtype, backend)
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        series = nw.new_series(name, column.to_numpy(), backend=backend)
        return series if dtype is None or not _fits(column, dtype) else series.cast(dtype)
    codes, unique = pd.factorize(column)
    values = [*unique, None] if (codes < 0).any() else list(unique)
    return nw.new_series(name, values, dtype, backend=backend)[np.where(codes < 0, len(unique), codes)]


def _native_stamps(name: str, stamps: pd.DatetimeIndex, dtype: Any, backend: Any) -> Any:
    import narwhals.stable.v2 as nw

    wall = stamps if stamps.tz is None else stamps.tz_convert("UTC").tz_localize(None)
    if dtype == nw.Date:
        return nw.new_series(name, wall.to_numpy().astype("datetime64[D]"), nw.Date(), backend=backend)
    unit = dtype.time_unit if dtype == nw.Datetime else "ms" if wall.unit == "s" else wall.unit
    series = nw.new_series(name, wall.as_unit(unit).to_numpy(), nw.Datetime(unit), backend=backend)
    if stamps.tz is None:
        return series
    zone = dtype.time_zone if dtype == nw.Datetime else str(stamps.tz)
    return series.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


def _fits(column: pd.Series, dtype: Any) -> bool:
    """Tell whether the numbers of a column have room in a type: later steps may not have."""
    if not dtype.is_integer() or not len(column):
        return True
    room = np.iinfo(str(dtype).lower())
    return bool(column.min() >= room.min and column.max() <= room.max)
