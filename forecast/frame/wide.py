"""Wide frames, one column for each series, made long."""

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.errors import FrameError
from forecast.frame.form import ID, TARGET, TIME


def from_wide(frame: Any, *, ids: Sequence | None = None, time: Any = None) -> Any:
    """Give the long frame `unique_id, ds, y` of a wide one, of the same kind, for `fit` and the door.

    Series may begin and end at different times: missing values before the first value of a series and after its last
    one are no rows of it. Those between are: they are missing values. A series without any value keeps all its rows, so
    that the door tells of it.

    Parameters
    ----------
    frame: a column for each series, called by its id; rows in time order. A DataFrame of pandas, polars or Arrow.
    ids: the columns that are series, in the order wanted; None for all of them but `time`.
    time: the column that holds the stamps. None for the index of a pandas frame; of another frame, for its one column
        of timestamps or dates.

    Raises
    ------
    TypeError: `frame` is no frame, or `ids` no list.
    FrameError: a column that is not there, comes twice, or holds no numbers; stamps that are not found.

    """
    if isinstance(ids, str):
        raise TypeError(f"`ids` is the text {ids!r}; allowed: several columns, as in [{ids!r}]")
    if isinstance(frame, pd.DataFrame):
        return _of_pandas(frame, ids, time)
    return _of_others(frame, ids, time)


def _of_pandas(frame: pd.DataFrame, ids: Sequence | None, time: Any) -> pd.DataFrame:
    if time is None and isinstance(frame.index, pd.MultiIndex):
        raise FrameError(
            f"the index has {frame.index.nlevels} levels; allowed: one, of stamps, or name a column: `time`"
        )
    names = _columns(frame.columns, ids, time)
    stamps = pd.Series(frame.index if time is None else frame[time].array)
    columns = [frame.iloc[:, frame.columns.get_loc(name)] for name in names]
    for name, column in zip(names, columns, strict=True):
        values = column.dropna()
        if not pd.api.types.is_numeric_dtype(column.dtype) and not all(isinstance(x, Real | Decimal) for x in values):
            raise _no_series(name, values.iloc[0])
    spans = [_span(column.notna().to_numpy()) for column in columns]
    rows = np.concatenate([np.arange(*span) for span in spans])
    labels = pd.Index(names, dtype=frame.columns.dtype, tupleize_cols=False)
    values = [column.iloc[slice(*span)].reset_index(drop=True) for column, span in zip(columns, spans, strict=True)]
    return pd.DataFrame(
        {
            ID: labels.repeat([stop - start for start, stop in spans]),
            TIME: stamps.take(rows).array,
            TARGET: pd.concat(values, ignore_index=True),
        }
    )


def _of_others(frame: Any, ids: Sequence | None, time: Any) -> Any:
    from forecast.frame.reading import opened

    wide = opened(frame, "a column for each series")
    if time is None:
        found = [name for name, dtype in wide.schema.items() if str(dtype).startswith("Date")]
        if len(found) != 1:
            raise FrameError(
                f"`time` is not given, and {len(found)} columns hold timestamps or dates: {found}. Name the one with "
                "the stamps"
            )
        time = found[0]
    names = _columns(pd.Index(wide.columns), ids, time)
    spans = []
    for name in names:
        values = wide[name].drop_nulls()
        if len(values) and not (values.dtype.is_numeric() or str(values.dtype) == "Boolean"):
            raise _no_series(name, values.to_list()[0])
        given = ~wide[name].is_null().to_numpy()
        if wide[name].dtype.is_float():
            given &= ~wide[name].is_nan().fill_null(True).to_numpy()
        spans.append(_span(given))
    size = len(wide)
    rows = np.concatenate([at * size + np.arange(*span) for at, span in enumerate(spans)])
    long = wide.unpivot(on=names, index=time, variable_name=ID, value_name=TARGET)[rows]
    return long.rename({time: TIME} if time != TIME else {}).select(ID, TIME, TARGET).to_native()


def _columns(columns: pd.Index, ids: Sequence | None, time: Any) -> list:
    """Give the columns that are series, once all are known to be there, each once."""
    if not columns.is_unique:
        raise FrameError(f"column `{columns[columns.duplicated()][0]}` comes twice; every series has one column")
    if time is not None and time not in columns:
        raise FrameError(f"column `{time}` is not there; got {list(columns)}. Name the one with the stamps: `time`")
    names = [name for name in columns if time is None or name != time] if ids is None else list(ids)
    if missing := [name for name in names if name not in columns or (time is not None and name == time)]:
        raise FrameError(f"`ids`: column `{missing[0]}` is no series; got {list(columns)}, with the stamps in {time!r}")
    if not names:
        raise FrameError(f"the frame has no series; got {list(columns)}, with the stamps in {time!r}")
    return names


def _no_series(name: Any, value: Any) -> FrameError:
    return FrameError(
        f"column `{name}` holds {value!r}, which is no value of a series; allowed: numbers. If it holds the stamps, "
        f"name it, time={name!r}; else name the series: ids=[...]. A frame that has a column of ids is long already"
    )


def _span(given: np.ndarray) -> tuple[int, int]:
    """Give the rows from the first value to the last one, all of them where there is none."""
    found = np.flatnonzero(given)
    return (int(found[0]), int(found[-1]) + 1) if len(found) else (0, len(given))
