"""Frames of any kind as frames of pandas, with what is known of the form in which they came."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.errors import FrameError
from forecast.frame.form import ID, TARGET, TIME, Form

_ALLOWED = "a DataFrame of pandas or polars, an Arrow table, or another frame that narwhals reads"


def as_pandas(
    frame: Any, names: Mapping[str, Any], others: Collection = (), stamps: Collection = ()
) -> tuple[pd.DataFrame, Form, tuple]:
    """Give a frame of any kind as one of pandas, its form but for the stamps, and the columns that are not wanted.

    Parameters
    ----------
    frame: a long frame; id and time may be levels of its index if that has several, called as their columns would be. A
        pandas Series with its stamps in the index is one series, named by its name (`"y"` without one); with two levels
        in the index, the first is the id.
    names: our name -> the frame's: id, time and, if it is wanted, target.
    others: further columns that are wanted.
    stamps: those of them that hold stamps, or nothing.

    Raises
    ------
    TypeError: no frame.
    FrameError: a Series without stamps in its index.

    """
    wanted = [*names.values(), *others]
    form = Form()
    if isinstance(frame, pd.Series) and TARGET in names:
        frame = _from_series(frame, names)
    elif isinstance(frame, pd.DataFrame):
        keys = [names[key] for key in (ID, TIME) if names[key] not in frame.columns]
        if keys and isinstance(frame.index, pd.MultiIndex) and set(keys) <= set(frame.index.names):
            frame = frame.reset_index(level=keys)
    else:
        native = opened(frame, ", ".join(names))
        missing = [name for name in wanted if name not in native.columns]
        unused = tuple(name for name in native.columns if name not in wanted)
        if missing:  # the caller says so, and what there is
            return pd.DataFrame(columns=pd.Index(native.columns)), form, unused
        readers = {**dict.fromkeys(stamps, _read_some_time), names[ID]: _read_ids, names[TIME]: _read_time}
        columns = {name: readers.get(name, _read)(native[name]) for name in wanted}
        form = Form(backend=native.implementation.value, ids=native[names[ID]].dtype, time=native[names[TIME]].dtype)
        return pd.DataFrame(columns, copy=False), form, unused
    return frame, form, tuple(name for name in frame.columns if name not in wanted)


def opened(frame: Any, holding: str) -> Any:
    """Give a frame that is not of pandas as narwhals has it; `holding` tells what it should have.

    Raises
    ------
    TypeError: no frame.

    """
    came = f"{type(frame).__module__}.{type(frame).__name__}"
    refusal = TypeError(f"`frame` must be {_ALLOWED}, with {holding}; got {came}")
    if frame is None or isinstance(frame, dict | list | np.ndarray | pd.Series | str):
        raise refusal
    import narwhals.stable.v2 as nw

    frame = nw.from_native(frame, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        raise refusal
    return frame


def _from_series(series: pd.Series, names: Mapping[str, Any]) -> pd.DataFrame:
    """Give the long frame of a Series whose index holds the stamps, or ids and stamps."""
    index = series.index
    if isinstance(index, pd.MultiIndex) and index.nlevels == 2:
        by_name = set(index.names) == {names[ID], names[TIME]}
        ids, stamps = (index.get_level_values(key) for key in ((names[ID], names[TIME]) if by_name else (0, 1)))
        if not by_name and _are_stamps(ids) and not _are_stamps(stamps):
            raise FrameError(
                f"`frame`: the first level of its index holds {ids.dtype}; allowed: ids first, stamps second. Swap "
                "them with frame.swaplevel()"
            )
    elif _are_stamps(index):
        name = TARGET if series.name is None else series.name
        ids, stamps = pd.Index([name], tupleize_cols=False).repeat(len(series)), index
    else:
        raise FrameError(
            f"`frame` is a Series whose index holds {index.dtype}, first {list(index[:1])}; allowed: timestamps or "
            "periods (pd.to_datetime(frame.index)), or two levels, ids and stamps. Integers that are stamps: "
            "frame.rename_axis('ds').rename('y').reset_index(), with a column unique_id"
        )
    return pd.DataFrame({names[ID]: ids, names[TIME]: stamps, names[TARGET]: series.array})


def _are_stamps(index: pd.Index) -> bool:
    return isinstance(index, pd.DatetimeIndex | pd.PeriodIndex)


def _read_ids(series: Any) -> pd.Series:
    import narwhals.stable.v2 as nw

    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return _read_text(series)
    wide = series.dtype in (nw.Int128, nw.UInt128)
    if series.null_count() or not series.dtype.is_numeric() or series.dtype.is_decimal() or wide:
        return pd.Series(series.to_list(), dtype=object, name=series.name)
    return pd.Series(series.to_numpy(), name=series.name)


def _read_text(series: Any) -> pd.Series:
    """Give text as categories, in the order in which they come: few objects, however many rows."""
    import narwhals.stable.v2 as nw

    series = series.cast(nw.String)
    texts = series.unique(maintain_order=True).drop_nulls().to_list()
    if not texts:
        return pd.Series([None] * len(series), dtype=object, name=series.name)
    codes = series.replace_strict(texts, list(range(len(texts))), default=None, return_dtype=nw.Int64).fill_null(-1)
    return pd.Series(pd.Categorical.from_codes(codes.to_numpy(), pd.Index(texts)), name=series.name)


def _read_time(series: Any) -> pd.Series:
    import narwhals.stable.v2 as nw

    dtype: Any = series.dtype
    if series.null_count() or not (dtype.is_integer() or str(dtype).startswith("Date")):
        is_text = dtype in (nw.String, nw.Categorical, nw.Enum)
        return _read_text(series).astype(object) if is_text else _read_objects(series)
    if dtype.is_integer():
        return pd.Series(series.to_numpy(), name=series.name)
    if str(dtype) == "Date":
        return pd.Series(series.to_numpy().astype("datetime64[s]"), name=series.name)
    counts = series.cast(nw.Int64).to_numpy()
    stamps = pd.DatetimeIndex(counts.view(f"datetime64[{dtype.time_unit}]"))
    if dtype.time_zone is not None:
        stamps = stamps.tz_localize("UTC").tz_convert(dtype.time_zone)
    return pd.Series(stamps, name=series.name)


def _read_some_time(series: Any) -> pd.Series:
    """Give stamps of which some may be missing."""
    if not series.null_count():
        return _read_time(series)
    given = _read_time(series.drop_nulls())
    given = given.astype("Int64") if given.dtype.kind in "iu" else given
    return given.set_axis(np.flatnonzero(~series.is_null().to_numpy())).reindex(range(len(series)))


def _read(series: Any) -> pd.Series:
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return _read_text(series)
    wide = dtype in (nw.Int128, nw.UInt128)  # numpy has no such numbers
    if dtype == nw.Boolean or dtype.is_decimal() or wide or (dtype.is_integer() and series.null_count()):
        series = series.cast(nw.Float64)
    return pd.Series(series.to_numpy(), name=series.name) if series.dtype.is_numeric() else _read_objects(series)


def _read_objects(series: Any) -> pd.Series:
    return pd.Series(series.to_list(), dtype=object, name=series.name)
